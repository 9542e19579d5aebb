"""The beacon memory behind MemoRAG: a text kept in a fraction of its keys and values, asked, saved, loaded, refused.

The model is tiny and random: what it writes means nothing, but it follows from what it was shown.
"""

from __future__ import annotations

import gc
import json
import shutil
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

for _name in ("torch", "transformers", "tokenizers", "safetensors"):
    pytest.importorskip(_name, reason=f"a beacon memory needs {_name}: the extra local")

import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from weft.errors import ModelError  # noqa: E402
from weft.llm.local.prefix_cache import PrefixCacheError, PrefixCachingModel  # noqa: E402
from weft.llm.local.tokenizer import HfTokenizer  # noqa: E402
from weft.llm.prompting.chat_template import load_chat_template, template_in  # noqa: E402
from weft.llm.protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelMissing  # noqa: E402
from weft.llm.training.tokenizer import TrainingTokenizer, train_tokenizer  # noqa: E402
from weft.memory import Budget, Item, MeteredModel, Question, StrategyContext  # noqa: E402
from weft.memory.memorag import GistPlan, MemoRAG, MemoRAGSettings  # noqa: E402
from weft.memory.memorag.beacon import BeaconError  # noqa: E402
from weft.memory.memorag.beacon.backend import BeaconSettings, open_beacon  # noqa: E402
from weft.memory.memorag.beacon.chat_model import BeaconChatModel, CachedText  # noqa: E402
from weft.memory.memorag.beacon.checkpoint import load_beacon, save_beacon  # noqa: E402
from weft.memory.memorag.beacon.model import BeaconModel  # noqa: E402
from weft.server.chat.generation import StreamCallbacks  # noqa: E402
from weft.server.config import Config, MemoryOptions  # noqa: E402
from weft.server.models.beacon_reader import _opened, reader_of  # noqa: E402
from weft.server.workspace.workspace import Workspace  # noqa: E402

pytestmark = pytest.mark.local

