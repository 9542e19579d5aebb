"""Rows of earlier runs: what was answered is not asked again while nothing that an answer depends on has changed.

Owns the files, one for each model and repository, a JSON line a row, and what a row depends on. Knows no figure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from ..repoeval.sources import SourceFile
from .answering import Row
from .work import ModelAsked

_ROOT = Path(__file__).resolve().parents[2]
_CODE = (
    "codegraph",
    "retrieval",
    "llm",
    "server/completion",
    "server/analysis.py",
    "server/config.py",
    "benchmarks/repoeval",
    "benchmarks/completion/answering.py",
    "benchmarks/completion/settings.py",
)
_SAID_LATER = frozenset({"confidence.py", "curves.py"})
"""These change no row, only what is said of it."""


class Store:
    """The rows of one model on one repository."""

    def __init__(
        self, folder: Path, repo: str, sources: Mapping[str, SourceFile], model: ModelAsked, *, suffix: bool
    ) -> None:
        files = sorted((path, source.sha256) for path, source in sources.items())
        depends = repr((code_digest(), model, _stamp(model), suffix, files))
        self._path = folder / f"{repo}-{sha256(depends.encode()).hexdigest()[:12]}.jsonl"

    def rows(self) -> list[Row]:
        """What is kept. A line that a killed run tore is left out."""
        rows = []
        if self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").split("\n"):
                with suppress(ValueError):
                    rows.append(Row(**json.loads(line)))
        return rows

    def add(self, rows: Iterable[Row]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="") as file:
            # The line break comes first: it also ends a line that a killed run tore.
            file.write("".join(f"\n{row.to_json()}" for row in rows))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Of all code that a row depends on, and the figures beside it."""
    digest = sha256()
    for part in _CODE:
        path = _ROOT / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            counts = file.suffix in (".py", ".json") and file.name not in _SAID_LATER
            if counts and "training" not in file.parts:
                digest.update(file.relative_to(_ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _stamp(model: ModelAsked) -> list[tuple[str, int, int]]:
    """Of a model's files: another model may lie where one was. Empty for a server."""
    path = Path(model.spelling.partition("=")[2] or model.spelling)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
