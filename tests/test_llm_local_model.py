"""A model in this process over a toy engine: what it reads, writes, keeps, measures, and how it fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.errors import ModelError
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.prompting.formats import FIM_FORMATS
from weft.llm.prompting.infilling_chat import PREFIX_ONLY
from weft.llm.protocol import Cancel, ChatRequest, CodeModel, CompletionRequest, Message, ModelMissing, PromptFragment

same_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)

SPECIAL = ["<|endoftext|>", *dict.fromkeys(FIM_FORMATS["qwen"].all)]
WORDS = [bytes([byte]) for byte in range(256)]
WORDS += [b"re", b"ret", b"return", b" x", b"total", b"()", b"):\n", b"    ", b"def ", b"self", b".price"]


class ToyTokenizer:
    """Bytes, a few words (the longest one that fits is taken), and the special tokens of a format."""

    n_vocabulary = len(WORDS) + len(SPECIAL)
    special_tokens = frozenset(SPECIAL)
    ends = frozenset({len(WORDS)})

    def __init__(self, start: int | None = None) -> None:
        self.start = start

    def special(self, text: str) -> int | None:
        return len(WORDS) + SPECIAL.index(text) if text in SPECIAL else None

    def encode(self, text: str) -> list[int]:
        left, tokens = text.encode("utf-8", "replace"), []
        while left:
            words = [i for i in range(256, len(WORDS)) if left.startswith(WORDS[i])]
            tokens.append(max(words, key=lambda i: len(WORDS[i]), default=left[0]))
            left = left[len(WORDS[tokens[-1]]) :]
        return tokens

    def bytes_of(self, token: int) -> bytes:
        return WORDS[token] if token < len(WORDS) else b""

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.bytes_of, tokens)).decode("utf-8", "replace")


REQUEST = CompletionRequest(
    "shop.py",
    "python",
    "def pay(self):\n    return ",
    "\n",
    (PromptFragment(("price.py",), "def total(self):\n    return self.price\n", 0, 1.0),),
    "market",
    max_new_tokens=12,
    single_line=False,
)


def chat_tokens(messages: Sequence[Message]) -> list[int]:
    text = "".join(f"{message.role[0]}:{message.text}\n" for message in messages)
    return ToyTokenizer().encode(text + "a:")


@pytest.fixture
def local_model(toy_engine: Any) -> Callable[..., LocalModel]:
    """`local_model(order=…, seed=…)`: a model over a toy engine, which is `model.engine`; settings by their names."""

    def make(
        fim: bool = True, start: int | None = None, chats: bool = True, notes: tuple[str, ...] = (), **given: Any
    ) -> LocalModel:
        names = LocalSettings.__dataclass_fields__
        options = {name: given.pop(name) for name in list(given) if name in names}
        engine = toy_engine(ToyTokenizer.n_vocabulary, **given)
        model = LocalModel(
            engine,
            ToyTokenizer(start),
            name="toy",
            backend="onnx",
            fim=FIM_FORMATS["qwen"] if fim else None,
            settings=LocalSettings(**{"prompt_ms": 10_000_000, **options}),
            chat_tokens=chat_tokens if chats else None,
            notes=notes,
        )
        model.engine = engine  # type: ignore[attr-defined]
        return model

    return make


Make = Callable[..., LocalModel]


def written(model: LocalModel, request: CompletionRequest = REQUEST) -> str:
    return "".join(piece.text for piece in model.stream(request, Cancel()))


def likes(engine: Any, text: str) -> None:
    """Make the engine write `text`, token by token, and then its end, behind the token of the middle."""
    tokens = [*ToyTokenizer().encode(text), next(iter(ToyTokenizer.ends))]
    middle = ToyTokenizer().special("<|fim_middle|>")
    plain = engine._row

    def row(seen: list[int]) -> Any:
        scores = plain(seen)
        if middle in seen:
            n_written = len(seen) - 1 - seen.index(middle)
            if seen[len(seen) - n_written :] == tokens[:n_written] and n_written < len(tokens):
                scores[tokens[n_written]] = 50
        return scores

    engine._row = row


def test_it_is_a_code_model_and_says_what_it_can_do(local_model: Make):
    model = local_model(notes=("loaded slowly",))
    assert isinstance(model, CodeModel)
    info = model.info
    assert (info.name, info.backend, info.context_tokens, info.local, info.chats) == ("toy", "onnx", 4096, True, True)
    assert (info.fills_middle, info.repository_level, info.notes) == (True, True, ("loaded slowly",))


def test_without_fill_in_the_middle_it_says_so(local_model: Make):
    info = local_model(fim=False).info
    assert not info.fills_middle
    assert info.notes == (PREFIX_ONLY,)


def test_a_tokenizer_without_the_tokens_of_its_format_is_refused(toy_engine: Any):
    with pytest.raises(ModelMissing, match=r"toy has no token <fim_prefix>.*fim"):
        LocalModel(
            toy_engine(),
            ToyTokenizer(),
            name="toy",
            backend="onnx",
            fim=FIM_FORMATS["starcoder2"],
            settings=LocalSettings(),
        )


def test_the_prompt_is_the_formats_own_with_special_tokens_by_number(local_model: Make):
    model = local_model(start=7)
    request = replace(REQUEST, prefix="x = '<|fim_middle|>'\n", max_new_tokens=1)
    written(model, request)
    tokenizer = ToyTokenizer()
    (held,) = model.engine.caches
    names = {tokenizer.special(text): text for text in SPECIAL}
    text = "".join(names.get(token) or tokenizer.decode([token]) for token in held[1:])
    assert held[0] == 7
    assert text == (
        "<|repo_name|>market\n<|file_sep|>price.py\ndef total(self):\n    return self.price\n<|file_sep|>shop.py\n"
        "<|fim_prefix|>x = '<|fim_middle|>'\n<|fim_suffix|>\n<|fim_middle|>"
    )
    assert held.count(tokenizer.special("<|fim_middle|>")) == 1


def test_the_answer_ends_at_an_end_token(local_model: Make):
    model = local_model()
    likes(model.engine, "self.price")
    assert written(model) == "self.price"


def test_a_single_line_ends_before_its_line_break_and_no_further_pass_is_made(local_model: Make):
    model = local_model(speculative_decoding=False)
    likes(model.engine, "total\nx = 1")
    model.prepare(Cancel())
    before = len(model.engine.blocks)
    assert written(model, replace(REQUEST, single_line=True)) == "total"
    assert model.engine.blocks[before + 1 :] == [1]


def test_stop_texts_are_cut(local_model: Make):
    model = local_model()
    likes(model.engine, "total()\n\nself")
    assert written(model, replace(REQUEST, stop=("\n\n",))) == "total()"


def test_pieces_have_the_probability_of_their_token(local_model: Make):
    model = local_model()
    likes(model.engine, "total")
    assert [piece.probability for piece in model.stream(REQUEST, Cancel())] == [pytest.approx(1.0, abs=1e-6)]


def typed(text: str) -> list[CompletionRequest]:
    """A request for every keystroke."""
    return [replace(REQUEST, prefix=REQUEST.prefix + text[:size]) for size in range(len(text) + 1)]


def test_a_keystroke_reads_only_what_it_changed(local_model: Make):
    model = local_model(speculative_decoding=False)
    for request in typed("self.p"):
        written(model, request)
        report = model.last_stats
        if request.prefix != REQUEST.prefix:
            # The suffix and the tokens around it come after the code that grows.
            assert report.prompt_tokens - report.reused_tokens <= 6


same_text = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 100),
        "order": st.sampled_from([None, 2]),
        "fim": st.booleans(),
        "crops": st.booleans(),
    }
)
edits = st.lists(
    st.tuples(
        st.sampled_from(["", "re", "ret", "self.", "é", "def total(self):\n    ", "x\r\n"]),
        st.sampled_from(["", "\n", "\nend\n"]),
        st.sampled_from(["shop.py", "price.py"]),
    ),
    min_size=1,
    max_size=6,
)


@same_engine
@given(same_text, edits, st.lists(st.text("retu x\n", max_size=6), min_size=1, max_size=4))
def test_neither_reuse_nor_drafts_change_the_text(
    local_model: Make, how: dict[str, Any], edits: list[tuple[str, str, str]], guesses: list[str]
):
    guess = lambda text: guesses[len(text) % len(guesses)]  # noqa: E731
    requests = [
        replace(REQUEST, prefix=REQUEST.prefix + typed, suffix=suffix, path=path, draft_source=guess)
        for typed, suffix, path in edits
    ]
    plain = local_model(**how, speculative_decoding=False, reuse_cache=False)
    fast = local_model(**how)
    assert [written(fast, request) for request in requests] == [written(plain, request) for request in requests]


def test_an_accepted_draft_saves_passes(local_model: Make):
    text = "zig zag zug"
    reports = []
    for guess in (None, lambda so_far: text[len(so_far) :]):
        model = local_model()
        likes(model.engine, text)
        for _ in range(8):
            assert written(model, replace(REQUEST, draft_source=guess)) == text
        reports.append(model.last_stats)
    plain, guessed = reports
    assert guessed.passes < plain.passes
    assert guessed.accepted_tokens > 0


def test_what_the_prompt_shows_is_drafted(local_model: Make):
    model = local_model()
    likes(model.engine, "self.price\n")
    for _ in range(8):
        written(model)
    assert model.last_stats.accepted_tokens > 0


def test_fragments_that_did_not_fit_are_drafted_from(local_model: Make):
    long = PromptFragment(("long.py",), "".join(f"zig zag {i}\n" for i in range(200)) + "qrst uvw xyz\n", 0, 1.0)
    model = local_model(context_tokens=512)
    likes(model.engine, "qrst uvw xyz")
    for _ in range(8):
        assert written(model, replace(REQUEST, fragments=(long,))) == "qrst uvw xyz"
    assert model.last_stats.accepted_tokens > 0


def test_without_speculation_every_pass_after_the_prompt_reads_one_token(local_model: Make):
    model = local_model(speculative_decoding=False)
    written(model, replace(REQUEST, draft_source=lambda text: "return"))
    assert (model.last_stats.drafted_tokens, model.last_stats.first_tokens) == (0, 1)


def test_an_engine_that_cannot_crop_gets_no_drafts(local_model: Make):
    model = local_model(crops=False)
    written(model, replace(REQUEST, draft_source=lambda text: "return"))
    assert model.last_stats.drafted_tokens == 0


def test_warming_reads_the_prompt_and_the_answer_only_its_last_token(local_model: Make):
    for fim in (True, False):
        model = local_model(fim=fim, speculative_decoding=False)
        model.warm(REQUEST, Cancel())
        n_blocks = len(model.engine.blocks)
        written(model)
        assert model.engine.blocks[n_blocks] == 1


def test_a_warm_up_that_is_cancelled_leaves_what_it_read(local_model: Make):
    model = local_model(speculative_decoding=False)
    request = replace(REQUEST, prefix="x = 1\n" * 400)
    model.prepare(Cancel())
    cancel, n_reads = Cancel(), iter(range(100))
    model._block_tokens = lambda: 64  # type: ignore[method-assign]
    model.engine.before_read = lambda: cancel.cancel() if next(n_reads) == 2 else None
    model.warm(request, cancel)
    model.engine.before_read = lambda: None
    written(model, request)
    assert model.last_stats.reused_tokens == 3 * 64


def test_two_streams_at_once_write_what_each_alone_would(local_model: Make):
    requests = [REQUEST, replace(REQUEST, path="other.py", prefix="class Other:\n    ")]
    expected = [written(local_model(order=None), request) for request in requests]
    model = local_model(order=None)
    streams = [model.stream(request, Cancel()) for request in requests]
    texts = ["", ""]
    running = [0, 1]
    while running:
        for number in list(running):
            piece = next(streams[number], None)
            if piece is None:
                running.remove(number)
            else:
                texts[number] += piece.text
    assert texts == expected


def test_streams_in_threads_write_what_each_alone_would(local_model: Make):
    requests = [replace(REQUEST, path=f"{i}.py", prefix=f"x{i} = ") for i in range(6)]
    expected = [written(local_model(order=None), request) for request in requests]
    model = local_model(order=None)
    texts = [""] * len(requests)

    def run(number: int) -> None:
        texts[number] = written(model, requests[number])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == expected


def test_a_cancelled_stream_ends_quietly_between_two_tokens(local_model: Make):
    model = local_model()
    cancel = Cancel()
    stream = model.stream(REQUEST, cancel)
    next(stream)
    cancel.cancel()
    assert list(stream) == []


def test_a_stream_that_is_cancelled_before_it_begins_reads_nothing(local_model: Make):
    model = local_model()
    model.prepare(Cancel())
    n_calls = model.engine.n_calls
    cancel = Cancel()
    cancel.cancel()
    assert list(model.stream(REQUEST, cancel)) == []
    assert model.engine.n_calls == n_calls


def test_the_prompt_of_a_model_without_a_middle_ends_where_the_model_would_cut(local_model: Make):
    # "ret" was never seen before "urn": the prompt goes back to what stands before it.
    model = local_model(fim=False, speculative_decoding=False)
    tokenizer = ToyTokenizer()
    plain = model.engine._row
    ret, whole = tokenizer.encode("ret")[0], tokenizer.encode("return")[0]

    def row(seen: list[int]) -> Any:
        scores = plain(seen)
        scores[whole] += 50 * (seen[-1] != ret)
        return scores

    model.engine._row = row
    request = replace(REQUEST, prefix="    ret", fragments=(), max_new_tokens=1)
    assert written(model, request) == "urn"


def test_with_a_middle_nothing_is_taken_back(local_model: Make):
    model = local_model(speculative_decoding=False)
    written(model, replace(REQUEST, prefix="    ret", max_new_tokens=1))
    assert ToyTokenizer().encode("ret")[0] in model.engine.caches[0]


@pytest.mark.parametrize("text", ["", "\ud800", "😀" * 500, "\0" * 100, "\r\r\n"])
@pytest.mark.parametrize("fim", [True, False])
def test_bad_text_is_completed_all_the_same(local_model: Make, text: str, fim: bool):
    request = CompletionRequest("a.py", "python", text, text, max_new_tokens=2)
    assert "\r" not in written(local_model(fim=fim), request)


@pytest.mark.parametrize("max_new_tokens", [0, 1, 100, 100_000])
@pytest.mark.parametrize("context_tokens", [128, 512])
def test_the_context_never_overflows(local_model: Make, max_new_tokens: int, context_tokens: int):
    # The engine refuses to hold more than its context.
    model = local_model(context_tokens=context_tokens, order=1)
    request = replace(REQUEST, prefix="total = total\n" * 300, suffix="é" * 1000, max_new_tokens=max_new_tokens)
    written(model, request)
    if not max_new_tokens:
        assert written(model, request) == ""


def test_a_context_without_room_for_any_prompt_is_named(local_model: Make):
    with pytest.raises(ModelError, match=r"toy has a context of 16 tokens.*context_tokens"):
        written(local_model(context_tokens=16))


def test_memory_for_caches_bounds_the_context_and_is_named(local_model: Make):
    model = local_model(cache_bytes=6000)  # 10 bytes a token
    assert model.info.context_tokens == 600
    assert "cache_mb" in model.info.notes[-1]
    written(model, replace(REQUEST, prefix="x = 1\n" * 1000))
    assert sum(map(len, model.engine.caches)) <= 600


def test_without_memory_for_the_prompt_a_shorter_one_is_read_and_remembered(local_model: Make):
    model = local_model(memory_tokens=400)
    request = replace(REQUEST, prefix="x = 1\n" * 200)
    assert written(model, request)
    assert 100 < model.info.context_tokens < 400
    assert "memory" in model.info.notes[-1]
    n_calls = len(model.engine.blocks)
    written(model, replace(request, prefix=request.prefix + "y"))
    assert len(model.engine.blocks) > n_calls


def test_other_files_give_their_memory_before_the_prompt_is_shortened(local_model: Make):
    model = local_model(memory_tokens=700, context_tokens=512)
    for path in ("a.py", "b.py", "c.py"):
        written(model, replace(REQUEST, path=path, prefix=f"{path} = 1\n" * 100))
    assert model.info.context_tokens == 512


def test_without_memory_for_anything_the_next_step_is_named(local_model: Make):
    with pytest.raises(ModelError, match=r"toy has no memory.*smaller"):
        written(local_model(memory_tokens=10))


def test_memory_that_is_gone_in_the_middle_of_an_answer_ends_it_quietly(local_model: Make):
    model = local_model(speculative_decoding=False)
    model.prepare(Cancel())
    stream = model.stream(REQUEST, Cancel())
    first = next(stream).text

    def no_more() -> None:
        raise OutOfMemory

    model.engine.before_read = no_more
    assert list(stream) == []
    assert first


def test_an_engine_that_fails_is_a_model_error_and_the_next_request_works(local_model: Make):
    model = local_model()
    expected = written(model)

    def fail() -> None:
        raise RuntimeError("the graph is on fire\nline 2")

    model.engine.before_read = fail
    with pytest.raises(ModelError, match=r"toy stopped: the graph is on fire\. Try"):
        written(model)
    with pytest.raises(ModelError):
        model.warm(REQUEST, Cancel())
    model.engine.before_read = lambda: None
    assert written(model) == expected


def test_preparing_tunes_and_measures_once_and_keeps_no_cache(local_model: Make):
    model = local_model()
    assert model.speed.prefill == model.speed.decode == 0
    model.prepare(Cancel())
    assert model.engine.is_tuned
    assert model.speed.prefill > 0 and model.speed.decode > 0
    assert model.engine.caches == []
    n_calls = model.engine.n_calls
    model.prepare(Cancel())
    assert model.engine.n_calls == n_calls


def test_preparing_that_is_cancelled_is_done_by_whoever_comes_next(local_model: Make):
    model = local_model()
    cancel = Cancel()
    model.engine.before_read = cancel.cancel
    model.prepare(cancel)
    assert model.speed.prefill == 0
    model.engine.before_read = lambda: None
    written(model)
    assert model.speed.prefill > 0


@pytest.mark.parametrize("context_tokens", [64, 100, 300])
def test_preparing_stays_within_a_small_context(local_model: Make, context_tokens: int):
    local_model(context_tokens=context_tokens).prepare(Cancel())


def test_a_slow_machine_reads_shorter_prompts(local_model: Make):
    model = local_model(prompt_ms=100)
    model._meter.record_prefill(1000, 0.5)
    model._is_prepared = True
    assert model.info.context_tokens == 512
    written(model, replace(REQUEST, prefix="x = 1\n" * 2000))
    assert model.last_stats.prompt_tokens <= 512


def test_the_report_says_what_an_answer_took(local_model: Make):
    model = local_model(speculative_decoding=False)
    assert model.last_stats is None
    likes(model.engine, "zig")
    written(model)
    report = model.last_stats
    assert (report.reused_tokens, report.passes, report.first_tokens, report.written_tokens) == (0, 3, 1, 4)
    assert report.prefill_s > 0 and report.decode_s > 0
    written(model)
    assert model.last_stats.reused_tokens == report.prompt_tokens - 1


def conversation(*texts: str, system: str = "") -> ChatRequest:
    turns = [Message("assistant" if number % 2 else "user", text) for number, text in enumerate(texts)]
    return ChatRequest((*([Message("system", system)] if system else []), *turns), max_new_tokens=32)


def shown(model: LocalModel, request: ChatRequest) -> str:
    """What the model read of the conversation."""
    list(model.chat(request, Cancel()))
    return ToyTokenizer().decode(model.engine.caches[-1])


def test_a_conversation_is_read_by_the_models_template(local_model: Make):
    assert shown(local_model(), conversation("hello", system="be kind")).startswith("s:be kind\nu:hello\na:")


def test_a_long_conversation_loses_its_oldest_question_with_its_answer(local_model: Make):
    request = conversation("a" * 60, "b" * 30, "c" * 10, "d" * 10, "last", system="S")
    assert shown(local_model(context_tokens=128), request).startswith(f"s:S\nu:{'c' * 10}\na:{'d' * 10}\nu:last\na:")


def test_of_a_question_that_is_too_long_the_end_is_read(local_model: Make):
    text = shown(local_model(context_tokens=128), conversation("a" * 500 + "why?", system="S"))
    assert text.startswith("s:S\nu:a")
    assert "why?\na:" in text


@same_engine
@given(st.lists(st.integers(0, 90), min_size=1, max_size=9), st.integers(64, 400), st.booleans())
def test_a_conversation_never_overflows_and_keeps_the_end_of_its_question(
    local_model: Make, lengths: list[int], context_tokens: int, has_system: bool
):
    texts = [f"{chr(97 + i)}" * length + "?" for i, length in enumerate(lengths)]
    model = local_model(context_tokens=context_tokens)
    text = shown(model, conversation(*texts, system="S" if has_system else ""))
    assert len(model.engine.caches[-1]) <= context_tokens
    assert "?\na:" in text
    assert text.startswith("s:S\n") == has_system


def test_a_system_message_without_room_for_a_question_is_named(local_model: Make):
    with pytest.raises(ModelError, match="system message"):
        list(local_model(context_tokens=128).chat(conversation("hi", system="S" * 500), Cancel()))


def test_a_model_without_a_template_does_not_chat(local_model: Make):
    model = local_model(chats=False)
    assert not model.info.chats
    with pytest.raises(ModelError, match="template"):
        list(model.chat(conversation("hi"), Cancel()))


def test_a_chat_stops_where_it_is_told_to(local_model: Make):
    model = local_model()
    whole = "".join(piece.text for piece in model.chat(conversation("hi"), Cancel()))
    stop = whole[3:5]
    cut = "".join(p.text for p in model.chat(replace(conversation("hi"), stop=(stop,)), Cancel()))
    assert cut == whole[: whole.index(stop)]


def test_a_chat_with_a_temperature_is_drawn_and_a_seed_repeats_it(local_model: Make):
    hot = replace(conversation("hello"), temperature=1.5, max_new_tokens=12)
    texts = [[piece.text for piece in local_model(sampling_seed=seed).chat(hot, Cancel())] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_what_is_drawn_is_never_drafted(local_model: Make):
    model = local_model()
    hot = replace(conversation("aaaaaaaaaaaaaaaaaaaaaaa"), temperature=1.0, max_new_tokens=12)
    list(model.chat(hot, Cancel()))
    assert model.last_stats.drafted_tokens == 0


def test_a_closed_model_has_freed_everything_and_says_nothing_more(local_model: Make):
    model = local_model()
    written(model)
    model.close()
    assert model.engine.is_closed
    assert written(model) == ""
