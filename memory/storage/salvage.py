"""Salvage of conversations from a damaged store, row by row.

Reads around damaged pages by row id; if the first page with header and schema is lost, that of a new store replaces it
in a copy. The damaged file is opened read-only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ...llm.disk import temporary_file
from .migrations import migrate
from .rows import MAX_NUMBER, MAX_SECONDS, DamagedRow, json_list

TURN_COLUMNS = "conversation, number, question, asked_at, answer, answered_at, model, citations, evidence"
"""The columns of salvaged turns. Those that later versions added get their defaults."""

_MAX_FAILED = 1000
_STEP_AFTER = 100  # consecutive failures; a page holds fewer rows
_HEADER_BYTES = 100
_MAX_ID_CHARACTERS = 100


class Salvaged(NamedTuple):
    """Rows of the tables `conversations` and `turns`, by key."""

    conversations: dict[str, tuple[Any, ...]]
    turns: dict[tuple[str, int], tuple[Any, ...]]


def salvage(path: Path) -> Salvaged:
    """The readable rows of the store at `path`, with U+FFFD for invalid UTF-8. Raises nothing."""
    found = Salvaged({}, {})
    if not path.is_file():  # SQLite would block on a pipe
        return found
    try:
        # Read-only; SQLite reads the write-ahead log as well.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as damaged:
            _read(damaged, found)
        if not found.turns:
            with temporary_file(path.parent) as copy:
                _with_new_first_page(path, copy)
                with closing(sqlite3.connect(copy)) as damaged:
                    _read(damaged, found)
    except (OSError, sqlite3.Error, ValueError):
        pass
    for (id, number), turn in found.turns.items():
        if id not in found.conversations:
            found.conversations[id] = (id, turn[2][:80] if number == 0 else "", "", turn[3], turn[3])
    return found


def _read(damaged: sqlite3.Connection, found: Salvaged) -> None:
    damaged.text_factory = lambda text: text.decode("utf-8", "replace")
    for row in _rows(damaged, "conversations", "id, title, folder, created_at, changed_at"):
        conversation = _conversation(*row)
        if conversation is not None:
            found.conversations.setdefault(conversation[0], conversation)
    for row in _rows(damaged, "turns", TURN_COLUMNS):
        turn = _turn(row)
        if turn is not None:
            found.turns.setdefault((turn[0], turn[1]), turn)


def _rows(damaged: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Rows by row id, without indexes; skips ids after an error."""
    sql = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid"
    last, n_failed, n_in_a_row = 0, 0, 0
    while n_failed < _MAX_FAILED and last < MAX_NUMBER:
        try:
            for row in damaged.execute(sql, (last,)):
                last, n_in_a_row = max(last, row[0]), 0
                yield row[1:]
            return
        except (sqlite3.Error, ValueError, OverflowError, MemoryError):
            n_failed, n_in_a_row = n_failed + 1, n_in_a_row + 1
            last += 1 if n_in_a_row < _STEP_AFTER else 50


def _conversation(id: Any, title: Any, folder: Any, created_at: Any, changed_at: Any) -> tuple[Any, ...] | None:
    if not _is_id(id) or not _is_time(created_at):
        return None
    return (id, _text(title), _text(folder), created_at, changed_at if _is_time(changed_at) else created_at)


def _turn(row: tuple[Any, ...]) -> tuple[Any, ...] | None:
    id, number, question, asked_at, answer, answered_at, model, citations, evidence = row
    is_named = _is_id(id) and isinstance(number, int) and 0 <= number < MAX_NUMBER
    if not is_named or not isinstance(question, str) or not _is_time(asked_at):
        return None
    answer, answered_at = answer if isinstance(answer, str) else None, answered_at if _is_time(answered_at) else None
    return (id, number, question, asked_at, answer, answered_at, _text(model), _json(citations), _json(evidence))


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_ID_CHARACTERS


def _is_time(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value < MAX_SECONDS


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json(value: Any) -> str:
    try:
        json_list(_text(value), "")
    except DamagedRow:
        return "[]"
    return str(value)


def _with_new_first_page(path: Path, copy: Path) -> None:
    """A copy of the file with the first page of a new store."""
    with closing(sqlite3.connect(copy, isolation_level=None)) as new:
        new.execute("PRAGMA auto_vacuum = INCREMENTAL")
        migrate(new)
        (page_bytes,) = new.execute("PRAGMA page_size").fetchone()
    first = bytearray(copy.read_bytes()[:page_bytes])
    with path.open("rb") as damaged, copy.open("wb") as out:
        damaged.seek(page_bytes)
        out.write(first)
        while block := damaged.read(1 << 20):
            out.write(block)
        n_pages = out.tell() // page_bytes
        first[28:32] = n_pages.to_bytes(4, "big")
        first[32:40] = bytes(8)  # no free pages
        out.seek(0)
        out.write(first[:_HEADER_BYTES])
