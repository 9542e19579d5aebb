"""Extraction of docstrings, and of comments directly above a definition.

Owns where such a text begins and ends. Takes the definitions of the code graph and finds the texts by their delimiters,
so nothing is parsed twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...codegraph import Definition
from ...languages import language_of
from ..splitters import count_words
from .sections import Section

MIN_WORDS = 3  # smallest docstring or comment; a shorter one repeats the name
_QUOTE = re.compile(r'\s*[rRuUbB]{0,2}("""|\'\'\'|"|\')')
_COMMENT = re.compile(r"\s*(//|/\*|\*|#(?![!\[]))")
# Annotations and similar lines between a comment and its definition.
_BETWEEN = re.compile(r"\s*(@|#\[|\[[A-Z]|template\b)")
_RIGHTS = re.compile(r"licen[cs]e|copyright|SPDX", re.IGNORECASE)
_MAX_HEADER_LINES = 60
_MAX_BETWEEN = 5


def docstring_sections(source: str, lines: Sequence[str], definitions: Sequence[Definition]) -> list[Section]:
    """Docstrings or comments of a source file (lines with line breaks), in order, titled with their names."""
    in_body = language_of(source).docstring_in_body
    found = list(_python(lines, definitions) if in_body else _others(lines, definitions))
    sections = []
    for name, first, end in sorted(found, key=lambda one: one[1]):
        text = "".join(lines[first:end])
        if count_words(text) >= MIN_WORDS:
            sections.append(Section(source, (name,) if name else (), text, first, "docstring"))
    return sections


def _python(lines: Sequence[str], definitions: Sequence[Definition]) -> Iterator[tuple[str, int, int]]:
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), len(lines))
    if first < len(lines) and (end := _string_end(lines, first, len(lines))):
        yield "", first, end
    for definition in definitions:
        at = _body(lines, definition)
        if at is not None and (end := _string_end(lines, at, definition.end_line)):
            yield definition.qualified_name, at, end


def _body(lines: Sequence[str], definition: Definition) -> int | None:
    """The line of the first statement of a definition; None if it is on the header line."""
    is_over = False
    for number in range(definition.header_line, min(definition.end_line, definition.header_line + _MAX_HEADER_LINES)):
        code = lines[number].strip()
        if is_over and code and not code.startswith("#"):
            return number
        is_over = is_over or code.partition("  #")[0].rstrip().endswith(":")
    return None


def _string_end(lines: Sequence[str], first: int, end: int) -> int:
    """The line after the string that starts on a line; 0 if there is none or it is unterminated."""
    quote = _QUOTE.match(lines[first])
    if quote is None:
        return 0
    if len(quote[1]) == 1:
        return first + 1 if lines[first].rstrip().endswith(quote[1]) else 0
    rest = lines[first][quote.end() :]
    for number in range(first, end):
        if quote[1] in (rest if number == first else lines[number]):
            return number + 1
    return 0


def _others(lines: Sequence[str], definitions: Sequence[Definition]) -> Iterator[tuple[str, int, int]]:
    taken: set[int] = set()
    for definition in definitions:
        end = definition.start_line
        for _ in range(_MAX_BETWEEN):
            if end and _BETWEEN.match(lines[end - 1]):
                end -= 1
        first = end
        while first and first - 1 not in taken and _COMMENT.match(lines[first - 1]):
            first -= 1
        taken.update(range(first, end))
        if first < end and not _RIGHTS.search("".join(lines[first:end])):
            yield definition.qualified_name, first, end
    end = next((n for n, line in enumerate(lines) if not _COMMENT.match(line)), len(lines))
    if end and 0 not in taken and not _RIGHTS.search("".join(lines[:end])):
        yield "", 0, end
