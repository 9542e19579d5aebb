"""The default strategy: windows that resemble the last lines, definitions that the next words may name, and the
places that were edited last.

Owns the query that fades with the distance from the cursor, and how an answer's places and lines are shared
between them. Knows no formula of BM25, no grammar and no editor.

Three questions, one answer: *where has the repository written something like this before?*, *what is likely to be
named here?* and *what is somebody busy with?* The windows that answer the first are also the best witnesses for the
second; the third needs no words, for what was edited last is mostly not worded like the code at the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf
from operator import itemgetter

import numpy as np

from .bm25 import FloatArray
from .definitions import Candidate, rank_definitions
from .explain import words_part
from .index import CursorView
from .ranking import best_first
from .terms import terms_of
from .values import Fragment, Place, RankedFragment, RetrievalOptions, Retrieved, ScorePart

# All measured on the 3,036 tasks of eight repositories: benchmarks/results/retrieval.md, and retrieval-log.md for
# what did not help. Each has a neighbourhood in which the figures hardly move.

HALF_LIFE_LINES = 3.0
"""A term's weight halves with every so many lines between its last mention and the cursor."""

N_WITNESSES, WITNESS_POWER = 20, 4
"""So many best windows speak for what they call, with this power of their score: near matches count most."""

DEFINITION_SHARE, LEAST_SCORE = 0.4, 0.6
"""Definitions take at most this share of an answer's places, and those below this score leave theirs to windows."""

EDITED_SHARE, EDITED_ABOVE, EDITED_SCORE = 0.2, 10, 1.0
"""Recent edits take at most this share of an answer's places, with so many lines above them, and count as the best
window does. Chosen on the edit tasks of four repositories, confirmed on four more: benchmarks/results/edits.md."""

LINES_PER_PLACE = 20
"""An answer of k fragments has at most this many lines for each of them."""

HEAD_LINES = 10
"""A definition is shown by this many lines from its name on, and by as many above when it has decorators."""

LONGEST_WINDOW, SHARE_ABOVE = 30, 0.3
"""Windows grow by the lines that definitions leave over, mostly downwards: what follows a match is what is wanted."""

SAME_TEXT = 0.8
"""A window with this share of its lines in a better one says nothing new."""

N_CONSIDERED = 64
"""The best windows, from which an answer is taken."""


def weft(view: CursorView, options: RetrievalOptions) -> Retrieved:
    """Windows and heads of definitions, best first. No line is in two of them; identical windows are one.

    A window's score is its BM25 score over that of the best one; a definition's, see `definitions`.
    """
    terms = fading_terms(view, options.query_lines, HALF_LIFE_LINES if "fading" not in options.without else inf)
    scores = view.bm25(terms)
    best = list(islice(best_first(view, scores), N_CONSIDERED))
    answer = _Answer(view, options, scores, terms)
    similar = {view.place(window): (scores[window] / scores[best[0]]) ** WITNESS_POWER for window in best[:N_WITNESSES]}
    answer.add_edited(view.query.edited)
    n_definitions = int(options.k * DEFINITION_SHARE) if "definitions" not in options.without else 0
    n_definitions += answer.n_fragments
    for candidate in rank_definitions(view, similar, terms, answer.own_end, options.without):
        if candidate.score < LEAST_SCORE or answer.n_fragments == n_definitions:
            break
        answer.add_definition(candidate)
    answer.add_windows(best)
    return answer.retrieved()


def fading_terms(view: CursorView, n_lines: int, half_life: float = HALF_LIFE_LINES) -> dict[str, float]:
    """Terms of the query's lines with the weight of their nearest mention: 1 at the cursor, less further from it."""
    lines = view.query_lines(n_lines)
    # With nothing believed of the cursor's line, the last one known is the nearest.
    behind = enumerate(reversed(lines.before), 1 if lines.after else 0)
    weights: dict[str, float] = {}
    for distance, line in sorted((*enumerate(lines.after), *behind), key=itemgetter(0)):
        for term in terms_of(line):
            weights.setdefault(term, 0.5 ** (distance / half_life))
    return weights


