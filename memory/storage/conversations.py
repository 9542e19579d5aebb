"""Storage of conversations and their turns.

A question is on disk before it is answered, so no turn is lost. Citations and evidence are stored as JSON. Knows no
folder and no prompt.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..values import Item, encodable
from .database import Database, NoConversation, search_condition
from .rows import Columns, checked, json_list

TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation without its turns. Times are seconds since the epoch."""

    id: str
    title: str  # the first question if none was given
    folder: str
    created_at: float
    changed_at: float
    n_turns: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer. `answer` is None if the process ended or the request was cancelled.

    `asked_as` is the standalone question that was answered, "" where that is the question itself.
    """

    conversation: str
    number: int  # from 0
    question: str
    asked_at: float
    answer: str | None = None
    answered_at: float | None = None
    model: str = ""
    citations: tuple[Any, ...] = ()
    evidence: tuple[Any, ...] = ()
    asked_as: str = ""


def items_of(turns: Iterable[Turn]) -> list[Item]:
    """Answered turns as items for any strategy; a conversation is one source."""
    return [
        Item(f"conversation {t.conversation}", f"user: {t.question}\nbot: {t.answer}", "turn", t.number, t.asked_at)
        for t in turns
        if t.answer is not None
    ]


class Conversations:
    """All conversations of one workspace. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, folder: str = "", title: str = "") -> str:
        """Create a conversation; returns its id."""
        id, now = secrets.token_hex(6), time.time()
        row = (id, encodable(title), encodable(folder), now, now)
        self._database.write(lambda to: to.execute("INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", row))
        return id

    def ask(self, id: str, question: str) -> int:
        """Store a question; returns the number of its turn. Raises NoConversation."""
        question, now = encodable(question), time.time()

        def add(to: sqlite3.Connection) -> int:
            title = " ".join(question.split())[:TITLE_CHARACTERS]
            _expect(to.execute("UPDATE conversations SET changed_at = ? WHERE id = ?", (now, id)), id)
            to.execute("UPDATE conversations SET title = ? WHERE id = ? AND title = ''", (title, id))
            last = to.execute("SELECT max(number) FROM turns WHERE conversation = ?", (id,)).fetchone()[0]
            number = 0 if last is None else checked((last,), {"turns.number": int})[0] + 1
            sql = "INSERT INTO turns (conversation, number, question, asked_at) VALUES (?, ?, ?, ?)"
            to.execute(sql, (id, number, question, now))
            return number

        return self._database.write(add)

    def answer(
        self,
        id: str,
        number: int,
        text: str,
        *,
        citations: Sequence[Any] = (),
        model: str = "",
        evidence: Sequence[Any] = (),
        asked_as: str = "",
    ) -> None:
        """Store the answer of a turn and replace an earlier one. Raises NoConversation."""
        now = time.time()
        lists = (json.dumps(list(citations)), json.dumps(list(evidence)))
        row = (encodable(text), now, encodable(model), *lists, encodable(asked_as))

        def put(to: sqlite3.Connection) -> None:
            sql = "UPDATE turns SET answer = ?, answered_at = ?, model = ?, citations = ?, evidence = ?, asked_as = ?"
            _expect(to.execute(f"{sql} WHERE conversation = ? AND number = ?", (*row, id, number)), id)
            to.execute("UPDATE conversations SET changed_at = ? WHERE id = ?", (now, id))

        self._database.write(put)

    def get(self, id: str) -> Conversation | None:
        return next(iter(self._conversations(f"{_CONVERSATIONS} WHERE id = ?", id)), None)

    def turns(self, id: str) -> tuple[Turn, ...]:
        """The turns, oldest first; empty for an unknown conversation."""
        return self._turns(f"{_TURNS} WHERE conversation = ? ORDER BY number", id)

    def list(self, limit: int = 20, text: str = "") -> tuple[Conversation, ...]:
        """Recent conversations first; with `text`, those whose title or one of whose turns contains all its words."""
        holds, words = search_condition(text)
        where = f"{holds('title')} OR id IN (SELECT conversation FROM turns WHERE {holds(_SAID)})"
        sql = f"{_CONVERSATIONS} WHERE {where} ORDER BY changed_at DESC, id LIMIT ?"
        return self._conversations(sql, *words, *words, limit)

    def search(self, text: str, limit: int = 20) -> tuple[Turn, ...]:
        """Turns that contain each word of `text`, case-insensitively and inside of words; newest first."""
        holds, words = search_condition(text)
        order = "ORDER BY asked_at DESC, conversation, number DESC LIMIT ?"
        return self._turns(f"{_TURNS} WHERE {holds(_SAID)} {order}", *words, limit)

    def delete(self, id: str) -> None:
        """Delete a conversation and overwrite its bytes. Ignores an unknown id."""
        self._database.write(lambda to: to.execute("DELETE FROM conversations WHERE id = ?", (id,)))
        self._database.vacuum()

    def delete_turn(self, id: str, number: int) -> None:
        """Delete one turn of a conversation and overwrite its bytes. Ignores an unknown one."""
        sql = "DELETE FROM turns WHERE conversation = ? AND number = ?"
        self._database.write(lambda to: to.execute(sql, (id, number)))
        self._database.vacuum()

    def delete_all(self) -> None:
        self._database.write(lambda to: to.execute("DELETE FROM conversations"))
        self._database.vacuum()

    def all(self) -> tuple[tuple[Conversation, tuple[Turn, ...]], ...]:
        """A consistent snapshot of all conversations with their turns, oldest first."""

        def read(of: sqlite3.Connection) -> tuple[tuple[Conversation, tuple[Turn, ...]], ...]:
            turns: dict[str, list[Turn]] = {}
            for row in of.execute(f"{_TURNS} ORDER BY conversation, number"):
                turn = _turn(row)
                turns.setdefault(turn.conversation, []).append(turn)
            rows = of.execute(f"{_CONVERSATIONS} ORDER BY created_at, id").fetchall()
            return tuple((c, tuple(turns.get(c.id, ()))) for c in map(_conversation, rows))

        return self._database.read(read)

    def add(self, conversations: Iterable[tuple[Conversation, Sequence[Turn]]]) -> int:
        """Import conversations in one transaction; existing turns stay. Returns the number of new turns."""
        heads, turns = [], []
        for c, said in conversations:
            heads.append((c.id, encodable(c.title), encodable(c.folder), c.created_at, c.changed_at))
            for t in said:
                answer = None if t.answer is None else encodable(t.answer)
                when_and_what = (encodable(t.question), t.asked_at, answer, t.answered_at, encodable(t.model))
                lists = (json.dumps(t.citations), json.dumps(t.evidence))
                turns.append((t.conversation, t.number, *when_and_what, *lists, encodable(t.asked_as)))

        def put(to: sqlite3.Connection) -> int:
            to.executemany("INSERT OR IGNORE INTO conversations VALUES (?, ?, ?, ?, ?)", heads)
            return to.executemany("INSERT OR IGNORE INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", turns).rowcount

        return max(0, self._database.write(put))

    def _turns(self, sql: str, *values: Any) -> tuple[Turn, ...]:
        # Rows are checked inside of `read`, which recovers a damaged file and reads again.
        return self._database.read(lambda of: tuple(map(_turn, of.execute(sql, values).fetchall())))

    def _conversations(self, sql: str, *values: Any) -> tuple[Conversation, ...]:
        return self._database.read(lambda of: tuple(map(_conversation, of.execute(sql, values).fetchall())))


