"""The next completion before anybody asks: at the place where the cursor will stand when a shown one is taken.

Owns which completions were shown lately and where, and that place. Knows no model and no thread: when it is idle
enough is its caller's matter.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from ..workspace.text import Cursor, TextLines
from .values import Completion, Request

REMEMBERED = 16
"""Completions of the last moments; what a person sees is one of them."""


class RecentCompletions:
    """The requests of the latest completions by the completions' ids. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: OrderedDict[str, tuple[Request, Completion]] = OrderedDict()

    def remember(self, request: Request, completion: Completion) -> None:
        if completion.text:
            with self._lock:
                self._answered[completion.id] = (request, completion)
                if len(self._answered) > REMEMBERED:
                    self._answered.popitem(last=False)

    def cursor_after(self, item_id: str) -> Cursor | None:
        """Where the cursor stands when this completion was taken; once only, None when it is not known any more."""
        with self._lock:
            request, completion = self._answered.pop(item_id, (None, None))
        return None if request is None or completion is None else cursor_after(request.cursor, completion)


def cursor_after(cursor: Cursor, completion: Completion) -> Cursor:
    """The cursor behind the completion's text, in the text that holds it."""
    text = cursor.lines.text
    start, end = (cursor.lines.offset(*position) for position in (completion.start, completion.end))
    lines = TextLines(text[:start] + completion.text + text[end:])
    line, character = lines.position(start + len(completion.text))
    return replace(cursor, lines=lines, line=line, character=character)