class _Answer:
    """The fragments taken so far, and the lines that are taken and free."""

    def __init__(
        self, view: CursorView, options: RetrievalOptions, scores: FloatArray, terms: dict[str, float]
    ) -> None:
        self._view = view
        self._options = options
        self._scores = scores
        self._terms = terms
        self._parts_lines = "no line twice" not in options.without
        self._drops_same = "near-duplicates" not in options.without
        self._grows = "growth" not in options.without
        self._n_lines_free = options.k * LINES_PER_PLACE
        self._taken: dict[str, list[Place]] = {}
        self._fragments: list[RankedFragment] = []
        self._left_out: list[tuple[Place, str]] = []
        # The prompt shows the lines of the cursor's file from here on.
        self.own_end = int(max(view.own_ends[view.candidates[view.first_own :]], default=0))

    @property
    def n_fragments(self) -> int:
        return len(self._fragments)

    def add_edited(self, edited: Iterable[Place]) -> None:
        """Take the places edited last, each with what follows it."""
        for latest in edited:
            if self.n_fragments == int(self._options.k * EDITED_SHARE):
                return
            n_lines = self._end_of(latest.path) if latest.path in self._view.graph.files else 0
            start = max(0, latest.start_line - EDITED_ABOVE)
            place = Place(latest.path, start, min(start + LINES_PER_PLACE, n_lines))
            if latest.start_line < n_lines and not self._overlaps(place):
                parts = (ScorePart("edited lately", EDITED_SCORE),) if self._options.explain else ()
                self._take(RankedFragment(Fragment((place,), self._view.text(place)), EDITED_SCORE, parts))

    def add_definition(self, candidate: Candidate) -> None:
        """Take the head of a definition, unless some of its lines are taken."""
        definition = candidate.definition
        end = min(definition.end_line, definition.header_line + HEAD_LINES, self._end_of(candidate.path))
        place = Place(candidate.path, max(definition.start_line, definition.header_line - HEAD_LINES), end)
        if not self._overlaps(place):
            parts = candidate.parts() if self._options.explain else ()
            self._take(RankedFragment(Fragment((place,), self._view.text(place)), candidate.score, parts))

    def add_windows(self, best: list[int]) -> None:
        """Fill the free places with windows, of `best` the first that say something new."""
        n_places = self._options.k - self.n_fragments
        n_lines = min(LONGEST_WINDOW, self._n_lines_free // max(n_places, 1))
        weight = 1 / float(self._scores[best[0]]) if best else 0.0
        line_sets: list[frozenset[str]] = []
        for window in best:
            if self.n_fragments == self._options.k:
                break
            place = self._grown(window, n_lines)
            if self._overlaps(place):
                self._leave_out(place, "overlaps a better one")
                continue
            text = self._view.text(place)
            lines = frozenset(line.strip() for line in text.split("\n"))
            if self._drops_same and any(len(lines & better) >= SAME_TEXT * len(lines) for better in line_sets):
                self._leave_out(place, "says the same as a better one")
                continue
            line_sets.append(lines)
            fragment = Fragment((place, *self._copies(window, n_lines, text)), text)
            parts = (words_part(self._view, self._terms, window, weight),) if self._options.explain else ()
            self._take(RankedFragment(fragment, float(self._scores[window]) * weight, parts))

    def retrieved(self) -> Retrieved:
        return Retrieved(tuple(sorted(self._fragments, key=lambda ranked: -ranked.score)), tuple(self._left_out))

    def _grown(self, window: int, n_lines: int) -> Place:
        """The window with lines from above and below, up to `n_lines`."""
        place = self._view.place(window)
        n_more = max(0, n_lines - (place.end_line - place.start_line)) if self._grows else 0
        n_above = int(SHARE_ABOVE * n_more)
        end = min(place.end_line + n_more - n_above, self._end_of(place.path))
        return Place(place.path, max(0, place.start_line - n_above), end)

    def _copies(self, window: int, n_lines: int, text: str) -> Iterator[Place]:
        """Other places of a window's text."""
        same = self._view.candidates & (self._view.hashes == self._view.hashes[window])
        for other in np.flatnonzero(same).tolist():
            if other != window:
                place = self._grown(other, n_lines)
                if self._view.text(place) == text:
                    yield place

    def _end_of(self, path: str) -> int:
        return self.own_end if path == self._view.path else self._view.graph.files[path].n_lines

    def _overlaps(self, place: Place) -> bool:
        taken = self._taken.get(place.path, ()) if self._parts_lines else ()
        return any(place.start_line < other.end_line and other.start_line < place.end_line for other in taken)

    def _take(self, ranked: RankedFragment) -> None:
        place = ranked.fragment.places[0]
        self._taken.setdefault(place.path, []).append(place)
        self._n_lines_free -= place.end_line - place.start_line
        self._fragments.append(ranked)

    def _leave_out(self, place: Place, reason: str) -> None:
        if self._options.explain:
            self._left_out.append((place, reason))
