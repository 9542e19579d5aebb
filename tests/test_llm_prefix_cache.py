"""A beginning that is read once: kept over many questions, saved, loaded, and refused when it is another."""

from __future__ import annotations

import gc
import json
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.kv_cache import MOST_SLOTS, Slots
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.local.prefix_cache import CannotKeep, Keeper, files_hash, shared_tokens
from weft.llm.local.tensor_file import read_tensors, write_tensors
from weft.llm.protocol import Cancel, ChatRequest, Message, ModelError

same_engine = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
ARTICLE = (Message("user", "Read this. " + "A fox lived in the wood. " * 20), Message("assistant", "I have read it."))
QUESTIONS = ("Who lived there?", "Where?", "Why did it leave the wood so late in the year?", "Who lived there?")


Make = Callable[..., LocalModel]
Template = Callable[[Sequence[Message]], "list[int]"]


@pytest.fixture
def model(toy_chat_model: Make) -> Make:
    return toy_chat_model


def ask(question: str, n: int = 12, before: Sequence[Message] = ()) -> ChatRequest:
    return ChatRequest((*before, Message("user", question)), max_new_tokens=n)


def said(pieces: Any) -> str:
    return "".join(piece.text for piece in pieces)


def from_a_full_prompt(fresh: LocalModel, question: str) -> str:
    return said(fresh.chat(ask(question, before=ARTICLE), Cancel()))


def test_a_model_in_this_process_can_keep(model: Make):
    assert isinstance(model(), Keeper)


def test_many_questions_get_what_full_prompts_get_and_the_beginning_is_read_once(model: Make):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    held = kept_by.engine.caches[-1]
    n_read = len(kept_by.engine.blocks)
    for question in QUESTIONS:
        assert said(kept.chat(ask(question), Cancel())) == from_a_full_prompt(model(), question)
        assert len(held) == kept.n_tokens  # cropped back
    assert max(kept_by.engine.blocks[n_read:]) < kept.n_tokens / 4
    assert any(held is cache for cache in kept_by.engine.caches)


def test_the_same_conversation_sent_whole_uses_what_is_kept(model: Make):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    said(kept_by.chat(ask("Who?", before=ARTICLE), Cancel()))
    assert kept_by.last_report.reused_tokens >= kept.n_tokens


def test_other_conversations_and_many_of_them_leave_what_is_kept_alone(model: Make):
    kept_by = model(cache_bytes=20_000)  # of 10 a token
    kept = kept_by.keep(ARTICLE)
    for number in range(2 * MOST_SLOTS):
        said(kept_by.chat(ask(f"{number} is another thing " * 9), Cancel()))
    assert kept.is_held
    said(kept.chat(ask("Who?"), Cancel()))
    assert kept_by.last_report.reused_tokens == kept.n_tokens


def test_let_go_it_is_a_slot_like_others(model: Make):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    kept.close()
    kept.close()
    assert not kept.is_held
    for number in range(2 * MOST_SLOTS):
        said(kept_by.chat(ask(f"{number} is another thing " * 9), Cancel()))
    assert all(len(cache) < kept.n_tokens for cache in kept_by.engine.caches)


def test_what_nobody_has_any_more_is_let_go(model: Make):
    kept_by = model()
    for number in range(20):
        kept_by.keep((Message("user", f"{number} is a text. " * 30), Message("assistant", "Read.")))
    gc.collect()
    said(kept_by.chat(ask("Who?"), Cancel()))
    assert len(kept_by.engine.caches) <= MOST_SLOTS


