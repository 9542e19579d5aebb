"""reStructuredText headings: titles with an underline, and optionally an overline.

Owns what counts as a heading. Levels are ordered by the first occurrence of their punctuation. Directives are plain
text, and files that they name are not included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .sections import Heading

_ADORNMENT = re.compile(r"([!-/:-@[-`{-~])\1{1,}[ \t]*$")
_SHORTEST_OVERLINE = 4


def rst_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """The headings of a reStructuredText document, given as lines."""
    lines = [line.rstrip() for line in lines]
    levels: dict[tuple[str, bool], int] = {}
    number = 0
    while number < len(lines):
        found = _overlined(lines, number) or _underlined(lines, number)
        if found is None:
            number += 1
            continue
        title, mark, n_lines = found
        level = levels.setdefault((mark, n_lines == 3), len(levels) + 1)
        yield Heading(number, level, title)
        number += n_lines


def _overlined(lines: Sequence[str], at: int) -> tuple[str, str, int] | None:
    if at + 2 >= len(lines) or len(lines[at]) < _SHORTEST_OVERLINE or not _ADORNMENT.match(lines[at]):
        return None
    title = lines[at + 1].strip()
    if not title or lines[at + 2] != lines[at] or len(lines[at + 1]) > len(lines[at]):
        return None
    return title, lines[at][0], 3


def _underlined(lines: Sequence[str], at: int) -> tuple[str, str, int] | None:
    if at + 1 >= len(lines) or not lines[at] or lines[at][0].isspace() or _ADORNMENT.match(lines[at]):
        return None
    # A title follows an empty line; inside of a paragraph or a table there are no titles.
    if at and lines[at - 1] and not _ADORNMENT.match(lines[at - 1]):
        return None
    under = lines[at + 1]
    if not _ADORNMENT.match(under) or len(under) < min(len(lines[at]), _SHORTEST_OVERLINE):
        return None
    return lines[at], under[0], 2
