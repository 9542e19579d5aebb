"""The default strategy: similar windows, likely definitions and recent edits, merged into one ranking.

Owns the query with weights that decay with the distance from the cursor, and how the three sources share the fragments
and lines of a result. Knows no formula of BM25, no grammar and no editor.

Windows are found by BM25. The best ones vote for the definitions that they call, as in pseudo-relevance feedback.
Recent edits need no query: their words mostly differ from the code at the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from operator import itemgetter

from .definitions import Candidate, rank_definitions
from .explain import words_part
from .index import CursorView
from .ranking import N_RUNNERS_UP, BestWindows
from .terms import terms_of
from .values import Fragment, Location, RankedFragment, RetrievalOptions, Retrieved, ScorePart

# All measured on the 3,036 tasks of eight repositories: benchmarks/results/retrieval.md; retrieval-log.md has what did
# not help. The figures hardly change in a neighbourhood of each value.

HALF_LIFE_LINES = 3.0
"""The weight of a term halves with this many lines between its last mention and the cursor."""

N_VOTING_WINDOWS, VOTE_POWER = 20, 4
"""The best windows vote for the definitions that they call, with this power of their score."""

DEFINITION_SHARE, MIN_SCORE = 0.4, 0.6
"""Definitions are at most this share of a result; those below this score are left out."""

OUTLINE_LINES, MAX_SIGNATURE_LINES = 24, 4
"""An outline lists the signatures of the next definitions, with at most this many lines, and of each."""

EDITED_SHARE, EDITED_ABOVE, EDITED_SCORE = 0.2, 10, 1.0
"""Recent edits are at most this share of a result, with this many lines above them, and have the score of the best
window. Chosen on the edit tasks of four repositories, confirmed on four more: benchmarks/results/edits.md."""

LINES_PER_FRAGMENT = 20
"""A result of k fragments has at most k times this many lines."""

HEAD_LINES = 10
"""A definition is shown with this many lines from its name on, and as many above when it has decorators."""

MAX_WINDOW_LINES, SHARE_ABOVE = 30, 0.3
"""Windows grow by the lines that definitions leave unused, mostly downwards: the code after a match is useful."""

SAME_TEXT = 0.8
"""A window with this share of its lines in a better one is a near-duplicate."""

N_CONSIDERED = 64
"""The number of best windows that a result is selected from."""


def weft(view: CursorView, options: RetrievalOptions) -> Retrieved:
    """Windows and heads of definitions, best first. No line is in two of them; identical windows are one.

    A window's score is its BM25 score over that of the best one; a definition's, see `definitions`.
    """
    terms = decayed_terms(view, options.query_lines, HALF_LIFE_LINES if "fading" not in options.without else inf)
    found = BestWindows(view, terms, N_CONSIDERED)
    best, scores = found.order, found.scores
    selection = _Selection(view, options, found, terms)
    similar = {
        view.location(window): (scores[window] / scores[best[0]]) ** VOTE_POWER for window in best[:N_VOTING_WINDOWS]
    }
    selection.add_edited(view.query.edited)
    n_definitions = int(options.k * DEFINITION_SHARE) if "definitions" not in options.without else 0
    n_definitions += selection.n_fragments
    candidates = rank_definitions(view, similar, terms, selection.own_end, options.without)
    for candidate in candidates:
        if candidate.score < MIN_SCORE or selection.n_fragments == n_definitions:
            break
        if candidate.is_likely:
            selection.add_definition(candidate)
    if n_definitions and "outline" not in options.without:
        selection.add_outline(candidates)
    selection.add_windows()
    return selection.retrieved()


def decayed_terms(view: CursorView, n_lines: int, half_life: float = HALF_LIFE_LINES) -> dict[str, float]:
    """Terms of the query's lines with the weight of their nearest mention: 1 at the cursor, less further from it."""
    lines = view.query_lines(n_lines)
    # Without a predicted line at the cursor, the last known line is the nearest.
    behind = enumerate(reversed(lines.before), 1 if lines.after else 0)
    weights: dict[str, float] = {}
    for distance, line in sorted((*enumerate(lines.after), *behind), key=itemgetter(0)):
        for term in terms_of(line):
            weights.setdefault(term, 0.5 ** (distance / half_life))
    return weights


