"""Kinds of place at a cursor, by which confidence is calibrated.

Owns the kinds and their detection from the cursor's line and the open brackets. Knows no model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from ..workspace.text import Cursor
from .syntax_context import opened_at

Place = Literal["line start", "mid-line", "arguments", "return", "definition", "comment"]
"""At the start of a line, after a part of it, inside of the arguments of a call, after `return` and its like, in the
header of a definition, and in a comment or a string."""

PLACES: tuple[Place, ...] = get_args(Place)

PHRASES: Mapping[Place, str] = MappingProxyType(
    {
        "line start": "at the start of a line",
        "mid-line": "within a line",
        "arguments": "in the arguments of a call",
        "return": "after `return` or a similar word",
        "definition": "in the header of a definition",
        "comment": "in a comment or a string",
    }
)


def place_of(cursor: Cursor) -> Place:
    """The kind of place of a cursor."""
    before = cursor.start_of_line
    opened = opened_at(cursor)
    if opened and opened[-1].kind in ("comment", "string"):
        return "comment"
    if not before.strip():
        return "line start"
    if _DEFINITION.match(before):
        return "definition"
    if (
        opened
        and opened[-1].text == "("
        and _CALLED.search(cursor.lines.text, max(0, opened[-1].at - 64), opened[-1].at)
    ):
        return "arguments"
    return "return" if _RETURN.match(before) else "mid-line"


_DEFINITION = re.compile(
    r"\s*(?:@\w+\s+)*(?:(?:export|default|async|public|private|protected|internal|static|final|abstract|override|open"
    r"|virtual|sealed|partial|pub(?:\([^)]*\))?|unsafe|inline|const|data|suspend)\s+)*"
    r"(?:def|class|func|fn|fun|function|interface|trait|impl|struct|enum|module|object|protocol|extension|type|record)"
    r"(?=\s)(?!\s*[=:.])"
)
_RETURN = re.compile(r"\s*(?:return|yield|raise|throw)\b")
_CALLED = re.compile(r"[\w\])>]\Z")
