"""Causes of wrong texts, from the first character that is wrong.

Owns the causes and their order. Names are checked by the server's own check.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, get_args

from ...server.completion.syntax_context import opened_at
from ...server.workspace.text import Cursor

Cause = Literal["name not bound", "wrong member", "wrong argument", "copied sibling", "other"]
CAUSES: tuple[Cause, ...] = get_args(Cause)

NEAR_LINES = 60
"""A line this near above or below the cursor is a sibling."""


def cause_of(cursor: Cursor, text: str, n_agreeing: int, problems: Collection[str] = ()) -> Cause:
    """The cause of a wrong text of which `n_agreeing` leading characters are right, with the problems of its names."""
    if "not bound" in problems:
        return "name not bound"
    if "no such member" in problems:
        return "wrong member"
    if _is_sibling(cursor, text):
        return "copied sibling"
    right = cursor.start_of_line + text[:n_agreeing]
    line = right.rpartition("\n")[2]
    if re.search(r"(?:\.|->|::)\w*\Z", line):
        return "wrong member"
    opened = opened_at(cursor)
    is_in_call = bool(opened) and opened[-1].text == "(" and line.count(")") <= line.count("(")
    if is_in_call or line.count("(") > line.count(")"):
        return "wrong argument"
    return "other"


def _is_sibling(cursor: Cursor, text: str) -> bool:
    """Whether the first line of the result stands near the cursor already."""
    line = (cursor.start_of_line + text).strip().partition("\n")[0].strip()
    first, last = max(0, cursor.line - NEAR_LINES), min(cursor.lines.n_lines, cursor.line + NEAR_LINES + 1)
    return len(line) > 1 and any(
        cursor.lines.line(number).strip() == line for number in range(first, last) if number != cursor.line
    )
