"""Packaging of a trained model into one release file: the 8-bit ONNX file, its tokenizer, card and licences.

Owns the contents of the file and the preconditions. `llm/library/release_file.py` owns its format. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..library.release_file import BadRelease, file_hash, write_release
from .same_text import SAME_TEXT

# Names in the release, and paths in a trained folder.
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

CHECKS = "checks.json"
RELEASED_EXPORT = "onnx int8"  # its title in `check.py`

_LICENCE = Path(__file__).resolve().parents[2] / "LICENSE"  # of the project, and of the weights
_COMPARED = tuple(path for path in FILES.values() if path.startswith("onnx/"))


def save_checks(out: Path, agrees: Mapping[str, bool], missing: Sequence[str]) -> None:
    """Write the results of a check with the hashes of its files, so that no other files are released."""
    hashes = {path: file_hash(out / path) for path in _COMPARED}
    found = {"agrees": dict(agrees), "missing": list(missing), "files": hashes}
    (out / CHECKS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def make_release(out: Path, name: str) -> Path:
    """`out/NAME.zip`. Raises BadRelease when a file is missing, or the exports were not checked or do not agree."""
    if missing := [path for path in FILES.values() if not (out / path).is_file()]:
        raise BadRelease(f"{out} has no {', '.join(missing)}. Run the steps `export` and `check` first.")
    checks = _checks(out)
    if checks["files"] != {path: file_hash(out / path) for path in _COMPARED}:
        raise BadRelease("The exports changed after the check. Run the step `check` again.")
    if wrong := [export for export, agrees in checks["agrees"].items() if not agrees]:
        raise BadRelease(
            f"These exports do not agree with the model: {', '.join(wrong)}. Look at card.md, and export again."
        )
    if RELEASED_EXPORT not in checks["agrees"]:
        raise BadRelease(f"The released export was not checked: {'; '.join(checks['missing'])}. Install the package.")
    path = out / f"{name}.zip"
    write_release(path, name, {**{inside: out / path for inside, path in FILES.items()}, "LICENSE": _LICENCE})
    return path


def _checks(out: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((out / CHECKS).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise BadRelease(f"{out / CHECKS} can't be read ({error}). Run the step `check` first.") from error
