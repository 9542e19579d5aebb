"""The default strategy: windows that resemble the last lines, and definitions that the next line is likely to use.

Owns which terms a score is made of, their weights, and how the places of an answer are shared between windows
and definitions. Knows no formula of BM25, no grammar and no editor.

Two questions, one answer. *Where has the repository written something like this before?* Windows are ranked by
BM25 with a query that fades away from the cursor. *What can be named here?* Definitions that the file reaches
through imports and receivers, and those that the best windows call, are ranked by what similar code calls, how
near the cursor their receiver was mentioned, and whether they were imported to be used by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from ..codegraph import Definition, Reached, reachable_definitions
from .explain import place_name, words_part
from .fragments import split_lines
from .index import CursorView
from .lexical import FloatArray
from .ranking import best_first
from .terms import terms_of
from .values import Fragment, Place, RankedFragment, RetrievalOptions, Retrieved, ScorePart

# Measured on the 3,036 tasks of eight repositories: benchmarks/results/retrieval.md, and retrieval-log.md for what
# did not help. The weights of a definition were fitted on seven repositories, read on the eighth, and rounded.

HALF_LIFE_LINES = 3.0
"""The weight of a term halves with every so many lines between its last mention and the cursor."""

N_WITNESSES = 40
WITNESS_POWER = 4
"""The best windows speak for what they call, with a power of their score: near matches count for nearly everything."""

CALLED_BY_SIMILAR_CODE = 0.45
NEAR_MENTION = 0.60
IMPORTED_BY_NAME = 0.30
NAME_IN_QUERY = 0.10

DEFINITION_SHARE = 0.5
"""Of the places in an answer, windows leave up to this share to definitions."""

LINES_PER_PLACE = 20
"""An answer of k fragments has at most this many lines for each of them."""

HEAD_LINES = 10
"""A definition is shown by its first lines."""

MAX_WINDOW_LINES = 30
"""Lines that definitions leave over make windows longer: what follows a match is what is about to be written."""
SHARE_ABOVE = 0.3


def weft(view: CursorView, options: RetrievalOptions) -> Retrieved:
    """Windows and heads of definitions, best first; no line is in two of them, identical windows are one."""
    terms = fading_terms(view, options.query_lines)
    scores = view.bm25(terms)
    best = list(islice(best_first(view, scores), N_CONSIDERED))
    answer = _Answer(view, options.k)
    definitions = rank_definitions(view, terms, scores, best)
    for candidate in definitions:
        if answer.n_free <= options.k * (1 - DEFINITION_SHARE):
            break
        answer.add_definition(candidate)
    answer.add_windows(best, scores, terms, options.explain)
    return answer.retrieved()


N_CONSIDERED = 200


def fading_terms(view: CursorView, n_lines: int) -> dict[str, float]:
    """Terms of the last lines, each with the weight of its last mention: 1 on the last line, halved every few above."""
    text = view.text(Place(view.path, max(0, view.n_lines - n_lines), view.n_lines))
    weights: dict[str, float] = {}
    for distance, line in enumerate(reversed(split_lines(text))):
        for term in terms_of(line):
            weights.setdefault(term, 0.5 ** (distance / HALF_LIFE_LINES))
    return weights


@dataclass(slots=True)
class Candidate:
    """A definition that may be shown, and what speaks for it."""

    path: str
    definition: Definition
    witnessed: float = 0.0
    witness: Place | None = None  # the best window that calls it
    nearest: Reached | None = None
    imported: Reached | None = None
    parts: tuple[ScorePart, ...] = ()

    @property
    def score(self) -> float:
        return sum(part.value for part in self.parts)


def rank_definitions(
    view: CursorView, terms: Mapping[str, float], scores: FloatArray, best: list[int]
) -> list[Candidate]:
    """Definitions that the next line may use, best first; those that the prompt shows anyway are left out."""
    candidates: dict[tuple[str, str], Candidate] = {}
    _add_witnessed(view, scores, best, candidates)
    _add_reached(view, candidates)
    most = max((candidate.witnessed for candidate in candidates.values()), default=0.0) or 1.0
    for candidate in candidates.values():
        candidate.parts = tuple(_parts(candidate, most, terms))
    return sorted(candidates.values(), key=lambda c: (-c.score, c.path, c.definition.start_line))


def _add_witnessed(
    view: CursorView, scores: FloatArray, best: list[int], candidates: dict[tuple[str, str], Candidate]
) -> None:
    seen: set[int] = set()
    for fragment in best[:N_WITNESSES]:
        text_hash = int(view.hashes[fragment])
        if text_hash in seen:
            continue
        seen.add(text_hash)
        place = view.place(fragment)
        weight = (scores[fragment] / scores[best[0]]) ** WITNESS_POWER
        calls = view.graph.files[place.path].calls
        for edge in view.graph.call_edges(place.path):
            if place.start_line - 3 <= calls[edge.call].line < place.end_line + 7:
                candidate = _candidate(view, edge.path, edge.qualified_name, candidates)
                if candidate is not None:
                    candidate.witnessed += weight
                    candidate.witness = candidate.witness or place


def _add_reached(view: CursorView, candidates: dict[tuple[str, str], Candidate]) -> None:
    for reached in reachable_definitions(view.graph, view.path, view.cursor_line):
        candidate = _candidate(view, reached.path, reached.definition.qualified_name, candidates)
        if candidate is not None:
            candidate.nearest = candidate.nearest or reached
            if reached.how in ("import", "re-export"):
                candidate.imported = candidate.imported or reached


def _candidate(
    view: CursorView, path: str, name: str, candidates: dict[tuple[str, str], Candidate]
) -> Candidate | None:
    name = name.removesuffix(".__init__")
    found = candidates.get((path, name))
    if found is None:
        definition = view.graph.definition(path, name)
        if definition is None or (path == view.path and definition.start_line >= _own_end(view)):
            return None
        found = candidates[path, name] = Candidate(path, definition)
    return found


def _parts(candidate: Candidate, most: float, terms: Mapping[str, float]) -> Iterator[ScorePart]:
    if candidate.witnessed:
        value = CALLED_BY_SIMILAR_CODE * math.sqrt(candidate.witnessed / most)
        yield ScorePart("called by similar code", value, place_name(candidate.witness))
    if candidate.nearest:
        value = NEAR_MENTION / (1 + math.log2(1 + candidate.nearest.distance))
        yield ScorePart("near mention", value, f"{candidate.nearest.name}, {candidate.nearest.distance} lines above")
    if candidate.imported:
        yield ScorePart("imported by name", IMPORTED_BY_NAME, candidate.imported.name)
    in_query = max((terms.get(term, 0.0) for term in terms_of(candidate.definition.name)), default=0.0)
    if in_query:
        yield ScorePart("name in query", NAME_IN_QUERY * in_query, candidate.definition.name)


def _own_end(view: CursorView) -> int:
    return int(max(view.own_ends[view.candidates[view.first_own :]], default=0))


class _Answer:
    """The fragments taken so far; knows which lines are taken."""

    def __init__(self, view: CursorView, k: int) -> None:
        self._view = view
        self._own_end = _own_end(view)
        self.n_free = k
        self._lines_free = k * LINES_PER_PLACE
        self._taken: dict[str, list[tuple[int, int]]] = {}
        self._fragments: list[RankedFragment] = []

    def add_definition(self, candidate: Candidate) -> None:
        definition = candidate.definition
        end = min(definition.end_line, definition.header_line + HEAD_LINES)
        if candidate.path == self._view.path:
            end = min(end, self._own_end)
        place = Place(candidate.path, definition.start_line, end)
        if self._is_free(place):
            self._take(place)
            fragment = Fragment((place,), self._view.text(place))
            self._fragments.append(RankedFragment(fragment, candidate.score, candidate.parts))

    def add_windows(self, best: list[int], scores: FloatArray, terms: Mapping[str, float], explain: bool) -> None:
        if not self.n_free:
            return
        n_lines = min(MAX_WINDOW_LINES, self._lines_free // self.n_free)
        seen: set[int] = set()
        for fragment in best:
            if not self.n_free:
                break
            text_hash = int(self._view.hashes[fragment])
            if text_hash in seen:
                continue
            place = self._extended(self._view.place(fragment), n_lines)
            if not self._is_free(place):
                continue
            seen.add(text_hash)
            self._take(place)
            weight = 1 / scores[best[0]]
            parts = (words_part(self._view, terms, fragment, weight),) if explain else ()
            text = self._view.text(place)
            places = [place]
            for twin in np.flatnonzero(self._view.hashes == self._view.hashes[fragment]).tolist():
                other = self._extended(self._view.place(twin), n_lines)
                if other not in places and self._view.candidates[twin] and self._view.text(other) == text:
                    places.append(other)
            self._fragments.append(
                RankedFragment(Fragment(tuple(places), text), float(scores[fragment] * weight), parts)
            )

    def retrieved(self) -> Retrieved:
        return Retrieved(tuple(sorted(self._fragments, key=lambda ranked: -ranked.score)))

    def _extended(self, place: Place, n_lines: int) -> Place:
        extra = max(0, n_lines - (place.end_line - place.start_line))
        above = int(SHARE_ABOVE * extra)
        end = self._own_end if place.path == self._view.path else self._view.graph.files[place.path].n_lines
        return Place(place.path, max(0, place.start_line - above), min(end, place.end_line + extra - above))

    def _is_free(self, place: Place) -> bool:
        taken = self._taken.get(place.path, ())
        return all(place.end_line <= start or end <= place.start_line for start, end in taken)

    def _take(self, place: Place) -> None:
        self._taken.setdefault(place.path, []).append((place.start_line, place.end_line))
        self.n_free -= 1
        self._lines_free -= place.end_line - place.start_line
