"""Immutable snapshot of one folder's index: code graph, fragments, inverted index and workspace model.

Owns the combination of the packages' snapshots. Replaced whole on every change and never changed in place, so a running
completion has a consistent view. `cross_folder` derives a snapshot whose index has several folders; `index_path` and
`shown` translate paths. Knows no disk, no buffer and no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...codegraph import STORED_CLASSES as GRAPH_CLASSES
from ...codegraph.graph import Spread
from ...codegraph.persistent_map import as_persistent
from ...llm.workspace_model.model import STORED_CLASSES as MODEL_CLASSES
from ...llm.workspace_model.model import WorkspaceModel
from ...retrieval import STORED_CLASSES as INDEX_CLASSES
from ...retrieval import RepositoryIndex, RetrievalSettings, Retrieved
from .analysis import Analysis
from .store import FileRecord


@dataclass(frozen=True, slots=True)
class FolderSnapshot:
    """The index of one folder. `records` contains the files indexed from disk; other files are unsaved buffers.

    After an edit the edited file can be retrieved. What follows from it for other files, and the merging of segments,
    may be left to a following snapshot: `is_settled` is False then.
    """

    index: RepositoryIndex
    model: WorkspaceModel
    records: Mapping[str, FileRecord]
    texts: Mapping[str, bytes] = field(init=False)  # by shown path
    is_settled: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", self.index.texts)

    @property
    def name(self) -> str:
        """The name of the folder, for prompts."""
        return self.index.name

    def index_path(self, path: str) -> str:
        """The path in `index` of a file of this folder."""
        return path

    def shown(self, found: Retrieved) -> Retrieved:
        """A result of `index` with paths as this folder shows them: those of its own files are relative to it."""
        return found

    def shown_path(self, path: str) -> str:
        """A path of `index` as this folder shows it."""
        return path

    def other_file(self, path: str) -> Path | None:
        """The file of a shown path in another folder; None for a path in this folder."""
        return None

    @staticmethod
    def empty(settings: RetrievalSettings) -> FolderSnapshot:
        return FolderSnapshot(RepositoryIndex.build((), settings), WorkspaceModel.build(()), {})

    def with_changes(
        self,
        changed: Iterable[Analysis],
        removed: Iterable[str] = (),
        spread: Spread = map,
        model: Callable[[], WorkspaceModel] | None = None,
        *,
        settles: bool = True,
    ) -> FolderSnapshot:
        """The next snapshot. The cost depends on the changed files, not on the size of the folder.

        `spread` resolves the calls, see `CodeGraph.with_changes`. `model` returns the next model where it is made
        elsewhere. Without `settles` the rest is left to `settled`.
        """
        changed = list(changed)
        removed = [path for path in removed if path in self.index]
        if not changed and not removed:
            return self
        records = {analysis.path: analysis.record for analysis in changed if analysis.record is not None}
        gone = [*removed, *(analysis.path for analysis in changed if analysis.record is None)]
        return FolderSnapshot(
            self.index.with_changes([(a.graph, a.fragments) for a in changed], removed, spread, settles=settles),
            self.model.with_changes([a.tokens for a in changed], removed, settles=settles)
            if model is None
            else model(),
            as_persistent(self.records).with_changes(records, gone),
            is_settled=settles,
        )

    def settled(self, is_over: Callable[[], bool] = lambda: False) -> FolderSnapshot:
        """The snapshot with the rest that edits left, or with some of it once `is_over`; this one if nothing is left.

        It equals a snapshot from scratch once it `is_settled`.
        """
        if self.is_settled:
            return self
        index = self.index.settled(is_over)
        if not index.is_settled or is_over():
            return replace(self, index=index)
        return replace(self, index=index, model=self.model.settled(), is_settled=True)

    def with_records(self, records: Iterable[FileRecord]) -> FolderSnapshot:
        """The same content with new stamps, for files that were touched but not changed."""
        merged = as_persistent(self.records).with_changes({record.path: record for record in records})
        return replace(self, records=merged)


STORED_CLASSES: tuple[type, ...] = (*GRAPH_CLASSES, *INDEX_CLASSES, *MODEL_CLASSES)
"""The classes in a cached snapshot."""
