"""Export of one set of weights as a transformers directory, GGUF files and ONNX.

The weights are quantised to 8 bits first, so every format holds the same values at its own storage precision.
Owns the names, layouts and settings of each format. Knows no training. `check.py` verifies that the three agree.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .model import KeysAndValues, ModelShape, SmallLlama
from .quantisation import quantised, write_int8_onnx
from .tokenizer import END, FORMAT, LLAMA_CPP_PRE, PAD, TrainingTokenizer

GgufKind = Literal["f32", "f16", "q8_0"]
GGUF_KINDS: tuple[GgufKind, ...] = ("f32", "f16", "q8_0")
ONNX_OPSET = 17


def export_all(model: SmallLlama, tokenizer_file: Path, out: Path, name: str) -> None:
    """`out/transformers`, `out/onnx` and `out/NAME-KIND.gguf`."""
    model = quantised(model.float().cpu().eval())
    export_transformers(model, tokenizer_file, out / "transformers")
    export_onnx(model, tokenizer_file, out / "onnx")
    for kind in GGUF_KINDS:
        export_gguf(model, tokenizer_file, out / f"{name}-{kind}.gguf", kind, name)


def export_transformers(model: SmallLlama, tokenizer_file: Path, folder: Path) -> None:
    """A directory for `AutoModelForCausalLM` and `AutoTokenizer`, in float32."""
    save_file = import_module("safetensors.torch").save_file
    _write_config(model.shape, tokenizer_file, folder)
    weights = {name: weight.detach().contiguous() for name, weight in model.state_dict().items()}
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})


def export_onnx(model: SmallLlama, tokenizer_file: Path, folder: Path) -> None:
    """`model.onnx` in float32 and `model_int8.onnx` with weights in 8 bits, both with the KV cache as inputs.

    Inputs are `input_ids` (1, T), `attention_mask` (1, past + T), `position_ids` (1, T), `num_logits_to_keep` (), all
    int64, and for each layer i `past_key_values.i.key` and `.value` (1, kv heads, past, head dim) in float32. Outputs
    are `logits` (1, num_logits_to_keep, vocabulary) of the last tokens, and `present.i.key`, `present.i.value`.
    The two files have the same outputs when the weights are `quantised`.
    """
    _write_config(model.shape, tokenizer_file, folder)
    n_layers = model.shape.n_layers
    past_names = [f"past_key_values.{i}.{part}" for i in range(n_layers) for part in ("key", "value")]
    present_names = [f"present.{i}.{part}" for i in range(n_layers) for part in ("key", "value")]
    # Two cached and three new tokens: no size is 1 or equal to another, so the tracer makes none a constant.
    past = torch.zeros(1, model.shape.n_kv_heads, 2, model.shape.head_dim)
    inputs = (
        torch.tensor([[1, 2, 3]]),
        torch.ones(1, 5, dtype=torch.int64),
        torch.tensor([[2, 3, 4]]),
        torch.tensor(3),
        *[past] * (2 * n_layers),
    )
    torch.onnx.export(
        _FlatInputs(model),
        inputs,
        str(folder / "model.onnx"),
        dynamo=False,
        opset_version=ONNX_OPSET,
        input_names=["input_ids", "attention_mask", "position_ids", "num_logits_to_keep", *past_names],
        output_names=["logits", *present_names],
        dynamic_axes={
            "input_ids": {1: "length"},
            "attention_mask": {1: "total"},
            "position_ids": {1: "length"},
            "logits": {1: "scored"},
            **{name: {2: "past"} for name in past_names},
            **{name: {2: "total"} for name in present_names},
        },
    )
    write_int8_onnx(folder / "model.onnx", folder / "model_int8.onnx")


def export_gguf(model: SmallLlama, tokenizer_file: Path, path: Path, kind: GgufKind, name: str) -> None:
    """A GGUF file of architecture `llama`, written atomically."""
    gguf = import_module("gguf")
    shape = model.shape
    part = path.with_suffix(".part")
    writer = gguf.GGUFWriter(str(part), "llama")
    writer.add_name(name)
    writer.add_context_length(shape.context_tokens)
    writer.add_embedding_length(shape.n_embd)
    writer.add_block_count(shape.n_layers)
    writer.add_feed_forward_length(shape.n_hidden)
    writer.add_head_count(shape.n_heads)
    writer.add_head_count_kv(shape.n_kv_heads)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_freq_base(shape.rope_theta)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_vocab_size(shape.n_vocabulary)
    writer.add_file_type(
        {"f32": gguf.LlamaFileType.ALL_F32, "f16": gguf.LlamaFileType.MOSTLY_F16}.get(
            kind, gguf.LlamaFileType.MOSTLY_Q8_0
        )
    )
    _add_vocabulary(writer, gguf, shape, tokenizer_file)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, shape.n_layers)
    for weight_name, weight in model.state_dict().items():
        if weight_name.endswith("q_proj.weight"):
            weight = _interleaved(weight, shape.n_heads)
        elif weight_name.endswith("k_proj.weight"):
            weight = _interleaved(weight, shape.n_kv_heads)
        values = weight.float().numpy()
        gguf_name = names.get_name(weight_name, try_suffixes=(".weight",))
        if kind == "f32" or weight.dim() == 1:  # the few norm weights stay exact
            writer.add_tensor(gguf_name, values)
        elif kind == "f16":
            writer.add_tensor(gguf_name, values.astype("float16"))
        else:
            q8 = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(gguf_name, gguf.quantize(values, q8), raw_dtype=q8)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, path)


class _FlatInputs(nn.Module):  # type: ignore[misc,unused-ignore]
    """`forward_cached` with flat lists of tensors, as ONNX needs."""

    def __init__(self, model: SmallLlama) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Tensor, mask: Tensor, positions: Tensor, n_scored: Tensor, *past: Tensor
    ) -> tuple[Tensor, ...]:
        pairs: list[KeysAndValues] = list(zip(past[::2], past[1::2], strict=True))
        logits, present = self.model.forward_cached(tokens, positions, pairs, mask, n_scored)
        return (logits, *(part for pair in present for part in pair))


def _write_config(shape: ModelShape, tokenizer_file: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    end, pad = (TrainingTokenizer.load(tokenizer_file).special(token) for token in (END, PAD))
    shutil.copyfile(tokenizer_file, folder / "tokenizer.json")
    tokens = {"bos_token_id": None, "eos_token_id": end, "pad_token_id": pad}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.n_vocabulary,
        "hidden_size": shape.n_embd,
        "intermediate_size": shape.n_hidden,
        "num_hidden_layers": shape.n_layers,
        "num_attention_heads": shape.n_heads,
        "num_key_value_heads": shape.n_kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": shape.context_tokens,
        "rms_norm_eps": shape.norm_epsilon,
        # transformers 5 reads the first key, earlier versions and other libraries the second.
        "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_theta},
        "rope_theta": shape.rope_theta,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "dtype": "float32",
        "torch_dtype": "float32",
        **tokens,
    }
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": END,
        "pad_token": PAD,
        "model_max_length": shape.context_tokens,
        "clean_up_tokenization_spaces": False,
    }
    generation = {"do_sample": False, **tokens, "eos_token_id": [end, pad]}
    contents = {"config": config, "tokenizer_config": tokenizer_config, "generation_config": generation}
    for name, values in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def _add_vocabulary(writer: Any, gguf: Any, shape: ModelShape, tokenizer_file: Path) -> None:
    tokenizer = json.loads(tokenizer_file.read_text(encoding="utf-8"))
    vocabulary: dict[str, int] = tokenizer["model"]["vocab"]
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    text_of = {number: text for text, number in {**vocabulary, **special}.items()}
    control, normal, unused = (getattr(gguf.TokenType, name) for name in ("CONTROL", "NORMAL", "UNUSED"))
    numbers = range(shape.n_vocabulary)
    kinds = [control if n in special.values() else normal if n in text_of else unused for n in numbers]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(LLAMA_CPP_PRE)
    writer.add_token_list([text_of.get(number, f"[PAD{number}]") for number in numbers])
    writer.add_token_types(kinds)
    writer.add_token_merges(
        [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["model"]["merges"]]
    )
    writer.add_eos_token_id(special[END])
    writer.add_pad_token_id(special[PAD])
    writer.add_add_bos_token(False)
    roles = {
        "pre": FORMAT.prefix,
        "suf": FORMAT.suffix,
        "mid": FORMAT.middle,
        "pad": PAD,
        "rep": FORMAT.repository,
        "sep": FORMAT.file,
    }
    for role, token in roles.items():
        writer.add_uint32(f"tokenizer.ggml.fim_{role}_token_id", special[token])


def _interleaved(weight: Tensor, n_heads: int) -> Tensor:
    """Permute the rows of a query or key projection for llama.cpp's rotary embedding, which pairs adjacent rows."""
    rows, columns = weight.shape
    return weight.reshape(n_heads, 2, rows // n_heads // 2, columns).transpose(1, 2).reshape(rows, columns)


def padded_shape(shape: ModelShape, tokenizer: TrainingTokenizer) -> ModelShape:
    """`shape` with the vocabulary of the tokenizer, quantised up to a multiple of 64 for fast matrix products."""
    return replace(shape, n_vocabulary=-(-tokenizer.n_vocabulary // 64) * 64)
