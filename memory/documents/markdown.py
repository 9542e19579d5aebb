"""Markdown headings: ATX and setext, outside of fenced code, comments and front matter.

Owns what counts as a heading (CommonMark 0.31). Emphasis, links and lists stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .sections import Heading

_MARKED = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_NO_TITLE = re.compile(r" {0,3}(?:[-*+>|#]|\d+[.)][ \t]|<|$)| {4}|\t")
"""Start of a line that cannot be a setext heading: list, quote, table, HTML, code, blank."""

_FRONT_MATTER = ("---", "+++")
_MAX_FRONT_LINES = 200


def markdown_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """The headings of a Markdown text, given as lines."""
    lines = [line.rstrip("\n") for line in lines]
    fence = ""
    in_comment = False
    for number in range(_front_matter_end(lines), len(lines)):
        line = lines[number]
        marks = _FENCE.match(line)
        if fence:
            if marks and marks["marks"].startswith(fence) and not marks["info"].strip():
                fence = ""
        elif in_comment or line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
        elif marks:
            fence = marks["marks"]
        elif marked := _MARKED.match(line):
            yield Heading(number, len(marked[1]), _without_closing_marks(line[marked.end() :].strip()))
        elif number + 1 < len(lines) and (under := _UNDERLINE.match(lines[number + 1])) and not _NO_TITLE.match(line):
            yield Heading(number, 1 if under[1][0] == "=" else 2, line.strip())


def _without_closing_marks(title: str) -> str:
    rest = title.rstrip("#")
    return rest.rstrip() if not rest or rest[-1].isspace() else title


def _front_matter_end(lines: Sequence[str]) -> int:
    """The line after the front matter; 0 if there is none."""
    if lines and lines[0].rstrip() in _FRONT_MATTER:
        for number, line in enumerate(lines[1:_MAX_FRONT_LINES], 1):
            if line.rstrip() == lines[0].rstrip():
                return number + 1
    return 0
