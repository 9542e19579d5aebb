"""What stands below the cursor is not written again.

Owns the comparison of a text's last lines with the lines that follow the cursor's.
"""

from __future__ import annotations

import re

from .draft import Draft
from .place import Place
from .scan import scan

MOST_LINES = 12
# Of two lines with the same words, as many signs may differ: quotes, a comma, a semicolon.
MOST_SIGNS_APART = 2


def without_lines_below(draft: Draft) -> Draft:
    """The text without the lines, at its end, that follow the cursor's line anyway."""
    place = draft.place
    below = [line.rstrip() for line in place.lines_below if line.strip()][:MOST_LINES]
    if not below or (place.after.strip() and "\n" not in draft.text):
        return draft
    lines = draft.text.rstrip().split("\n")
    whole = [line.rstrip() for line in (place.before + lines[0], *lines[1:])]
    start = _repeated_from(whole, below, place)
    if start is None:
        return draft
    kept = "\n".join(lines[:start]).rstrip("\n")
    if not kept.strip():
        return draft.refused("the model only repeated the lines below")
    # What the text opened itself it must close itself.
    n_open = len(scan(kept, place.language, place.scan.stack).stack)
    return draft.rewritten(kept) if n_open <= len(place.scan.stack) else draft


def _repeated_from(lines: list[str], below: list[str], place: Place) -> int | None:
    """The first of the lines, up to the end, that stand below; blank lines do not count."""
    written = [(n, line) for n, line in enumerate(lines) if line.strip()]
    for first in range(max(0, len(written) - len(below)), len(written)):
        tail = written[first:]
        if all(_same(line, other) for (_, line), other in zip(tail, below, strict=False)):
            return tail[0][0]
    return None


def _same(line: str, other: str) -> bool:
    if line == other:
        return True
    # Letters must be the same: by an edit distance over all characters `x1 = 1` is near to `x2 = 2`.
    if len(line) < 12 or len(line) > 300:
        return False
    words, others = re.findall(r"\w+", line), re.findall(r"\w+", other)
    if words != others or len(words) < 3 or _indent(line) != _indent(other):
        return False
    signs, other_signs = (re.findall(r"[^\w\s]", text) for text in (line, other))
    return abs(len(signs) - len(other_signs)) + _n_different(signs, other_signs) <= MOST_SIGNS_APART


def _n_different(signs: list[str], others: list[str]) -> int:
    return sum(a != b for a, b in zip(signs, others, strict=False))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
