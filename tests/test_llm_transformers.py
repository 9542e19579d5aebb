"""A tiny Llama with random weights and a tokenizer of its own, through the whole backend."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from weft.llm.formats import FIM_FORMATS
from weft.llm.protocol import Cancel, CodeModel, CompletionRequest, ModelMissing, PromptFragment
from weft.llm.transformers_model import TransformersModel

torch = pytest.importorskip("torch", reason="needs the extra `local`")
transformers = pytest.importorskip("transformers", reason="needs the extra `local`")

REQUEST = CompletionRequest(
    "shop.py",
    "python",
    "def pay(self):\n    return ",
    "\n",
    (PromptFragment(("price.py",), "def total():\n    return 1\n", 0, 1.0),),
    "market",
    max_new_tokens=12,
    single_line=False,
)


def make_model(directory: Path, fim: bool = True) -> Path:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", *(FIM_FORMATS["qwen"].all if fim else ())]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(dict.fromkeys(special)),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        ["def total(self):\n    return self.price\n", "class Shop:\n    def pay(self):"] * 3, trainer
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    fast.save_pretrained(directory)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        eos_token_id=fast.eos_token_id,
        bos_token_id=None,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("tiny-coder"))


@pytest.fixture(scope="module")
def model(directory: Path) -> TransformersModel:
    return TransformersModel.open(directory, context_tokens=4096)


def test_says_what_it_can_do(model: TransformersModel):
    assert isinstance(model, CodeModel)
    info = model.info
    assert (info.context_tokens, info.fills_middle, info.repository_level, info.local) == (512, True, True, True)


def test_streams_what_the_plain_greedy_loop_of_transformers_writes(model: TransformersModel, directory: Path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
    plain = transformers.AutoModelForCausalLM.from_pretrained(directory, local_files_only=True)
    prompt = (
        "<|repo_name|>market\n<|file_sep|>price.py\ndef total():\n    return 1\n<|file_sep|>shop.py\n"
        "<|fim_prefix|>def pay(self):\n    return <|fim_suffix|>\n<|fim_middle|>"
    )
    ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
    out = plain.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False, pad_token_id=0)
    expected = tokenizer.decode(out[0, ids.shape[1] :], clean_up_tokenization_spaces=False)
    pieces = list(model.stream(REQUEST, Cancel()))
    written = "".join(piece.text for piece in pieces)
    assert len(written) >= 5
    # A character whose last bytes were not written any more is left out.
    assert written == expected.rstrip("\ufffd")
    assert all(0 < (piece.probability or 0) <= 1 for piece in pieces)


def test_a_single_line_ends_before_its_line_break(model: TransformersModel):
    request = CompletionRequest("a.py", "python", "def pay(self):\n", "", max_new_tokens=40)
    several = CompletionRequest("a.py", "python", "def pay(self):\n", "", max_new_tokens=40, single_line=False)
    text, longer = ("".join(piece.text for piece in model.stream(one, Cancel())) for one in (request, several))
    assert text == longer.split("\n")[0].split("\r")[0]


def test_stops_between_two_tokens_when_cancelled(model: TransformersModel):
    cancel = Cancel()
    stream = model.stream(REQUEST, cancel)
    next(stream)
    cancel.cancel()
    assert list(stream) == []


def test_letters_of_a_special_token_in_code_are_not_the_token(model: TransformersModel):
    assert model.count_tokens("<|fim_middle|>") > 1


@pytest.mark.parametrize("text", ["", "\ud800", "😀" * 2000, "\0" * 100])
def test_bad_text_is_completed_all_the_same(model: TransformersModel, text: str):
    list(model.stream(CompletionRequest("a.py", "python", text, text, max_new_tokens=2), Cancel()))


def test_a_tokenizer_without_fill_in_the_middle_reads_the_prefix_only(tmp_path: Path):
    model = TransformersModel.open(make_model(tmp_path, fim=False), context_tokens=4096)
    assert not model.info.fills_middle
    assert "suffix" in model.info.notes[0]
    suffixes = (replace(REQUEST, suffix=suffix, max_new_tokens=60) for suffix in ("", "):\n    pass\n"))
    first, second = (list(model.stream(request, Cancel())) for request in suffixes)
    assert first == second != []


def test_opening_and_completing_touches_no_network(directory: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("network used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert list(TransformersModel.open(directory, context_tokens=4096).stream(REQUEST, Cancel()))


def test_a_directory_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ModelMissing, match="nowhere"):
        TransformersModel.open(tmp_path / "nowhere", context_tokens=4096)


def test_a_broken_directory_is_named(tmp_path: Path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelMissing, match=str(tmp_path)):
        TransformersModel.open(tmp_path, context_tokens=4096)


def test_a_missing_extra_is_named(directory: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelMissing, match=r"weft\[local\]"):
        TransformersModel.open(directory, context_tokens=4096)
