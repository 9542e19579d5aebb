"""The values of retrieval: fragments, queries, options, ranked fragments and explanations.

Knows no file system and no editor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..codegraph.file_graph import FileGraph

Component = Literal[
    "fading",
    "no line twice",
    "near-duplicates",
    "growth",
    "definitions",
    "outline",
    "called by similar code",
    "reachable",
    "imported by name",
    "fits what is typed",
    "exported by the named module",
    "name in query",
]
"""A component of the default ranking that an ablation can leave out; the last six are the features of definitions."""


@dataclass(frozen=True, slots=True)
class Location:
    """Lines of a file, 0-based and half-open."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """A window of lines, with all its locations (identical windows are merged).

    An outline has the signatures of several definitions instead, each at its own location.
    """

    locations: tuple[Location, ...]
    text: str
    is_outline: bool = False

    def parts(self) -> Iterator[tuple[Location, str]]:
        """The texts of which the fragment consists: a window's own, or each signature of an outline."""
        if not self.is_outline:
            yield self.locations[0], self.text
            return
        lines = self.text.split("\n")
        for location in self.locations:
            n_lines = location.end_line - location.start_line
            yield location, "\n".join(lines[:n_lines])
            del lines[:n_lines]


@dataclass(frozen=True, slots=True)
class QueryLines:
    """The lines of a query, in file order: those before the cursor, and the predicted ones after it.

    The cursor's own line is the last one of `before` without a prediction, else the first of `after`.
    """

    before: tuple[str, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A cursor: the file up to it, and the part of that file in the prompt.

    `prefix` is the whole text of `path` before the cursor. Lines from `shown_from_line` on are in the
    prompt already, so windows that end after that line are no candidates, and neither is anything
    after the cursor (papers' spec 1.3 and 2.2). `None` means: as much as the query window (20 lines).
    `file_graph` is the graph of `prefix`, or of its lines above the cursor's, for callers that have parsed
    already; without it the prefix is parsed when a strategy needs the graph. `lines` replace the last lines of the
    prefix as the text of the query. `edited` are recently edited locations, the latest first, for the default strategy;
    those outside of the index or in the prompt are skipped. `line_end` is the rest of the cursor's line, for
    `import { | } from "./shop"`: the import at the cursor asks for the module that it names.
    """

    path: str
    prefix: str
    shown_from_line: int | None = None
    file_graph: FileGraph | None = None
    lines: QueryLines | None = None
    edited: tuple[Location, ...] = ()
    line_end: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """Options of the ranking of one query; has every switch of the papers' spec 1 and 2."""

    strategy: str = "weft"
    """The ranking: "weft" (definitions and fragments), "fragrel", "bm25", "jaccard", or "none" for no fragments."""
    k: int = 10
    """Most fragments in the result."""
    alpha: float = 0.5
    """Weight of the relations in the score of "fragrel" (Eq. 10); 0 is BM25."""
    include_self: bool = False
    """Whether a fragment is part of its own environment (Eq. 9, F2)."""
    cutoff: float = 1e-3
    """Weakest relation strength that is followed along calls; 0 is exact, for small repositories."""
    query_lines: int = 20
    """Lines before the cursor in the query."""
    shift: bool = False
    """Whether windows are shown a stride further down (papers' spec 2.3); "weft" grows its windows instead."""
    explain: bool = False
    """Whether the result has the parts of each score, relation paths and the windows left out."""
    without: frozenset[Component] = frozenset()
    """Components of "weft" to leave out, for ablations."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a score, as in `words 4.1`, with details for a person."""

    name: str
    value: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RankedFragment:
    """A fragment with its score; the parts add up to it.

    `path` is the strongest path of relations from the cursor to the fragment, step by step as in
    "b.py: call f -> a.py: def f"; empty inside one file. Parts and path are given with `explain` only.
    """

    fragment: Fragment
    score: float
    parts: tuple[ScorePart, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Best fragment first; empty when no word of the query is in the index and nothing is related.

    `left_out` has the windows that scored well but are not returned, with the reason (only with `explain`).
    """

    fragments: tuple[RankedFragment, ...]
    left_out: tuple[tuple[Location, str], ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
