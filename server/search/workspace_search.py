"""Search over the folders of a workspace: hits of all folders, merged by score.

Owns the order (definitions of a queried name first), the preview line, and the notes when nothing is found. The
ranking is in `retrieval/questions`. Knows no model and no protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...codegraph import Definition
from ...llm import Cancel
from ...retrieval import Location, RepositoryIndex, ScorePart
from ...retrieval.definition_index import NamedDefinition, normalised_name
from ...retrieval.questions import QuestionResult, ScoredUnit, SearchOptions, Unit, UnitFilter, is_document, search
from .values import SearchHit, SearchResult

N_HITS = 10
MAX_PREVIEW = 200  # characters
MAX_DEFINITIONS = 100  # of one name
MIN_PREFIX = 2  # the letters of a name from which on definitions that begin with it are found

DEFINED, BOUND, MATCHING = 0, 1, 2
"""Ranks of hits: definitions of the name that is the whole query, values bound to it, and all others."""

_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*")
_MEMBER = re.compile(r"::|#|->")

NO_WORDS = "The query has no word. Give a name or some words."
TRY = "Check the spelling, give fewer or other words, or ask a question."


@dataclass(frozen=True, slots=True)
class _Ranked:
    rank: int
    hit: SearchHit

    @property
    def order(self) -> tuple[object, ...]:
        hit = self.hit
        return self.rank, -hit.score, hit.folder, hit.path, hit.start_line


def search_folders(
    indexes: Sequence[tuple[str, RepositoryIndex]],
    query: str,
    n: int = N_HITS,
    filter: UnitFilter | None = None,
    cancel: Cancel | None = None,
) -> SearchResult:
    """The best hits for a query. `indexes` are snapshots with the folder of their hits, "" if there is only one.

    Reads snapshots and may run in any thread. A cancelled search has the hits so far.
    """
    name = queried_name(query)
    # A name in quotes is searched as written: `get` alone would be a word without content.
    text = f"`{name}`" if name else query
    found: list[_Ranked] = []
    results: list[QuestionResult] = []
    for folder, index in indexes:
        if cancel is not None and cancel.cancelled:
            break
        result = search(index, text, SearchOptions(n=n + MAX_DEFINITIONS if name else n, filter=filter))
        results.append(result)
        found += _FolderHits(index, folder, result, filter).ranked(name, n)
    found.sort(key=lambda ranked: ranked.order)
    hits = tuple(ranked.hit for ranked in found[:n])
    return SearchResult(hits, () if hits else (_nothing(query, results, indexes, filter),))


def queried_name(query: str) -> str:
    """The name that is the whole query, dotted: `Shop.pay` for `Shop::pay()`; "" for words."""
    text = query.strip().strip("`'\"").removesuffix("()").rstrip(".:#->")
    return _MEMBER.sub(".", text) if _NAME.fullmatch(text) else ""


class _FolderHits:
    """The hits of one index."""

    def __init__(self, index: RepositoryIndex, folder: str, found: QuestionResult, filter: UnitFilter | None) -> None:
        self._index, self._folder, self._found, self._filter = index, folder, found, filter
        # Scores of several snapshots are comparable when the query weighs 1 in each.
        self._scale = 1 / (sum(found.idf) or 1.0)

    def ranked(self, name: str, n: int) -> Iterator[_Ranked]:
        """The hits, those of the definitions of `name` first, each place once."""
        shown: set[tuple[str, int]] = set()
        for ranked in (*self._definitions(name), *self._bindings(name), *self._matching(n)):
            place = ranked.hit.path, ranked.hit.start_line
            if place not in shown:
                shown.add(place)
                yield ranked

    def _definitions(self, name: str) -> Iterator[_Ranked]:
        if not name:
            return
        exact = self._kept(self._index.names.definitions(name))[:MAX_DEFINITIONS]
        found = exact or self._begun(name)
        gain = 1 / max(1, len(found)) ** 0.5
        for path, definition in found:
            scored = self._scored_at(path, definition.header_line)
            if scored is not None and scored.unit.definition == definition:
                score, parts = self._scaled(scored)
            elif exact:  # a short function inside a function is no unit
                score, parts = gain, (ScorePart("defines", gain, name),)
            else:
                score = len(name) / len(definition.name) * gain
                parts = (ScorePart("begins with", score, name),)
            yield _Ranked(DEFINED, self._hit_of(path, definition, score, parts))

    def _begun(self, name: str) -> list[NamedDefinition]:
        """The definitions whose names begin with a name that is still typed, the shortest first."""
        outer, _, last = name.rpartition(".")
        key = normalised_name(last)
        if len(key) < MIN_PREFIX:
            return []
        found = [
            NamedDefinition(path, definition)
            for path, file in self._index.graph.files.items()
            for definition in file.definitions
            if normalised_name(definition.name).startswith(key)
            and (not outer or f".{definition.qualified_name}".endswith(f".{outer}.{definition.name}"))
        ]
        found.sort(key=lambda item: (len(item.definition.name), item.path, item.definition.start_line))
        return self._kept(found)[:MAX_DEFINITIONS]

    def _kept(self, found: list[NamedDefinition]) -> list[NamedDefinition]:
        return found if self._filter is None else self._filter.definitions(self._index, found)

    def _bindings(self, name: str) -> Iterator[_Ranked]:
        for path, qualified, line in self._index.names.value_bindings(name) if name else ():
            scored = self._scored_at(path, line)
            if scored is not None:
                hit = self._hit(scored, line)
                symbol = hit.symbol if scored.unit.definition else qualified
                yield _Ranked(BOUND, replace(hit, symbol=symbol))

    def _matching(self, n: int) -> Iterator[_Ranked]:
        for scored in self._found.units:
            yield _Ranked(MATCHING, self._hit(scored, self._best_line(scored)))

    def _scored_at(self, path: str, line: int) -> ScoredUnit | None:
        """The innermost unit of the result at a line."""
        inside = (s for s in self._found.units if s.unit.path == path and s.unit.start_line <= line < s.unit.end_line)
        return max(inside, key=lambda scored: scored.unit.start_line, default=None)

    def _hit(self, scored: ScoredUnit, line: int) -> SearchHit:
        unit = scored.unit
        score, parts = self._scaled(scored)
        return SearchHit(
            unit.path,
            unit.start_line,
            unit.end_line,
            _kind(unit),
            unit.symbol or unit.title,
            line,
            self._preview(unit.path, line),
            score,
            parts,
            self._folder,
        )

    def _hit_of(self, path: str, definition: Definition, score: float, parts: tuple[ScorePart, ...]) -> SearchHit:
        line = definition.header_line
        return SearchHit(
            path,
            definition.start_line,
            definition.end_line,
            definition.kind,
            definition.qualified_name,
            line,
            self._preview(path, line),
            score,
            parts,
            self._folder,
        )

    def _scaled(self, scored: ScoredUnit) -> tuple[float, tuple[ScorePart, ...]]:
        parts = tuple(replace(part, value=part.value * self._scale) for part in scored.parts)
        return scored.score * self._scale, parts

    def _best_line(self, scored: ScoredUnit) -> int:
        """The line with the heaviest words, of equal ones the header of the definition, else the first."""
        unit = scored.unit
        header = unit.definition.header_line if unit.definition else unit.start_line
        heading = unit.title.rpartition(" > ")[2]
        # The heading of a section is its symbol, so another line says more.
        lines = [item for item in scored.lines if not heading or heading not in self._preview(unit.path, item[0])]
        if not scored.lines:
            return header
        return max(lines or scored.lines, key=lambda item: (item[1], item[0] == header, -item[0]))[0]

    def _preview(self, path: str, line: int) -> str:
        return self._index.text(Location(path, line, line + 1)).strip()[:MAX_PREVIEW]


def _kind(unit: Unit) -> str:
    if unit.definition is not None:
        return unit.definition.kind
    return "section" if is_document(unit.path) else "code"


def _nothing(
    query: str,
    results: Sequence[QuestionResult],
    indexes: Sequence[tuple[str, RepositoryIndex]],
    filter: UnitFilter | None,
) -> str:
    """Why there is no hit, and what to try."""
    if not any(result.question.concepts for result in results):
        return NO_WORDS
    if filter is not None and search_folders(indexes, query, 1).hits:
        return f"Nothing matches {query} with these filters, but without them something does. Remove a filter."
    words: Mapping[str, int] = {}
    for result in results:
        counts = zip(result.question.concepts, result.df, strict=True)
        words = {concept.word: words.get(concept.word, 0) + df for concept, df in counts}
    missing = [word for word, df in words.items() if not df]
    also = f" No indexed file contains {', '.join(missing)}." if missing and len(words) > 1 else ""
    return f"Nothing matches {query}.{also} {TRY}"