_CONVERSATION: Columns = {"id": str, "title": str, "folder": str, "created_at": float, "changed_at": float}
_TURN: Columns = {
    **{"conversation": str, "number": int, "question": str, "asked_at": float, "answer": (str, type(None))},
    **{"answered_at": (float, type(None)), "model": str, "citations": str, "evidence": str, "asked_as": str},
}
_N_TURNS = "(SELECT count(*) FROM turns WHERE conversation = id)"
_CONVERSATIONS = f"SELECT {', '.join(_CONVERSATION)}, {_N_TURNS} FROM conversations"
_TURNS = f"SELECT {', '.join(_TURN)} FROM turns"
_SAID = "question || ' ' || coalesce(answer, '')"


def _conversation(row: Any) -> Conversation:
    return Conversation(*checked(row, {**_CONVERSATION, "n_turns": int}))


def _turn(row: Any) -> Turn:
    *values, citations, evidence, asked_as = checked(row, _TURN)
    citations, evidence = json_list(citations, "citations"), json_list(evidence, "evidence")
    return replace(Turn(*values), citations=citations, evidence=evidence, asked_as=asked_as)


def _expect(changed: sqlite3.Cursor, id: str) -> None:
    if not changed.rowcount:
        raise NoConversation(
            f"There is no conversation `{id}`, or no such turn in it. It may have been deleted; start a new one."
        )
