"""Prefetch: the cursor after a completion is accepted, where the next completion will be requested.

Owns the recent completions with their requests, and the computation of that cursor. Knows no model and no thread; the
caller decides when to prefetch.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from ..workspace.text import Cursor, TextLines
from .values import Completion, Request

MAX_RECENT = 16
"""Number of completions to remember; the one on the screen is among them."""


class RecentCompletions:
    """Recent completions with their requests, by the id of the completion. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, tuple[Request, Completion]] = OrderedDict()

    def add(self, request: Request, completion: Completion) -> None:
        if completion.text:
            with self._lock:
                self._recent[completion.id] = (request, completion)
                if len(self._recent) > MAX_RECENT:
                    self._recent.popitem(last=False)

    def cursor_after(self, item_id: str) -> Cursor | None:
        """The cursor after the completion is accepted; None for an unknown id, and from the second call on."""
        with self._lock:
            request, completion = self._recent.pop(item_id, (None, None))
        return None if request is None or completion is None else cursor_after(request.cursor, completion)


def cursor_after(cursor: Cursor, completion: Completion) -> Cursor:
    """The cursor at the end of the completion, in the text with the completion inserted."""
    text = cursor.lines.text
    start, end = (cursor.lines.offset(*position) for position in (completion.start, completion.end))
    lines = TextLines(text[:start] + completion.text + text[end:])
    line, character = lines.position(start + len(completion.text))
    return replace(cursor, lines=lines, line=line, character=character)
