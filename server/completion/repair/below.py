"""What stands below the cursor is not written again.

Owns the comparison of a text's last lines with the lines that follow the cursor's.
"""

from __future__ import annotations

import re

from .draft import Draft
from .window import CursorWindow

MAX_LINES = 12
_SAYS_SOMETHING = re.compile(r"[\w)\]}]|\*/")
# Single spaces, the comma behind the last element, and semicolons that a language does not need.
_FREE = re.compile(r"(?<!\s)\s(?!\s)|[,;]+\Z")


def without_lines_below(draft: Draft) -> Draft:
    """The text without the lines, at its end, that follow the cursor's line anyway."""
    window = draft.window
    below = [line.rstrip() for line in window.lines_below if line.strip()][:MAX_LINES]
    if not below or (window.after.strip() and "\n" not in draft.text):
        return draft
    lines = draft.text.rstrip().split("\n")
    whole = [line.rstrip() for line in (window.before + lines[0], *lines[1:])]
    start = _repeated_from(whole, below, window)
    if start is None:
        return draft
    kept = "\n".join(lines[:start]).rstrip("\n")
    if not kept.strip():
        return draft.refused("the model only repeated the lines below")
    # What the text opened itself it must close itself.
    n_open = len(window.scan_after(kept).stack)
    return draft.rewritten(kept) if n_open <= len(window.scan.stack) else draft


def _repeated_from(lines: list[str], below: list[str], window: CursorWindow) -> int | None:
    """The first of the lines, up to the end, that stand below; blank lines do not count."""
    written = [(n, line) for n, line in enumerate(lines) if line.strip()]
    for first in range(max(0, len(written) - len(below)), len(written)):
        tail = written[first:]
        # Elements of a list may stand there twice, and empty comments; statements hardly.
        counts = any(_SAYS_SOMETHING.search(line) and not line.endswith(",") for _, line in tail)
        if counts and all(_same(line, other) for (_, line), other in zip(tail, below, strict=False)):
            return tail[0][0]
    return None


def _same(line: str, other: str) -> bool:
    return line == other or (_indent(line) == _indent(other) and _plain(line) == _plain(other) != "")


def _plain(line: str) -> str:
    """The line without what writers differ in. Every other sign counts: `a + b` is not near to `a - b`."""
    return _FREE.sub("", line.replace("'", '"'))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
