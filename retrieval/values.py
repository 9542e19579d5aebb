"""The values that go into and come out of retrieval.

Owns the words: fragment, query, ranked fragment, explanation. Knows no file system and no editor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..codegraph.file_graph import FileGraph

Term = Literal[
    "fading",
    "no line twice",
    "near-duplicates",
    "growth",
    "definitions",
    "called by similar code",
    "in reach",
    "imported by name",
    "fits what is typed",
    "name in query",
]
"""A part of the default ranking that can be left out, to measure what it brings; the last five are the evidence for a
definition."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fragment stands: lines are 0-based and half-open."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A window of lines; one text can stand in several places (identical windows are merged)."""

    places: tuple[Place, ...]
    text: str


@dataclass(frozen=True, slots=True)
class QueryLines:
    """The lines that a query is made of, in file order: those before the cursor, and those believed to follow.

    The cursor's own line is the last one of `before` while nothing is believed of it, else the first of `after`.
    """

    before: tuple[str, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A cursor: the file up to it, and what the prompt shows of that file anyway.

    `prefix` is the whole text of `path` before the cursor. Lines from `shown_from_line` on are in the
    prompt already, so windows that end after that line are no candidates, and neither is anything
    after the cursor (papers' spec 1.3 and 2.2). `None` means: as much as the query window (20 lines).
    `file_graph` is the graph of `prefix`, or of its lines above the cursor's, for callers that have parsed
    already; without it the prefix is parsed when a strategy asks for the graph. `lines` are asked for instead of the
    last lines of the prefix, and nothing else of the query changes by them. `edited` are places that were edited
    lately, the latest first, for the default strategy; those that the index does not hold, or the prompt shows
    anyway, are passed over.
    """

    path: str
    prefix: str
    shown_from_line: int | None = None
    file_graph: FileGraph | None = None
    lines: QueryLines | None = None
    edited: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """What to rank by. Defaults are the shipped ones; every switch of the papers' spec 1 and 2 is here."""

    strategy: str = "weft"  # "weft", "fragrel", "bm25", "jaccard"
    k: int = 10
    alpha: float = 0.5  # Eq. 10
    include_self: bool = False  # Eq. 9, F2
    cutoff: float = 1e-3  # weakest strength followed along calls; 0 is exact, for small repositories
    query_lines: int = 20
    shift: bool = False  # windows are shown a stride further down (papers' spec 2.3); "weft" grows its own instead
    explain: bool = False
    without: frozenset[Term] = frozenset()  # of "weft"


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One reason for a score: `words 4.1`, `relation to the cursor 1.6`, with the details that a person asks for."""

    name: str
    value: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RankedFragment:
    """A fragment with its score; the parts add up to it.

    `way` is the strongest path of relations from the cursor to the fragment, step by step as in
    "b.py: call f -> a.py: def f"; empty inside one file. Parts and way are given with `explain` alone.
    """

    fragment: Fragment
    score: float
    parts: tuple[ScorePart, ...] = ()
    way: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Best fragment first; empty when no word of the query is in the index and nothing is related.

    `left_out` says, for windows that scored well but are not returned, why (only with `explain`).
    """

    fragments: tuple[RankedFragment, ...]
    left_out: tuple[tuple[Place, str], ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
