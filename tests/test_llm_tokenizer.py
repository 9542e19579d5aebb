"""Text to tokens and back over `tokenizer.json`, for the kinds of tokenizers that code models have."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.installation import install_command
from weft.llm.local.tokenizer import HfTokenizer
from weft.llm.protocol import ModelMissing

pytestmark = pytest.mark.local

tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers, of the extra `local`")

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

CORPUS = ["def total(self):\n    return self.price\n", "class Shop:\n    def pay(self): pass\n\n\n"] * 3
KINDS = ("byte level", "sentencepiece", "metaspace")


def byte_level(*added: Any, add_prefix_space: bool = False) -> dict[str, Any]:
    """As GPT-2, Qwen, StarCoder and DeepSeek."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=350,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(list(added))
    return json.loads(tokenizer.to_str())


def sentencepiece(metaspace: bool = False) -> dict[str, Any]:
    """As Llama, CodeLlama and Gemma: letters, spaces written as a mark, bytes where no letter is known."""
    tokenizer = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    last = decoders.Strip(" ", 1, 0)
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        first = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        tokenizer.decoder = decoders.Sequence([*first, last])
    special = ["<unk>", "<s>", "</s>"]
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=[*special, *pieces], show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    description = json.loads(tokenizer.to_str())
    description["added_tokens"] = [each for each in description["added_tokens"] if each["content"] in special]
    return description


def make(kind: str) -> HfTokenizer:
    return HfTokenizer({"byte level": byte_level, "sentencepiece": sentencepiece}.get(kind, _metaspace)())


def _metaspace() -> dict[str, Any]:
    return sentencepiece(metaspace=True)


ALL = {kind: make(kind) for kind in KINDS}


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> HfTokenizer:
    return ALL[request.param]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_comes_back_as_it_was(kind: str, text: str):
    tokenizer = ALL[kind]
    if kind != "byte level":
        text = text.replace("▁", "_")  # stands for a space there
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("kind", KINDS)
@given(parts=st.lists(st.text(st.sampled_from("def (\n\t:é😀<|>s/"), max_size=8), max_size=6))
def test_parts_that_are_encoded_one_by_one_are_the_joined_text(kind: str, parts: list[str]):
    tokenizer = ALL[kind]
    assert tokenizer.decode([token for part in parts for token in tokenizer.encode(part)]) == "".join(parts)


@pytest.mark.parametrize("text", [" a", "    return x", "\n\n", "\t", ""])
def test_no_space_is_put_before_a_text_and_none_is_lost(tokenizer: HfTokenizer, text: str):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_space_that_the_file_would_put_before_a_text_is_left_out():
    tokenizer = HfTokenizer(byte_level(add_prefix_space=True))
    assert tokenizer.decode(tokenizer.encode("def")) == "def"


def test_half_a_character_is_half_its_bytes(tokenizer: HfTokenizer):
    tokens = tokenizer.encode("😀")
    assert len(tokens) == 4
    assert b"".join(map(tokenizer.bytes_of, tokens)) == "😀".encode()
    assert tokenizer.decode(tokens[:2]) == "\ufffd"


def test_lone_surrogates_are_replaced(tokenizer: HfTokenizer):
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a?b"


def test_letters_of_a_special_token_are_letters(tokenizer: HfTokenizer):
    for letters in tokenizer.special_tokens:
        tokens = tokenizer.encode(f"x{letters}y")
        assert tokenizer.special(letters) not in tokens
        assert tokenizer.decode(tokens) == f"x{letters}y"


def test_special_tokens_write_nothing(tokenizer: HfTokenizer):
    numbers = [tokenizer.special(letters) for letters in tokenizer.special_tokens]
    assert tokenizer.decode([number for number in numbers if number is not None]) == ""


def test_unknown_numbers_write_nothing(tokenizer: HfTokenizer):
    assert tokenizer.bytes_of(tokenizer.n_vocabulary + 5) == tokenizer.bytes_of(-1) == b""


MARKUP = ["<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>", "<｜fim▁hole｜>", "<[fim-suffix]>", "▁<PRE>", "[SUFFIX]"]


@pytest.mark.parametrize("letters", MARKUP)
def test_added_markup_is_special_also_where_the_file_does_not_say_so(letters: str):
    tokenizer = HfTokenizer(byte_level(AddedToken(letters, special=False)))
    number = tokenizer.special(letters)
    assert number is not None
    assert letters in tokenizer.special_tokens
    assert number not in tokenizer.encode(f"a{letters}b")
    assert tokenizer.bytes_of(number) == b""


@pytest.mark.parametrize("letters", ["        ", "<div>", "</table>", "\n\n", "õ"])
def test_added_text_is_text(letters: str):
    tokenizer = HfTokenizer(byte_level(AddedToken(letters, special=False, normalized=False)))
    assert len(tokenizer.encode(letters)) == 1
    assert tokenizer.decode(tokenizer.encode(f"a{letters}b")) == f"a{letters}b"
    assert letters in tokenizer.special_tokens
    assert tokenizer.special(letters) is None


