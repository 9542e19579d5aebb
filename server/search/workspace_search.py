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
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.descriptions import comment_above
from ...retrieval.fragments import lines_between
from ...retrieval.questions import (
    QuestionResult,
    ScoredUnit,
    SearchOptions,
    Unit,
    UnitEncoder,
    UnitFilter,
    is_document,
    is_test,
    search,
    units_of,
)
from .values import SearchHit, SearchResult

N_HITS = 10
MAX_PREVIEW = 200  # characters
MAX_DEFINITIONS = 100  # of one name
MAX_WORDS = 4  # of a name that is written as words
TEST_SHARE = 0.6  # the weight of a name that begins with the query, in a test
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
    start_line: int
    """Of the definition, else that of the hit: a definition may be found by the comment above it, too."""

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
    encoder: UnitEncoder | None = None,
) -> SearchResult:
    """The best hits for a query. `indexes` are snapshots with the folder of their hits, "" if there is only one.

    `encoder` ranks by an embedding model, too. Reads snapshots and may run in any thread. A cancelled search has the
    hits so far.
    """
    name = queried_name(query)
    # A name in quotes is searched as written: `get` alone would be a word without content.
    text = f"`{name}`" if name else query
    name = name or _name_in_words(query, [index for _, index in indexes])
    folders: list[_FolderHits] = []
    for folder, index in indexes:
        if cancel is not None and cancel.cancelled:
            break
        options = SearchOptions(n=n + MAX_DEFINITIONS if name else n, filter=filter, encoder=encoder)
        result = search(index, text, options)
        folders.append(_FolderHits(index, folder, result, filter, name))
    is_defined = any(each.defined for each in folders)
    found = [ranked for each in folders for ranked in each.ranked(is_begun=not is_defined)]
    found.sort(key=lambda ranked: ranked.order)
    hits = tuple(ranked.hit for ranked in found[:n])
    notes = [f"Searched for “{right}” instead of “{written}”." for written, right in _corrections(folders)]
    if not hits:
        notes.append(_nothing(query, [each.found for each in folders], indexes, filter))
    return SearchResult(hits, tuple(notes))


def _corrections(folders: Sequence[_FolderHits]) -> Sequence[tuple[str, str]]:
    """The words that were replaced. A word whose last letters are not typed yet is not misspelled."""
    pairs = dict.fromkeys(pair for each in folders for pair in each.found.corrections)
    return [(written, right) for written, right in pairs if not right.startswith(written)]


def queried_name(query: str) -> str:
    """The name that is the whole query, dotted: `Shop.pay` for `Shop::pay()`; "" for words."""
    text = query.strip().strip("`'\"").removesuffix("()").rstrip(".:#->")
    return _MEMBER.sub(".", text) if _NAME.fullmatch(text) else ""


def _name_in_words(query: str, indexes: Sequence[RepositoryIndex]) -> str:
    """The name that the words of a query spell, if it is defined: `DataLoader` for "data loader"; else ""."""
    words = query.split()
    if not 2 <= len(words) <= MAX_WORDS or not all(word.isidentifier() for word in words):
        return ""
    name = "".join(words)
    names = [index.names for index in indexes]
    return name if any(each.definitions(name) or each.value_bindings(name) for each in names) else ""


class _FolderHits:
    """The hits of one index. `name` is the whole query, "" if that is no name."""

    def __init__(
        self, index: RepositoryIndex, folder: str, found: QuestionResult, filter: UnitFilter | None, name: str
    ) -> None:
        self._index, self._folder, self.found, self._filter = index, folder, found, filter
        self._name = name
        self.defined = self._kept(index.names.definitions(name))[:MAX_DEFINITIONS] if name else []

    def ranked(self, *, is_begun: bool) -> Iterator[_Ranked]:
        """The hits, those of definitions of the name first, each place once.

        `is_begun`: nothing has this name, so its last letters may be missing.
        """
        shown: set[tuple[str, int]] = set()
        for ranked in (*(self._begun() if is_begun else self._definitions()), *self._bindings(), *self._matching()):
            place = ranked.hit.path, ranked.start_line
            if place not in shown:
                shown.add(place)
                yield ranked

    def _definitions(self) -> Iterator[_Ranked]:
        gain = 1 / max(1, len(self.defined)) ** 0.5
        for path, definition in self.defined:
            scored = self._scored_at(path, definition.header_line)
            if scored is not None and scored.unit.definition == definition:
                score, parts = scored.score, scored.parts
            else:  # a short function inside a function is no unit
                score, parts = gain, (ScorePart("defines", gain, self._name),)
            yield _Ranked(DEFINED, self._hit_of(path, definition, score, parts), definition.start_line)

    def _begun(self) -> Iterator[_Ranked]:
        """The definitions whose names begin with this one; the fewer letters are missing, the better."""
        last = self._name.rpartition(".")[2]
        if len(last) < MIN_PREFIX:
            return
        for path, definition in self._kept(self._index.names.begun(self._name, MAX_DEFINITIONS)):
            score = min(1.0, len(last) / len(definition.name)) * (TEST_SHARE if is_test(path) else 1.0)
            part = ScorePart("begins with", score, self._name)
            yield _Ranked(DEFINED, self._hit_of(path, definition, score, (part,)), definition.start_line)

    def _kept(self, found: list[NamedDefinition]) -> list[NamedDefinition]:
        return found if self._filter is None else self._filter.definitions(self._index, found)

    def _bindings(self) -> Iterator[_Ranked]:
        for path, qualified, line in self._index.names.value_bindings(self._name) if self._name else ():
            scored = self._scored_at(path, line)
            if scored is not None:
                hit = self._hit(scored, line)
                symbol = hit.symbol if scored.unit.definition else qualified
                yield _Ranked(BOUND, replace(hit, symbol=symbol), hit.start_line)

    def _matching(self) -> Iterator[_Ranked]:
        for scored in self.found.units:
            hit = self._hit(scored, self._best_line(scored))
            definition, comment = self._documented(scored.unit)
            if definition is None or hit.line < comment:
                yield _Ranked(MATCHING, hit, hit.start_line)
                continue
            found = replace(hit, start_line=comment, end_line=definition.end_line)
            found = replace(found, kind=definition.kind, symbol=definition.qualified_name)
            yield _Ranked(MATCHING, found, definition.start_line)

    def _documented(self, unit: Unit) -> tuple[Definition | None, int]:
        """The definition directly below a unit, and the first line of the comment above it; None without one."""
        if unit.definition is not None or is_document(unit.path):
            return None, 0
        text = self._index.texts[unit.path]
        for other in units_of(self._index.graph.files[unit.path], text):
            if other.definition is not None and other.start_line == unit.end_line:
                found = comment_above(lines_between(text, 0, unit.end_line).split("\n"), other.definition)
                return (other.definition, found[0]) if found is not None else (None, 0)
        return None, 0

    def _scored_at(self, path: str, line: int) -> ScoredUnit | None:
        """The innermost unit of the result at a line."""
        inside = (s for s in self.found.units if s.unit.path == path and s.unit.start_line <= line < s.unit.end_line)
        return max(inside, key=lambda scored: scored.unit.start_line, default=None)

    def _hit(self, scored: ScoredUnit, line: int) -> SearchHit:
        unit = scored.unit
        score, parts = scored.score, scored.parts
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
