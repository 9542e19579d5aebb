"""Positions in a text: lines as the language server protocol breaks them, columns as Python counts characters.

Owns line starts, clamping, and where two texts differ. Knows no encoding units: the LSP layer converts before it
gets here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_BLOCK = 16_384  # characters that are compared at once


class TextLines:
    """A text with its line starts, computed once. Line breaks are \\n, \\r\\n and \\r; nothing else."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _starts(self) -> list[int]:
        # Made anew with every key, so by arrays: a text of a million characters takes a millisecond or two.
        if self.text.isascii():
            codes: NDArray[Any] = np.frombuffer(self.text.encode(), np.uint8)
        else:
            codes = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        ends = codes == ord("\n")
        if "\r" in self.text:
            is_return = codes == ord("\r")
            is_return[:-1] &= ~ends[1:]
            ends |= is_return
        return [0, *(np.flatnonzero(ends) + 1).tolist()]

    @cached_property
    def line_break(self) -> str:
        """The line break that the text uses first, "\\n" when it has none."""
        found = _LINE_BREAK.search(self.text)
        return found.group() if found else "\n"

    @property
    def n_lines(self) -> int:
        """Lines an editor shows: one more than line breaks."""
        return len(self._starts)

    def line(self, line: int) -> str:
        """The text of a line without its line break."""
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[line] : end].rstrip("\r\n")

    def clamp(self, line: int, character: int) -> tuple[int, int]:
        """The nearest position that exists: a line past the end becomes the end of the text."""
        if line < 0:
            return 0, 0
        if line >= self.n_lines:
            line = self.n_lines - 1
            return line, len(self.line(line))
        return line, max(0, min(character, len(self.line(line))))

    def offset(self, line: int, character: int) -> int:
        """Characters before a position, which is clamped."""
        line, character = self.clamp(line, character)
        return self._starts[line] + character

    def position(self, offset: int) -> tuple[int, int]:
        """Line and character of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return line, offset - self._starts[line]


def changed_range(before: str, after: str) -> tuple[int, int, int]:
    """Where two texts begin to differ, and where in `before` and in `after` what they end with alike begins."""
    longest = min(len(before), len(after))
    start = _n_alike(longest, lambda n, m: before[n:m] == after[n:m])
    end = _n_alike(
        longest - start,
        lambda n, m: before[len(before) - m : len(before) - n] == after[len(after) - m : len(after) - n],
    )
    return start, len(before) - end, len(after) - end


def _n_alike(longest: int, alike: Callable[[int, int], bool]) -> int:
    """How many first characters are alike, at most `longest`; `alike` compares those from n to m."""
    n, step = 0, _BLOCK
    while step and n < longest:
        m = min(n + step, longest)
        if alike(n, m):
            n = m
        else:
            step //= 2
    return n
