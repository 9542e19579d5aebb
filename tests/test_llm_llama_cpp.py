"""llama.cpp in this process, on a small GGUF file with random weights; the text it writes is another test's matter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.engines import OutOfMemory
from weft.llm.engines.llama_engine import (
    BLOCK_TOKENS,
    MOST_SCORED,
    LlamaEngine,
    LlamaModel,
    LlamaTokenizer,
    load_library,
)
from weft.llm.formats import FIM_FORMATS, FimChoice
from weft.llm.gguf import fim_of_gguf, read_gguf
from weft.llm.gguf_model import open_gguf
from weft.llm.local_model import LocalSettings
from weft.llm.protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelMissing

pytestmark = pytest.mark.servers

CONTEXT_TOKENS = 1024
MARKS = ("<|endoftext|>", *FIM_FORMATS["qwen"].all[:5], "<|fim_pad|>")
CHAT = "{% for m in messages %}<|file_sep|>{{ m.role }}\n{{ m.content }}{% endfor %}<|file_sep|>assistant\n"


def write_gguf(path: Path, mark_type: int = 3) -> Path:
    """Two layers of random numbers over the bytes, five merges and seven special tokens of type `mark_type`."""
    gguf = pytest.importorskip("gguf", reason="writing a GGUF file needs gguf")
    width, n_heads, n_kv_heads, hidden = 64, 4, 2, 128
    merges = ["d e", "de f", "Ġ x", "r e", "re t"]
    plain = [_letter(byte) for byte in range(256)] + [merge.replace(" ", "") for merge in merges]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(width)
    writer.add_block_count(2)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(n_heads)
    writer.add_head_count_kv(n_kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // n_heads)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("starcoder")
    writer.add_token_list([*plain, *MARKS])
    writer.add_token_types([1] * len(plain) + [mark_type] * len(MARKS))
    writer.add_token_merges(merges)
    writer.add_eos_token_id(len(plain))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT)
    random = np.random.default_rng(3)
    shapes = {"token_embd": (len(plain) + len(MARKS), width), "output": (len(plain) + len(MARKS), width)}
    for layer in ("blk.0.", "blk.1."):
        narrow = width // n_heads * n_kv_heads
        shapes |= {layer + "attn_q": (width, width), layer + "attn_output": (width, width)}
        shapes |= {layer + "attn_k": (narrow, width), layer + "attn_v": (narrow, width)}
        shapes |= {layer + "ffn_gate": (hidden, width), layer + "ffn_up": (hidden, width)}
        shapes |= {layer + "ffn_down": (width, hidden)}
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{layer}{norm}.weight", np.ones(width, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(0, 0.3, shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _letter(byte: int) -> str:
    """How byte-level vocabularies write a byte: those that can't be seen follow after all others."""
    unseen = [*range(33), *range(127, 161), 173]
    return chr(256 + unseen.index(byte)) if byte in unseen else chr(byte)


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    try:
        load_library()
    except ModelMissing as error:
        pytest.skip(f"{error} Or run make llm-servers.")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "random.gguf")