class _Selection:
    """The fragments selected so far, and the remaining lines."""

    def __init__(
        self, view: CursorView, options: RetrievalOptions, windows: BestWindows, terms: dict[str, float]
    ) -> None:
        self._view = view
        self._options = options
        self._windows = windows
        self._terms = terms
        self._avoids_overlap = "no line twice" not in options.without
        self._drops_duplicates = "near-duplicates" not in options.without
        self._grows = "growth" not in options.without
        self._n_lines_free = options.k * LINES_PER_FRAGMENT
        self._taken: dict[str, list[Location]] = {}
        self._fragments: list[RankedFragment] = []
        self._left_out: list[tuple[Location, str]] = []
        # The prompt shows the lines of the cursor's file from here on.
        self.own_end = int(max(view.own_ends[: view.n_own_candidates], default=0))

    @property
    def n_fragments(self) -> int:
        return len(self._fragments)

    def add_edited(self, edited: Iterable[Location]) -> None:
        """Add the latest edits, each with the code after it."""
        for latest in edited:
            if self.n_fragments == int(self._options.k * EDITED_SHARE):
                return
            is_known = latest.path == self._view.path or latest.path in self._view.index.graph.files
            n_lines = self._shown_lines_of(latest.path) if is_known else 0
            start = max(0, latest.start_line - EDITED_ABOVE)
            location = Location(latest.path, start, min(start + LINES_PER_FRAGMENT, n_lines))
            if latest.start_line < n_lines and not self._overlaps(location):
                parts = (ScorePart("edited lately", EDITED_SCORE),) if self._options.explain else ()
                self._add(RankedFragment(Fragment((location,), self._view.text(location)), EDITED_SCORE, parts))

    def add_definition(self, candidate: Candidate) -> None:
        """Add the head of a definition, unless it overlaps a selected fragment."""
        definition = candidate.definition
        end = min(definition.end_line, definition.header_line + HEAD_LINES, self._shown_lines_of(candidate.path))
        location = Location(candidate.path, max(definition.start_line, definition.header_line - HEAD_LINES), end)
        if not self._overlaps(location):
            parts = candidate.parts() if self._options.explain else ()
            self._add(RankedFragment(Fragment((location,), self._view.text(location)), candidate.score, parts))

    def add_outline(self, candidates: Iterable[Candidate]) -> None:
        """Add the signatures of the best definitions that are not shown, in one fragment, by file and line."""
        found: dict[str, list[Location]] = {}
        n_lines, score, best = 0, 0.0, ""
        for candidate in candidates:
            location = self._signature(candidate)
            length = location.end_line - location.start_line
            if n_lines + length > OUTLINE_LINES:
                break
            if length > 0 and not self._overlaps(location) and location not in found.get(location.path, ()):
                found.setdefault(location.path, []).append(location)
                n_lines += length
                if candidate.score > score:
                    score, best = candidate.score, candidate.definition.qualified_name
        locations = tuple(location for path in found for location in sorted(found[path], key=lambda at: at.start_line))
        if locations:
            text = "\n".join(self._view.text(location) for location in locations)
            detail = f"{len(locations)} definitions, the likeliest {best}"
            parts = (ScorePart("signatures", score, detail),) if self._options.explain else ()
            self._add(RankedFragment(Fragment(locations, text, is_outline=True), score, parts))

    def _signature(self, candidate: Candidate) -> Location:
        """The lines of a definition up to its body: those of an open bracket belong to it."""
        definition = candidate.definition
        end = min(
            definition.header_line + MAX_SIGNATURE_LINES, definition.end_line, self._shown_lines_of(candidate.path)
        )
        location = Location(candidate.path, definition.header_line, max(end, definition.header_line))
        depth = 0
        for number, line in enumerate(self._view.text(location).split("\n"), 1):
            depth += line.count("(") - line.count(")")
            if depth <= 0:
                return Location(candidate.path, definition.header_line, min(end, definition.header_line + number))
        return Location(candidate.path, definition.header_line, min(end, definition.header_line + 1))

    def add_windows(self) -> None:
        """Fill the result with the best windows that are no duplicates."""
        best, scores = self._windows.order, self._windows.scores
        n_free = self._options.k - self.n_fragments
        n_lines = min(MAX_WINDOW_LINES, self._n_lines_free // max(n_free, 1))
        weight = 1 / float(scores[best[0]]) if best else 0.0
        line_sets: list[frozenset[str]] = []
        by_term = self._view.scores(self._terms)
        runners_up = 0
        for window in best:
            is_full = self.n_fragments == self._options.k
            if is_full and not (self._options.explain and runners_up < N_RUNNERS_UP):
                break
            location = self._grown(window, n_lines)
            shown = self._overlapped(location)
            if is_full:
                if shown is None:
                    self._leave_out(location, f"budget: the {self._options.k} fragments of the result")
                    runners_up += 1
                continue
            if shown is not None:
                self._leave_out(location, f"overlaps {_lines(shown)}")
                continue
            text = self._view.text(location)
            lines = frozenset(line.strip() for line in text.split("\n"))
            if self._drops_duplicates and any(len(lines & better) >= SAME_TEXT * len(lines) for better in line_sets):
                self._leave_out(location, "duplicates a better one")
                continue
            line_sets.append(lines)
            fragment = Fragment((location, *self._copies(window, n_lines, text)), text)
            parts = (words_part(self._view, by_term, window, weight),) if self._options.explain else ()
            self._add(RankedFragment(fragment, float(scores[window]) * weight, parts))

    def retrieved(self) -> Retrieved:
        return Retrieved(tuple(sorted(self._fragments, key=lambda ranked: -ranked.score)), tuple(self._left_out))

    def _grown(self, window: int, n_lines: int) -> Location:
        """The window with lines from above and below, up to `n_lines`."""
        location = self._view.location(window)
        n_more = max(0, n_lines - (location.end_line - location.start_line)) if self._grows else 0
        n_above = int(SHARE_ABOVE * n_more)
        end = min(location.end_line + n_more - n_above, self._shown_lines_of(location.path))
        return Location(location.path, max(0, location.start_line - n_above), end)

    def _copies(self, window: int, n_lines: int, text: str) -> Iterator[Location]:
        """Other locations of a window's text."""
        for other in self._windows.copies(window):
            location = self._grown(other, n_lines)
            if self._view.text(location) == text:
                yield location

    def _shown_lines_of(self, path: str) -> int:
        return self.own_end if path == self._view.path else self._view.index.graph.files[path].n_lines

    def _overlaps(self, location: Location) -> bool:
        return self._overlapped(location) is not None

    def _overlapped(self, location: Location) -> Location | None:
        """The selected lines that a location overlaps. They may have a lower score: definitions come before windows."""
        taken = self._taken.get(location.path, ()) if self._avoids_overlap else ()
        return next(
            (at for at in taken if location.start_line < at.end_line and at.start_line < location.end_line), None
        )

    def _add(self, ranked: RankedFragment) -> None:
        for location in ranked.fragment.locations if ranked.fragment.is_outline else ranked.fragment.locations[:1]:
            self._taken.setdefault(location.path, []).append(location)
            self._n_lines_free -= location.end_line - location.start_line
        self._fragments.append(ranked)

    def _leave_out(self, location: Location, reason: str) -> None:
        if self._options.explain:
            self._left_out.append((location, reason))


def _lines(shown: Location) -> str:
    if shown.end_line - shown.start_line == 1:
        return f"line {shown.end_line}, which is shown"
    return f"lines {shown.start_line + 1}-{shown.end_line}, which are shown"
