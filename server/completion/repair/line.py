"""What stands right of the cursor is not written twice.

Owns the comparison with the rest of the cursor's line.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..trigger import only_closes
from .draft import Draft

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_BRACKET_OR_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[()\[\]{}]""")


def repeats_rest_of_line(draft: Draft) -> Draft:
    """The text without what the editor already shows right of the cursor."""
    fitted = fit_to_line(draft.text, draft.cursor.rest_of_line, draft.single_line)
    if not fitted.strip() and draft.text.strip():
        return draft.refused("the model only repeated what follows the cursor")
    return replace(draft, text=fitted)


def fit_to_line(text: str, rest: str, single_line: bool) -> str:
    """A model's text without what the editor already shows right of the cursor.

    A closing bracket that the text does not open itself closes one that stands before the cursor: where the
    rest of the line begins with closers, the text ends there.
    """
    if single_line:
        text = text.split("\n", 1)[0].rstrip("\r")
    rest = rest.strip()
    if not rest:
        return text.rstrip()
    first_line, _, more = text.partition("\n")
    if rest[0] in _CLOSERS:
        cut = _first_unopened_closer(first_line)
        if cut is not None:
            return first_line[:cut].rstrip()
    elif only_closes(rest):
        if first_line.endswith(rest[0]):
            return first_line[:-1]
    elif (cut := first_line.find(rest)) >= 0:
        return first_line[:cut]
    return text.rstrip() if more else first_line.rstrip()


def _first_unopened_closer(text: str) -> int | None:
    depth: list[str] = []
    for match in _BRACKET_OR_STRING.finditer(text):
        found = match.group()
        if found in "([{":
            depth.append(found)
        elif found in _CLOSERS and not (depth and depth.pop() == _CLOSERS[found]):
            return match.start()
    return None
