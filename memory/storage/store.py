"""The memory store of one workspace.

Combines the parts. Nothing in it leaves the machine. The callers keep secret files out of it.
"""

from __future__ import annotations

from pathlib import Path

from .conversations import Conversations
from .database import Database
from .documents import Documents
from .result_cache import LIMIT_BYTES, CacheTable, StoredResultCache, StoredVectors


class MemoryStore:
    """Conversations, documents and computed results. Thread-safe; several processes can share a file."""

    def __init__(
        self, path: Path | None, *, limit_bytes: int = LIMIT_BYTES, keep_conversations: bool = True, note: str = ""
    ) -> None:
        """Open the store at `path` and create it if missing; None keeps everything in this process.

        `limit_bytes` limits the computed results. Without `keep_conversations`, conversations stay in this process.
        `note` is added to the notes. Raises StoreTooNew and StoreBusy.
        """
        self._database = Database(path)
        self._conversation_database = self._database if keep_conversations else Database(None)
        self._table = CacheTable(self._database, limit_bytes)
        self._note = (note,) if note else ()
        self.conversations = Conversations(self._conversation_database)
        self.documents = Documents(self._database)
        self.cache = StoredResultCache(self._table)
        self.vectors = StoredVectors(self._table)

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for the user: a file that was moved aside, a disk that is not writable."""
        return (*self._note, *self._database.notes)

    @property
    def path(self) -> Path | None:
        """The file; None if the data is in this process only."""
        return self._database.path

    def delete_all(self) -> None:
        self.conversations.delete_all()
        self.documents.drop(*self.documents.sources())
        self._table.clear()

    def close(self) -> None:
        self._database.close()
        self._conversation_database.close()
