"""The names that an open list in braces has before the cursor: `export { a, |`, `const { a, |`, also on several lines.

Owns the reading of such lists in JavaScript and TypeScript. Knows no source of names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .place import Place

MAX_LIST_LINES = 60

_PART = r"(?:type |\.\.\.)?[\w$]+(?:(?: as |: )[\w$]+)?(?: = [^,{}]+)?"
_PARTS = re.compile(rf"\s*(?:{_PART},\s*)*\Z")


class BraceList(NamedTuple):
    """An open list whose next name begins at the cursor."""

    header: str  # the text before the brace
    names: list[str]  # of the list so far: `a` of `a as b`
    has_lines: bool  # the cursor's line begins in the list


def brace_list_at(place: Place, header: re.Pattern[str]) -> BraceList | None:
    """The list that the cursor is in, if its brace is behind a text that `header` fully matches."""
    before, brace, inside = place.line.rpartition("{")
    if brace:
        is_list = _PARTS.match(inside) is not None and header.fullmatch(before) is not None
        return BraceList(before, names_in(inside), False) if is_list else None
    if not place.indent or place.line_above[-1:] not in (",", "{") or _PARTS.match(place.line) is None:
        return None
    lines = [place.line]
    for above in reversed(place.above[-MAX_LIST_LINES:]):
        before, brace, inside = above.rpartition("{")
        if _PARTS.match(inside if brace else above) is None:
            return None
        lines.insert(0, inside if brace else above)
        if brace:
            is_list = header.fullmatch(before) is not None
            return BraceList(before, names_in("\n".join(lines)), True) if is_list else None
    return None


def names_in(text: str) -> list[str]:
    """The names that a list takes or gives: `a` of `a as b` and of `a: b`."""
    parts = (part.strip().removeprefix("type ").removeprefix("...") for part in text.split(","))
    return [match[0] for part in parts if (match := _NAME.match(part)) is not None]


_NAME = re.compile(r"[\w$]+")
