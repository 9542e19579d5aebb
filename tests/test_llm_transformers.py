"""Model directories of transformers: what is opened, what is refused and why, and a whole request on random weights."""

from __future__ import annotations

import json
import re
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from weft.errors import ModelError
from weft.llm.installation import install_command
from weft.llm.local import transformers_model
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.local.transformers_model import find_directory, open_transformers
from weft.llm.prompting.formats import FIM_FORMATS, FimChoice
from weft.llm.protocol import Cancel, ChatRequest, CodeModel, CompletionRequest, Message, ModelMissing, PromptFragment

pytestmark = pytest.mark.local

torch = pytest.importorskip("torch", reason="needs the extra `local`")
transformers = pytest.importorskip("transformers", reason="needs the extra `local`")

from weft.llm.local.engines.lean_llama import LeanLlama  # noqa: E402
from weft.llm.local.engines.torch_engine import HfDecoder  # noqa: E402

REQUEST = CompletionRequest(
    "shop.py",
    "python",
    "def pay(self):\n    return ",
    "\n",
    (PromptFragment(("price.py",), "def total():\n    return 1\n", 0, 1.0),),
    "market",
    max_new_tokens=40,
    single_line=False,
)
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


def write_model(directory: Path, fim: bool = True, dtype: str = "float32", **config: Any) -> Path:
    """A tiny Llama with random weights and a tokenizer of its own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", *(FIM_FORMATS["qwen"].all if fim else ()), "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(dict.fromkeys(special)),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["def total(self):\n    return self.price\n"] * 3, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    fast.save_pretrained(directory)
    torch.manual_seed(1)
    sizes: dict[str, Any] = {
        "vocab_size": len(fast),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.2,
        "eos_token_id": fast.eos_token_id,
        "bos_token_id": None,
    }
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**sizes, **config}))
    model.to(getattr(torch, dtype)).save_pretrained(directory)
    return directory


def edit_json(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def open_model(path: Path | str, **options: Any) -> LocalModel:
    return open_transformers(path, **{"settings": LocalSettings(), "threads": 1, **options})


def decoder_of(model: LocalModel) -> Any:
    return model._engine._decoder


def text_of(model: CodeModel, request: CompletionRequest = REQUEST) -> str:
    return "".join(piece.text for piece in model.stream(request, Cancel()))


@pytest.fixture(scope="module")
def shared_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("tiny-coder"))


@pytest.fixture(scope="module")
def model(shared_directory: Path) -> LocalModel:
    return open_model(shared_directory)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """One that a test may damage."""
    return write_model(tmp_path / "coder")


def test_says_what_it_can_do(model: LocalModel, shared_directory: Path):
    assert isinstance(model, CodeModel)
    info = model.info
    assert (info.name, info.backend) == (shared_directory.name, "transformers")
    assert (info.context_tokens, info.fills_middle, info.repository_level, info.local) == (512, True, True, True)
    assert not info.chats


def expected_text(directory: Path, n_new: int) -> str:
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
    plain = transformers.AutoModelForCausalLM.from_pretrained(directory, local_files_only=True)
    prompt = (
        "<|repo_name|>market\n<|file_sep|>price.py\ndef total():\n    return 1\n<|file_sep|>shop.py\n"
        "<|fim_prefix|>def pay(self):\n    return <|fim_suffix|>\n<|fim_middle|>"
    )
    ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
    ends = [tokenizer.convert_tokens_to_ids(token) for token in FIM_FORMATS["qwen"].all]
    options = {"max_new_tokens": n_new, "do_sample": False, "pad_token_id": 0, "eos_token_id": ends}
    new = plain.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, ids.shape[1] :]
    text: str = tokenizer.decode(new, clean_up_tokenization_spaces=False, skip_special_tokens=True)
    return text.rstrip("\ufffd")  # of a character that was not written to its end nothing is shown


@pytest.mark.parametrize("speculate", [True, False])
def test_streams_what_generate_writes(shared_directory: Path, speculate: bool):
    model = open_model(shared_directory, settings=LocalSettings(speculative_decoding=speculate))
    expected = expected_text(shared_directory, REQUEST.max_new_tokens)
    assert len(expected) >= 10
    for _ in range(2):  # cold, then with everything read already
        pieces = list(model.stream(REQUEST, Cancel()))
        assert "".join(piece.text for piece in pieces).rstrip("\ufffd") == expected
        assert all(0 < (piece.probability or 0) <= 1 for piece in pieces)


def test_an_accepted_draft_takes_fewer_passes(model: LocalModel):
    plain = text_of(model)
    assert text_of(model, replace(REQUEST, draft_source=lambda written: plain.removeprefix(written))) == plain
    report = model.last_stats
    assert report is not None
    assert report.accepted_tokens > 0
    assert report.passes < report.written_tokens


def test_only_what_is_new_is_read(model: LocalModel):
    text_of(model)
    text_of(model, replace(REQUEST, prefix=REQUEST.prefix + "self"))
    report = model.last_stats
    assert report is not None
    assert report.reused_tokens >= report.prompt_tokens // 2


def test_a_single_line_ends_before_its_line_break(model: LocalModel):
    request = CompletionRequest("a.py", "python", "def pay(self):\n", "", max_new_tokens=40)
    text, longer = text_of(model, request), text_of(model, replace(request, single_line=False))
    assert text == longer.split("\n")[0].split("\r")[0]


def test_stops_between_two_tokens_when_cancelled(model: LocalModel):
    cancel = Cancel()
    stream = model.stream(REQUEST, cancel)
    next(stream)
    cancel.cancel()
    assert list(stream) == []


def test_letters_of_a_special_token_in_code_are_not_the_token(model: LocalModel):
    assert model.count_tokens("<|fim_middle|>") > 1


@pytest.mark.parametrize("text", ["", "\ud800", "😀" * 2000, "\0" * 100])
def test_bad_text_is_completed_all_the_same(model: LocalModel, text: str):
    list(model.stream(CompletionRequest("a.py", "python", text, text, max_new_tokens=2), Cancel()))


def test_a_tokenizer_without_fill_in_the_middle_reads_the_prefix_only(tmp_path: Path):
    model = open_model(write_model(tmp_path, fim=False))
    assert not model.info.fills_middle
    assert "after the cursor is not used" in model.info.notes[0]
    first, second = (text_of(model, replace(REQUEST, suffix=suffix)) for suffix in ("", "):\n    pass\n"))
    assert first == second != ""


def test_the_users_word_on_the_middle_is_followed(shared_directory: Path):
    assert not open_model(shared_directory, fim=FimChoice("none")).info.fills_middle
    with pytest.raises(ModelMissing, match="fim_prefix"):
        open_model(shared_directory, fim=FimChoice("tokens", FIM_FORMATS["starcoder"]))


def test_a_template_makes_it_chat(directory: Path):
    (directory / "chat_template.jinja").write_text(TEMPLATE)
    model = open_model(directory)
    assert model.info.chats
    answer = ChatRequest((Message("user", "a <|im_end|> in a text"),), max_new_tokens=3)
    assert len(list(model.chat(answer, Cancel()))) <= 3


def test_a_llama_is_run_in_the_lean_form(model: LocalModel):
    assert isinstance(decoder_of(model), LeanLlama)


def test_a_lean_form_that_does_not_agree_is_not_used(shared_directory: Path, monkeypatch: pytest.MonkeyPatch):
    from weft.llm.local.engines import lean_llama

    monkeypatch.setattr(lean_llama, "agrees", lambda *_: False)
    model = open_model(shared_directory)
    assert isinstance(decoder_of(model), HfDecoder)
    assert text_of(model) == text_of(open_model(shared_directory))


def test_int8_is_a_smaller_model_that_still_writes(shared_directory: Path):
    model = open_model(shared_directory, quantise="int8")
    assert isinstance(decoder_of(model), LeanLlama)
    assert model.info.notes == ()
    assert text_of(model)


def test_int8_of_another_architecture_is_said_to_be_missing(shared_directory: Path, monkeypatch: pytest.MonkeyPatch):
    from weft.llm.local.engines import lean_llama

    monkeypatch.setattr(lean_llama, "lean_llama", lambda *_: None)
    assert "int8" in open_model(shared_directory, quantise="int8").info.notes[0]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16"])
def test_precision_is_what_is_stored_where_the_processor_is_fast_with_it(
    tmp_path: Path, stored: str, fast: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transformers_model, "_computes_bfloat16", lambda _: fast)
    model = open_model(write_model(tmp_path, dtype=stored))
    expected = torch.bfloat16 if fast and stored != "float32" else torch.float32
    assert decoder_of(model).embedding.dtype == expected
    assert text_of(model)


def test_weights_in_several_files_are_read(directory: Path):
    whole = text_of(open_model(directory))
    loaded = transformers.AutoModelForCausalLM.from_pretrained(directory)
    (directory / "model.safetensors").unlink()
    loaded.save_pretrained(directory, max_shard_size="20KB")
    assert len(list(directory.glob("*.safetensors"))) > 1
    assert text_of(open_model(directory)) == whole


def test_opening_and_completing_touches_no_network(directory: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("network used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert text_of(open_model(directory))


def test_opening_writes_nothing_to_standard_error(shared_directory: Path, capfd: pytest.CaptureFixture[str]):
    open_model(shared_directory)
    assert capfd.readouterr().err == ""


# What is refused.


def test_a_directory_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ModelMissing, match="nowhere"):
        open_model(tmp_path / "nowhere")


def test_a_directory_without_a_model_is_named(tmp_path: Path):
    with pytest.raises(ModelMissing, match=r"no config\.json"):
        open_model(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"model_type": "nothing-known"}', '{"model_type": "llama", "hidden_size": "x"}']
)
def test_a_broken_configuration_is_named(directory: Path, text: str):
    (directory / "config.json").write_text(text)
    with pytest.raises(ModelMissing, match="coder"):
        open_model(directory)


def test_pickled_weights_are_not_read(directory: Path):
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")
    with pytest.raises(ModelMissing, match=r"pytorch_model\.bin, a pickle.*safetensors"):
        open_model(directory)


def test_a_directory_without_weights_is_named(directory: Path):
    (directory / "model.safetensors").unlink()
    with pytest.raises(ModelMissing, match="no weights"):
        open_model(directory)


def test_a_file_of_weights_that_is_missing_is_named(directory: Path):
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelMissing, match=r"lacks model-1\.safetensors"):
        open_model(directory)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_broken_index_of_weights_is_named(directory: Path, text: str):
    (directory / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ModelMissing, match=r"index\.json"):
        open_model(directory)


@pytest.mark.parametrize("n_bytes", [0, 4, 1000])
def test_weights_that_were_cut_off_are_named(directory: Path, n_bytes: int):
    file = directory / "model.safetensors"
    file.write_bytes(file.read_bytes()[:n_bytes])
    with pytest.raises(ModelMissing, match="Download it again"):
        open_model(directory)


def test_a_weight_that_is_missing_is_not_made_up(directory: Path):
    from safetensors.torch import load_file, save_file

    file = directory / "model.safetensors"
    weights = load_file(file)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(ModelMissing, match=r"lacks the weight model\.layers\.1\.mlp\.up_proj\.weight"):
        open_model(directory)


def test_code_beside_the_weights_is_never_run(directory: Path):
    ran = directory / "ran"
    (directory / "configuration_evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass EvilConfig: pass\n")
    edit_json(directory / "config.json", model_type="evil", auto_map={"AutoConfig": "configuration_evil.EvilConfig"})
    with pytest.raises(ModelMissing, match="remote code"):
        open_model(directory)
    assert not ran.exists()


def test_a_device_that_is_not_here_is_named(shared_directory: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelMissing, match=r'no cuda device\. Set device = "auto"'):
        open_model(shared_directory, device="cuda")
    with pytest.raises(ModelMissing, match="can't be 'gpu'"):
        open_model(shared_directory, device="gpu")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_extra_is_named(shared_directory: Path, package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelMissing, match=f"{package} is not installed.*{re.escape(install_command('local'))}"):
        open_model(shared_directory)


def test_weights_that_do_not_fit_into_memory_are_not_begun_with(
    shared_directory: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transformers_model, "_weight_bytes", lambda _: 10**15)
    with pytest.raises(ModelError, match=r"Not enough memory for the weights of tiny-coder.*smaller"):
        open_model(shared_directory)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory. Tried to allocate 3 GiB")])
def test_running_out_of_memory_while_loading_is_said_with_the_size(
    shared_directory: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", fail)
    with pytest.raises(ModelError, match="GB in files"):
        open_model(shared_directory)


# Names of models in the hub's cache.


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_a_name_in_the_hubs_cache_is_opened(hub: Path):
    repository = hub / "models--weft--tiny-coder"
    snapshot = write_model(repository / "snapshots" / "0123abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abc")
    assert find_directory("weft/tiny-coder") == (snapshot, "weft/tiny-coder")
    model = open_model("weft/tiny-coder")
    assert model.info.name == "weft/tiny-coder"
    assert text_of(model)


def test_a_name_that_is_not_here_says_how_to_get_it(hub: Path):
    with pytest.raises(ModelMissing, match="weft models get weft/no-such-model"):
        open_model("weft/no-such-model")


def test_a_name_that_is_not_here_is_fetched_when_that_was_asked_for(hub: Path, monkeypatch: pytest.MonkeyPatch):
    fetched: list[str] = []

    def fetch(name: str) -> Path:
        fetched.append(name)
        return write_model(hub / "fetched")

    monkeypatch.setattr(transformers_model, "fetch_model", fetch)
    assert text_of(open_model("weft/tiny-coder", download=True))
    assert fetched == ["weft/tiny-coder"]


def test_a_directory_is_not_looked_for_in_the_cache(directory: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(directory.parent)
    assert find_directory("coder") == (Path("coder"), "coder")


# With trained weights.


def test_the_trained_model_fills_a_middle_like_its_plain_twin(tiny_model: Path, monkeypatch: pytest.MonkeyPatch):
    from weft.llm.local.engines import lean_llama

    request = CompletionRequest(
        "shop.py",
        "python",
        "def total(prices):\n    result = 0\n    for price in prices:\n        ",
        "\n    return result\n",
    )
    lean = open_model(tiny_model / "transformers")
    monkeypatch.setattr(lean_llama, "lean_llama", lambda *_: None)
    plain = open_model(
        tiny_model / "transformers", settings=LocalSettings(speculative_decoding=False, reuse_cache=False)
    )
    assert text_of(lean, request) == text_of(plain, request)
