"""A Llama model in a GGUF file as a transformers directory: dequantised, for training and evaluation.

Owns the names and the layout of its weights. Reads the file with the `gguf` package.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-calls

from __future__ import annotations

import json
import shutil
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...llm.protocol import ModelMissing

FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")

_OF_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OTHERS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def write_base(gguf_file: Path, files: Path, out: Path, dtype: torch.dtype = torch.bfloat16) -> str:
    """Write the weights to `out/model.safetensors`, with the small files of the folder `files`; returns `weights_hash`.

    Raises ModelMissing for a missing file, and for a tensor that a Llama does not have.
    """
    for path in (gguf_file, *(files / name for name in FILES)):
        if not path.is_file():
            raise ModelMissing(f"{path} is missing. Copy it to there.")
    config = json.loads((files / "config.json").read_text("utf-8"))
    weights = read_llama(gguf_file, config["num_attention_heads"], config["num_key_value_heads"])
    found = weights_hash(weights)
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(files / name, out / name)
    (out / "config.json").write_text(json.dumps(config | {"dtype": str(dtype).removeprefix("torch.")}), "utf-8")
    rounded = {name: weight.to(dtype) for name, weight in weights.items()}
    import_module("safetensors.torch").save_file(rounded, out / "model.safetensors", {"format": "pt"})
    return found


def read_llama(path: Path, n_heads: int, n_kv_heads: int) -> dict[str, Tensor]:
    """All weights in float32, by their names in transformers."""
    gguf: Any = import_module("gguf")
    dequantize = import_module("gguf.quants").dequantize
    weights = dict[str, Tensor]()
    for tensor in gguf.GGUFReader(path).tensors:
        array: NDArray[np.float32] = dequantize(tensor.data, tensor.tensor_type)
        name = _name_of(tensor.name, path)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            array = _unpermuted(array, n_heads if "q_proj" in name else n_kv_heads)
        weights[name] = torch.from_numpy(np.array(array, np.float32))
    return weights


def weights_hash(weights: dict[str, Tensor]) -> str:
    """Of names, shapes and float32 values, in order of names."""
    digest = blake2b(digest_size=16)
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()


def _name_of(name: str, path: Path) -> str:
    parts = name.split(".")
    if parts[0] == "blk" and parts[2] in _OF_LAYER:
        return f"model.layers.{parts[1]}.{_OF_LAYER[parts[2]]}.{parts[3]}"
    if parts[0] in _OTHERS:
        return f"{_OTHERS[parts[0]]}.{parts[1]}"
    raise ModelMissing(f"{path} has the tensor {name}, which a Llama does not have. Use a GGUF file of a Llama.")


def _unpermuted(array: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
    """GGUF pairs the two halves of a head for its rotary embedding; transformers has one half after the other."""
    halves = array.reshape(n_heads, array.shape[0] // n_heads // 2, 2, array.shape[1])
    return halves.swapaxes(1, 2).reshape(array.shape)