def test_it_is_read_again_when_it_was_lost(model: Make):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    kept_by.engine.before_read = lambda: (_ for _ in ()).throw(RuntimeError("broken"))
    with pytest.raises(ModelError, match="broken"):
        said(kept.chat(ask("Who?"), Cancel()))
    assert not kept.is_held
    kept_by.engine.before_read = lambda: None
    assert said(kept.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert kept.is_held


@same_engine
@given(after_calls=st.integers(0, 12))
def test_cancelled_anywhere_in_an_answer_the_beginning_stays(model: Make, after_calls: int):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    cancel, n_calls = Cancel(), 0

    def count() -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls > after_calls:
            cancel.cancel()

    kept_by.engine.before_read = count
    said(kept.chat(ask("Where does it live now?"), cancel))
    kept_by.engine.before_read = lambda: None
    assert said(kept.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert kept_by.last_report.reused_tokens == kept.n_tokens


def test_reading_that_is_cancelled_keeps_nothing_and_says_so(model: Make):
    kept_by = model()
    cancel = Cancel()
    kept_by.engine.before_read = cancel.cancel
    with pytest.raises(ModelError, match="cancelled"):
        kept_by.keep(ARTICLE, cancel)
    kept_by.engine.before_read = lambda: None
    assert kept_by.keep(ARTICLE).is_held


def test_questions_at_once_wait_for_each_other(model: Make):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    answers: dict[str, str] = {}

    def run(question: str) -> None:
        answers[question] = said(kept.chat(ask(question), Cancel()))

    threads = [threading.Thread(target=run, args=(question,)) for question in QUESTIONS[:3]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {question: from_a_full_prompt(model(), question) for question in QUESTIONS[:3]}
    assert sum(len(cache) >= kept.n_tokens for cache in kept_by.engine.caches) == 1


def test_two_texts_are_kept_beside_each_other(model: Make):
    kept_by = model()
    other = (Message("user", "Read this. " + "Bees dance. " * 30), Message("assistant", "I have read it."))
    both = [kept_by.keep(ARTICLE), kept_by.keep(other)]
    for kept in (*both, *both):
        said(kept.chat(ask("Who?"), Cancel()))
        assert kept_by.last_report.reused_tokens == kept.n_tokens


def test_a_text_that_goes_on_from_a_kept_one_takes_its_place_and_the_shorter_is_read_again(model: Make):
    kept_by = model()
    shorter = kept_by.keep(ARTICLE)
    longer = kept_by.keep((*ARTICLE, Message("user", "And this?"), Message("assistant", "That too.")))
    assert (shorter.is_held, longer.is_held) == (False, True)
    assert said(shorter.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert (shorter.is_held, longer.is_held) == (True, True)


def test_a_text_longer_than_the_context_is_refused_with_both_numbers(model: Make):
    with pytest.raises(CannotKeep, match=r"takes 5\d\d tokens, and toy has room for 600"):
        model(context_tokens=600).keep(ARTICLE)


def test_a_question_that_does_not_fit_behind_is_refused_and_nothing_is_cut(model: Make):
    kept = model(context_tokens=1200).keep(ARTICLE)
    with pytest.raises(ModelError, match="are too many behind them"):
        said(kept.chat(ask("Why? " * 200), Cancel()))
    assert kept.is_held


def test_without_memory_for_anything_else_nothing_is_kept(model: Make):
    kept_by = model()
    plain, engine = kept_by.engine.new_cache, kept_by.engine
    engine.new_cache = lambda: plain() if not engine.caches else (_ for _ in ()).throw(OutOfMemory())
    with pytest.raises(CannotKeep, match="no memory to keep"):
        kept_by.keep(ARTICLE)
    assert said(kept_by.chat(ask("Who?"), Cancel()))


def test_an_engine_that_cannot_forget_keeps_nothing_and_says_so(model: Make):
    with pytest.raises(ModelError, match="can't forget"):
        model(crops=False).keep(ARTICLE)


def test_a_model_without_a_template_keeps_nothing_and_says_so(model: Make):
    with pytest.raises(ModelError, match="no template"):
        model(template=None).keep(ARTICLE)


def test_what_every_question_leaves_alone_is_what_is_shared(chat_tokens: Template):
    tokens = shared_tokens(chat_tokens, ARTICLE)
    for question in ("Who?", "北", "\n", ""):
        assert chat_tokens((*ARTICLE, Message("user", question)))[: len(tokens)] == list(tokens)
    assert bytes(tokens).endswith(b"<u>")


def test_a_template_that_writes_the_beginning_by_what_follows_is_refused(model: Make, chat_tokens: Template):
    def counting(messages: Sequence[Message]) -> list[int]:
        return list(b"x" * len(messages[-1].text)) + chat_tokens(messages)

    kept = model(template=counting).keep(ARTICLE)
    with pytest.raises(ModelError, match="can't be kept"):
        said(kept.chat(ask(""), Cancel()))


def test_saved_and_loaded_it_answers_the_same_without_reading(model: Make, tmp_path: Path):
    model().keep(ARTICLE).save(tmp_path / "kept")
    other = model()
    kept = other.load_kept(tmp_path / "kept")
    assert (kept.messages, kept.is_held) == (ARTICLE, True)
    n_read = len(other.engine.blocks)
    assert said(kept.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert sum(other.engine.blocks[n_read:]) < 40


def change(folder: Path, **values: Any) -> None:
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"version": 2}, "version 2; this Weft reads 1"),
        ({"weights": "others"}, "another set of weights"),
        ({"tokenizer": "other"}, "another tokenizer"),
        ({"cache": "other"}, "another form of keys and values"),
        ({"context": "other"}, "was changed"),
        ({"n_tokens": 3}, "as other tokens"),
    ],
)
def test_what_is_of_something_else_is_refused(model: Make, tmp_path: Path, values: dict[str, Any], says: str):
    model().keep(ARTICLE).save(tmp_path)
    change(tmp_path, **values)
    with pytest.raises(ModelError, match=says):
        model().load_kept(tmp_path)


def test_other_weights_are_refused_and_named(model: Make, tmp_path: Path):
    model(seed=1).keep(ARTICLE).save(tmp_path)
    with pytest.raises(ModelError, match="another set of weights than toy has here"):
        model(seed=2).load_kept(tmp_path)


@pytest.mark.parametrize("lost", ["manifest.json", "messages.json", "prefix.safetensors"])
def test_a_folder_that_is_not_whole_is_refused(model: Make, tmp_path: Path, lost: str):
    model().keep(ARTICLE).save(tmp_path)
    (tmp_path / lost).unlink()
    with pytest.raises(ModelError, match="no whole memory"):
        model().load_kept(tmp_path)


def test_numbers_that_are_cut_short_are_refused(model: Make, tmp_path: Path):
    model().keep(ARTICLE).save(tmp_path)
    file = tmp_path / "prefix.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(ModelError, match="not whole"):
        model().load_kept(tmp_path)


def test_what_was_let_go_is_not_saved(model: Make, tmp_path: Path):
    kept = model().keep(ARTICLE)
    kept.close()
    with pytest.raises(ModelError, match="Nothing was saved"):
        kept.save(tmp_path / "kept")


def test_a_closed_model_frees_what_it_kept(model: Make):
    kept_by = model()
    kept = kept_by.keep(ARTICLE)
    kept_by.close()
    assert kept_by.engine.caches == []
    assert not kept.is_held


def test_weights_are_known_by_what_is_in_their_files(tmp_path: Path):
    first, second = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    first.write_bytes(bytes(300_000))
    second.write_bytes(bytes(150_000) + b"x" + bytes(149_999))
    copy = tmp_path / "copy" / "a.safetensors"
    copy.parent.mkdir()
    shutil.copy(first, copy)
    assert files_hash([first]) == files_hash([copy])
    second.rename(first)
    assert files_hash([first]) != files_hash([copy])


@given(
    st.dictionaries(
        st.text(max_size=9),
        st.tuples(st.sampled_from(["<f4", "<f2", "<u2", "|u1", "<i8"]), st.lists(st.integers(0, 4), max_size=4)),
        max_size=4,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_arrays_come_back_as_they_were(tmp_path: Path, shapes: dict[str, tuple[str, list[int]]]):
    generator = np.random.default_rng(0)
    arrays = {name: (generator.normal(size=shape) * 99).astype(kind) for name, (kind, shape) in shapes.items()}
    write_tensors(tmp_path / "t", arrays)
    found = read_tensors(tmp_path / "t")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("content", [b"", b"\x08", b"\xff" * 64, (2).to_bytes(8, "little") + b"[]", b"\0" * 80])
def test_what_is_no_tensor_file_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ValueError):
        read_tensors(tmp_path / "t")


@pytest.mark.local
def test_the_library_of_the_format_reads_what_is_written(tmp_path: Path):
    library = pytest.importorskip("safetensors.numpy", reason="needs safetensors")
    arrays = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.arange(5, dtype=np.uint8)}
    write_tensors(tmp_path / "ours", arrays)
    library.save_file(arrays, tmp_path / "theirs")
    for found in (library.load_file(tmp_path / "ours"), read_tensors(tmp_path / "theirs")):
        assert {name: array.tolist() for name, array in found.items()} == {n: a.tolist() for n, a in arrays.items()}


TEMPLATE = "{% for m in messages %}# {{ m.role }}\n{{ m.content }}\n{% endfor %}# assistant\n"
CODE = (
    Message("user", "def total(items):\n    return sum(item.price for item in items)\n\n\n" * 8),
    Message("assistant", "def main():\n    print(total([]))\n"),
)
NEXT = (
    "def cheapest(items):",
    "class Order:\n    price: int = 0",
    "import os, sys\n\nprint(os.",
    "def cheapest(items):",
)


def open_transformers(folder: Path, settings: LocalSettings) -> LocalModel:
    pytest.importorskip("torch", reason="needs torch")
    from weft.llm.local.transformers_model import open_transformers

    return open_transformers(folder / "transformers", settings=settings, device="cpu", threads=1)


def open_onnx(folder: Path, settings: LocalSettings) -> LocalModel:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    from weft.llm.local.onnx_model import open_onnx

    return open_onnx(folder / "onnx", settings=settings, threads=1)


def open_gguf(folder: Path, settings: LocalSettings) -> LocalModel:
    """As `open_gguf` does, but with a template: there is none in the file's header."""
    from weft.llm.local.engines.llama_engine import LlamaEngine, LlamaTokenizer
    from weft.llm.prompting.chat_template import read_conversations

    path = folder / "tiny-f32.gguf"
    engine = LlamaEngine(path, context_tokens=settings.context_tokens, cache_bytes=settings.cache_bytes, threads=1)
    tokenizer = LlamaTokenizer(engine.model)
    return LocalModel(
        engine,
        tokenizer,
        name="tiny",
        backend="llama.cpp",
        fim=None,
        settings=settings,
        chat_tokens=read_conversations(TEMPLATE, tokenizer)[0],
        weights=lambda: files_hash([path]),
    )


@pytest.fixture(scope="module")
def with_template(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with a template for conversations, as transformers and ONNX find it."""
    folder = tmp_path_factory.mktemp("tiny")
    for name in ("transformers", "onnx"):
        shutil.copytree(tiny_model / name, folder / name)
        (folder / name / "chat_template.jinja").write_text(TEMPLATE)
    (folder / "tiny-f32.gguf").symlink_to(tiny_model / "tiny-f32.gguf")
    return folder


@pytest.mark.local
@pytest.mark.parametrize("open_model", [open_transformers, open_onnx, open_gguf])
def test_a_real_model_answers_from_what_is_kept_saved_and_loaded_as_from_full_prompts(
    open_model: Callable[[Path, LocalSettings], LocalModel],
    with_template: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
):
    if open_model is open_gguf:
        request.getfixturevalue("llama_library")
    # Full prompts are read anew each time; so a difference can't be hidden by both reusing the same.
    fresh = open_model(with_template, LocalSettings(context_tokens=2048, prompt_ms=1_000_000, reuse=False))
    expected = [said(fresh.chat(ask(question, 24, CODE), Cancel())) for question in NEXT]
    assert all(expected)
    settings = LocalSettings(context_tokens=2048, prompt_ms=1_000_000)
    kept_by, loaded_by = open_model(with_template, settings), open_model(with_template, settings)
    kept = kept_by.keep(CODE)
    assert [said(kept.chat(ask(question, 24), Cancel())) for question in NEXT] == expected
    assert kept_by.last_report.reused_tokens == kept.n_tokens
    kept.save(tmp_path)
    loaded = loaded_by.load_kept(tmp_path)
    assert [said(loaded.chat(ask(question, 24), Cancel())) for question in NEXT] == expected
    assert loaded_by.last_report.reused_tokens == loaded.n_tokens
    for model in (fresh, kept_by, loaded_by):
        model.close()


@pytest.mark.local
@pytest.mark.parametrize("kind", ["lean", "generic"])
def test_keys_and_values_of_torch_come_back_and_lean_ones_never_move(kind: str):
    torch = pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    from weft.llm.local.engines.lean_llama import lean_llama
    from weft.llm.local.engines.torch_engine import HfDecoder, TorchEngine

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=160, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, initializer_range=0.2,
    )  # fmt: skip
    plain = transformers.LlamaForCausalLM(config).eval().to(torch.bfloat16)
    decoder = lean_llama(plain, 512) if kind == "lean" else HfDecoder(plain)
    engine = TorchEngine(decoder, plain.device, threads=1)
    caches: list[Any] = []
    new_cache = engine.new_cache
    engine.new_cache = lambda: caches.append(new_cache()) or caches[-1]  # type: ignore[func-returns-value]
    slots, prefix = Slots(engine, 10_000_000), list(range(100))
    with slots.take(prefix, 50, Cancel()) as reader:
        reader.read(prefix)
        kept = reader.keep()
    held = caches[0]
    before = {name: array.copy() for name, array in engine.arrays_of(held).items()}
    places = [tensor.data_ptr() for pair in getattr(held, "layers", ()) for tensor in pair]
    for number in range(5):
        prompt = [*prefix, *range(number, number + 20)]
        with slots.take(prompt, 10, Cancel()) as reader:
            assert reader.n_reused == 100
            reader.best_after(prompt[100:])
        assert held.n_tokens == 100
    assert {name: array.tolist() for name, array in engine.arrays_of(held).items()} == {
        name: array.tolist() for name, array in before.items()
    }
    assert [tensor.data_ptr() for pair in getattr(held, "layers", ()) for tensor in pair] == places
    assert kept.is_held
    again = engine.cache_of(before, 100)
    scores = [engine.read(cache, [7, 8, 9]).logits().tolist() for cache in (held, again)]
    assert scores[0] == scores[1]
    with pytest.raises(ValueError, match="another shape"):
        engine.cache_of({name: array[..., :4] for name, array in before.items()}, 100)
