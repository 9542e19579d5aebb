"""Segmentation of files into units: functions, heads of classes, paragraphs of code, and sections of documents.

Owns the bounds of units. Unlike a fragment, a unit starts and ends where the text does. Every non-empty line lies in
one unit. Knows no question and no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from ...codegraph import Definition, FileGraph
from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.symbol_table import is_class
from ...languages import language_of

LONGEST_PARAGRAPH = 25
"""Paragraphs outside of definitions are joined up to this many lines."""

MOST_EMPTY_LINES = 3
"""Paragraphs are not joined across more empty lines than this."""

LONGEST_SECTION = 40
"""Sections of documents are cut at empty lines into pieces of this many lines at most, where they have such lines."""

NESTED_LINES = 8
"""A function inside a function is a unit of its own from this many lines on."""

DOCUMENT_SUFFIXES = (".md", ".markdown", ".rst", ".txt", ".adoc", ".org", ".mdx", ".ipynb", ".pdf")


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines [start_line, end_line) without those in `holes`, which are nested units."""

    path: str
    start_line: int
    end_line: int
    definition: Definition | None = None
    title: str = ""  # the headings above a section, outermost first, joined by " > "
    holes: tuple[tuple[int, int], ...] = ()

    @property
    def symbol(self) -> str:
        return self.definition.qualified_name if self.definition else ""

    @property
    def n_lines(self) -> int:
        """The number of `lines`."""
        return self.end_line - self.start_line - sum(end - start for start, end in self.holes)

    def lines(self) -> Iterator[int]:
        """The lines without those of nested units."""
        line = self.start_line
        for start, end in (*self.holes, (self.end_line, self.end_line)):
            yield from range(line, start)
            line = end


@lru_cache(maxsize=4096)
def is_document(path: str) -> bool:
    """Whether a path is one of prose."""
    name = PurePosixPath(path.partition("#")[0])  # pages of a file: paper.pdf#page=3
    is_named_so = name.name.split(".")[0].upper() in _PROSE
    return name.suffix.lower() in DOCUMENT_SUFFIXES or (is_named_so and language_of(path).grammar is None)


_PROSE = frozenset({"README", "CHANGELOG", "CONTRIBUTING", "LICENSE", "AUTHORS", "NEWS", "INSTALL", "HISTORY"})


def units_of(file: FileGraph, text: bytes) -> tuple[Unit, ...]:
    """The units of a file, by their first lines."""
    if is_document(file.path):
        return _document_units(file.path, text)
    return _code_units(file, text)


# A question reads some dozens of files, and the next questions many of the same.
@lru_cache(maxsize=512)
def _document_units(path: str, text: bytes) -> tuple[Unit, ...]:
    lines = text.decode("utf-8", "surrogatepass").split("\n")
    return tuple(
        Unit(path, start, end, title=title)
        for first, last, title in _sections(lines)
        for start, end in _paragraphs(lines, first, last, LONGEST_SECTION)
    )


@lru_cache(maxsize=512)
def _code_units(file: FileGraph, text: bytes) -> tuple[Unit, ...]:
    lines = text.decode("utf-8", "surrogatepass").split("\n")
    definitions = file.definitions
    own = [index for index, definition in enumerate(definitions) if _is_unit(definitions, index)]
    inner: dict[int, list[tuple[int, int]]] = {}
    for index in own:
        definition = definitions[index]
        parent = definition.parent
        while parent != MODULE_SCOPE and not _is_unit(definitions, parent):
            parent = definitions[parent].parent
        inner.setdefault(parent, []).append((definition.start_line, definition.end_line))
    units = [
        Unit(
            file.path,
            definitions[index].start_line,
            definitions[index].end_line,
            definitions[index],
            holes=_disjoint(inner.get(index, ())),
        )
        for index in own
    ]
    line = 0
    for start, end in (*_disjoint(inner.get(MODULE_SCOPE, ())), (len(lines), len(lines))):
        units += [Unit(file.path, *piece) for piece in _paragraphs(lines, line, start, LONGEST_PARAGRAPH)]
        line = end
    return tuple(sorted(units, key=lambda unit: (unit.start_line, -unit.end_line)))


def _is_unit(definitions: Sequence[Definition], index: int) -> bool:
    definition = definitions[index]
    parent = definition.parent
    if parent == MODULE_SCOPE or is_class(definitions[parent]) or is_class(definition):
        return True
    return definition.end_line - definition.start_line >= NESTED_LINES


def _disjoint(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans in order, without lines of an earlier one: definitions in broken code can overlap."""
    found: list[tuple[int, int]] = []
    reached = 0
    for start, end in sorted(spans):
        if end > max(start, reached):
            found.append((max(start, reached), end))
            reached = end
    return tuple(found)


def _paragraphs(lines: Sequence[str], first: int, last: int, longest: int) -> Iterator[tuple[int, int]]:
    """Lines [first, last) cut at empty lines into pieces of at most `longest` lines, where needed inside paragraphs."""
    blocks: list[tuple[int, int]] = []
    start = -1
    for number in range(first, last):
        if lines[number].strip():
            start = number if start < 0 else start
        elif start >= 0:
            blocks.append((start, number))
            start = -1
    if start >= 0:
        blocks.append((start, last))
    begin = end = -1
    for block_start, block_end in blocks:
        if begin >= 0 and (block_end - begin > longest or block_start - end > MOST_EMPTY_LINES):
            yield from _cut(begin, end, longest)
            begin = -1
        begin, end = (block_start if begin < 0 else begin), block_end
    if begin >= 0:
        yield from _cut(begin, end, longest)


def _cut(start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    for at in range(start, end, longest):
        yield at, min(at + longest, end)


_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")


_FRONT_MATTER = ("---", "+++")
_KEY = re.compile(r"[\w.-]+\s*[:=]")
_MAX_FRONT_LINES = 100


def _front_matter_end(lines: Sequence[str]) -> int:
    """The line after the YAML or TOML at the start of a Markdown text; 0 without any."""
    if len(lines) > 1 and lines[0].rstrip() in _FRONT_MATTER and _KEY.match(lines[1]):
        for number, line in enumerate(lines[1:_MAX_FRONT_LINES], 1):
            if line.rstrip() == lines[0].rstrip():
                return number + 1
    return 0


def _sections(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """First line, end and headings of every section of a Markdown or reStructuredText text."""
    trail: list[tuple[int, str]] = []
    starts: list[tuple[int, str]] = [(0, "")]
    ranks: list[str] = []
    fenced = False
    for number in range(_front_matter_end(lines), len(lines)):
        line = lines[number]
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        found = None if fenced else _HEADING.match(line)
        underline = _UNDERLINE.match(lines[number + 1]) if number + 1 < len(lines) and not fenced else None
        if found:
            rank, title, start = len(found[1]), found[2], number
        elif underline and line.strip() and not _UNDERLINE.match(line) and not line.startswith((" ", "|", "-", "*")):
            if underline[1] not in ranks:
                ranks.append(underline[1])
            rank, title = ranks.index(underline[1]) + 1, line.strip()
            start = number - 1 if number and _UNDERLINE.match(lines[number - 1]) else number
        else:
            continue
        trail = [*(item for item in trail if item[0] < rank), (rank, title)]
        starts.append((start, " > ".join(text for _, text in trail)))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    return [(start, end, title) for (start, title), end in zip(starts, ends, strict=True) if end > start]
