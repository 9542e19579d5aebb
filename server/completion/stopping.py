"""Where a text ends by its structure: the statement, the block, the next definition.

Owns the stop rules, which look at a text while it is written. Knows no model.
"""

from __future__ import annotations

from .surroundings import Surroundings
from .values import Cursor


class Stopping:
    """The stop rules at one cursor."""

    def __init__(self, cursor: Cursor, surroundings: Surroundings, *, single_line: bool) -> None:
        self._single_line = single_line

    def end_of(self, text: str) -> int | None:
        """How much of `text`, written so far with "\\n" breaks, is wanted; None while it may go on."""
        if self._single_line and "\n" in text and text.strip("\n"):
            start = len(text) - len(text.lstrip("\n"))
            end = text.find("\n", start)
            return end if end >= 0 else None
        return None
