"""Storage of parsed documents: their segments, under the hash of the content.

The text of a segment is stored once for all documents. Knows no file: the caller gives the source and the hash.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..values import Segment, encodable
from .database import Database
from .rows import checked


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A parsed document. `hash` identifies the content and the parser version; `read_at` is in seconds."""

    source: str
    hash: str
    kind: str
    read_at: float
    segments: tuple[Segment, ...]


class Documents:
    """All documents of one workspace. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, source: str, hash: str, segments: Sequence[Segment], kind: str = "") -> None:
        """Store a document and replace the one of its source."""
        self.put_all([StoredDocument(source, hash, kind, time.time(), tuple(segments))])

    def put_all(self, documents: Sequence[StoredDocument]) -> None:
        """Store documents in one transaction."""

        def write(to: sqlite3.Connection) -> None:
            for document in documents:
                segments = document.segments
                to.execute("DELETE FROM documents WHERE source = ?", (document.source,))
                head = (document.source, document.hash, document.kind, document.read_at)
                to.execute("INSERT INTO documents VALUES (?, ?, ?, ?)", head)
                texts = [(s.key, encodable(s.text)) for s in segments]
                to.executemany("INSERT OR IGNORE INTO segments VALUES (?, ?)", texts)
                places = [
                    (document.source, i, s.source, s.number, encodable(s.title), s.key, s.start, s.first_line)
                    for i, s in enumerate(segments)
                ]
                to.executemany("INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?)", places)
            to.execute(_FORGET_UNUSED)

        if documents:
            self._database.write(write)

    def all(self) -> tuple[StoredDocument, ...]:
        """All documents, by source."""

        def read(of: sqlite3.Connection) -> tuple[StoredDocument, ...]:
            segments: dict[str, list[Segment]] = {}
            for row in of.execute(f"{_SEGMENTS} ORDER BY document, position"):
                segments.setdefault(row[0], []).append(_segment(row))
            heads = of.execute("SELECT source, hash, kind, read_at FROM documents ORDER BY source").fetchall()
            return tuple(
                StoredDocument(source, hash, kind, read_at, tuple(segments.get(source, ())))
                for source, hash, kind, read_at in (checked(row, _DOCUMENT) for row in heads)
            )

        return self._database.read(read)

    def sources(self) -> tuple[str, ...]:
        def read(of: sqlite3.Connection) -> tuple[str, ...]:
            rows = of.execute("SELECT source FROM documents ORDER BY source").fetchall()
            return tuple(checked(row, {"source": str})[0] for row in rows)

        return self._database.read(read)

    def drop(self, *sources: str) -> None:
        """Delete documents and overwrite their bytes."""

        def write(to: sqlite3.Connection) -> None:
            to.executemany("DELETE FROM documents WHERE source = ?", [(source,) for source in sources])
            to.execute(_FORGET_UNUSED)

        self._database.write(write)
        self._database.vacuum()


_FORGET_UNUSED = "DELETE FROM segments WHERE key NOT IN (SELECT segment FROM places)"
_DOCUMENT = {"source": str, "hash": str, "kind": str, "read_at": float}
_SEGMENT = {"document": str, "source": str, "number": int, "text": str, "start": int, "first_line": int, "title": str}
_SEGMENTS = f"SELECT {', '.join(_SEGMENT)} FROM places JOIN segments ON key = segment"


def _segment(row: tuple[Any, ...]) -> Segment:
    _, source, number, text, start, first_line, title = checked(row, _SEGMENT)
    return Segment(source, number, text, start, first_line, title=title)
