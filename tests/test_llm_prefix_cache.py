"""Prefix cache: reused over many questions, saved, loaded, and refused for another model or text."""

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
from weft.errors import ModelError
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.kv_cache import MAX_SLOTS, KVCachePool
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.local.prefix_cache import PrefixCacheError, PrefixCachingModel, common_prefix_tokens, files_hash
from weft.llm.protocol import Cancel, ChatRequest, Message
from weft.llm.tensor_file import read_tensors, write_tensors

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


def test_a_model_in_this_process_can_cache_a_prefix(model: Make):
    assert isinstance(model(), PrefixCachingModel)


def test_many_questions_get_what_full_prompts_get_and_the_prefix_is_computed_once(model: Make):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    held = local.engine.caches[-1]
    n_read = len(local.engine.blocks)
    for question in QUESTIONS:
        assert said(prefix.chat(ask(question), Cancel())) == from_a_full_prompt(model(), question)
        assert len(held) == prefix.n_tokens  # cropped back
    assert max(local.engine.blocks[n_read:]) < prefix.n_tokens / 4
    assert any(held is cache for cache in local.engine.caches)


def test_the_same_conversation_sent_whole_uses_the_cached_prefix(model: Make):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    said(local.chat(ask("Who?", before=ARTICLE), Cancel()))
    assert local.last_stats.reused_tokens >= prefix.n_tokens


def test_other_conversations_do_not_evict_the_cached_prefix(model: Make):
    local = model(cache_bytes=20_000)  # of 10 a token
    prefix = local.cache_prefix(ARTICLE)
    for number in range(2 * MAX_SLOTS):
        said(local.chat(ask(f"{number} is another thing " * 9), Cancel()))
    assert prefix.is_cached
    said(prefix.chat(ask("Who?"), Cancel()))
    assert local.last_stats.reused_tokens == prefix.n_tokens


def test_a_released_slot_serves_any_prompt(model: Make):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    prefix.close()
    prefix.close()
    assert not prefix.is_cached
    for number in range(2 * MAX_SLOTS):
        said(local.chat(ask(f"{number} is another thing " * 9), Cancel()))
    assert all(len(cache) < prefix.n_tokens for cache in local.engine.caches)


def test_the_last_reference_releases_the_slot(model: Make):
    local = model()
    for number in range(20):
        local.cache_prefix((Message("user", f"{number} is a text. " * 30), Message("assistant", "Read.")))
    gc.collect()
    said(local.chat(ask("Who?"), Cancel()))
    assert len(local.engine.caches) <= MAX_SLOTS


