"""Predictions of a session and what was typed instead: the record of each line, and of each kind of place.

Owns the comparison of a prediction with the text that follows, at the next request in its file. A prediction is the
model's best text, shown or not. A text that is typed past, or accepted and deleted again, counts against predictions
at places of its kind. Knows no model and no threshold.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from ..workspace.text import Cursor, FileOfSession
from .place import Place

MAX_FILES = 256
FIRST_SHARE = 0.3
"""The share of right predictions that a session begins with."""

WEIGHT = 0.1
"""Of the latest prediction in the share of right ones, a moving average."""


class LineRecord(NamedTuple):
    """What was requested and predicted on the cursor's line before, and the share of right predictions in this session.

    A prediction is right when its first word is typed.
    """

    n_requests: int = 0
    n_same: int = 0  # predictions in a row of the line that is predicted now
    n_changed: int = 0  # predictions that another one followed
    share_right: float = FIRST_SHARE  # of predictions at places of this kind


NEW_LINE = LineRecord()


@dataclass(slots=True)
class _LineState:
    """The state of the line that is typed in one file."""

    number: tuple[int, int] = (-1, -1)  # of the line, and of lines in the file
    before: str = ""  # the line up to the last cursor
    predicted: str = ""  # the whole line as it was predicted last
    n_requests: int = 0
    n_same: int = 0
    n_changed: int = 0
    pending: tuple[str, str, Place] | None = None  # text before, predicted text, place
    accepted: tuple[str, Place] | None = None  # the line before a text that was accepted, and its place


@dataclass(slots=True)
class TypedPast:
    """The predictions of a session. Thread-safe."""

    _lines: OrderedDict[FileOfSession, _LineState] = field(default_factory=OrderedDict)
    _shares: dict[Place, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def predicted(self, cursor: Cursor, place: Place, text: str) -> LineRecord:
        """Add the prediction at a cursor, "" for none; the record of its line with this prediction."""
        number, before = (cursor.line, cursor.lines.n_lines), cursor.start_of_line
        with self._lock:
            line = self._lines.setdefault(cursor.file, _LineState())
            self._lines.move_to_end(cursor.file)
            while len(self._lines) > MAX_FILES:
                self._lines.popitem(last=False)
            if line.number != number:
                if line.pending is not None:
                    self._resolve(line, *line.pending, typed=_typed_on(line, cursor))
                self._lines[cursor.file] = line = _LineState(number)
            elif before != line.before:
                self._compare(line, before)
            elif line.n_requests and line.predicted == (before + text if text else ""):
                return self._record(line, place)._replace(n_requests=line.n_requests - 1)  # the same request again
            whole = before + text if text else ""
            line.n_changed += bool(line.n_requests and line.predicted and line.predicted != whole)
            line.n_same = line.n_same + 1 if whole and whole == line.predicted else 0
            if line.pending is None and text:
                line.pending = before, text, place
            line.before, line.predicted = before, whole
            record = self._record(line, place)
            line.n_requests += 1
            return record

    def record(self, cursor: Cursor, place: Place) -> LineRecord:
        """The record of the cursor's line, for a prediction that is not added."""
        with self._lock:
            line = self._lines.get(cursor.file)
            if line is None or line.number != (cursor.line, cursor.lines.n_lines):
                line = _LineState()
            return self._record(line, place)

    def clear(self) -> None:
        with self._lock:
            self._lines.clear()
            self._shares.clear()

    def _record(self, line: _LineState, place: Place) -> LineRecord:
        return LineRecord(line.n_requests, line.n_same, line.n_changed, self._shares.get(place, FIRST_SHARE))

    def _compare(self, line: _LineState, before: str) -> None:
        """Compare the pending prediction with the line as it is now."""
        if line.accepted is not None and line.accepted[0].startswith(before):
            self._count(line.accepted[1], is_right=False)  # accepted and deleted again
            line.accepted = None
        if line.pending is None:
            return
        start, text, place = line.pending
        typed = before[len(start) :] if before.startswith(start) else ""
        if not typed:
            line.pending = None  # edited elsewhere
        elif not text.startswith(typed) or len(typed) > _first_word(text):
            self._resolve(line, start, text, place, typed)

    def _resolve(self, line: _LineState, start: str, text: str, place: Place, typed: str) -> None:
        agrees = text.startswith(typed)
        self._count(place, is_right=typed.startswith(text[: _first_word(text)]))
        line.pending = None
        if agrees and len(typed) > 1 and len(start) + len(typed) - len(line.before) > 1:
            line.accepted = start, place

    def _count(self, place: Place, *, is_right: bool) -> None:
        share = self._shares.get(place, FIRST_SHARE)
        self._shares[place] = (1 - WEIGHT) * share + WEIGHT * is_right


def _typed_on(line: _LineState, cursor: Cursor) -> str:
    """The text behind the pending prediction's cursor on a line that the cursor has left; "" if it is not there."""
    number, start = line.number[0], line.pending[0] if line.pending else ""
    text = cursor.lines.line(number) if number < cursor.lines.n_lines else ""
    return text[len(start) :] if text.startswith(start) else ""


def _first_word(text: str) -> int:
    """Length of the first word or sign, with the white space before it."""
    found = _FIRST_WORD.match(text)
    return found.end() if found else len(text)


_FIRST_WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")
