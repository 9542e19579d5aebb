"""Headers of GGUF files, written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.library.gguf import LONGEST_ARRAY, LONGEST_STRING, fim_of_gguf, read_gguf
from weft.llm.local.engines import llama_engine
from weft.llm.local.gguf_model import open_gguf
from weft.llm.local.model import LocalSettings
from weft.llm.prompting.formats import FIM_FORMATS, FimTokens
from weft.llm.protocol import ModelMissing

U32, I32, BOOL, STRING, ARRAY, U64 = 4, 5, 7, 8, 9, 10
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, value: object) -> bytes:
    """One key with its value in the type that converters use."""
    head = text(key)
    match value:
        case bool():
            return head + struct.pack("<I?", BOOL, value)
        case int():
            return head + struct.pack("<II", U32, value)
        case str():
            return head + struct.pack("<I", STRING) + text(value)
        case [str(), *_]:
            return head + struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(text, value))
        case list():
            return head + struct.pack(f"<IIQ{len(value)}i", ARRAY, I32, len(value), *value)
    raise TypeError(value)


def gguf(entries: dict[str, object], *, version: int = 3, n_keys: int | None = None) -> bytes:
    count = len(entries) if n_keys is None else n_keys
    return b"GGUF" + struct.pack("<IQQ", version, 0, count) + b"".join(entry(*item) for item in entries.items())


TINY = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "general.file_type": 7,
    "llama.context_length": 2048,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "starcoder",
    "tokenizer.ggml.tokens": ["a", "b", "<end>", "<one>", "<two>", "<three>", "Ġé"],
    "tokenizer.ggml.token_type": [NORMAL, NORMAL, CONTROL, CONTROL, CONTROL, USER_DEFINED, NORMAL],
    "tokenizer.ggml.bos_token_id": 2,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.chat_template": "{{ messages }}",
}


@pytest.fixture
def written(tmp_path: Path):
    def write(content: bytes) -> Path:
        path = tmp_path / "model.gguf"
        path.write_bytes(content)
        return path

    return write


def vocabulary(*special: str, **more: object) -> dict[str, object]:
    tokens = ["a", *special]
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [NORMAL, *[CONTROL] * len(special)],
        **{f"tokenizer.ggml.{name}_token_id": number for name, number in more.items()},
    }


def test_the_header_says_what_the_model_is(written):
    path = written(gguf(TINY) + b"weights" * 10)
    file = read_gguf(path)
    assert (file.architecture, file.quantisation, file.context_tokens) == ("llama", "Q8_0", 2048)
    assert (file.text("tokenizer.ggml.model"), file.text("tokenizer.ggml.pre"), file.chat_template) == (
        "gpt2",
        "starcoder",
        "{{ messages }}",
    )
    assert (file.special("bos"), file.special("eos"), file.special("eot")) == (2, 2, None)
    assert file.n_vocabulary == 7
    assert file.size_bytes == path.stat().st_size
    assert file.tokens() == TINY["tokenizer.ggml.tokens"]
    assert file.token_types().tolist() == TINY["tokenizer.ggml.token_type"]


def test_what_the_header_leaves_out_is_empty(written):
    file = read_gguf(written(gguf({})))
    assert (file.architecture, file.quantisation, file.context_tokens) == ("", "", 0)
    assert (file.tokens(), file.token_types().tolist(), fim_of_gguf(file)) == ([], [], None)


def test_version_two_is_read(written):
    assert read_gguf(written(gguf(TINY, version=2))).text("general.name") == "Tiny"


@pytest.mark.parametrize("name", FIM_FORMATS)
def test_a_known_format_is_found_by_its_letters(written, name):
    file = read_gguf(written(gguf(vocabulary(*FIM_FORMATS[name].all))))
    found = fim_of_gguf(file)
    assert found is not None
    assert found.frame == FIM_FORMATS[name].frame


def test_numbers_in_the_metadata_make_a_format_of_unknown_letters(written):
    entries = vocabulary(
        "<p>", "<s>", "<m>", "<r>", "<f>", "<end>", fim_pre=1, fim_suf=2, fim_mid=3, fim_rep=4, fim_sep=5
    )
    found = fim_of_gguf(read_gguf(written(gguf({**entries, "tokenizer.ggml.eos_token_id": 6}))))
    assert found == FimTokens("<p>", "<s>", "<m>", repository="<r>", file="<f>", ends=("<end>",))


def test_older_names_of_the_numbers_are_understood(written):
    entries = vocabulary("<p>", "<s>", "<m>", prefix=1, suffix=2, middle=3)
    assert fim_of_gguf(read_gguf(written(gguf(entries)))) == FimTokens("<p>", "<s>", "<m>")


def test_numbers_lead_to_the_known_format_where_tokens_are_marked_as_plain(written):
    qwen = FIM_FORMATS["qwen"]
    entries = vocabulary(*qwen.all, fim_pre=1, fim_suf=2, fim_mid=3, fim_rep=4, fim_sep=5, eos=6, fim_pad=7)
    entries["tokenizer.ggml.token_type"] = [NORMAL] * 8
    assert fim_of_gguf(read_gguf(written(gguf(entries)))) == qwen


def test_the_metadata_has_the_last_word_on_which_tokens_fill(written):
    entries = vocabulary(*FIM_FORMATS["starcoder"].all, "<p>", "<s>", "<m>", fim_pre=5, fim_suf=6, fim_mid=7)
    found = fim_of_gguf(read_gguf(written(gguf(entries))))
    assert found is not None
    assert found.frame == ("<p>", "<s>", "<m>")


def test_numbers_outside_of_the_vocabulary_are_no_tokens(written):
    entries = vocabulary("<p>", "<s>", "<m>", fim_pre=1, fim_suf=2, fim_mid=4000)
    assert fim_of_gguf(read_gguf(written(gguf(entries)))) is None


def test_letters_of_plain_tokens_are_no_format(written):
    entries = vocabulary(*FIM_FORMATS["qwen"].all)
    entries["tokenizer.ggml.token_type"] = [CONTROL] + [NORMAL] * 7
    assert fim_of_gguf(read_gguf(written(gguf(entries)))) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04 an archive", "not a GGUF file"),
        (gguf(TINY, version=1), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "little-endian"),
        (gguf(TINY)[:-1], "ends in the middle"),
        (gguf(TINY, n_keys=1 << 60), "keys"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, LONGEST_STRING + 1), "a text of"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 63), "a text of"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 99), "unknown type 99"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", ARRAY, ARRAY, 1), "unknown type 9"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", ARRAY, U64, LONGEST_ARRAY + 1),
            "a list of",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_none_says_why(written, content, why):
    with pytest.raises(ModelMissing, match=why):
        read_gguf(written(content))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(ModelMissing, match="No such file"):
        read_gguf(tmp_path / "none.gguf")


@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path_factory, data):
    whole = gguf({**TINY, **vocabulary(*FIM_FORMATS["qwen"].all, fim_pre=1, fim_suf=2, fim_mid=3)})
    content = bytearray(whole[: data.draw(st.integers(0, len(whole)), "length")])
    for _ in range(data.draw(st.integers(0, 4), "changes")):
        if content:
            content[data.draw(st.integers(0, len(content) - 1), "place")] = data.draw(st.integers(0, 255), "byte")
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(content)
    try:
        file = read_gguf(path)
        fim_of_gguf(file)
    except ModelMissing:
        return
    assert bytes(content[:4]) == b"GGUF"


@pytest.mark.parametrize(
    ("found", "next_step"),
    [(None, "pip install llama-cpp-python"), (OSError("no libllama"), "LLAMA_CPP_LIB_PATH")],
)
def test_without_llama_cpp_the_next_step_is_said(written, monkeypatch, found, next_step):
    def import_module(name: str) -> object:
        raise found or ModuleNotFoundError(name=name)

    monkeypatch.setattr(llama_engine, "import_module", import_module)
    llama_engine.load_library.cache_clear()
    with pytest.raises(ModelMissing, match=next_step):
        open_gguf(written(gguf(TINY)), settings=LocalSettings())