def test_added_runs_of_spaces_are_spaces_also_where_a_mark_stands_for_them():
    description = sentencepiece()
    number = max(description["model"]["vocab"].values()) + 1
    description["model"]["vocab"]["▁▁▁▁▁"] = number
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    description["added_tokens"].append({"id": number, "content": "▁▁▁▁▁", **flags})
    assert HfTokenizer(description).bytes_of(number) == b"     "


def test_markup_of_a_template_becomes_special_tokens():
    tokenizer = HfTokenizer(byte_level("<|im_start|>", "<|im_end|>"))
    start, end = tokenizer.special("<|im_start|>"), tokenizer.special("<|im_end|>")
    assert tokenizer.encode_markup("<|im_start|>user\nhi<|im_end|>") == [start, *tokenizer.encode("user\nhi"), end]


def test_what_a_file_cuts_or_pads_is_neither_cut_nor_padded():
    description = byte_level()
    description["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    description["padding"] = {
        "strategy": {"Fixed": 50}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }  # fmt: skip
    tokenizer = HfTokenizer(description)
    text = "def total(self): return 1"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert 0 not in tokenizer.encode(text)


def test_tokens_of_an_unknown_kind_are_what_they_add_to_a_text():
    tokenizer = tokenizers.Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2, ":": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    assert HfTokenizer(json.loads(tokenizer.to_str())).decode([1, 2, 1]) == " ab a"


def write(directory: Path, description: dict[str, Any], **files: dict[str, Any]) -> Path:
    (directory / "tokenizer.json").write_text(json.dumps(description), "utf-8")
    for name, content in files.items():
        (directory / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return directory


def test_the_start_token_is_what_the_post_processor_puts_first(tmp_path: Path):
    assert HfTokenizer.open(write(tmp_path, sentencepiece())).start == 1


def test_a_model_without_a_post_processor_has_no_start_token_even_if_one_has_a_name(tmp_path: Path):
    write(tmp_path, byte_level(), tokenizer_config={"bos_token": "<|endoftext|>"})
    assert HfTokenizer.open(tmp_path).start is None


@pytest.mark.parametrize(("adds", "start"), [(True, 0), (False, None), (None, None)])
def test_the_configuration_has_the_last_word_on_the_start_token(tmp_path: Path, adds: bool | None, start: int | None):
    bos = {"__type": "AddedToken", "content": "<|endoftext|>"}
    write(tmp_path, byte_level(), tokenizer_config={"add_bos_token": adds, "bos_token": bos})
    assert HfTokenizer.open(tmp_path).start == start


def test_a_start_token_that_the_configuration_does_not_want_is_not_added(tmp_path: Path):
    write(tmp_path, sentencepiece(), tokenizer_config={"add_bos_token": False, "bos_token": "<s>"})
    assert HfTokenizer.open(tmp_path).start is None


def test_end_tokens_are_gathered_from_every_file(tmp_path: Path):
    write(
        tmp_path,
        byte_level(),
        generation_config={"eos_token_id": [7, 8]},
        config={"eos_token_id": 9},
        tokenizer_config={"eos_token": "<|endoftext|>"},
    )
    assert HfTokenizer.open(tmp_path).ends == {7, 8, 9, 0}


def test_a_configuration_that_is_no_json_is_left_aside(tmp_path: Path):
    write(tmp_path, sentencepiece())
    (tmp_path / "tokenizer_config.json").write_text("{")
    (tmp_path / "config.json").write_text("[]")
    assert HfTokenizer.open(tmp_path).start == 1


BROKEN = ["", "{", "[]", "null", "{}", '{"model": null}', '{"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}}']
BROKEN += ['{"added_tokens": [{"id": 0}]}', '{"added_tokens": 5, "model": {}}', "\xff"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_named_with_the_next_step(tmp_path: Path, text: str):
    (tmp_path / "tokenizer.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelMissing, match=r"tokenizer\.json.*Download"):
        HfTokenizer.open(tmp_path)


WHOLE = json.dumps(byte_level("<|fim_prefix|>"))


@given(cut=st.integers(0, len(WHOLE) - 1), letter=st.sampled_from('0"{}[],:x'), whole=st.booleans())
def test_a_damaged_file_opens_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, cut: int, letter: str, whole: bool
):
    directory = tmp_path_factory.mktemp("damaged")
    (directory / "tokenizer.json").write_text(WHOLE[:cut] + letter + (WHOLE[cut + 1 :] if whole else ""), "utf-8")
    try:
        tokenizer = HfTokenizer.open(directory)
    except ModelMissing:
        return
    tokenizer.decode(tokenizer.encode("def total(): pass"))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelMissing, match=re.escape(install_command("onnx"))):
        HfTokenizer(byte_level())


def test_a_directory_without_any_tokenizer_is_named(tmp_path: Path):
    with pytest.raises(ModelMissing, match=r"no tokenizer\.json"):
        HfTokenizer.open(tmp_path)


def test_older_files_are_converted(tmp_path: Path):
    pytest.importorskip("transformers", reason="converting needs transformers")
    model = byte_level()["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), "utf-8")
    merges = (pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"])
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    assert HfTokenizer.open(tmp_path).encode("def total(self)") == HfTokenizer(byte_level()).encode("def total(self)")
