"""Storage of a memorized text in a folder: manifest.json, items.json, segments.json.

Owns the version and the validation. The memory itself is in a subfolder, and cached vectors of the segments in a file.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ...llm.disk import read_text, replace_file
from ...llm.private_files import private_folder
from ..values import Item, Segment
from .prompts import Language
from .text import MemorizedText

VERSION = 1
"""1: items, segments, language, backend, model, context."""

MANIFEST, ITEMS, SEGMENTS = "manifest.json", "items.json", "segments.json"
VECTORS = "vectors"


def save_text(folder: Path, memorized: MemorizedText, backend: str, model: str) -> None:
    """Write everything except the memory. The manifest is written last: a folder without it is incomplete."""
    private_folder(folder)
    (folder / MANIFEST).unlink(missing_ok=True)
    _write(folder / ITEMS, [asdict(item) for item in memorized.items])
    _write(folder / SEGMENTS, [asdict(segment) for segment in memorized.segments])
    about = {"version": VERSION, "strategy": "memorag", "backend": backend, "model": model}
    _write(folder / MANIFEST, {**about, "language": memorized.language, "context": memorized.key})


def load_text(folder: Path, model: str) -> tuple[MemorizedText, str]:
    """The saved text and the name of its backend; "" for none. Raises ModelError."""
    try:
        manifest = _read(folder / MANIFEST)
        version, context, backend, made_by = (manifest[name] for name in ("version", "context", "backend", "model"))
        language: Language = "zh" if manifest["language"] == "zh" else "en"
        items = tuple(Item(**item) for item in _read(folder / ITEMS))
        segments = tuple(Segment(**segment) for segment in _read(folder / SEGMENTS))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{folder} is not a complete memory ({error}). Save it again.") from error
    if version != VERSION:
        raise ModelError(
            f"{folder} is memory version {version}; this Weft reads version {VERSION}. Memorize the text again."
        )
    if backend and model and made_by != model:
        raise ModelError(
            f"{folder} is a memory of {made_by}, but the model is {model}. Use that model, or memorize the text again."
        )
    memorized = MemorizedText(items, segments, language)
    if memorized.key != context:
        raise ModelError(f"The text in {folder} changed after it was memorized. Memorize it again.")
    return memorized, str(backend)


def _read(path: Path) -> Any:
    return json.loads(read_text(path))


def _write(path: Path, value: Any) -> None:
    # Lone surrogates are written as escapes.
    replace_file(path, json.dumps(value).encode())
