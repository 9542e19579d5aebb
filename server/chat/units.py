"""A text cut into what is decided at once.

A unit is a sentence, a fenced block, or a sentence that names a place at the end of a line with the block below it.

Owns where these end, also in a text that is still being written. Knows no place: it is told whether a text names one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

LONGEST_SENTENCE = 2000
"""Longer ones are cut at a blank: nothing can be checked of them, and each piece costs a look at what is undecided."""


class UnitEnd:
    """Where the unit that a growing text begins with ends.

    Remembers how far it has looked, so that a text costs its length in whatever pieces it comes.
    """

    def __init__(self, names_a_place: Callable[[str], bool]) -> None:
        self._names_a_place = names_a_place
        self._searched = 0  # no sentence ends before
        self._sentence_end = 0  # of a sentence that names a place, with what may be a block below
        self._block_searched = 0

    def find(self, text: str) -> int | None:
        """The end in `text`, which begins with the text of the last call; None while it is not known."""
        if not self._sentence_end:
            if not text[:LONGEST_SENTENCE].strip():
                line_end = text.find("\n", 0, LONGEST_SENTENCE) + 1
                return line_end or (LONGEST_SENTENCE if len(text) > LONGEST_SENTENCE else None)
            if _may_open_fence(text):
                return None
            if _FENCE.match(text):
                return self._block_end(text, 0)
            end = self._sentence(text)
            if end is None or text[end - 1] != "\n" or not self._names_a_place(text[:end]):
                return end
            self._sentence_end = end
        below = _BLANK_LINES.match(text, self._sentence_end)
        start = below.end() if below else self._sentence_end
        if start == len(text) or _may_open_fence(text[start : start + _FENCE_CHARACTERS]):
            return None
        return self._block_end(text, start) if _FENCE.match(text, start) else self._sentence_end

    def _sentence(self, text: str) -> int | None:
        for found in _SENTENCE_END.finditer(text, self._searched, LONGEST_SENTENCE):
            if not _NO_END.search(text, 0, found.end()):
                return found.end()
        if len(text) > LONGEST_SENTENCE:
            return text.rfind(" ", 0, LONGEST_SENTENCE) + 1 or LONGEST_SENTENCE
        self._searched = last_blank(text)
        return None

    def _block_end(self, text: str, start: int) -> int | None:
        """Where the fenced block that begins at `start` ends; None while it is open."""
        opened = _FENCE.match(text, start)
        assert opened is not None
        mark = opened["mark"]
        first_line = text.find("\n", start)
        if first_line < 0:
            return None
        closing = re.compile(rf"^ {{0,3}}{re.escape(mark)}{re.escape(mark[0])}*[ \t]*\n", re.MULTILINE)
        closed = closing.search(text, max(first_line + 1, self._block_searched))
        self._block_searched = text.rfind("\n") + 1
        return None if closed is None else closed.end()


def unit_end(text: str, names_a_place: Callable[[str], bool]) -> int | None:
    """Where the unit that a text begins with ends; None while that is not known."""
    return UnitEnd(names_a_place).find(text)


def last_blank(text: str) -> int:
    """Where the last word of a text may begin: nothing before it is decided by what follows the text."""
    return max(text.rfind(" ", 0, -1), text.rfind("\n", 0, -1), text.rfind("\t", 0, -1), 0)


def begins_block(text: str) -> bool:
    """Whether a text begins with a fence, or with what may become one."""
    return _FENCE.match(text) is not None or _may_open_fence(text)


def code_of(block: str, named_at: Sequence[int]) -> str:
    """The lines inside a fenced block that name no place."""
    kept, at = [], 0
    for line in block.split("\n"):
        named = any(at <= start < at + len(line) + 1 for start in named_at)
        if not named and not FENCE_BELOW.match(line):
            kept.append(line)
        at += len(line) + 1
    return "\n".join(kept)


def _may_open_fence(text: str) -> bool:
    """Whether this is the beginning of a fence, of which it can't be said yet whether it is one."""
    begun = text.lstrip(" ")
    return len(begun) < 3 and len(text) - len(begun) <= 3 and (begun in ("`", "``", "~", "~~"))


_FENCE_CHARACTERS = 8  # of blanks and marks: enough to know one
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
FENCE_BELOW = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_SENTENCE_END = re.compile(r"\n|[.!?][\"')\]`*_]*[ \t]|[\u3002\uff01\uff1f]")
_NO_END = re.compile(r"(?:^[ \t]*\d+|\b(?:e\.g|i\.e|cf|vs|etc|resp|approx|no))\.[ \t]$", re.IGNORECASE)
