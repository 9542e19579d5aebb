"""What stands above the cursor is not written again.

Owns the comparison with the cursor's line up to the cursor, and with the lines above it.
"""

from __future__ import annotations

import re

from .draft import Draft
from .window import CursorWindow

_WORDS = re.compile(r"\w+")
# Less may stand there twice by chance: `count += 1`.
_MIN_WORDS = 3
_MIN_START = 4


def without_lines_above(draft: Draft) -> Draft:
    """The text without the part of the cursor's line, or the lines above it, that it begins with."""
    window = draft.window
    text = draft.text if window.scan.inside else _without_start_of_line(draft.text, window)
    if draft.text.strip() and not text.strip():
        return draft.refused("the model only repeated the line at the cursor")
    lines = text.rstrip("\n").split("\n")
    n = _n_lines_of_above(lines, window)
    if n == len(lines):
        return draft.refused("the model only repeated the lines above")
    # Elsewhere the first line is half the person's.
    if n > 1 and window.at_line_start:
        text = "\n".join(lines[n:]).lstrip("\n")
    return draft.rewritten(text)


def _without_start_of_line(text: str, window: CursorWindow) -> str:
    start = window.before.strip()
    # A single word may stand twice (`long long`), a sign as well.
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
    """How many of the text's first lines stand right above the cursor, in the same order."""
    whole = [window.before + lines[0], *lines[1:]]
    whole[-1] += window.after
    above = [line for line in window.lines_above if line.strip()][: len(whole)][::-1]
    for n in range(min(len(whole), len(above)), 0, -1):
        same = all(a.strip() == b.strip() for a, b in zip(whole[:n], above[-n:], strict=True))
        # Elements of a list may stand there twice, statements hardly.
        if same and not _are_elements(whole[:n]) and len(_WORDS.findall(" ".join(whole[:n]))) >= _MIN_WORDS:
            return n
    return 0


def _are_elements(lines: list[str]) -> bool:
    return all(line.rstrip().endswith(",") for line in lines)
