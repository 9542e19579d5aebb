"""Sections of a document with their source lines, and their segmentation.

Owns `Section`, and how a text is split at headings and a section into segments. Knows no format.

The text of a section has one line for each line of the file, even if markup was removed, so that citations point to the
right lines. Lines are 0-based; texts have `\\n` line breaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..splitters import count_words, lines_of, pack, sentences
from ..values import Segment

SectionKind = Literal["prose", "code", "output", "docstring"]

SEGMENT_WORDS = 250  # segment size of documents, about a screen; not tuned
_WORDS_A_LINE = 4  # lower bound, so that a list of single words fits a screen too

MAX_TITLES = 8  # levels of headings of a section; deeper ones are dropped
_FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Section:
    """The text below one heading. `titles` are the enclosing headings, outermost first."""

    source: str
    titles: tuple[str, ...]
    text: str
    first_line: int
    kind: SectionKind = "prose"

    @property
    def end_line(self) -> int:
        """The line after the last one."""
        return self.first_line + self.text.rstrip("\n").count("\n") + 1

    @property
    def title(self) -> str:
        return " > ".join(self.titles)


class Heading(NamedTuple):
    """A heading and the first line of its section. Level 1 is outermost."""

    line: int
    level: int
    title: str


def sections_below(source: str, lines: Sequence[str], headings: Iterable[Heading]) -> list[Section]:
    """Lines (with line breaks) split at headings, in order; only empty sections are left out."""
    sections: list[Section] = []
    titles: list[Heading] = []
    begin = 0
    for heading in (*headings, Heading(len(lines), 0, "")):
        text = "".join(lines[begin : heading.line])
        if text.strip():
            sections.append(Section(source, tuple(h.title for h in titles[:MAX_TITLES]), text, begin))
        titles = [*(h for h in titles if h.level < heading.level), heading]
        begin = heading.line
    return sections


def aligned(pieces: Mapping[int, str], first_line: int, end_line: int) -> str:
    """Texts by line, joined into one text with a line for each."""
    return "\n".join(pieces.get(line, "") for line in range(first_line, end_line))


def segments_of_sections(sections: Iterable[Section], n_words: int = SEGMENT_WORDS) -> list[Segment]:
    """Segments of whole paragraphs with title and lines; a larger paragraph is split between lines.

    Numbered by source. `start` counts the characters of the sections of a source.
    """
    segments: list[Segment] = []
    numbers, offsets = Counter[str](), Counter[str]()
    for section in sections:
        line = section.first_line
        for text in _pieces(section.text, n_words):
            if text.strip():
                source = section.source
                start = offsets[source]
                segments.append(Segment(source, numbers[source], text, start, line, title=section.title))
                numbers[source] += 1
            offsets[section.source] += len(text)
            line += text.count("\n")
    return segments


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text with their trailing empty lines; fenced code is one paragraph."""
    found: list[str] = []
    fence, was_empty = "", True
    for line in lines_of(text):
        mark = line.strip()[:3]
        is_empty = not mark and not fence
        if was_empty and not is_empty:
            found.append("")
        found = found or [""]
        found[-1] += line
        was_empty = is_empty
        if mark in _FENCES and fence in ("", mark):
            fence = "" if fence else mark
    return found


def _pieces(text: str, n_words: int) -> list[str]:
    small: list[str] = []
    for paragraph in paragraphs(text):
        if _length(paragraph) <= n_words:
            small.append(paragraph)
            continue
        for line in lines_of(paragraph):
            small += [line] if _length(line) <= n_words else sentences(line)
    return pack(small, n_words, _length)


def _length(text: str) -> int:
    return max(count_words(text), _WORDS_A_LINE * text.count("\n"))
