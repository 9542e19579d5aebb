"""llama-server's protocol, replayed: what is found out, what is asked, what is understood.

The answers have the shapes of "LLaMA.cpp HTTP Server" (tools/server/README.md) and of what that server really sends;
`test_llm_llama_server.py` asks a real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.errors import ModelError
from weft.llm.backends import ModelConfig, open_model
from weft.llm.http.llama_cpp import LlamaCppServer
from weft.llm.http.server_tokenizer import ServerTokenizer
from weft.llm.protocol import (
    Cancel,
    ChatRequest,
    CodeModel,
    CompletionRequest,
    Message,
    ModelMissing,
    ModelUnreachable,
    PromptFragment,
    PromptPart,
)

REQUEST = CompletionRequest(
    "shop.py",
    "python",
    "def pay():\n    return tot",
    "\n\nend = 1\n",
    (PromptFragment(("price.py",), "def total(): ...\n", 0, 1.0),),
    "market",
)
QWEN = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>", "<|endoftext|>")
PAD = "<|fim_pad|>"

Serve = Callable[..., Any]


class Llama:
    """The routes of a llama-server whose model has a token for each character, and these special ones."""

    def __init__(self, *special: str, n_ctx: int = 4096, start: str = "", space: str = "", **props: Any) -> None:
        self.special = {letters: 100_000 + at for at, letters in enumerate(special)}
        self.start, self.space = start, space
        self.props = {
            "default_generation_settings": {"n_ctx": n_ctx, "params": {}},
            "total_slots": 1,
            "model_alias": "coder",
            "model_path": "/models/coder.gguf",
            "chat_template": "",
            "media_marker": "<__media_1__>",
            **props,
        }
        self.asked: list[dict[str, Any]] = []
        self.answer = ["al", "()"]
        self.timings = {"cache_n": 0, "prompt_n": 600, "prompt_ms": 300.0, "predicted_n": 2, "predicted_ms": 40.0}

    @property
    def routes(self) -> dict[str, Any]:
        return {
            "GET /props": lambda reply: reply.json(self.props),
            "POST /tokenize": lambda reply: reply.json({"tokens": self.tokenize(reply.body)}),
            "POST /completion": self.complete,
        }

    def tokenize(self, body: dict[str, Any]) -> list[int]:
        content = body["content"] if isinstance(body["content"], list) else [body["content"]]
        tokens = [self.special[self.start]] if body.get("add_special") and self.start else []
        for part in content:
            tokens += [part] if isinstance(part, int) else self.encode(part, body.get("parse_special", True))
        return tokens

    def encode(self, text: str, parse_special: bool) -> list[int]:
        if parse_special and text in self.special:
            return [self.special[text]]
        return [ord(character) for character in self.space + text]

    def complete(self, reply: Any) -> None:
        if not reply.body.get("stream"):
            return reply.json({"content": "", "stop": True})
        self.asked.append(reply.body)
        pieces = [{"content": text, "tokens": [1], "stop": False} for text in self.answer]
        reply.events(*pieces, {"content": "", "stop": True, "timings": self.timings})

    def shown(self, body: dict[str, Any]) -> str:
        """The prompt of a request, special tokens as their letters between corners."""
        names = {token: f"⟨{letters}⟩" for letters, token in self.special.items()}
        return "".join(names.get(token) or chr(token) for token in body["prompt"])


def open_at(url: str, **config: Any) -> CodeModel:
    model = open_model(ModelConfig(**{"backend": "llama.cpp", "url": url, **config}))
    assert isinstance(model, CodeModel)
    return model


def complete(model: CodeModel, request: CompletionRequest = REQUEST) -> str:
    return "".join(piece.text for piece in model.stream(request, Cancel()))


def test_the_prompt_is_weft_s_own_in_tokens_by_number(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    assert complete(open_at(replaying(llama.routes).url)) == "al()"
    (asked,) = llama.asked
    assert llama.shown(asked) == (
        "⟨<|repo_name|>⟩market\n⟨<|file_sep|>⟩price.py\ndef total(): ...\n⟨<|file_sep|>⟩shop.py\n"
        "⟨<|fim_prefix|>⟩def pay():\n    return tot⟨<|fim_suffix|>⟩\n\nend = 1\n⟨<|fim_middle|>⟩"
    )
    assert (asked["n_predict"], asked["stop"], asked["temperature"], asked["stream"]) == (64, ["\n"], 0, True)
    assert (asked["cache_prompt"], asked["samplers"], asked["top_k"]) == (True, ["top_k"], 1)
    assert "id_slot" not in asked


def test_letters_of_special_tokens_in_code_stay_letters(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    request = replace(REQUEST, prefix="end = '<|fim_middle|>'\nx = ", fragments=())
    complete(open_at(replaying(llama.routes).url), request)
    assert llama.shown(llama.asked[0]).count("⟨<|fim_middle|>⟩") == 1
    assert "end = '<|fim_middle|>'\n" in llama.shown(llama.asked[0])


def test_the_start_token_comes_first_where_the_model_wants_one(replaying: Serve):
    llama = Llama("<s>", *QWEN, PAD, start="<s>")
    complete(open_at(replaying(llama.routes).url))
    assert llama.shown(llama.asked[0]).startswith("⟨<s>⟩⟨<|repo_name|>⟩market")


def test_no_space_is_put_before_code_where_the_tokenizer_adds_one(replaying: Serve):
    llama = Llama(*QWEN, PAD, space="▁")
    complete(open_at(replaying(llama.routes).url))
    assert "▁" not in llama.shown(llama.asked[0])
    assert "⟨<|fim_prefix|>⟩def pay():" in llama.shown(llama.asked[0])


def test_what_the_server_says_is_known_after_preparing(replaying: Serve):
    llama = Llama(*QWEN, PAD, n_ctx=2048)
    llama.props["model_alias"] = "/models/coder.gguf"
    model = open_at(replaying(llama.routes).url)
    assert not model.info.fills_middle
    model.prepare(Cancel())
    info = model.info
    assert (info.name, info.backend, info.context_tokens) == ("coder.gguf", "llama.cpp", 2048)
    assert (info.fills_middle, info.repository_level, info.local, info.chats, info.notes) == (
        True,
        True,
        True,
        False,
        (),
    )
    assert model.count_tokens("four") == 4


def test_a_configured_context_is_not_exceeded(replaying: Serve):
    model = open_at(replaying(Llama(*QWEN, PAD).routes).url, context_tokens=1000)
    model.prepare(Cancel())
    assert model.info.context_tokens == 1000


def test_a_configured_format_must_be_there(replaying: Serve):
    model = open_at(replaying(Llama(*QWEN, PAD).routes).url, fim="deepseek")
    with pytest.raises(ModelMissing, match="no token <｜fim▁begin｜>"):
        model.prepare(Cancel())


def test_a_configured_format_does_without_the_tokens_for_files_that_are_not_there(replaying: Serve):
    llama = Llama(*QWEN[:3])
    complete(open_at(replaying(llama.routes).url, fim="qwen"))
    assert llama.shown(llama.asked[0]).endswith("return tot⟨<|fim_suffix|>⟩\n\nend = 1\n⟨<|fim_middle|>⟩")
    assert "# price.py\n" in llama.shown(llama.asked[0])


def test_configured_tokens_are_found_too(replaying: Serve):
    llama = Llama("[A]", "[B]", "[C]")
    server = replaying(llama.routes)
    complete(open_at(server.url, fim="custom", fim_prefix="[A]", fim_suffix="[B]", fim_middle="[C]"))
    assert llama.shown(llama.asked[0]).endswith("return tot⟨[B]⟩\n\nend = 1\n⟨[C]⟩")


def test_tokens_that_only_the_server_knows_are_left_to_infill(replaying: Serve):
    llama = Llama()
    server = replaying({**llama.routes, "POST /infill": llama.complete})
    model = open_at(server.url)
    assert complete(model) == "al()"
    assert model.info.fills_middle
    body = llama.asked[-1]
    assert body["input_extra"] == [{"filename": "price.py", "text": "def total(): ...\n"}]
    assert (body["input_prefix"], body["input_suffix"]) == (REQUEST.prefix, REQUEST.suffix)


def test_without_any_of_it_only_the_code_before_the_cursor_is_shown_and_that_is_said(replaying: Serve):
    llama = Llama()
    unsupported = {"error": {"code": 501, "message": "Infill is not supported by this model", "type": "not_supported"}}
    server = replaying({**llama.routes, "POST /infill": lambda reply: reply.json(unsupported, 501)})
    model = open_at(server.url)
    assert complete(model) == "al()"
    assert not model.info.fills_middle
    assert "no fill-in-the-middle tokens" in model.info.notes[0]
    assert llama.shown(llama.asked[0]).endswith("def pay():\n    return tot")


def test_a_model_that_only_chats_is_asked_in_words(replaying: Serve):
    llama = Llama("<|im_start|>", chat_template="{{ '<|im_start|>' + message.role }}")
    said = {"choices": [{"delta": {"content": "```python\ntotal()\n```"}}]}
    server = replaying({**llama.routes, "POST /v1/chat/completions": lambda reply: reply.events(said, "data: [DONE]")})
    model = open_at(server.url)
    assert complete(model) == "al()"
    assert "completions use chat" in model.info.notes[0]


def test_warming_a_model_that_infills_by_chat_sends_the_prompt_of_the_completion(replaying: Serve):
    llama = Llama("<|im_start|>", chat_template="{{ '<|im_start|>' + message.role }}")
    chats: list[dict[str, Any]] = []

    def answer(reply: Any) -> None:
        chats.append(reply.body)
        reply.events({"choices": [{"delta": {"content": "```python\nal()\n```"}}]}, "data: [DONE]")

    model = open_at(replaying({**llama.routes, "POST /v1/chat/completions": answer}).url)
    model.warm(REQUEST, Cancel())
    complete(model)
    warm, asked = chats
    assert warm == {**asked, "max_tokens": 1}
    assert not llama.asked


def test_a_template_without_its_tokens_is_none_of_the_model_s(replaying: Serve):
    model = open_at(replaying(Llama(*QWEN, PAD, chat_template="<|im_start|>").routes).url)
    with pytest.raises(ModelError, match="does not chat"):
        list(model.chat(ChatRequest((Message("user", "hello"),)), Cancel()))


def test_a_conversation_is_answered_as_it_is_written(replaying: Serve):
    llama = Llama(*QWEN, PAD, "<|im_start|>", chat_template="<|im_start|>")
    deltas = [{"choices": [{"delta": {"content": text}}]} for text in ("hel", "lo")]
    first, last = {"choices": [{"delta": {"role": "assistant", "content": None}}]}, {"choices": []}
    server = replaying(
        {
            **llama.routes,
            "POST /v1/chat/completions": lambda reply: reply.events(first, *deltas, last, "data: [DONE]"),
        }
    )
    model = open_at(server.url)
    request = ChatRequest((Message("system", "Be short."), Message("user", "hello")), 20, ("\n\n",))
    assert [piece.text for piece in model.chat(request, Cancel())] == ["hel", "lo"]
    (body,) = server.asked_for("/v1/chat/completions")
    assert body["messages"] == [{"role": "system", "content": "Be short."}, {"role": "user", "content": "hello"}]
    assert (body["max_tokens"], body["stop"]) == (20, ["\n\n"])


@pytest.mark.parametrize(
    ("drawn", "samplers"),
    [
        ({}, ["top_k"]),
        ({"temperature": 0.7, "top_p": 0.9}, ["penalties", "temperature", "top_p"]),
        ({"repetition_penalty": 1.2}, ["penalties", "top_k"]),
    ],
)
def test_an_answer_is_drawn_as_it_is_asked(replaying: Serve, drawn: dict[str, float], samplers: list[str]):
    llama = Llama(*QWEN, PAD, "<|im_start|>", chat_template="<|im_start|>")
    said = {"choices": [{"delta": {"content": "yes"}}]}
    server = replaying({**llama.routes, "POST /v1/chat/completions": lambda reply: reply.events(said, "data: [DONE]")})
    list(open_at(server.url).chat(ChatRequest((Message("user", "hello"),), **drawn), Cancel()))
    (body,) = server.asked_for("/v1/chat/completions")
    assert (body["samplers"], body["temperature"]) == (samplers, drawn.get("temperature", 0))
    assert body.get("repeat_penalty") == (drawn.get("repetition_penalty", 1.0) if drawn else None)


def test_a_special_token_ends_the_completion_though_the_server_goes_on(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    end = {"content": "", "tokens": [llama.special["<|file_sep|>"]], "stop": False}
    more = [{"content": text, "tokens": [1]} for text in ("other", "file")]
    llama_routes = {**llama.routes, "POST /completion": lambda reply: reply.events({"content": "al"}, end, *more)}
    assert complete(open_at(replaying(llama_routes).url)) == "al"


def test_reports_of_the_prompt_s_reading_are_no_text(replaying: Serve):
    llama = Llama("<|endoftext|>", *QWEN[:-1], PAD)
    first = llama.special["<|endoftext|>"]
    report = {"content": "", "tokens": [first], "prompt_progress": {"total": 6, "processed": 3}}
    events = [report, report, {"content": "al()", "tokens": [1]}]
    server = replaying({**llama.routes, "POST /completion": lambda reply: reply.events(*events)})
    assert complete(open_at(server.url)) == "al()"


def test_a_prompt_that_nobody_waits_to_the_end_for_says_how_fast_the_server_reads(replaying: Serve):
    report = {"content": "", "prompt_progress": {"total": 900, "cache": 100, "processed": 356, "time_ms": 512}}
    llama = Llama(*QWEN, PAD)
    model = open_at(replaying({**llama.routes, "POST /completion": lambda reply: reply.events(report)}).url)
    complete(model)
    assert model.speed.prefill == 500


def test_speed_is_what_the_server_measured(replaying: Serve):
    model = open_at(replaying(Llama(*QWEN, PAD).routes).url)
    complete(model)
    assert (model.speed.prefill, model.speed.decode) == (2000, 50)


def test_a_slow_server_gets_shorter_prompts(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    model = open_at(replaying(llama.routes).url, prompt_ms=500)
    complete(model)
    assert model.info.context_tokens == 1000


def test_warming_reads_the_same_prompt_and_writes_nothing(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    model = open_at(replaying(llama.routes).url)
    model.warm(REQUEST, Cancel())
    complete(model)
    warm, asked = llama.asked
    assert warm["n_predict"] == 0
    assert warm["prompt"] == asked["prompt"]


def test_a_keystroke_asks_for_the_tokens_of_what_changed_only(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    server = replaying(llama.routes)
    model = open_at(server.url)
    prefix = "".join(f"line_{at} = {at}\n" for at in range(100))
    complete(model, replace(REQUEST, prefix=prefix + "x = "))
    n_asked = len(server.asked)
    complete(model, replace(REQUEST, prefix=prefix + "x = y"))
    changed = [reply.body for reply in server.asked[n_asked:] if reply.path == "/tokenize"]
    assert [body["content"][::2] for body in changed] == [["x = y\n"], [prefix + "x = y"]]
    assert len(server.asked) == n_asked + 3


def test_a_prompt_never_exceeds_the_server_s_context(replaying: Serve):
    llama = Llama(*QWEN, PAD, n_ctx=600)
    request = replace(REQUEST, prefix="x = 1  # long\n" * 500, suffix="y = 2\n" * 500)
    complete(open_at(replaying(llama.routes).url), request)
    assert len(llama.asked[0]["prompt"]) + request.max_new_tokens < 600
    assert len(llama.asked[0]["prompt"]) > 300


def test_a_server_that_still_refuses_gets_half_and_that_is_remembered(replaying: Serve):
    llama = Llama(*QWEN, PAD, n_ctx=1000)
    said = "request (990 tokens) exceeds the available context size (512 tokens), try increasing it"
    refusal = {"error": {"code": 400, "message": said, "type": "exceed_context_size_error"}}

    def answer(reply: Any) -> None:
        if len(reply.body["prompt"]) >= 512:
            reply.json(refusal, 400)
        else:
            llama.complete(reply)

    server = replaying({**llama.routes, "POST /completion": answer})
    model = open_at(server.url)
    request = replace(REQUEST, prefix="x = 1  # long\n" * 500)
    assert complete(model, request) == complete(model, request) == "al()"
    assert len(server.asked_for("/completion")) == 3
    assert model.info.context_tokens == 500
    assert "rejected longer prompts" in model.info.notes[-1]


def test_another_model_after_a_failure_is_asked_what_it_is(replaying: Serve):
    server = replaying(Llama(*QWEN, PAD).routes)
    model = open_at(server.url)
    complete(model)
    server.stop()
    with pytest.raises(ModelUnreachable, match="No connection"):
        complete(model)
    other = Llama("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|endoftext|>", n_ctx=512, media_marker="2")
    replaying(other.routes, port=server.port)
    assert complete(model) == "al()"
    assert other.shown(other.asked[0]).endswith("return tot⟨<fim_suffix>⟩\n\nend = 1\n⟨<fim_middle>⟩")
    assert model.info.context_tokens == 512


def test_another_model_behind_a_pause_is_noticed_before_it_is_asked(replaying: Serve, monkeypatch: pytest.MonkeyPatch):
    llama = Llama(*QWEN, PAD)
    server = replaying(llama.routes)
    model = open_at(server.url)
    complete(model)
    monkeypatch.setattr("weft.llm.http.model.PROBE_VALID_S", 0.0)
    other = Llama("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<|endoftext|>", media_marker="2")
    server.routes = other.routes
    complete(model)
    assert other.shown(other.asked[0]).endswith("⟨<fim_middle>⟩")


def test_the_same_server_after_a_pause_is_asked_one_question(replaying: Serve, monkeypatch: pytest.MonkeyPatch):
    server = replaying(Llama(*QWEN, PAD).routes)
    model = open_at(server.url)
    complete(model)
    monkeypatch.setattr("weft.llm.http.model.PROBE_VALID_S", 0.0)
    n_asked = len(server.asked)
    complete(model)
    assert [reply.path for reply in server.asked[n_asked:]] == ["/props", "/completion"]


def test_the_model_can_be_asked_in_words_though_it_has_tokens(replaying: Serve):
    llama = Llama(*QWEN, PAD, "<|im_start|>", chat_template="<|im_start|>")
    said = {"choices": [{"delta": {"content": "```python\ntotal()\n```"}}]}
    server = replaying({**llama.routes, "POST /v1/chat/completions": lambda reply: reply.events(said, "data: [DONE]")})
    model = open_at(server.url, fim="chat")
    assert complete(model, replace(REQUEST, prefix="x = 1\n" * 300 + REQUEST.prefix)) == "al()"
    assert llama.asked == []
    assert len(server.asked_for("/tokenize")) < 8


def test_a_server_of_several_models_is_sent_to_the_other_backend(replaying: Serve):
    model = open_at(replaying({"GET /props": {"role": "router", "default_generation_settings": {"n_ctx": 0}}}).url)
    with pytest.raises(ModelMissing, match='backend = "openai"'):
        complete(model)


def test_another_kind_of_server_is_sent_to_the_other_backend(replaying: Serve):
    with pytest.raises(ModelMissing, match=r'no /props.*backend = "openai"'):
        complete(open_at(replaying({"GET /v1/models": {"data": []}}).url))


@pytest.mark.parametrize("fim", ["chat", "suffix"])
def test_a_way_that_the_model_does_not_have_is_said(replaying: Serve, fim: str):
    with pytest.raises(ModelMissing, match=f'fim = "{fim}"'):
        complete(open_at(replaying(Llama(*QWEN, PAD).routes).url, fim=fim))


def test_an_answer_that_is_no_completion_is_said_to_be_none(replaying: Serve):
    server = replaying({**Llama(*QWEN, PAD).routes, "POST /completion": lambda reply: reply.events("<html>")})
    with pytest.raises(ModelUnreachable, match="without completions"):
        complete(open_at(server.url))


def test_a_cancelled_request_ends_quietly_before_anything_is_asked(replaying: Serve):
    server = replaying(Llama(*QWEN, PAD).routes)
    cancel = Cancel()
    cancel.cancel()
    assert list(open_at(server.url).stream(REQUEST, cancel)) == []
    assert server.asked_for("/completion") == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["delta", "content"]), inner),
    max_leaves=5,
)
EVENTS = st.dictionaries(st.sampled_from(["content", "tokens", "timings", "choices", "prompt_progress"]), VALUES)


@given(EVENTS)
def test_events_of_any_shape_are_text_or_nothing(event: dict[str, Any]):
    model = open_at("http://127.0.0.1:1")
    assert isinstance(model, LlamaCppServer)
    for piece in (model._parse_event(event), model._parse_chat_event(event)):
        assert piece is None or isinstance(piece.text, str)


@pytest.mark.parametrize("props", [[], "x", {}, {"default_generation_settings": 3, "chat_template": [1]}])
@pytest.mark.parametrize("tokenized", [[], {}, {"tokens": "x"}, {"tokens": [None, {"id": 1}]}])
def test_a_server_that_answers_nonsense_is_an_error_that_can_be_named(replaying: Serve, props: Any, tokenized: Any):
    server = replaying({"GET /props": props, "POST /tokenize": tokenized})
    with pytest.raises(ModelError):
        complete(open_at(server.url))


TEXTS = st.lists(st.text(alphabet="ab\n ", max_size=6), max_size=8)


def by_word(content: list[str | int], _: Cancel) -> list[int]:
    """A tokenizer whose tokens are runs of letters, single spaces and single line breaks."""
    parts = [[part] if isinstance(part, int) else re.findall(r"[ab]+|.|\n", part) for part in content]
    return [token if isinstance(token, int) else sum(map(ord, token)) for part in parts for token in part]


@given(TEXTS)
def test_texts_have_the_tokens_that_they_have_alone(texts: list[str]):
    tokens = ServerTokenizer(by_word)
    alone = [tuple(by_word([text], Cancel())) for text in texts]
    assert tokens.encode(texts, Cancel()) == tokens.encode(texts, Cancel()) == alone


@given(TEXTS, st.integers(0, 30))
def test_counting_ends_with_what_was_counted_exactly(texts: list[str], budget: int):
    def fitting(count: Callable[[str], int]) -> list[str]:
        chosen: list[str] = []
        for text in texts:
            if sum(map(count, chosen)) + count(text) <= budget:
                chosen.append(text)
        return chosen

    assert ServerTokenizer(by_word).build_with_counts(fitting, Cancel()) == fitting(
        lambda text: len(by_word([text], Cancel()))
    )


def test_texts_that_were_not_used_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("weft.llm.http.server_tokenizer.MAX_CACHED_CHARACTERS", 4)
    asked: list[list[str | int]] = []

    def tokenize(content: list[str | int], cancel: Cancel) -> list[int]:
        asked.append(content)
        return by_word(content, cancel)

    tokens = ServerTokenizer(tokenize)
    for text in ("aa", "bb", "aa", "ab", "aa", "bb"):
        tokens.encode([text], Cancel())
    assert [content[0] for content in asked] == ["aa", "bb", "ab", "bb"]


@pytest.mark.parametrize("fim", ["", "chat", "none"])
def test_a_whole_prompt_is_sent_as_it_is(replaying: Serve, fim: str):
    llama = Llama(*QWEN, PAD, "<|im_start|>", chat_template="<|im_start|>")
    parts = (
        PromptPart("<|file_sep|>", special=True),
        PromptPart("a <|file_sep|>\n"),
        PromptPart("<|no|>", special=True),
    )
    model = open_at(replaying(llama.routes).url, fim=fim)
    assert complete(model, replace(REQUEST, prompt=parts, single_line=False)) == "al()"
    assert llama.shown(llama.asked[0]) == "⟨<|file_sep|>⟩a <|file_sep|>\n<|no|>"


def test_a_whole_prompt_that_is_too_long_is_an_error_and_the_next_one_is_to_be_shorter(replaying: Serve):
    llama = Llama(*QWEN, PAD)
    said = "the request exceeds the available context size, try increasing it"
    error = {"error": {"code": 400, "message": said, "type": "exceed_context_size_error"}}
    server = replaying({**llama.routes, "POST /completion": lambda reply: reply.json(error, 400)})
    model = open_at(server.url)
    request = replace(REQUEST, prompt=(PromptPart("x = 1\n" * 100),), single_line=False)
    with pytest.raises(ModelError, match="too long for coder"):
        complete(model, request)
    assert model.info.context_tokens == 2048
    assert len([reply for reply in server.asked if reply.path == "/completion"]) == 1
