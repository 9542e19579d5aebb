"""Removes a repetition of the code before the cursor from the start of the text.

Owns the comparison with the cursor's line up to the cursor, and with the lines above it.
"""

from __future__ import annotations

import re

from .draft import Draft
from .window import CursorWindow

_WORDS = re.compile(r"\w+")
# Shorter repetitions may be intended: `count += 1`.
_MIN_WORDS = 3
_MIN_START = 4


def remove_lines_above(draft: Draft) -> Draft:
    """The text without the code before the cursor that it begins with."""
    window = draft.window
    text = draft.text if window.scan.inside else _without_start_of_line(draft.text, window)
    if draft.text.strip() and not text.strip():
        return draft.refused("the model only repeated the line at the cursor")
    lines = text.rstrip("\n").split("\n")
    n = _n_lines_of_above(lines, window)
    if n == len(lines):
        return draft.refused("the model only repeated the lines above")
    # Inside a line, the first line of the text continues the user's code.
    if n > 1 and window.at_line_start:
        text = "\n".join(lines[n:]).lstrip("\n")
    return draft.with_text(text)


def _without_start_of_line(text: str, window: CursorWindow) -> str:
    start = window.before.strip()
    # A single word may be intended twice (`long long`), as may a character.
    if len(start) < _MIN_START or not re.search(r"\w\W|\W\w", start):
        return text
    apart = window.before.endswith((" ", "\t"))
    while (body := text.lstrip(" \t\n")).startswith(start):
        rest = body[len(start) :]
        if apart and _WORDS.match(rest) and _WORDS.match(start[-1]):
            break  # a longer word
        text = rest.lstrip(" \t") if apart else rest
    return text


def _n_lines_of_above(lines: list[str], window: CursorWindow) -> int:
    """The number of the text's first lines that equal the lines right above the cursor, in order."""
    whole = [window.before + lines[0], *lines[1:]]
    whole[-1] += window.after
    above = [line for line in window.lines_above if line.strip()][: len(whole)][::-1]
    for n in range(min(len(whole), len(above)), 0, -1):
        same = all(a.strip() == b.strip() for a, b in zip(whole[:n], above[-n:], strict=True))
        # Elements of a list may be intended twice, statements rarely.
        if same and not _are_elements(whole[:n]) and len(_WORDS.findall(" ".join(whole[:n]))) >= _MIN_WORDS:
            return n
    return 0


def _are_elements(lines: list[str]) -> bool:
    return all(line.rstrip().endswith(",") for line in lines)
