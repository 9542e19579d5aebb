"""The chat context: what questions read of a workspace.

Owns the gathering of evidence over folders, buffers and documents, and the waits of a question for the index and for
completions. Knows no conversation and no prompt.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import InvalidArgument
from ...llm import Cancel
from ...memory import Segment
from ...memory.storage import MemoryStore, StoreError
from ...retrieval import RepositoryIndex
from ...retrieval.questions import UnitEncoder
from ..completion.idle import IdleWorker
from ..completion.service import PAUSED_NOTE
from ..config import Config
from ..models.active import ActiveModels
from ..models.chain import ModelChain
from ..workspace.buffers import OpenBuffers
from ..workspace.documents import FolderDocuments
from ..workspace.folders import Folders
from ..workspace.indexing import Indexing
from ..workspace.memory import WorkspaceMemory
from ..workspace.recent_edits import RecentEdits
from .commands import Selection
from .evidence import GatherOptions, gather
from .values import EvidenceItem, EvidenceSet

MAX_DOCUMENTS_WAIT_S = 1.0
"""A question waits at most this long for notebooks and PDF files to be read; later questions use them."""

MAX_INDEX_WAIT_S = 60.0
"""A question waits at most this long for an index that is being built, then some files are not searched."""

MAX_EDITS_WAIT_S = 2.0
"""A question and a tool for agents wait at most this long for unsaved text to be indexed."""

MAX_PREEMPTION_S = 0.5
"""An answer that is being written waits at most this long for running completions before its next piece."""


class ChatContext:
    """The parts of a workspace that questions use: folders, buffers, documents, memory, models. Thread-safe."""

    def __init__(
        self,
        config: Config,
        folders: Folders,
        buffers: OpenBuffers,
        models: ActiveModels,
        memories: WorkspaceMemory,
        indexing: Indexing,
        idle: IdleWorker,
        encoder: UnitEncoder | None = None,
    ) -> None:
        self.config = config
        self._folders, self._buffers = folders, buffers
        self._models = models
        self._memories = memories
        self._indexing = indexing
        self._idle = idle
        self.encoder = encoder

    @property
    def memory(self) -> MemoryStore:
        return self._memories.store

    @property
    def models(self) -> ModelChain:
        return self._models.chain

    @property
    def is_indexing(self) -> bool:
        """Whether files are being read that cannot be searched yet."""
        return self._indexing.is_running or self._folders.is_reindexing

    def indexes(self, folder: Path | str | None = None) -> dict[str, RepositoryIndex]:
        """The newest indexes by folder, of one or of all. Unsaved edits are in them.

        Raises ValueError if `folder` is not a folder of this workspace.
        """
        self._buffers.wait_until_settled()
        return self._folders.indexes(folder)

    def documents(self, folder: Path | str) -> FolderDocuments:
        """The documents of a folder of this workspace. Raises KeyError for another folder."""
        return self._memories.documents(self._folders.known(folder))

    def selection(self, path: Path, start_line: int, end_line: int) -> Selection:
        """Selected lines of a document. Raises ValueError for a document that is withheld from models."""
        if withheld := self._buffers.withheld(path):
            raise InvalidArgument(f"{withheld}. Ask without this selection.")
        facts = self._buffers.facts(path)
        return Selection(facts.root, facts.key, start_line, end_line)

    def gather(
        self,
        question: str,
        folder: Path | str | None = None,
        *,
        options: GatherOptions | None = None,
        turns: Sequence[EvidenceItem] = (),
    ) -> EvidenceSet:
        """The evidence for a question, of one folder or of all: code, documents and these past turns.

        Raises ValueError if `folder` is not a folder of this workspace.
        """
        indexes = self.indexes(folder)
        beside, notes = self.documents_beside(indexes, MAX_DOCUMENTS_WAIT_S)
        paused = (PAUSED_NOTE,) if self._indexing.is_paused else ()
        options = options or GatherOptions()
        options = replace(options, search=replace(options.search, encoder=self.encoder))
        evidence = gather(indexes, question, options, turns, beside)
        return replace(evidence, notes=(*evidence.notes, *paused, *notes))

    def documents_beside(
        self, folders: Iterable[str], wait_s: float
    ) -> tuple[dict[str, Sequence[Segment]], Sequence[str]]:
        """By folder the segments of documents that are not in its index, and notes on what was not read."""
        beside, notes = dict[str, Sequence[Segment]](), list[str]()
        for folder in folders:
            try:
                documents = self.documents(folder)
                beside[folder] = documents.files_outside_index(wait_s)
                notes += documents.notes
            except StoreError as error:  # code answers without stored documents
                notes.append(str(error))
        return beside, notes

    def recent_edits(self) -> dict[str, RecentEdits]:
        """By folder."""
        return self._buffers.recent_edits()

    def wait_for_index(self, cancel: Cancel) -> None:
        """Until all files and the unsaved text of open documents are read, or for a while at most."""
        until_s = time.monotonic() + MAX_INDEX_WAIT_S
        while self.is_indexing and time.monotonic() < until_s and not cancel.wait(0.02):
            pass
        self._buffers.wait_until_indexed(MAX_EDITS_WAIT_S)

    def wait_for_completions(self, cancel: Cancel) -> None:
        """Until no completion request runs, or for a moment at most."""
        self._idle.wait_for_requests(cancel, MAX_PREEMPTION_S)
