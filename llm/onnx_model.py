"""An exported model in a directory as a model in this process: onnxruntime, the directory's tokenizer, one LocalModel.

Owns which files of the directory are taken. Knows no decoding: that is `local_model`, and `engines/onnx_engine`
computes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .chat_template import read_conversations, template_in
from .disk import read_text
from .engines.onnx_engine import OnnxEngine
from .formats import PROBE, FimChoice
from .kept_prefix import files_hash
from .local_model import LocalModel, LocalSettings
from .protocol import ModelMissing
from .tokenizer import HfTokenizer

FILES = ("model.onnx", "model_int8.onnx", "model_quantized.onnx")
"""The first that is there, in the directory or in its folder `onnx`. Full precision first: with 8-bit activations a
text may depend on what was read together. Who wants it nevertheless names the file."""

ROUNDED = "rounds to 8 bits: a completion may depend a little on what was read before it"
"""For `ModelInfo.notes`."""


def open_onnx(path: str | Path, *, settings: LocalSettings, fim: FimChoice = PROBE, threads: int = 0) -> LocalModel:
    """The model at `path`: a directory, or one ONNX file of it.

    `threads` 0 takes what is fastest in a short measurement. Raises ModelMissing.
    """
    file, directory = _find(Path(path).expanduser())
    tokenizer = HfTokenizer.open(directory)
    engine = OnnxEngine(file, context_tokens=_context_tokens(directory) or settings.context_tokens, threads=threads)
    chat_tokens, notes = read_conversations(tokenizer=tokenizer, **template_in(directory))
    return LocalModel(
        engine,
        tokenizer,
        name=directory.resolve().name,
        backend="onnx",
        fim=fim.tokens_in(tokenizer.special_tokens),
        settings=settings,
        chat_tokens=chat_tokens,
        notes=notes if engine.is_exact() else (*notes, ROUNDED),
        weights=lambda: files_hash(list(file.parent.glob(f"{file.name}*"))),
    )


def _find(path: Path) -> tuple[Path, Path]:
    """The ONNX file, and the directory with the tokenizer."""
    if path.is_file():
        return path, path.parent if path.parent.name != "onnx" or _has_tokenizer(path.parent) else path.parent.parent
    if not path.is_dir():
        raise ModelMissing(f"{path} is not there. Name a directory with an ONNX export, or its .onnx file, in `path`.")
    for folder in (path, path / "onnx"):
        for name in FILES:
            if (folder / name).is_file():
                return folder / name, path if _has_tokenizer(path) else folder
    raise ModelMissing(f"{path} holds no {', '.join(FILES)}. Name the .onnx file itself in `path`.")


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "tokenizer.json").is_file()


def _context_tokens(directory: Path) -> int:
    """Most tokens that the model was made for, as its config.json says; 0 when it does not."""
    try:
        config: Any = json.loads(read_text(directory / "config.json"))
        names = ("max_position_embeddings", "n_positions", "n_ctx")
        return next((int(config[name]) for name in names if config.get(name)), 0)
    except (OSError, ValueError, TypeError, AttributeError):
        return 0
