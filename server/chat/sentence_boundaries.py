"""Incremental segmentation of a streamed text into sentences and fenced code blocks.

A unit is a sentence, a fenced block, or a sentence with a citation at the end of a line and the block below it.

Owns where units end, also in a text that is still being generated. Knows no citation syntax: callers pass a predicate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

LONGEST_SENTENCE = 2000  # longer sentences are cut at a space: the pending text is searched again with each piece


class BoundaryFinder:
    """Finds the end of the first unit of a growing text.

    Remembers the searched offset, so that the cost is linear in the length of the text, however it is split.
    """

    def __init__(self, cites_lines: Callable[[str], bool]) -> None:
        self._cites_lines = cites_lines
        self._searched = 0  # no sentence ends before this offset
        self._sentence_end = 0  # of a sentence with a citation, perhaps above a block
        self._block_searched = 0

    def find(self, text: str) -> int | None:
        """The end in `text`, which starts with the text of the last call; None while it is unknown."""
        if not self._sentence_end:
            if not text[:LONGEST_SENTENCE].strip():
                line_end = text.find("\n", 0, LONGEST_SENTENCE) + 1
                return line_end or (LONGEST_SENTENCE if len(text) > LONGEST_SENTENCE else None)
            if _may_open_fence(text):
                return None
            if _FENCE.match(text):
                return self._block_end(text, 0)
            end = self._sentence(text)
            if end is None or text[end - 1] != "\n" or not self._cites_lines(text[:end]):
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
        self._searched = last_word_start(text)
        return None

    def _block_end(self, text: str, start: int) -> int | None:
        """The end of the fenced block at `start`; None while it is open."""
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


def last_word_start(text: str) -> int:
    """The offset of the last word: text that follows cannot change what is before it."""
    return max(text.rfind(" ", 0, -1), text.rfind("\n", 0, -1), text.rfind("\t", 0, -1), 0)


def starts_fence(text: str) -> bool:
    """Whether a text starts with a code fence or with a prefix of one."""
    return _FENCE.match(text) is not None or _may_open_fence(text)


def fenced_code(block: str, cited_at: Sequence[int]) -> str:
    """The lines of a fenced block without the fences and without lines that contain a citation."""
    kept, at = [], 0
    for line in block.split("\n"):
        named = any(at <= start < at + len(line) + 1 for start in cited_at)
        if not named and not FENCE_BELOW.match(line):
            kept.append(line)
        at += len(line) + 1
    return "\n".join(kept)


def _may_open_fence(text: str) -> bool:
    """Whether a text is a proper prefix of a code fence."""
    begun = text.lstrip(" ")
    return len(begun) < 3 and len(text) - len(begun) <= 3 and (begun in ("`", "``", "~", "~~"))


_FENCE_CHARACTERS = 8  # of spaces and marks: enough to recognise a fence
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
FENCE_BELOW = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_SENTENCE_END = re.compile(r"\n|[.!?][\"')\]`*_]*[ \t]|[\u3002\uff01\uff1f]")
_NO_END = re.compile(r"(?:^[ \t]*\d+|\b(?:e\.g|i\.e|cf|vs|etc|resp|approx|no))\.[ \t]$", re.IGNORECASE)
