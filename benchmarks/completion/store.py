"""Cache of completion rows of earlier runs: one file for each model and repository.

Owns the list of what a row depends on. Knows no figure.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..models import ModelSpec
from ..repoeval.checkouts import CheckoutFiles
from ..rows import RowCache, code_digest
from .answering import CompletionRow

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

_CODE = (
    "codegraph",
    "retrieval",
    "llm",
    "server/completion",
    "server/workspace/analysis.py",
    "server/config/settings.py",
    "benchmarks/repoeval",
    "benchmarks/completion/answering.py",
    "benchmarks/completion/argument_tasks.py",
    "benchmarks/completion/graph_line_forms.py",
    "benchmarks/completion/graph_line_tasks.py",
    "benchmarks/completion/settings.py",
    "benchmarks/similarity.py",
)


def completion_cache(
    folder: Path, repo: str, files: CheckoutFiles, model: ModelSpec, *, suffix: bool
) -> RowCache[CompletionRow]:
    """The cached rows of one model on one repository."""
    return row_cache(folder, repo, files, model, CompletionRow, suffix=suffix)


def row_cache(
    folder: Path, repo: str, files: CheckoutFiles, model: ModelSpec, make: Callable[..., T], *, suffix: bool
) -> RowCache[T]:
    """The same of other rows."""
    contents = sorted([*((path, source.sha256) for path, source in files.sources.items()), *files.manifests.items()])
    depends_on = (code_digest(_CODE), model, _stamp(model), suffix, contents)
    return RowCache(folder, repo, depends_on, make)


def _stamp(model: ModelSpec) -> list[tuple[str, int, int]]:
    """Name, size and time of the model's files, which another model may replace. Empty for a server."""
    path = Path(model.spelling.partition("=")[2] or model.spelling)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
