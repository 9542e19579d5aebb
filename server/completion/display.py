"""Display stability: a text stays while it is typed, and no two different texts on a line follow within a short time.

Owns what was displayed last in each file. A text that goes on as it was, shorter or longer, is the same text. Knows no
model.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock

from ..workspace.text import MAX_SESSIONS, Cursor
from .values import Completion

STEADY_S = 0.32
"""A text is followed by a different one after this time at the earliest: 0.3 s on the screen, where the first of two
texts may appear some milliseconds later than it should."""

UNSTEADY = "another text was shown just before"


@dataclass(slots=True)
class _Displayed:
    cursor: Cursor
    completion: Completion
    since_s: float
    is_past: bool = False  # something else was typed, or the whole text

    @property
    def whole(self) -> str:
        """The line with the text."""
        return _whole(self.cursor, self.completion)

    def rest_at(self, cursor: Cursor, empty: Completion) -> Completion | None:
        """The rest of the text after a part of it was typed, in place of an empty completion.

        None without a rest, or if something else was typed.
        """
        typed, before = cursor.start_of_line, self.cursor.start_of_line
        is_typed = len(typed) > len(before) and self.whole.startswith(typed)
        rest = self.whole[len(typed) :]
        if not is_typed or not rest.strip() or cursor.rest_of_line != self.cursor.rest_of_line:
            return None
        n_replaced = self.completion.end[1] - self.cursor.character
        return replace(
            self.completion,
            text=rest,
            start=(cursor.line, cursor.character),
            end=(cursor.line, cursor.character + n_replaced),
            source="typed-through",
            id=empty.id or self.completion.id,
            timings_ms=empty.timings_ms,
        )


@dataclass(slots=True)
class Display:
    """The texts that are displayed. Thread-safe."""

    _displayed: OrderedDict[str, _Displayed] = field(default_factory=OrderedDict)  # by session: one file has the focus
    _lock: Lock = field(default_factory=Lock)

    def displayed(self, cursor: Cursor, completion: Completion, now_s: float) -> None:
        """A completion is displayed at a time of any clock, whatever was displayed before."""
        with self._lock:
            self._displayed[cursor.session] = _Displayed(cursor, completion, now_s)
            self._displayed.move_to_end(cursor.session)
            if len(self._displayed) > MAX_SESSIONS:
                self._displayed.popitem(last=False)

    def steady(self, cursor: Cursor, completion: Completion, now_s: float) -> Completion:
        """The completion to display at a time of any clock.

        It is the rest of the displayed one if `completion` is empty, and empty, with the reason, if it would flicker.
        """
        last = self._last(cursor)
        if not completion.text:
            if last is None or last.is_past:
                return completion
            rest = last.rest_at(cursor, completion)
            if rest is None:
                last.is_past = True
                return completion
            self.displayed(cursor, rest, last.since_s)
            return rest
        if last is None:
            since_s = now_s
        elif self.is_different(cursor, completion):
            if self.wait_s(cursor, now_s) > 0:
                return replace(completion, text="", why_empty=UNSTEADY, held_back=completion.text)
            since_s = now_s
        else:
            # The part that a longer text adds is displayed from now on.
            since_s = now_s if len(_whole(cursor, completion)) > len(last.whole) else last.since_s
        self.displayed(cursor, completion, since_s)
        return completion

    def is_different(self, cursor: Cursor, completion: Completion) -> bool:
        """Whether the text is a different one than was displayed last on the line: neither begins with the other."""
        last, now = self._last(cursor), _whole(cursor, completion)
        return last is not None and not (last.whole.startswith(now) or now.startswith(last.whole))

    def wait_s(self, cursor: Cursor, now_s: float) -> float:
        """The seconds until a different text does not flicker on the cursor's line."""
        last = self._last(cursor)
        return 0.0 if last is None else max(0.0, last.since_s + STEADY_S - now_s)

    def _last(self, cursor: Cursor) -> _Displayed | None:
        """What was displayed last on the cursor's line."""
        with self._lock:
            last = self._displayed.get(cursor.session)
        if last is None or last.cursor.file != cursor.file or last.cursor.line != cursor.line:
            return None
        return last


def _whole(cursor: Cursor, completion: Completion) -> str:
    return cursor.start_of_line[: completion.start[1]] + completion.text
