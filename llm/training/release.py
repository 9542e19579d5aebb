"""Packing of a trained folder into one release file: the 8-bit ONNX file, what it needs, its card and its licences.

Owns what goes into the file and what must be true before. Knows no format: that is `llm/library/release_file.py`, which
installs it, too. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..library.release_file import BadRelease, file_hash, write_release
from .same_text import SAME_TEXT

FILES = {
    "model_int8.onnx": "onnx/model_int8.onnx",
    "tokenizer.json": "onnx/tokenizer.json",
    "config.json": "onnx/config.json",
    "tokenizer_config.json": "onnx/tokenizer_config.json",
    "generation_config.json": "onnx/generation_config.json",
    SAME_TEXT: SAME_TEXT,
    "card.md": "card.md",
    "licences.md": "licences.md",
}
"""In the release, and where they are in a trained folder."""

CHECKS = "checks.json"
RELEASED_EXPORT = "onnx int8"  # as `check.py` calls it

_LICENCE = Path(__file__).resolve().parents[2] / "LICENSE"  # of the project, and of the weights
_COMPARED = tuple(path for path in FILES.values() if path.startswith("onnx/"))


def keep_checks(out: Path, agrees: Mapping[str, bool], missing: Sequence[str]) -> None:
    """What a check found, with the hashes of the files that it read: a release of others is refused."""
    hashes = {path: file_hash(out / path) for path in _COMPARED}
    found = {"agrees": dict(agrees), "missing": list(missing), "files": hashes}
    (out / CHECKS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def make_release(out: Path, name: str) -> Path:
    """`out/NAME.zip`. Raises BadRelease when a file is missing, or the exports were not checked or do not agree."""
    if missing := [path for path in FILES.values() if not (out / path).is_file()]:
        raise BadRelease(f"{out} has no {', '.join(missing)}. Run the steps `export` and `check` first.")
    checks = _checks(out)
    if checks["files"] != {path: file_hash(out / path) for path in _COMPARED}:
        raise BadRelease("The exports are not those that were checked. Run the step `check` again.")
    if wrong := [export for export, agrees in checks["agrees"].items() if not agrees]:
        raise BadRelease(f"These exports do not agree with the model: {', '.join(wrong)}. See the table in card.md.")
    if RELEASED_EXPORT not in checks["agrees"]:
        raise BadRelease(f"The export that is released was not checked: {'; '.join(checks['missing'])}. Install that.")
    path = out / f"{name}.zip"
    write_release(path, name, {**{inside: out / path for inside, path in FILES.items()}, "LICENSE": _LICENCE})
    return path


def _checks(out: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((out / CHECKS).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise BadRelease(f"{out / CHECKS} can't be read ({error}). Run the step `check` first.") from error
