"""The interface of a workspace that question answering uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ...llm import Cancel
from ...memory.storage import MemoryStore
from ...retrieval import RepositoryIndex
from ..config import Config
from ..models.chain import ModelChain
from ..workspace.documents import FolderDocuments
from ..workspace.recent_edits import RecentEdits
from .evidence import GatherOptions
from .values import EvidenceItem, EvidenceSet


class Desk(Protocol):
    """The part of a workspace that questions need. Thread-safe."""

    @property
    def config(self) -> Config: ...

    @property
    def memory(self) -> MemoryStore: ...

    @property
    def models(self) -> ModelChain: ...

    def indexes(self) -> Mapping[str, RepositoryIndex]:
        """The snapshots by folder, unsaved edits included."""
        ...

    def documents(self, folder: Path | str) -> FolderDocuments: ...

    def gather(
        self,
        question: str,
        folder: Path | str | None = None,
        *,
        options: GatherOptions | None = None,
        turns: Sequence[EvidenceItem] = (),
    ) -> EvidenceSet: ...

    def recent_edits(self) -> Mapping[str, RecentEdits]:
        """By folder."""
        ...

    @property
    def is_indexing(self) -> bool:
        """Whether files are being read that are not searchable yet."""
        ...

    def wait_for_index(self, cancel: Cancel) -> None:
        """Until all files are read, or for a while at most."""
        ...

    def wait_for_completions(self, cancel: Cancel) -> None:
        """Until no completion is asked for, or for a moment at most."""
        ...