def test_a_lost_cache_is_computed_again(model: Make):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    local.engine.before_read = lambda: (_ for _ in ()).throw(RuntimeError("broken"))
    with pytest.raises(ModelError, match="broken"):
        said(prefix.chat(ask("Who?"), Cancel()))
    assert not prefix.is_cached
    local.engine.before_read = lambda: None
    assert said(prefix.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert prefix.is_cached


@same_engine
@given(after_calls=st.integers(0, 12))
def test_cancelled_anywhere_in_an_answer_the_prefix_stays_cached(model: Make, after_calls: int):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    cancel, n_calls = Cancel(), 0

    def count() -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls > after_calls:
            cancel.cancel()

    local.engine.before_read = count
    said(prefix.chat(ask("Where does it live now?"), cancel))
    local.engine.before_read = lambda: None
    assert said(prefix.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert local.last_stats.reused_tokens == prefix.n_tokens


def test_a_cancelled_computation_caches_nothing_and_says_so(model: Make):
    local = model()
    cancel = Cancel()
    local.engine.before_read = cancel.cancel
    with pytest.raises(ModelError, match="cancelled"):
        local.cache_prefix(ARTICLE, cancel)
    local.engine.before_read = lambda: None
    assert local.cache_prefix(ARTICLE).is_cached


def test_questions_at_once_wait_for_each_other(model: Make):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    answers: dict[str, str] = {}

    def run(question: str) -> None:
        answers[question] = said(prefix.chat(ask(question), Cancel()))

    threads = [threading.Thread(target=run, args=(question,)) for question in QUESTIONS[:3]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {question: from_a_full_prompt(model(), question) for question in QUESTIONS[:3]}
    assert sum(len(cache) >= prefix.n_tokens for cache in local.engine.caches) == 1


def test_two_prefixes_are_cached_at_once(model: Make):
    local = model()
    other = (Message("user", "Read this. " + "Bees dance. " * 30), Message("assistant", "I have read it."))
    both = [local.cache_prefix(ARTICLE), local.cache_prefix(other)]
    for prefix in (*both, *both):
        said(prefix.chat(ask("Who?"), Cancel()))
        assert local.last_stats.reused_tokens == prefix.n_tokens


def test_a_text_that_continues_a_cached_one_takes_its_slot_and_the_shorter_is_computed_again(model: Make):
    local = model()
    shorter = local.cache_prefix(ARTICLE)
    longer = local.cache_prefix((*ARTICLE, Message("user", "And this?"), Message("assistant", "That too.")))
    assert (shorter.is_cached, longer.is_cached) == (False, True)
    assert said(shorter.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
    assert (shorter.is_cached, longer.is_cached) == (True, True)


def test_a_text_longer_than_the_context_is_refused_with_both_numbers(model: Make):
    with pytest.raises(PrefixCacheError, match=r"takes 5\d\d tokens, and toy has room for 600"):
        model(context_tokens=600).cache_prefix(ARTICLE)


def test_a_question_that_does_not_fit_behind_is_refused_and_nothing_is_cut(model: Make):
    prefix = model(context_tokens=1200).cache_prefix(ARTICLE)
    with pytest.raises(ModelError, match="question is too long"):
        said(prefix.chat(ask("Why? " * 200), Cancel()))
    assert prefix.is_cached


def test_without_memory_for_another_cache_nothing_is_cached(model: Make):
    local = model()
    plain, engine = local.engine.new_cache, local.engine
    engine.new_cache = lambda: plain() if not engine.caches else (_ for _ in ()).throw(OutOfMemory())
    with pytest.raises(PrefixCacheError, match="no memory to cache"):
        local.cache_prefix(ARTICLE)
    assert said(local.chat(ask("Who?"), Cancel()))


def test_an_engine_that_cannot_crop_caches_nothing_and_says_so(model: Make):
    with pytest.raises(ModelError, match="can't cache a prefix"):
        model(crops=False).cache_prefix(ARTICLE)


def test_a_model_without_a_template_caches_nothing_and_says_so(model: Make):
    with pytest.raises(ModelError, match="no chat template"):
        model(template=None).cache_prefix(ARTICLE)


def test_the_common_prefix_is_the_same_before_every_question(chat_tokens: Template):
    tokens = common_prefix_tokens(chat_tokens, ARTICLE)
    for question in ("Who?", "北", "\n", ""):
        assert chat_tokens((*ARTICLE, Message("user", question)))[: len(tokens)] == list(tokens)
    assert bytes(tokens).endswith(b"<u>")


def test_a_template_that_writes_the_beginning_by_what_follows_is_refused(model: Make, chat_tokens: Template):
    def counting(messages: Sequence[Message]) -> list[int]:
        return list(b"x" * len(messages[-1].text)) + chat_tokens(messages)

    prefix = model(template=counting).cache_prefix(ARTICLE)
    with pytest.raises(ModelError, match="can't be cached"):
        said(prefix.chat(ask(""), Cancel()))


def test_saved_and_loaded_it_answers_the_same_without_computing_the_prefix(model: Make, tmp_path: Path):
    model().cache_prefix(ARTICLE).save(tmp_path / "cache")
    other = model()
    prefix = other.load_prefix(tmp_path / "cache")
    assert (prefix.messages, prefix.is_cached) == (ARTICLE, True)
    n_read = len(other.engine.blocks)
    assert said(prefix.chat(ask("Who?"), Cancel())) == from_a_full_prompt(model(), "Who?")
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
        ({"cache": "other"}, "another format of keys and values"),
        ({"context": "other"}, "was changed"),
        ({"n_tokens": 3}, "differently"),
    ],
)
def test_what_is_of_something_else_is_refused(model: Make, tmp_path: Path, values: dict[str, Any], says: str):
    model().cache_prefix(ARTICLE).save(tmp_path)
    change(tmp_path, **values)
    with pytest.raises(ModelError, match=says):
        model().load_prefix(tmp_path)


def test_other_weights_are_refused_and_named(model: Make, tmp_path: Path):
    model(seed=1).cache_prefix(ARTICLE).save(tmp_path)
    with pytest.raises(ModelError, match="another set of weights than toy has"):
        model(seed=2).load_prefix(tmp_path)


@pytest.mark.parametrize("lost", ["manifest.json", "messages.json", "prefix.safetensors"])
def test_a_folder_that_is_not_whole_is_refused(model: Make, tmp_path: Path, lost: str):
    model().cache_prefix(ARTICLE).save(tmp_path)
    (tmp_path / lost).unlink()
    with pytest.raises(ModelError, match="no complete prefix cache"):
        model().load_prefix(tmp_path)


def test_numbers_that_are_cut_short_are_refused(model: Make, tmp_path: Path):
    model().cache_prefix(ARTICLE).save(tmp_path)
    file = tmp_path / "prefix.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(ModelError, match="incomplete"):
        model().load_prefix(tmp_path)


def test_a_released_prefix_is_not_saved(model: Make, tmp_path: Path):
    prefix = model().cache_prefix(ARTICLE)
    prefix.close()
    with pytest.raises(ModelError, match="Nothing was saved"):
        prefix.save(tmp_path / "cache")


def test_a_closed_model_frees_its_prefix_cache(model: Make):
    local = model()
    prefix = local.cache_prefix(ARTICLE)
    local.close()
    assert local.engine.caches == []
    assert not prefix.is_cached


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
    from weft.llm.prompting.chat_template import load_chat_template

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
        chat_tokens=load_chat_template(TEMPLATE, tokenizer)[0],
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
def test_a_real_model_answers_from_a_cached_saved_and_loaded_prefix_as_from_full_prompts(
    open_model: Callable[[Path, LocalSettings], LocalModel],
    with_template: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
):
    if open_model is open_gguf:
        request.getfixturevalue("llama_library")
    # Full prompts are read anew each time; so a difference can't be hidden by both reusing the same.
    fresh = open_model(with_template, LocalSettings(context_tokens=2048, prompt_ms=1_000_000, reuse_cache=False))
    expected = [said(fresh.chat(ask(question, 24, CODE), Cancel())) for question in NEXT]
    assert all(expected)
    settings = LocalSettings(context_tokens=2048, prompt_ms=1_000_000)
    local, loaded_by = open_model(with_template, settings), open_model(with_template, settings)
    prefix = local.cache_prefix(CODE)
    assert [said(prefix.chat(ask(question, 24), Cancel())) for question in NEXT] == expected
    assert local.last_stats.reused_tokens == prefix.n_tokens
    prefix.save(tmp_path)
    loaded = loaded_by.load_prefix(tmp_path)
    assert [said(loaded.chat(ask(question, 24), Cancel())) for question in NEXT] == expected
    assert loaded_by.last_stats.reused_tokens == loaded.n_tokens
    for model in (fresh, local, loaded_by):
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
    pool, prefix = KVCachePool(engine, 10_000_000), list(range(100))
    with pool.acquire(prefix, 50, Cancel()) as lease:
        lease.append(prefix)
        pinned = lease.pin()
    held = caches[0]
    before = {name: array.copy() for name, array in engine.export_cache(held).items()}
    places = [tensor.data_ptr() for pair in getattr(held, "layers", ()) for tensor in pair]
    for number in range(5):
        prompt = [*prefix, *range(number, number + 20)]
        with pool.acquire(prompt, 10, Cancel()) as lease:
            assert lease.n_reused == 100
            lease.best_after(prompt[100:])
        assert held.n_tokens == 100
    assert {name: array.tolist() for name, array in engine.export_cache(held).items()} == {
        name: array.tolist() for name, array in before.items()
    }
    assert [tensor.data_ptr() for pair in getattr(held, "layers", ()) for tensor in pair] == places
    assert pinned.is_cached
    again = engine.import_cache(before, 100)
    scores = [engine.forward(cache, [7, 8, 9]).logits().tolist() for cache in (held, again)]
    assert scores[0] == scores[1]
    with pytest.raises(ValueError, match="another shape"):
        engine.import_cache({name: array[..., :4] for name, array in before.items()}, 100)
