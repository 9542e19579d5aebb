"""Opens an ONNX export as a model in this process: onnxruntime, the tokenizer of the directory, a LocalModel.

Owns the choice of files. Knows no decoding and no computation: see `model` and `engines/onnx_engine`.
"""

from __future__ import annotations

from pathlib import Path

from ..disk import read_json_object
from ..prompting.chat_template import load_chat_template, template_in
from ..prompting.formats import PROBE, FimChoice
from ..protocol import ModelMissing
from .engines.onnx_engine import OnnxEngine
from .model import LocalModel, LocalSettings
from .prefix_cache import files_hash
from .tokenizer import HfTokenizer

# The first of these that exists, in the directory or its folder `onnx`. Full precision first: with 8-bit activations a
# text may depend on which tokens are computed together. `path` may name another file.
FILES = ("model.onnx", "model_int8.onnx", "model_quantized.onnx")
ROUNDED = "rounds activations to 8 bits: completions may depend slightly on earlier requests"  # for `ModelInfo.notes`


def open_onnx(path: str | Path, *, settings: LocalSettings, fim: FimChoice = PROBE, threads: int = 0) -> LocalModel:
    """The model at `path`: a directory, or one ONNX file of it.

    `threads` 0 measures the fastest number. Raises ModelMissing.
    """
    file, directory = _find(Path(path).expanduser())
    tokenizer = HfTokenizer.open(directory)
    engine = OnnxEngine(file, context_tokens=_context_tokens(directory) or settings.context_tokens, threads=threads)
    chat_tokens, notes = load_chat_template(tokenizer=tokenizer, **template_in(directory))
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
        raise ModelMissing(
            f"{path} does not exist. Set `path` to a directory with an ONNX export, or to its .onnx file."
        )
    for folder in (path, path / "onnx"):
        for name in FILES:
            if (folder / name).is_file():
                return folder / name, path if _has_tokenizer(path) else folder
    raise ModelMissing(f"{path} has no {', '.join(FILES)}. Set `path` to the .onnx file itself.")


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "tokenizer.json").is_file()


def _context_tokens(directory: Path) -> int:
    """The context length in config.json; 0 when unknown."""
    try:
        config = read_json_object(directory / "config.json")
        names = ("max_position_embeddings", "n_positions", "n_ctx")
        return next((int(config[name]) for name in names if config.get(name)), 0)
    except (ValueError, TypeError):
        return 0
