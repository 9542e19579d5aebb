"""llama.cpp in this process, on a small GGUF file with random weights; the text it writes is another test's matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.library.gguf import fim_of_gguf, read_gguf
from weft.llm.local.engines import OutOfMemory
from weft.llm.local.engines.llama_engine import BLOCK_TOKENS, MOST_SCORED, LlamaEngine, LlamaModel, LlamaTokenizer
from weft.llm.local.gguf_model import open_gguf
from weft.llm.local.model import LocalSettings
from weft.llm.prompting.formats import FIM_FORMATS, FimChoice
from weft.llm.protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelMissing

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("llama_library")]

CONTEXT_TOKENS, WIDTH = 1024, 64
MARKS = ("<|endoftext|>", *FIM_FORMATS["qwen"].all[:5], "<|fim_pad|>")
CHAT = "{% for m in messages %}<|file_sep|>{{ m.role }}\n{{ m.content }}{% endfor %}<|file_sep|>assistant\n"


def llama_body(writer: Any, n_vocabulary: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    n_heads, n_kv_heads, hidden = 4, 2, 128
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(n_heads)
    writer.add_head_count_kv(n_kv_heads)
    writer.add_rope_dimension_count(WIDTH // n_heads)
    narrow = WIDTH // n_heads * n_kv_heads
    yield from common_tensors(n_vocabulary)
    for layer in ("blk.0.", "blk.1."):
        yield layer + "attn_norm.weight", (WIDTH,)
        yield layer + "attn_q.weight", (WIDTH, WIDTH)
        yield layer + "attn_k.weight", (narrow, WIDTH)
        yield layer + "attn_v.weight", (narrow, WIDTH)
        yield layer + "attn_output.weight", (WIDTH, WIDTH)
        yield layer + "ffn_norm.weight", (WIDTH,)
        yield layer + "ffn_gate.weight", (hidden, WIDTH)
        yield layer + "ffn_up.weight", (hidden, WIDTH)
        yield layer + "ffn_down.weight", (WIDTH, hidden)


def mamba_body(writer: Any, n_vocabulary: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A recurrent model: it keeps a state, not the tokens."""
    inner, n_states, rank, kernel = 2 * WIDTH, 16, 4, 4
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(n_states)
    writer.add_ssm_time_step_rank(rank)
    yield from common_tensors(n_vocabulary)
    for layer in ("blk.0.", "blk.1."):
        yield layer + "attn_norm.weight", (WIDTH,)
        yield layer + "ssm_in.weight", (2 * inner, WIDTH)
        yield layer + "ssm_conv1d.weight", (inner, kernel)
        yield layer + "ssm_conv1d.bias", (inner,)
        yield layer + "ssm_x.weight", (rank + 2 * n_states, inner)
        yield layer + "ssm_dt.weight", (inner, rank)
        yield layer + "ssm_dt.bias", (inner,)
        yield layer + "ssm_a", (inner, n_states)
        yield layer + "ssm_d", (inner,)
        yield layer + "ssm_out.weight", (WIDTH, inner)


def common_tensors(n_vocabulary: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "token_embd.weight", (n_vocabulary, WIDTH)
    yield "output_norm.weight", (WIDTH,)
    yield "output.weight", (n_vocabulary, WIDTH)


def byte_vocabulary(writer: Any, mark_type: int = 3) -> int:
    """The bytes, five merges, and special tokens of type `mark_type`."""
    merges = ["d e", "de f", "Ġ x", "r e", "re t"]
    plain = [_letter(byte) for byte in range(256)] + [merge.replace(" ", "") for merge in merges]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("starcoder")
    writer.add_token_list([*plain, *MARKS])
    writer.add_token_types([1] * len(plain) + [mark_type] * len(MARKS))
    writer.add_token_merges(merges)
    writer.add_eos_token_id(len(plain))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT)
    return len(plain) + len(MARKS)


def sentencepiece_vocabulary(writer: Any) -> int:
    """As CodeLlama's: a space is a letter of words, bytes have tokens of their own, texts begin with a space."""
    frame = ["▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>"]
    words = ["▁", "d", "e", "f", "x", "de", "def", "▁def", "▁x"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words, *frame]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 259 + [float(len(word)) for word in words] + [0.0] * len(frame))
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * len(words) + [3] * len(frame))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(True)
    return len(tokens)


def write_gguf(
    path: Path,
    *,
    body: Callable[[Any, int], Iterable[tuple[str, tuple[int, ...]]]] = llama_body,
    vocabulary: Callable[[Any], int] = byte_vocabulary,
) -> Path:
    """Two layers of random numbers; a one-dimensional tensor is all ones."""
    gguf = pytest.importorskip("gguf", reason="writing a GGUF file needs gguf")
    writer = gguf.GGUFWriter(path, "mamba" if body is mamba_body else "llama")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    n_vocabulary = vocabulary(writer)
    random = np.random.default_rng(3)
    for name, shape in body(writer, n_vocabulary):
        values = np.ones(shape) if len(shape) == 1 else random.normal(0, 0.3, shape)
        if name.endswith("ssm_a"):  # a state that grows would soon be infinite
            values = -np.abs(values)
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _letter(byte: int) -> str:
    """How byte-level vocabularies write a byte: those that can't be seen follow after all others."""
    unseen = [*range(33), *range(127, 161), 173]
    return chr(256 + unseen.index(byte)) if byte in unseen else chr(byte)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, llama_library: None) -> Path:
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
    logits = engine.forward(cache, read, n_scored).logits()
    engine.free(cache)
    return logits


