"""How much of a shown text a person takes who does not take all of it: a word, a line, some lines.

Owns the lengths. What is left needs no new request: the engine knows the rest of what it showed (`reuse`).
"""

from __future__ import annotations

import re
from typing import Literal

Unit = Literal["word", "line"]

# White space before a word belongs to it, and so does one opening bracket or dot behind it: `  total(` is one step.
# A line break is a step of its own with the indentation after it.
_WORD = re.compile(r"\r?\n[ \t]*|[ \t]*(?:\w+[.(\[]?|[^\w\s]+|(?=\r?\n)|$|\s)")
_LINE = re.compile(r"[^\n]*(?:\n|$)")


def part_length(text: str, unit: Unit, n: int = 1) -> int:
    """Characters in the first `n` words or lines of `text`; its length when there are no more.

    The line break after the last line that is taken stays: the cursor ends where that line does.
    """
    end = 0
    for _ in range(n):
        match = (_WORD if unit == "word" else _LINE).match(text, end)
        if match is None or match.end() == end:
            break
        end = match.end()
    if unit == "line" and end < len(text):
        end -= 2 if text[:end].endswith("\r\n") else 1
    return end