@pytest.fixture(scope="module")
def engine(path: Path) -> Iterator[LlamaEngine]:
    engine = LlamaEngine(path, context_tokens=CONTEXT_TOKENS, cache_bytes=10_000_000, threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def tokenizer(path: Path) -> LlamaTokenizer:
    return LlamaTokenizer(LlamaModel(path))


def tokens(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 256, count).tolist()


def cold(engine: LlamaEngine, read: list[int], n_scored: int = 1) -> np.ndarray:
    cache = engine.new_cache()
    logits = engine.read(cache, read, n_scored).logits()
    engine.free(cache)
    return logits


def check_same(logits: np.ndarray, expected: np.ndarray) -> None:
    """Equal but for the last bits: products of one row and of many are summed in another order."""
    np.testing.assert_allclose(logits, expected, atol=1e-3)


def test_reading_on_gives_the_logits_of_reading_all(engine):
    cache, read = engine.new_cache(), tokens(60)
    engine.read(cache, read[:25])
    engine.read(cache, read[25:26])
    warm = engine.read(cache, read[26:]).logits()
    engine.free(cache)
    check_same(warm, cold(engine, read))


def test_what_was_cropped_leaves_no_trace(engine):
    cache, read = engine.new_cache(), tokens(60)
    engine.read(cache, [*read[:40], *tokens(30, seed=1)])
    assert engine.crop(cache, 40)
    assert cache.n_tokens == 40
    warm = engine.read(cache, read[40:]).logits()
    engine.free(cache)
    check_same(warm, cold(engine, read))


def test_every_scored_row_is_that_of_its_token(engine):
    read = tokens(20)
    rows = cold(engine, read, n_scored=5)
    assert rows.shape == (5, engine.n_vocabulary)
    for row, end in enumerate(range(16, 21)):
        check_same(rows[row], cold(engine, read[:end])[0])


@pytest.mark.parametrize("n_scored", [1, MOST_SCORED, MOST_SCORED + 1, BLOCK_TOKENS + 5, BLOCK_TOKENS + 90])
def test_more_tokens_or_rows_than_one_call_takes(engine, n_scored):
    read = tokens(BLOCK_TOKENS + 90)
    rows = cold(engine, read, n_scored)
    assert rows.shape == (n_scored, engine.n_vocabulary)
    check_same(rows[-1], cold(engine, read)[0])


def test_caches_do_not_see_each_other(engine):
    one, other = engine.new_cache(), engine.new_cache()
    first, second = tokens(30, seed=1), tokens(30, seed=2)
    for start in range(0, 30, 10):
        one_logits = engine.read(one, first[start : start + 10]).logits()
        other_logits = engine.read(other, second[start : start + 10]).logits()
    engine.free(one)
    engine.free(other)
    check_same(one_logits, cold(engine, first))
    check_same(other_logits, cold(engine, second))


def test_a_freed_sequence_is_empty_for_the_next_one(engine):
    cold(engine, tokens(100, seed=5))
    read = tokens(10)
    check_same(cold(engine, read), cold(engine, read))


def test_there_are_as_many_caches_as_memory_allows(path):
    engine = LlamaEngine(path, context_tokens=512, cache_bytes=2 * 512 * 256, threads=1)
    assert engine.cache_bytes_per_token == 256
    caches = [engine.new_cache(), engine.new_cache()]
    with pytest.raises(OutOfMemory):
        engine.new_cache()
    engine.free(caches[0])
    engine.new_cache()
    engine.close()


def test_a_full_cache_says_so_and_keeps_what_it_has(engine):
    cache = engine.new_cache()
    engine.read(cache, tokens(CONTEXT_TOKENS - 1))
    with pytest.raises(OutOfMemory):
        engine.read(cache, [1, 2])
    assert cache.n_tokens == CONTEXT_TOKENS - 1
    check_same(engine.read(cache, [1]).logits(), cold(engine, [*tokens(CONTEXT_TOKENS - 1), 1]))
    engine.free(cache)


def test_the_context_is_never_longer_than_the_model_was_trained_for(path):
    engine = LlamaEngine(path, context_tokens=1_000_000, cache_bytes=1, threads=1)
    assert engine.context_tokens == CONTEXT_TOKENS
    engine.close()


def test_a_token_that_is_none_costs_only_its_call(engine):
    cache, read = engine.new_cache(), tokens(10)
    engine.read(cache, read[:5])
    with pytest.raises(RuntimeError, match="invalid token"):
        engine.read(cache, [engine.n_vocabulary])
    warm = engine.read(cache, read[5:]).logits()
    engine.free(cache)
    check_same(warm, cold(engine, read))


def test_tuning_changes_no_logits(path):
    engine = LlamaEngine(path, context_tokens=512, cache_bytes=1)
    read = tokens(50)
    before = cold(engine, read)
    engine.tune()
    check_same(cold(engine, read), before)
    engine.close()


def test_a_closed_engine_refuses_and_its_tokenizer_still_answers(path):
    engine = LlamaEngine(path, context_tokens=512, cache_bytes=1, threads=1)
    cache, tokenizer = engine.new_cache(), LlamaTokenizer(engine.model)
    engine.read(cache, [1])
    engine.close()
    engine.close()
    with pytest.raises(RuntimeError, match="closed"):
        engine.read(cache, [1])
    engine.free(cache)
    del engine
    assert tokenizer.decode(tokenizer.encode("def ret")) == "def ret"


@pytest.mark.parametrize("damage", ["half", "text", "tensors"])
def test_a_damaged_file_says_why(path, tmp_path, damage):
    content = path.read_bytes()
    changed = {
        "half": content[: len(content) // 2],
        "text": b"no model at all",
        "tensors": content.replace(b"blk.1.attn_q.weight", b"blk.1.attn_x.weight"),
    }[damage]
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(changed)
    with pytest.raises(ModelMissing, match=r"broken.gguf: \w+"):
        LlamaEngine(broken, context_tokens=512, cache_bytes=1)


def test_llama_cpp_writes_nothing_to_the_terminal(path, capfd):
    LlamaEngine(path, context_tokens=512, cache_bytes=1, threads=1).close()
    assert capfd.readouterr() == ("", "")


@given(text=st.text())
def test_text_survives_the_tokenizer(tokenizer, text):
    plain = text.encode("utf-8", "replace").decode()
    assert tokenizer.decode(tokenizer.encode(text)) == plain


def test_merges_are_applied(tokenizer):
    assert [tokenizer.bytes_of(token) for token in tokenizer.encode("def x")] == [b"def", b" x"]


@given(text=st.text("ab<|>_fimprexsud", max_size=30), mark=st.sampled_from(MARKS))
def test_letters_of_special_tokens_in_text_stay_letters(tokenizer, text, mark):
    numbers = {tokenizer.special(mark) for mark in MARKS}
    assert numbers.isdisjoint(tokenizer.encode(text + mark + text))
    assert tokenizer.special(mark) in tokenizer.encode_markup(text + mark + text)


def test_special_tokens_write_nothing(tokenizer):
    assert tokenizer.special_tokens == frozenset(MARKS)
    assert [tokenizer.bytes_of(tokenizer.special(mark)) for mark in MARKS] == [b""] * len(MARKS)
    assert tokenizer.special("def") is None
    assert tokenizer.special("<|endoftext|>") in tokenizer.ends
    assert tokenizer.start is None


def test_a_number_outside_of_the_vocabulary_writes_nothing(tokenizer):
    assert (tokenizer.bytes_of(-1), tokenizer.bytes_of(10**6)) == (b"", b"")


@pytest.mark.parametrize("mark_type", [1, 4], ids=["plain", "user-defined"])
def test_framing_tokens_of_another_type_are_special_too(tmp_path, mark_type):
    model = LlamaModel(write_gguf(tmp_path / "marked.gguf", mark_type))
    framing = FIM_FORMATS["qwen"].all
    tokenizer = LlamaTokenizer(model, framing=framing)
    numbers = {tokenizer.special(mark) for mark in framing}
    text = "".join(framing) + " and <|fim_prefix|><|fim_prefix|>"
    assert numbers.isdisjoint({None, *tokenizer.encode(text)})
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert {tokenizer.bytes_of(number) for number in numbers} == {b""}


def test_a_file_becomes_a_model_that_fills_and_chats(path):
    model = open_gguf(path, settings=LocalSettings(context_tokens=512), threads=1)
    assert (model.info.backend, model.info.name, model.info.fills_middle) == ("llama.cpp", "random", True)
    assert (model.info.repository_level, model.info.chats, model.info.local) == (True, True, True)
    request = CompletionRequest("a.py", "python", "def ret", "\n", max_new_tokens=8, single_line=False)
    first = "".join(piece.text for piece in model.stream(request, Cancel()))
    assert first == "".join(piece.text for piece in model.stream(request, Cancel()))
    for _ in model.chat(ChatRequest((Message("user", "ret x"),), max_new_tokens=4), Cancel()):
        pass
    model.close()


def test_the_users_word_on_filling_is_heard(path):
    assert fim_of_gguf(read_gguf(path)) == FIM_FORMATS["qwen"]
    model = open_gguf(path, settings=LocalSettings(), fim=FimChoice("none"), threads=1)
    assert not model.info.fills_middle
    model.close()
    with pytest.raises(ModelMissing, match=r"\[PREFIX\]"):
        open_gguf(path, settings=LocalSettings(), fim=FimChoice("tokens", FIM_FORMATS["codestral"]))