def check_same(logits: np.ndarray, expected: np.ndarray) -> None:
    """Equal but for the last bits: products of one row and of many are summed in another order."""
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(logits, expected, atol=1e-3)


def test_reading_on_gives_the_logits_of_reading_all(engine):
    cache, read = engine.new_cache(), tokens(60)
    engine.forward(cache, read[:25])
    engine.forward(cache, read[25:26])
    warm = engine.forward(cache, read[26:]).logits()
    engine.free(cache)
    check_same(warm, cold(engine, read))


def test_what_was_cropped_leaves_no_trace(engine):
    cache, read = engine.new_cache(), tokens(60)
    engine.forward(cache, [*read[:40], *tokens(30, seed=1)])
    assert engine.crop(cache, 40)
    assert cache.n_tokens == 40
    warm = engine.forward(cache, read[40:]).logits()
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
        one_logits = engine.forward(one, first[start : start + 10]).logits()
        other_logits = engine.forward(other, second[start : start + 10]).logits()
    engine.free(one)
    engine.free(other)
    check_same(one_logits, cold(engine, first))
    check_same(other_logits, cold(engine, second))


@given(steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(1, 20)), max_size=8))
@settings(max_examples=25)
def test_any_order_of_cropping_and_reading_is_a_cold_run(engine, steps):
    caches, texts = [engine.new_cache() for _ in range(3)], [[], [], []]
    for seed, (which, kept, n_new) in enumerate(steps):
        cache, text, new = caches[which], texts[which], tokens(n_new, seed)
        del text[kept:]
        assert engine.crop(cache, len(text))
        text += new
        n_scored = 1 + seed % n_new
        check_same(engine.forward(cache, new, n_scored).logits(), cold(engine, text, n_scored))
        assert cache.n_tokens == len(text)
    for cache in caches:
        engine.free(cache)


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
    engine.forward(cache, tokens(CONTEXT_TOKENS - 1))
    with pytest.raises(OutOfMemory):
        engine.forward(cache, [1, 2])
    assert cache.n_tokens == CONTEXT_TOKENS - 1
    check_same(engine.forward(cache, [1]).logits(), cold(engine, [*tokens(CONTEXT_TOKENS - 1), 1]))
    engine.free(cache)


def test_the_context_is_never_longer_than_the_model_was_trained_for(path):
    engine = LlamaEngine(path, context_tokens=1_000_000, cache_bytes=1, threads=1)
    assert engine.context_tokens == CONTEXT_TOKENS
    engine.close()


def test_a_token_that_is_none_costs_only_its_call(engine):
    cache, read = engine.new_cache(), tokens(10)
    engine.forward(cache, read[:5])
    with pytest.raises(RuntimeError, match="invalid token"):
        engine.forward(cache, [engine.n_vocabulary])
    warm = engine.forward(cache, read[5:]).logits()
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
    engine.forward(cache, [1])
    engine.close()
    engine.close()
    with pytest.raises(RuntimeError, match="closed"):
        engine.forward(cache, [1])
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
    vocabulary = partial(byte_vocabulary, mark_type=mark_type)
    model = LlamaModel(write_gguf(tmp_path / "marked.gguf", vocabulary=vocabulary))
    framing = FIM_FORMATS["qwen"].all
    tokenizer = LlamaTokenizer(model, framing=framing)
    numbers = {tokenizer.special(mark) for mark in framing}
    text = "".join(framing) + " and <|fim_prefix|><|fim_prefix|>"
    assert numbers.isdisjoint({None, *tokenizer.encode(text)})
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert {tokenizer.bytes_of(number) for number in numbers} == {b""}


def test_sentencepiece_puts_no_space_before_a_text(tmp_path):
    path = write_gguf(tmp_path / "sentencepiece.gguf", vocabulary=sentencepiece_vocabulary)
    tokenizer = LlamaTokenizer(LlamaModel(path), framing=FIM_FORMATS["codellama"].all)
    assert fim_of_gguf(read_gguf(path)) == FIM_FORMATS["codellama"]
    assert [tokenizer.bytes_of(token) for token in tokenizer.encode("def x")] == [b"def", b" x"]
    assert [tokenizer.bytes_of(token) for token in tokenizer.encode(" def\n")] == [b" def", b"\n"]
    for text in ("  x", "é🎲\t", "<s> ▁<PRE> </s>", "<0x41>"):
        assert tokenizer.decode(tokenizer.encode(text)) == text.replace("▁", " ")
    assert tokenizer.special("▁<MID>") not in tokenizer.encode(" <MID>")
    assert tokenizer.start == 1


def test_a_recurrent_model_continues_and_refuses_to_crop(tmp_path):
    path = write_gguf(tmp_path / "mamba.gguf", body=mamba_body)
    engine = LlamaEngine(path, context_tokens=512, cache_bytes=1, threads=1)
    cache, read = engine.new_cache(), tokens(40)
    engine.forward(cache, read[:30])
    assert not engine.crop(cache, 20)
    assert cache.n_tokens == 30
    warm = engine.forward(cache, read[30:]).logits()
    engine.free(cache)
    check_same(warm, cold(engine, read))
    engine.close()


def test_a_recurrent_model_writes_the_same_again(tmp_path):
    model = open_gguf(write_gguf(tmp_path / "mamba.gguf", body=mamba_body), settings=LocalSettings(), threads=1)
    request = CompletionRequest("a.py", "python", "def ret", "\n", max_new_tokens=8, single_line=False)
    texts = ["".join(piece.text for piece in model.stream(request, Cancel())) for _ in range(3)]
    assert texts[0]
    assert len(set(texts)) == 1
    model.close()


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
