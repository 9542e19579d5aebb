"""Positions in a text: lines as the language server protocol breaks them, columns as Python counts characters.

Owns line starts, clamping, edits, and where two texts differ. Knows no encoding units: the LSP layer converts before
it gets here.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_BLOCK = 16_384  # characters that are compared at once
_BLOCK_OF_BREAKS = 1 << 20


class TextLines:
    """A text with its line starts, computed once. Line breaks are \\n, \\r\\n and \\r; nothing else."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _starts(self) -> array[int]:
        return array("i", [0]) + _ends_of_breaks(self.text, 0, len(self.text))

    def replaced(self, start: int, end: int, new: str) -> TextLines:
        """With `new` for the characters from `start` to `end`. Only the lines that this touches are split again."""
        made = TextLines(f"{self.text[:start]}{new}{self.text[end:]}")
        starts = self._starts
        # From the line before, whose carriage return may be joined by a line feed, to the end of the last line.
        first = max(bisect_right(starts, start) - 2, 0)
        after = bisect_right(starts, end)  # the first line that stays as it was
        shift = len(new) - (end - start)
        region_end = starts[after] + shift if after < len(starts) else len(made.text)
        changed = starts[: first + 1]
        changed.extend(_ends_of_breaks(made.text, starts[first], region_end))
        n_before = len(changed)
        changed.frombytes(memoryview(starts)[after + 1 :].cast("B"))
        np.frombuffer(changed, np.int32)[n_before:] += np.int32(shift)
        made.__dict__["_starts"] = changed
        return made

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


def _ends_of_breaks(text: str, start: int, end: int) -> array[int]:
    """Where the line breaks between two offsets end. By arrays and in blocks, so that a large text takes milliseconds
    and little memory."""
    ends = array("i")
    for begin in range(start, end, _BLOCK_OF_BREAKS):
        block = text[begin : min(begin + _BLOCK_OF_BREAKS, end)]
        if block.isascii():
            codes: NDArray[Any] = np.frombuffer(block.encode(), np.uint8)
        else:
            codes = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), np.uint32)
        is_end = codes == ord("\n")
        if "\r" in block:
            is_return = codes == ord("\r")
            is_return[:-1] &= ~is_end[1:]
            if text[begin + len(block) : begin + len(block) + 1] == "\n":
                is_return[-1] = False
            is_end |= is_return
        ends.frombytes((np.flatnonzero(is_end) + (begin + 1)).astype(np.int32).tobytes())
    return ends


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
