"""The memory of one workspace, on disk.

Owns which parts there are. Nothing in it leaves the machine, and what a secret file says never comes here: whoever
reads files sees to that.
"""

from __future__ import annotations

from pathlib import Path

from .conversations import Conversations
from .database import Database
from .documents import Documents
from .result_cache import LIMIT_BYTES, CacheTable, StoredResultCache, StoredVectors


class MemoryStore:
    """Conversations, documents and what was computed of them. Thread-safe, and several processes may share a file."""

    def __init__(
        self,
        path: Path | None,
        *,
        limit_bytes: int = LIMIT_BYTES,
        keep_conversations: bool = True,
        note: str = "",
    ) -> None:
        """Open the store at `path`, made when there is none; None keeps everything in this process alone.

        `limit_bytes` is the room for what was computed. Without `keep_conversations` those alone stay in this process.
        `note` is said with the other notes. Raises StoreTooNew and StoreBusy.
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
        """What a person should know: a file that was moved aside, a disk that cannot be written."""
        return (*self._note, *self._database.notes)

    @property
    def path(self) -> Path | None:
        """The file; None when memory lives in this process alone."""
        return self._database.path

    def delete_all(self) -> None:
        """Forget everything."""
        self.conversations.delete_all()
        self.documents.drop(*self.documents.sources())
        self._table.clear()

    def close(self) -> None:
        self._database.close()
        self._conversation_database.close()
