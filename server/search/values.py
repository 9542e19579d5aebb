"""Values of a search: hits and the result. Knows no index and no protocol.

Lines are 0-based and half-open; `place` is 1-based and inclusive, as a person reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...retrieval import ScorePart


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A definition, a section of a document, or other lines of code."""

    path: str  # relative to its folder, with forward slashes
    start_line: int
    end_line: int
    kind: str  # of the definition, else "section" of a document, else "code"
    symbol: str  # the qualified name, or the headings above a section, joined by " > "
    line: int  # the best line: the header of a definition that the query names, else the one with the most words
    preview: str  # the text of that line, without indentation
    score: float
    parts: tuple[ScorePart, ...] = ()
    folder: str = ""  # the workspace folder, where there are several

    @property
    def place(self) -> str:
        return f"{self.path}:{self.start_line + 1}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first: the definitions of a name that is the whole query come before all others."""

    hits: tuple[SearchHit, ...]
    notes: tuple[str, ...] = ()  # corrected words, why there is no hit and what to try, what is not searched yet
