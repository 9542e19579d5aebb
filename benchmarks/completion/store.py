"""Cache of rows of earlier runs, valid while nothing that a row depends on has changed.

Owns the files, one for each model and repository, a JSON line a row, and what a row depends on. Knows no figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from ..models import ModelSpec
from ..repoeval.sources import SourceFile
from ..rows import add_rows, code_digest, read_rows
from .answering import CompletionRow

_CODE = (
    "codegraph",
    "retrieval",
    "llm",
    "server/completion",
    "server/workspace/analysis.py",
    "server/config/settings.py",
    "benchmarks/repoeval",
    "benchmarks/completion/answering.py",
    "benchmarks/completion/settings.py",
    "benchmarks/similarity.py",
)
_SAID_LATER = frozenset({"confidence.py", "curves.py"})
"""These change no row, only what is said of it."""


class Store:
    """The rows of one model on one repository."""

    def __init__(
        self, folder: Path, repo: str, sources: Mapping[str, SourceFile], model: ModelSpec, *, suffix: bool
    ) -> None:
        files = sorted((path, source.sha256) for path, source in sources.items())
        depends = repr((code_digest(_CODE, _SAID_LATER), model, _stamp(model), suffix, files))
        self._path = folder / f"{repo}-{sha256(depends.encode()).hexdigest()[:12]}.jsonl"

    def rows(self) -> list[CompletionRow]:
        """The cached rows. A line that a killed run tore is left out."""
        return [CompletionRow(**row) for row in read_rows(self._path)]

    def add(self, rows: Iterable[CompletionRow]) -> None:
        add_rows(self._path, (row.to_json() for row in rows))


def _stamp(model: ModelSpec) -> list[tuple[str, int, int]]:
    """Of a model's files: another model may lie where one was. Empty for a server."""
    path = Path(model.spelling.partition("=")[2] or model.spelling)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
