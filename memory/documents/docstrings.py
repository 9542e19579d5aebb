"""Extraction of docstrings, and of comments directly above a definition.

Owns which of these texts are sections, and the description of the file. Where a text begins and ends is in
`retrieval/descriptions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...codegraph import Definition
from ...languages import language_of
from ...retrieval.descriptions import body_line, comment_above, is_comment, is_licence, string_end
from ..splitters import count_words
from .sections import Section

MIN_WORDS = 3  # smallest docstring or comment; a shorter one repeats the name


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
    if first < len(lines) and (end := string_end(lines, first, len(lines))):
        yield "", first, end
    for definition in definitions:
        at = body_line(lines, definition)
        if at is not None and (end := string_end(lines, at, definition.end_line)):
            yield definition.qualified_name, at, end


def _others(lines: Sequence[str], definitions: Sequence[Definition]) -> Iterator[tuple[str, int, int]]:
    taken: set[int] = set()
    for definition in definitions:
        found = comment_above(lines, definition, taken)
        if found is not None:
            taken.update(range(*found))
            yield definition.qualified_name, *found
    end = next((n for n, line in enumerate(lines) if not is_comment(line)), len(lines))
    if end and 0 not in taken and not is_licence(lines[:end]):
        yield "", 0, end
