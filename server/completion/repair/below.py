"""Removes a repetition of the code below the cursor from the end of the text.

Owns the comparison of a text's last lines with the lines that follow the cursor's.
"""

from __future__ import annotations

import re

from ....languages.indentation import indent_of
from .draft import Draft
from .window import CursorWindow

MAX_LINES = 12
_HAS_CONTENT = re.compile(r"[\w)\]}]|\*/")
# Ignored in comparison: single spaces, trailing commas, optional semicolons.
_IGNORED = re.compile(r"(?<!\s)\s(?!\s)|[,;]+\Z")


def remove_lines_below(draft: Draft) -> Draft:
    """The text without the lines at its end that already follow the cursor's line."""
    window = draft.window
    below = [line.rstrip() for line in window.lines_below if line.strip()][:MAX_LINES]
    if not below or (window.after.strip() and "\n" not in draft.text):
        return draft
    lines = draft.text.rstrip().split("\n")
    whole = [line.rstrip() for line in (window.before + lines[0], *lines[1:])]
    start = _repeated_from(whole, below, window)
    if start is None:
        return draft
    remaining = "\n".join(lines[:start]).rstrip("\n")
    if not remaining.strip():
        return draft.refused("the model only repeated the lines below")
    # The remaining text must close every bracket that it opens.
    n_open = len(window.scan_after(remaining).stack)
    return draft.with_text(remaining) if n_open <= len(window.scan.stack) else draft


def _repeated_from(lines: list[str], below: list[str], window: CursorWindow) -> int | None:
    """The start of the last lines that repeat the lines below, ignoring blank lines; None without a repetition."""
    written = [(n, line) for n, line in enumerate(lines) if line.strip()]
    for first in range(max(0, len(written) - len(below)), len(written)):
        tail = written[first:]
        # Elements of a list and empty comments may be intended twice, statements rarely.
        counts = any(_HAS_CONTENT.search(line) and not line.endswith(",") for _, line in tail)
        if counts and all(_same(line, other) for (_, line), other in zip(tail, below, strict=False)):
            return tail[0][0]
    return None


def _same(line: str, other: str) -> bool:
    return line == other or (indent_of(line) == indent_of(other) and _normalised(line) == _normalised(other) != "")


def _normalised(line: str) -> str:
    """The line without differences of style. All other characters count: `a + b` is not `a - b`."""
    return _IGNORED.sub("", line.replace("'", '"'))
