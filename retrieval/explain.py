"""Say in words where a score comes from, and why a fragment that matches the query well was not returned.

Owns the wording. Knows what a view can tell about words and relations, and no ranking formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from .bm25 import FloatArray
from .index import CursorView
from .values import Fragment, Place, ScorePart

N_TERMS = 8
"""How many terms an explanation names, best first."""

N_WITHHELD = 10
"""How many windows of the cursor's own file it names."""


def words_part(view: CursorView, query: Mapping[str, float], fragment: int, weight: float = 1.0) -> ScorePart:
    """The BM25 score of a candidate, times `weight`, with what each term adds to it."""
    terms = {term: weight * value for term, value in view.bm25_terms(query, fragment).items()}
    named = [f"{term} {value:.2f}" for term, value in list(terms.items())[:N_TERMS]]
    rest = list(terms.values())[N_TERMS:]
    if rest:
        named.append(f"{len(rest)} more {sum(rest):.2f}")
    return ScorePart("words", sum(terms.values()), ", ".join(named))


def place_name(place: Place) -> str:
    """`path:first-last`, lines counted from 1 as an editor shows them."""
    return f"{place.path}:{place.start_line + 1}-{place.end_line}"


def way_from_cursor(view: CursorView, fragment: Fragment) -> tuple[str, ...]:
    """The steps of `RankedFragment.way`."""
    return view.relations.relation_path(view.path, view.cursor_line, view.window_at(fragment.places[0]))


def withheld(view: CursorView, query: Mapping[str, float], k: int) -> tuple[tuple[Place, str], ...]:
    """Windows of the cursor's file that match the query's words like the `k` best, but may not be returned, and why.

    Best first. This looks at the whole indexed file, also after the cursor: it explains, and ranks nothing.
    """
    shown = [(score, start, end, "the prompt shows it already") for score, start, end in view.shown_windows(query)]
    later = [
        (score, start, end, "after the cursor" if start > view.cursor_line else "holds code after the cursor")
        for score, start, end in view.later_windows(query)
    ]
    # The cursor's view and the whole index weigh words a little differently, so each is held against its own kth.
    others = view.index.lexical.bm25(query) * view.candidates[: view.first_own]
    found = _beyond(shown, _kth_best(view.bm25(query), k)) + _beyond(later, _kth_best(others, k))
    found.sort(key=lambda item: -item[0])
    return tuple((Place(view.path, start, end), reason) for _, start, end, reason in found[:N_WITHHELD])


_Window = tuple[float, int, int, str]  # score, lines, reason


def _beyond(windows: Iterable[_Window], least: float) -> list[_Window]:
    """Windows with a score of at least `least`, in parts of it."""
    return [(score / least, start, end, reason) for score, start, end, reason in windows if score >= least]


def _kth_best(scores: FloatArray, k: int) -> float:
    """The kth largest score, or the smallest positive one when there are fewer; infinite when there is none."""
    positive = scores[scores > 0]
    k = min(k, len(positive))
    return float(np.partition(positive, -k)[-k]) if k else np.inf
