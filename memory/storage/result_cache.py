"""Result cache on disk with LRU eviction: model results and embeddings by content key.

Owns the results (notes, graphs, questions: JSON under a kind and a key), the vectors, and the size limit.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .database import Database

LIMIT_BYTES = 500_000_000
_USED_AGAIN_AFTER_S = 3600.0  # the time of last use is updated at most this often, so that most reads do not write
_CHECKED_AFTER_SHARE = 1 / 16  # share of the limit written before the size is measured again
_ROOM_LEFT_SHARE = 7 / 8  # share of the limit that eviction leaves
_MAX_KEYS = 500  # in one statement; old builds of SQLite limit parameters to 999


class CacheTable:
    """The cache table and its size limit. Thread-safe."""

    def __init__(self, database: Database, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._database = database
        self._lock = threading.Lock()
        self._unchecked_bytes = limit_bytes  # earlier writes are unknown

    def get(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The stored values among these keys."""
        found: dict[str, bytes] = {}
        old: list[str] = []
        wanted, now = list(dict.fromkeys(keys)), time.time()
        for at in range(0, len(wanted), _MAX_KEYS):
            for key, value, used_at in self._rows(kind, wanted[at : at + _MAX_KEYS]):
                if not isinstance(value, bytes):
                    continue  # damaged: computed again
                found[key] = value
                if not isinstance(used_at, float) or now - used_at > _USED_AGAIN_AFTER_S:
                    old.append(key)
        if old:
            rows = [(now, kind, key) for key in old]
            sql = "UPDATE kept SET used_at = ? WHERE kind = ? AND key = ?"
            self._database.write(lambda to: to.executemany(sql, rows))
        return found

    def put(self, kind: str, values: Mapping[str, bytes]) -> None:
        now = time.time()
        rows = [(kind, key, value, now) for key, value in values.items()]
        self._database.write(lambda to: to.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows))
        with self._lock:
            self._unchecked_bytes += sum(map(len, values.values()))
            is_due = self._unchecked_bytes > self.limit_bytes * _CHECKED_AFTER_SHARE
            if is_due:
                self._unchecked_bytes = 0
        if is_due:
            self._database.write(self._make_room)

    def clear(self) -> None:
        self._database.write(lambda to: to.execute("DELETE FROM kept"))
        self._database.vacuum()

    def _rows(self, kind: str, keys: Sequence[str]) -> list[tuple[str, bytes, float]]:
        marks = ", ".join("?" * len(keys))
        sql = f"SELECT key, value, used_at FROM kept WHERE kind = ? AND key IN ({marks})"
        return self._database.read(lambda of: of.execute(sql, (kind, *keys)).fetchall())

    def _make_room(self, to: sqlite3.Connection) -> None:
        (total,) = to.execute("SELECT coalesce(sum(length(value)), 0) FROM kept").fetchone()
        if total <= self.limit_bytes:
            return
        gone = []
        for row, size in to.execute("SELECT rowid, coalesce(length(value), 0) FROM kept ORDER BY used_at, rowid"):
            if total <= self.limit_bytes * _ROOM_LEFT_SHARE:
                break
            gone.append((row,))
            total -= size
        to.executemany("DELETE FROM kept WHERE rowid = ?", gone)


class StoredResultCache:
    """`ResultCache` on disk."""

    def __init__(self, room: CacheTable) -> None:
        self._table = room

    def get(self, kind: str, key: str) -> Any | None:
        """The stored value; None if there is none or it was evicted."""
        value = self._table.get(kind, [key]).get(key)
        try:
            return None if value is None else json.loads(value)
        except (ValueError, RecursionError):
            return None  # damaged: computed again

    def put(self, kind: str, key: str, value: Any) -> None:
        self._table.put(kind, {key: json.dumps(value).encode()})


class StoredVectors:
    """Vectors of texts as bytes, by embedder."""

    def __init__(self, room: CacheTable) -> None:
        self._table = room

    def get(self, embedder: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The stored vectors among these keys."""
        return self._table.get(f"vector {embedder}", keys)

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        self._table.put(f"vector {embedder}", vectors)
