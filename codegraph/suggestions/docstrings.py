"""Sections of docstrings: the parameters of the function, in their order.

Owns the styles of Google and NumPy. Source: the header of the function around, and the lines of the docstring.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ...languages.indentation import indent_of
from ..parameters import written_parameters
from .place import Place, Weighted, one_line_header

_AT_START = re.compile(r"[ \t]+")
_GOOGLE = re.compile(r"\s*(?:Args|Arguments|Parameters|Keyword Args):")
_UNDERLINE = re.compile(r"\s*-{3,}")
_NUMPY = re.compile(r"\s*(?:Other )?Parameters")
_FIELD_LIST = re.compile(r"\s*:param (?:[\w.\[\], |]+ )?\*{0,2}(\w+):.*")
_HEADER = re.compile(r"\s*(?:async )?def (\w+)\(")
_ENTRY = re.compile(r"\s*\*{0,2}(\w+(?:, \*{0,2}\w+)*)(?:\s?(?:\(.*\))?\s?:.*)?")

_TYPED_ENTRY = re.compile(r"\s+\*{0,2}\w+ \([^)]*\):").match
_PLAIN_ENTRY = re.compile(r"\s+\*{0,2}[a-z_]+: [A-Z]").match

MAX_DOCSTRING_LINES = 120
NEXT = 0.5


def docstrings(place: Place) -> Weighted:
    """At the start of a line in a docstring of Python: the next parameter that the section does not have yet."""
    if place.language != "python" or not _AT_START.fullmatch(place.line):
        return []
    return _next_parameter(place)


def _next_parameter(place: Place) -> Weighted:
    indent, given, style = len(place.indent), [], ""
    lines = place.above[-MAX_DOCSTRING_LINES:]
    at = len(lines) - 1
    while at >= 0 and not style:
        line = lines[at]
        width = indent_of(line)
        if '"""' in line and (line.count('"""') > 1 or not line.lstrip().startswith(('"""', 'r"""'))):
            return []
        if _FIELD_LIST.fullmatch(line) and width == indent:
            style = "fields"
        elif _GOOGLE.fullmatch(line) and width < indent:
            style = "google"
        elif width == indent and _UNDERLINE.fullmatch(line) and at and _NUMPY.fullmatch(lines[at - 1]):
            style = "numpy"
        elif '"""' in line or _HEADER.match(line):
            return []
        elif line.strip() and width == indent:
            match = _ENTRY.fullmatch(line)
            if match is not None:
                given += [name.strip("* ") for name in match[1].split(",")]
        elif line.strip() and width < indent:
            return []
        at -= 1
    if not style:
        return []
    if style == "fields":
        found = [match[1] for line in lines[max(0, at - 60) :] if (match := _FIELD_LIST.fullmatch(line))]
        given = found[::-1]
    names = _parameters_above(tuple(lines[: at + 1]))
    after = names.index(given[0]) + 1 if given and given[0] in names else 0
    left = [name for name in names[after:] if name not in given]
    if not left:
        return []
    name = left[0]
    if style == "google":
        typed = _share_of_types(lines)
        return [(f"{name} (", NEXT * typed), (f"{name}:", NEXT * (1 - typed))]
    return [(f"{name} :" if style == "numpy" else f":param {name}:", NEXT)]


def _share_of_types(lines: Sequence[str]) -> float:
    """The share of entries above that have a type: `name (type): text` and not `name: text`."""
    entries = [line for line in lines if _TYPED_ENTRY(line) or _PLAIN_ENTRY(line)]
    n_typed = sum(1 for line in entries if _TYPED_ENTRY(line))
    return (n_typed + 0.5) / (len(entries) + 1.0)


@lru_cache(maxsize=8)
def _parameters_above(lines: tuple[str, ...]) -> list[str]:
    """The parameters of the nearest function that begins in the lines."""
    for at in range(len(lines) - 1, -1, -1):
        match = _HEADER.match(lines[at])
        if match is not None:
            header = one_line_header("\n".join(lines[at:]), match[1], True)
            names = [re.split(r"[:=\s]", each.lstrip("*"))[0] for each in written_parameters(header)]
            return [name for name in names if name.isidentifier() and name not in ("self", "cls")]
    return []
