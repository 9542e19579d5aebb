"""Display stability: no two different texts on a line within a short time.

Owns what was displayed last in each file. A text that goes on as it was, shorter or longer, is the same text. Knows no
model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock

from ..workspace.text import Cursor
from .values import Completion

STEADY_S = 0.3
"""A text is followed by a different one after this time at the earliest."""

UNSTEADY = "another text was shown just before"


@dataclass(slots=True)
class _Displayed:
    line: int
    whole: str  # the line with the text
    since_s: float


@dataclass(slots=True)
class Display:
    """The texts that are displayed. Thread-safe."""

    _displayed: dict[tuple[str, str], _Displayed] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def steady(self, cursor: Cursor, completion: Completion, now_s: float) -> Completion:
        """The completion to display at a time of any clock; empty, with the reason, if it would flicker."""
        if not completion.text:
            return completion
        whole = cursor.start_of_line[: completion.start[1]] + completion.text
        with self._lock:
            last = self._displayed.get(cursor.file)
            is_same_line = last is not None and last.line == cursor.line
            if last is not None and is_same_line and _is_same(last.whole, whole):
                last.whole = whole
                return completion
            if last is not None and is_same_line and now_s - last.since_s < STEADY_S:
                return replace(completion, text="", why_empty=UNSTEADY, held_back=completion.text)
            self._displayed = {cursor.file: _Displayed(cursor.line, whole, now_s)}  # one file has the focus
        return completion


def _is_same(before: str, now: str) -> bool:
    """Whether one of two lines begins with the other."""
    return before.startswith(now) or now.startswith(before)