WINDOW = 64
ALL = Budget()
THINGS = ("fox", "lamp", "violin")
STORY = " ".join(f"Shop {i} has a sign with a {THINGS[i % 3]}." for i in range(36))
WHO = Question("Who has the violin?")
TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(autouse=True)
def one_thread_and_short_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr("weft.llm.local.engines.torch_engine.DEFAULT_THREADS", 1)
    for name in ("CLUE_TOKENS", "KEY_POINT_TOKENS", "ANSWER_TOKENS"):
        monkeypatch.setattr(f"weft.memory.memorag.backends.{name}", 40)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base`, a model that chats, and `weights`, beacon weights for it."""
    made: Path = tmp_path_factory.mktemp("beacon")
    make_base(made / "base", seed=0)
    save_beacon(random_beacon(made / "base", seed=1), made / "weights", ratios=(2, 4, 8))
    return made


def make_base(folder: Path, seed: int) -> None:
    folder.mkdir()
    train_tokenizer([STORY, "Copy them from the text word for word."], 400).save(folder / "tokenizer.json")
    n_vocabulary = TrainingTokenizer.load(folder / "tokenizer.json").n_vocabulary
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=n_vocabulary, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=1024, bos_token_id=None, eos_token_id=0,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    for weight in model.parameters():
        weight.data.mul_(6)  # spread out, so that attention chooses
    model.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


def random_beacon(base: Path, seed: int, placement: Any = "interleaved") -> BeaconModel:
    model = BeaconModel.wrap(LlamaForCausalLM.from_pretrained(base), WINDOW, placement)
    torch.manual_seed(seed)
    for _, weight in model.beacon_parameters():
        weight.data += torch.randn_like(weight) * weight.std()
    return model


Make = Callable[..., BeaconChatModel]


@pytest.fixture
def reader(folder: Path) -> Make:
    def make(ratio: str = "4", base: str = "base", weights: str = "weights") -> BeaconChatModel:
        at = folder / weights if weights else ""
        return open_beacon(BeaconSettings(str(folder / base), str(at), ratio, "cpu"))

    return make


def memorag(model: Any, text: str = STORY, **settings: Any) -> MemoRAG:
    made = MemoRAG(
        StrategyContext(MeteredModel(model)), MemoRAGSettings(**{"segment_tokens": 40, "answer_tokens": 16, **settings})
    )
    made.remember([Item("shops.txt", text)])
    return made


def backend_of(recalled: Any) -> str:
    return next(step.detail["backend"] for step in recalled.trace if step.name == "memory")


def clues_of(recalled: Any) -> Any:
    return next(step.detail for step in recalled.trace if step.name == "clues")


def article(text: str) -> tuple[Message, ...]:
    return (Message("user", text), Message("assistant", "Read."))


def ask(question: str, before: tuple[Message, ...] = (), n: int = 24) -> ChatRequest:
    return ChatRequest((*before, Message("user", question)), max_new_tokens=n)


def said(pieces: Any) -> str:
    return "".join(piece.text for piece in pieces)


def held(model: BeaconChatModel) -> list[CachedText]:
    return [text for text in model._texts if text.is_cached]


def counted(model: BeaconChatModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens of each call that reads."""
    assert model._model is not None
    blocks, read = list[int](), model._model.read

    def counting(memory: Any, tokens: Any, ratio_of: Any) -> Any:
        blocks.append(tokens.shape[1])
        return read(memory, tokens, ratio_of)

    monkeypatch.setattr(model._model, "read", counting)
    return blocks


# Through the strategy.


def test_a_text_is_kept_in_a_fraction_gives_clues_and_an_answer(reader: Make):
    model = reader()
    made = memorag(model, draft=True)
    answer = made.answer(WHO)
    assert backend_of(answer.recalled) == "beacon"
    assert set(clues_of(answer.recalled)) >= {"span", "surrogate", "draft"}
    assert any("violin" in each.segment.text for each in answer.recalled.evidence)
    assert answer.text
    assert answer.cost.n_calls == 4
    (text,) = held(model)
    assert text.memory is not None
    n_read = len(text.tokens)
    assert n_read > 8 * WINDOW
    assert text.memory.n_cached == n_read // WINDOW * WINDOW // 4 + n_read % WINDOW


def test_a_text_is_read_once_for_many_questions_and_many_strategies(reader: Make, monkeypatch: pytest.MonkeyPatch):
    model = reader()
    blocks = counted(model, monkeypatch)
    made = memorag(model)
    first = made.recall(WHO, ALL)
    assert sum(blocks) > 400
    blocks.clear()
    made.recall(Question("Who has the fox?"), ALL)
    assert made.recall(WHO, ALL) == first
    assert memorag(model).recall(WHO, ALL) == first
    assert max(blocks) < 2 * WINDOW
    assert sum(blocks) < 3 * 400


def test_the_memory_model_is_another_one_than_the_model_that_answers(reader: Make, scripted_chat: Any):
    reads, answers = MeteredModel(reader()), MeteredModel(scripted_chat(lambda messages: "Shop 2."))
    made = MemoRAG(StrategyContext(answers, memory_model=reads), MemoRAGSettings(segment_tokens=40))
    made.remember([Item("shops.txt", STORY)])
    answer = made.answer(WHO)
    assert (answer.text, answer.model) == ("Shop 2.", "scripted")
    assert backend_of(answer.recalled) == "beacon"
    assert answers.usage.total.n_calls == 1
    assert reads.usage.total.n_calls == 2
    assert answer.cost.n_calls == 3


def test_an_answer_from_memory_alone_and_a_summary(reader: Make):
    made = memorag(reader())
    from_memory = made.answer(replace(WHO), None)
    assert from_memory.text
    assert memorag(reader(), task="qa").answer(WHO).recalled.evidence == ()
    assert "key point" in clues_of(memorag(reader()).recall(Question("Sum it up.", task="summary"), ALL))


def test_reset_gives_the_memory_back_and_the_next_question_reads_again(reader: Make):
    model = reader()
    made = memorag(model)
    expected = made.recall(WHO, ALL)
    memory = weakref.ref(held(model)[0].memory.keys[0])
    made.reset()
    gc.collect()
    assert memory() is None
    assert made.recall(WHO, ALL) == expected


def test_another_text_takes_the_place_of_the_old_one(reader: Make):
    model = reader()
    made = memorag(model)
    before = made.recall(WHO, ALL)
    made.remember([Item("shops.txt", "It has burnt down. " * 60)])
    assert made.recall(WHO, ALL) != before
    assert len(held(model)) == 1


def test_reading_is_cancelled_between_two_windows(reader: Make, monkeypatch: pytest.MonkeyPatch):
    model, cancel = reader(), Cancel()
    assert model._model is not None
    read, n_reads = model._model.read, 0

    def reading(*given: Any) -> Any:
        nonlocal n_reads
        n_reads += 1
        if n_reads == 3:
            cancel.cancel()
        return read(*given)

    monkeypatch.setattr(model._model, "read", reading)
    made = memorag(model)
    assert made.recall(WHO, ALL, cancel).evidence == ()
    assert n_reads == 3
    assert made.recall(WHO, ALL).evidence


def test_an_answer_is_cancelled_between_two_tokens(reader: Make):
    model, cancel = reader(), Cancel()
    pieces = model.cache_prefix(article(STORY)).chat(ask("Who?", n=500), cancel)
    next(pieces)
    cancel.cancel()
    assert len(list(pieces)) <= 1
    assert said(model.chat(ask("Who?"), Cancel()))


# What the memory is.


def test_what_is_said_follows_from_the_memory(reader: Make):
    """Two texts that end alike: without their memory tokens they are the same to the model, with them they are not."""
    model = reader()
    sentences = STORY.split(" Shop ")[1:]
    end = " It is quiet there." * 40
    texts = [
        model.cache_prefix(article(f"Shop {' Shop '.join(['0 is closed.', *order])}{end}"))
        for order in (sentences, sentences[::-1])
    ]
    first, second = (text._cached.memory for text in texts)
    assert first.n_tokens == second.n_tokens
    assert torch.equal(first.open_tokens, second.open_tokens)
    question = ask("Who has the violin?", n=48)
    with_memory = [said(text.chat(question, Cancel())) for text in texts]
    assert with_memory[0] != with_memory[1]
    nothing = model._model.empty()
    for text in texts:
        text._cached.memory = replace(text._cached.memory, keys=nothing.keys, values=nothing.values)
    without = [said(text.chat(question, Cancel())) for text in texts]
    assert without[0] == without[1]


def test_a_kept_text_answers_as_the_whole_conversation_read_anew(reader: Make):
    kept, fresh = reader().cache_prefix(article(STORY)), reader()
    for question in ("Who has the violin?", "And the lamp?", "Who has the violin?"):
        expected = said(fresh.chat(ask(question, article(STORY)), Cancel()))
        assert said(kept.chat(ask(question), Cancel())) == expected
    assert not held(fresh)


def test_what_is_kept_of_a_short_text_is_what_the_base_model_keeps(reader: Make, folder: Path):
    model = reader()
    messages = (Message("user", "Who?"),)
    tokens = torch.tensor([list(model.conversation_tokens(messages))])
    assert tokens.shape[1] + 8 < WINDOW
    base = LlamaForCausalLM.from_pretrained(folder / "base")
    written = base.generate(tokens, max_new_tokens=8, do_sample=False)[0, tokens.shape[1] :]
    letters = b"".join(map(model._tokenizer.bytes_of, written.tolist()))
    assert said(model.chat(ChatRequest(messages, 8), Cancel())) == letters.decode("utf-8", "replace")


def test_two_questions_at_once_get_what_each_gets_alone(reader: Make):
    model = reader()
    kept = model.cache_prefix(article(STORY))
    questions = ["Who has the violin?", "Who has the fox?", "And who the lamp?"]
    alone = [said(kept.chat(ask(question), Cancel())) for question in questions]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda question: said(kept.chat(ask(question), Cancel())), questions)) == alone
    # A turn is a token: who leaves an answer for a while holds nobody up.
    pieces = zip(*(kept.chat(ask(question), Cancel()) for question in questions), strict=False)
    assert all(whole.startswith(said(begun)) for whole, begun in zip(alone, zip(*pieces, strict=True), strict=True))


def test_two_who_keep_the_same_text_share_it_and_each_may_let_it_go(reader: Make):
    model = reader()
    first, second = model.cache_prefix(article(STORY)), model.cache_prefix(article(STORY))
    assert len(held(model)) == 1
    expected = said(second.chat(ask("Who?"), Cancel()))
    first.close()
    assert not held(model)
    assert said(second.chat(ask("Who?"), Cancel())) == expected
    assert second.is_cached


@pytest.mark.parametrize("ratio", ["2", "8", "sequence:2,4", "adapt-64", "instance-random", "step-random"])
def test_every_policy_gives_the_same_memory_each_time(reader: Make, ratio: str):
    first, second = (reader(ratio).cache_prefix(article(STORY)) for _ in range(2))
    assert said(first.chat(ask("Who?"), Cancel())) == said(second.chat(ask("Who?"), Cancel()))


def test_adaptive_takes_the_smallest_ratio_that_is_enough(reader: Make):
    n_cached = []
    for times in (1, 4):
        kept = reader("adapt-600").cache_prefix(article(STORY * times))
        memory = kept._cached.memory
        n_cached.append((memory.n_tokens - memory.n_open) // memory.n_memory)
    assert n_cached == [2, 4]


def test_what_is_drawn_differs_and_a_penalty_changes_the_text(reader: Make):
    model = reader()
    kept = model.cache_prefix(article(STORY))
    likeliest = said(kept.chat(ask("Who?"), Cancel()))
    assert said(kept.chat(replace(ask("Who?"), temperature=2.0), Cancel())) != likeliest
    assert said(kept.chat(replace(ask("Who?"), repetition_penalty=10.0), Cancel())) != likeliest
    assert said(kept.chat(ask("Who?"), Cancel())) == likeliest


# On disk.


def test_saved_and_loaded_it_says_the_same_and_reads_nothing_but_questions(
    reader: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = memorag(reader(), draft=True)
    expected = made.answer(WHO)
    made.save(tmp_path)
    other = reader()
    blocks = counted(other, monkeypatch)
    loaded = MemoRAG(
        StrategyContext(MeteredModel(other)), MemoRAGSettings(segment_tokens=40, answer_tokens=16, draft=True)
    )
    loaded.load(tmp_path)
    assert not blocks
    again = loaded.answer(WHO)
    assert (again.text, again.recalled) == (expected.text, expected.recalled)
    assert loaded.recall(Question("And the lamp?"), ALL) == made.recall(Question("And the lamp?"), ALL)


def test_16_bit_weights_are_saved_and_loaded_as_they_are(folder: Path, tmp_path: Path):
    def half() -> BeaconChatModel:
        base = LlamaForCausalLM.from_pretrained(folder / "base", dtype=torch.bfloat16)
        tokenizer = HfTokenizer.open(folder / "base")
        chat_tokens, _ = load_chat_template(tokenizer=tokenizer, **template_in(folder / "base"))
        model = load_beacon(base, folder / "weights")
        return BeaconChatModel(model, tokenizer, chat_tokens, name="half", ratio="4", ratios=(4,), weights=str)

    kept = half().cache_prefix(article(STORY))
    kept.save(tmp_path)
    loaded = half().load_prefix(tmp_path)
    assert loaded._cached.memory.keys[0].dtype == torch.bfloat16
    assert said(loaded.chat(ask("Who?"), Cancel())) == said(kept.chat(ask("Who?"), Cancel()))


def test_the_file_is_smaller_by_the_ratio(reader: Make, tmp_path: Path):
    sizes = []
    for ratio in ("2", "8"):
        reader(ratio).cache_prefix(article(STORY * 2)).save(tmp_path / ratio)
        sizes.append((tmp_path / ratio / "prefix.safetensors").stat().st_size)
    assert sizes[0] / sizes[1] > 3


def test_another_ratio_or_other_weights_are_refused(reader: Make, folder: Path, tmp_path: Path):
    memorag(reader()).save(tmp_path / "whole")
    with pytest.raises(ModelError, match=r"is a memory of .*ratio 4.*ratio 8.*memorize the text again"):
        memorag(reader("8")).load(tmp_path / "whole")
    reader().cache_prefix(article(STORY)).save(tmp_path / "kept")
    with pytest.raises(ModelError, match="another format of keys and values"):
        reader("8").load_prefix(tmp_path / "kept")
    save_beacon(random_beacon(folder / "base", seed=2), tmp_path / "weights", ratios=(2, 4, 8))
    with pytest.raises(ModelError, match="another set of weights"):
        reader(weights=str(tmp_path / "weights")).load_prefix(tmp_path / "kept")


def test_appended_memory_tokens_keep_a_text_answer_and_are_another_format(reader: Make, folder: Path, tmp_path: Path):
    save_beacon(random_beacon(folder / "base", 1, "appended"), tmp_path / "weights", ratios=(2, 4, 8))
    model = reader(weights=str(tmp_path / "weights"))
    memory = memorag(model)
    answer = memory.answer(Question("Who keeps the shop?"))
    assert answer.text and backend_of(answer.recalled) == "beacon"
    model.cache_prefix(article(STORY)).save(tmp_path / "kept")
    assert reader(weights=str(tmp_path / "weights")).load_prefix(tmp_path / "kept").n_tokens > WINDOW
    form = model.identity.cache
    assert form.endswith(", appended") and form.removesuffix(", appended") == reader().identity.cache


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda at: (at / "prefix.safetensors").unlink(), "no complete prefix cache"),
        (lambda at: (at / "prefix.safetensors").write_bytes(b"\x10" * 100), "no complete prefix cache"),
        (lambda at: (at / "manifest.json").unlink(), "no complete prefix cache"),
        (lambda at: (at / "messages.json").write_text('[["user", "Another text."]]'), "was changed"),
        (lambda at: shutil.rmtree(at), "no complete prefix cache"),
    ],
)
def test_a_folder_that_is_not_whole_or_of_another_text_is_refused(
    reader: Make, tmp_path: Path, change: Callable[[Path], Any], says: str
):
    model = reader()
    model.cache_prefix(article(STORY)).save(tmp_path / "kept")
    change(tmp_path / "kept")
    with pytest.raises(ModelError, match=says):
        model.load_prefix(tmp_path / "kept")


def test_a_saved_text_without_its_memory_is_refused_and_not_read_again(reader: Make, tmp_path: Path):
    memorag(reader()).save(tmp_path)
    shutil.rmtree(tmp_path / "memory" / "kept")
    with pytest.raises(ModelError, match="no complete prefix cache"):
        memorag(reader()).load(tmp_path)


def test_arrays_of_another_shape_are_refused(reader: Make, tmp_path: Path):
    model = reader()
    model.cache_prefix(article(STORY)).save(tmp_path)
    arrays = load_file(tmp_path / "prefix.safetensors")
    save_file({**arrays, "keys.0": arrays["keys.0"][:, :1].contiguous()}, tmp_path / "prefix.safetensors")
    with pytest.raises(ModelError, match="wrong shape"):
        model.load_prefix(tmp_path)
    del arrays["values.1"]
    save_file(arrays, tmp_path / "prefix.safetensors")
    with pytest.raises(ModelError, match="is unusable"):
        model.load_prefix(tmp_path)


# In a workspace.


def test_the_settings_open_it_once_and_memorag_asks_it(
    folder: Path, project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    options = MemoryOptions(
        embeddings="hashing",
        beacon_model=str(folder / "base"),
        beacon_weights=str(folder / "weights"),
        beacon_ratio="4",
    )
    folder_of_shops = project("#- docs/shops.md\n# Shops\n\n" + STORY.replace(". ", ".\n"))
    with Workspace([folder_of_shops], Config(memory=options), cache=False) as workspace:
        workspace.index()
        told: list[str] = []
        reply = workspace.ask(WHO.text, strategy="memorag", callbacks=StreamCallbacks(on_note=told.append))
        reader, why = reader_of(options)
        assert isinstance(reader, BeaconChatModel)
        blocks = counted(reader, monkeypatch)
        again = workspace.ask(WHO.text, strategy="memorag")
    assert why in reply.notes
    assert told[0].startswith("memorag calls base with weights (ratio 4)")
    assert reply.model == again.model == "base with weights (ratio 4)"
    assert reply.cost.n_calls == again.cost.n_calls == 3
    assert {item.path for item in reply.evidence.items} == {"docs/shops.md"}
    assert sum(blocks[:2]) < 400  # the text is not read again
    reader.close()
    _opened.cache_clear()


# What is opened, and what is refused.


def test_a_checkpoint_with_both_in_one_folder_is_opened(
    reader: Make, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    """As the published ones are: weights of base and beacon together, and a configuration that says so."""
    shutil.copytree(folder / "base", tmp_path / "both")
    at = tmp_path / "both" / "model.safetensors"
    both = {**load_file(at), **load_file(folder / "weights" / "beacon.safetensors")}
    save_file(both, at, {"format": "pt"})
    config = json.loads((tmp_path / "both" / "config.json").read_text())
    own_code = {"AutoConfig": "configuration_own.Config", "AutoModelForCausalLM": "modeling_own.Model"}  # never run
    config |= {"beacon_window": WINDOW, "beacon_stride": WINDOW, "auto_map": own_code}
    (tmp_path / "both" / "config.json").write_text(json.dumps(config))
    capfd.readouterr()
    published = open_beacon(BeaconSettings(str(tmp_path / "both"), "", "4", "cpu"))
    assert capfd.readouterr() == ("", "")
    ours = reader()
    for question in ("Who has the violin?", "Who has the fox?"):
        answers = [
            said(model.cache_prefix(article(STORY)).chat(ask(question), Cancel())) for model in (published, ours)
        ]
        assert answers[0] == answers[1]


def test_what_is_missing_or_of_another_model_is_named(reader: Make, folder: Path, tmp_path: Path):
    with pytest.raises(ModelMissing, match=r"memory\.beacon_model"):
        open_beacon(BeaconSettings(""))
    with pytest.raises(ModelMissing, match="does not exist"):
        open_beacon(BeaconSettings(str(tmp_path / "none")))
    with pytest.raises(BeaconError, match=r"says nothing of a beacon memory.*memory.beacon_weights"):
        reader(weights="")
    with pytest.raises(ModelMissing, match=r"no beacon weights.*beacon.training"):
        reader(weights="nowhere")
    if not (folder / "other").exists():
        make_base(folder / "other", seed=5)
    with pytest.raises(BeaconError, match="another model of this architecture"):
        reader(base="other")
    with pytest.raises(BeaconError, match="not a ratio policy"):
        reader("four")
    shutil.copytree(folder / "base", tmp_path / "mute")
    (tmp_path / "mute" / "chat_template.jinja").unlink()
    with pytest.raises(ModelMissing, match="is not a chat model"):
        open_beacon(BeaconSettings(str(tmp_path / "mute"), str(folder / "weights")))


def test_a_text_that_is_too_long_names_the_ratio_that_holds_it(reader: Make):
    with pytest.raises(PrefixCacheError, match=r"ratio 2,.*with ratio 4"):
        reader("2").cache_prefix(article(STORY * 6))
    with pytest.raises(ModelError, match=r"with ratio 4.*memory.beacon_ratio.*memory backend `lite`"):
        memorag(reader("2"), STORY * 6, backend="beacon").recall(WHO, ALL)
    assert backend_of(memorag(reader("4"), STORY * 6).recall(WHO, ALL)) == "beacon"


def test_at_the_edge_of_what_it_holds_a_text_is_kept_or_made_shorter_but_not_refused(reader: Make):
    model, kinds = reader("2"), list[str]()
    for n_words in range(322, 342, 4):
        made = memorag(model, "A word. " * n_words, spans=False, surrogates=False, gists=GistPlan(800, 20))
        memory = made.memorize()
        assert memory is not None
        kinds.append(memory.name)
    assert kinds == sorted(kinds)
    assert set(kinds) == {"beacon", "lite"}


def test_the_memory_must_suit_the_model(reader: Make, toy_chat_model: Any):
    with pytest.raises(ModelError, match="Use `beacon` for a model with beacon weights"):
        memorag(reader(), backend="kv").recall(WHO, ALL)
    with pytest.raises(ModelError, match="`open_beacon` in Python"):
        memorag(toy_chat_model(context_tokens=8192), backend="beacon").recall(WHO, ALL)


def test_it_keeps_texts_and_does_nothing_else(reader: Make):
    model = reader()
    assert isinstance(model, PrefixCachingModel)
    with pytest.raises(ModelError, match="does not complete code"):
        model.stream(CompletionRequest("a.py", "python", "", ""), Cancel())
    model.close()
    with pytest.raises(ModelError, match="is closed"):
        list(model.chat(ask("Who?"), Cancel()))


def test_what_fails_in_the_middle_is_an_error_that_says_the_next_step(reader: Make, monkeypatch: pytest.MonkeyPatch):
    model = reader()
    for error, says in ((RuntimeError("out of memory"), "larger ratio"), (IndexError("no"), "failed: no")):
        with monkeypatch.context() as patch:
            patch.setattr(model._model, "read", lambda *given, error=error: (_ for _ in ()).throw(error))
            with pytest.raises(ModelError, match=says):
                model.cache_prefix(article(STORY))
    assert model.cache_prefix(article(STORY)).is_cached
