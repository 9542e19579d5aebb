"""Document type by file name, dispatch to the parser of that type, and a splitter that respects sections.

Owns the table of file names. Knows no disk: the caller reads the file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from ...codegraph import Definition
from ...languages import language_of
from ...retrieval.fragments import normalise
from ..splitters import HARDER, Splitter, lines_of, pack_exact, segments_of, sentences
from ..values import Item, Segment
from .docstrings import docstring_sections
from .html import html_sections
from .markdown import markdown_headings
from .notebook import notebook_sections
from .rst import rst_headings
from .sections import Heading, Section, sections_below

READERS_VERSION = 1
"""Version of the parsers, part of the cache key of a document: raise it if the same file would give other sections.

History: 1, the first.
"""

_PROSE = {
    "markdown": "md markdown mdown mkd mdx qmd rmd",
    "rst": "rst rest",
    "text": "txt text adoc asciidoc org",
    "html": "html htm xhtml",
    "notebook": "ipynb",
    "pdf": "pdf",
}
_BY_SUFFIX = {f".{suffix}": kind for kind, suffixes in _PROSE.items() for suffix in suffixes.split()}
_PLAIN_NAMES = frozenset({"readme", "changelog", "changes", "news", "authors", "contributing", "install", "history"})


@lru_cache(maxsize=1 << 16)  # called for every file of a folder after each change
def document_kind(path: str) -> str:
    """One of "markdown", "rst", "text", "html", "notebook", "pdf", or "source" for code; "" for any other file."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    return _BY_SUFFIX.get(PurePosixPath(name).suffix) or (
        "text" if name in _PLAIN_NAMES else "source" if language_of(path).grammar else ""
    )


def read_sections(path: str, text: str, definitions: Sequence[Definition] = ()) -> list[Section]:
    """The sections of a text document, in order; none for an unknown type.

    `definitions` are those of a source file. Raises ValueError for an invalid notebook. For PDF see `pdf_pages`.
    """
    text = normalise(text)
    kind = document_kind(path)
    if kind == "html":
        return html_sections(path, text)
    if kind == "notebook":
        return notebook_sections(path, text)
    lines = lines_of(text)
    if kind == "source":
        return docstring_sections(path, lines, definitions)
    return sections_below(path, lines, headings(path, lines)) if kind in _WITH_HEADINGS else []


def headings(path: str, lines: Sequence[str]) -> list[Heading]:
    """The headings of a text in the format of its file name; none for plain text."""
    return list(_WITH_HEADINGS[document_kind(path)](lines)) if document_kind(path) in _WITH_HEADINGS else []


_WITH_HEADINGS: dict[str, Callable[[Sequence[str]], Iterable[Heading]]] = {
    "markdown": markdown_headings,
    "rst": rst_headings,
    "text": lambda lines: (),
}


def by_headings(n_tokens: int, count_tokens: Callable[[str], int], *, hard: bool = False) -> Splitter:
    """Sections packed up to `n_tokens` tokens: short ones joined, long ones split between sentences.

    A longer sentence stays whole; with `hard` it is split as by `by_tokens`. The title of a segment is that of the
    section where it begins.
    """
    cuts = (sentences, *HARDER) if hard else (sentences,)

    def split(item: Item) -> list[Segment]:
        lines = lines_of(item.text)
        found = headings(item.source, lines)
        edges = sorted({0, len(lines), *(heading.line for heading in found)})
        sections = ["".join(lines[first:end]) for first, end in pairwise(edges)]
        segments = segments_of(item, pack_exact(sections, n_tokens, count_tokens, cuts))
        titled = sections_below(item.source, lines, found)
        firsts = [section.first_line for section in titled]
        places = [bisect_right(firsts, segment.first_line - item.first_line) - 1 for segment in segments]
        return [replace(s, title=titled[at].title) if at >= 0 else s for s, at in zip(segments, places, strict=True)]

    return split
