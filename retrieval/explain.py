"""Say in words where a score comes from, and why a fragment that matches the query well was not returned.

Owns the wording. Knows what a view can tell about words and relations, and no ranking formula.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .index import CursorView
from .values import Place, ScorePart

N_TERMS = 8
"""How many terms an explanation names, best first."""


def words_part(view: CursorView, query: Mapping[str, float], fragment: int, weight: float = 1.0) -> ScorePart:
    """The BM25 score of a candidate, times `weight`, with what each term adds to it."""
    terms = {term: weight * value for term, value in view.bm25_terms(query, fragment).items()}
    named = [f"{term} {value:.2f}" for term, value in list(terms.items())[:N_TERMS]]
    rest = list(terms.values())[N_TERMS:]
    if rest:
        named.append(f"{len(rest)} more {sum(rest):.2f}")
    return ScorePart("words", sum(terms.values()), ", ".join(named))


def withheld(view: CursorView, query: Mapping[str, float], k: int) -> tuple[tuple[Place, str], ...]:
    """Windows of the cursor's file among the `k` best by words alone that may not be returned, and why. Best first.

    This looks at the whole indexed file, also after the cursor: it explains, and ranks nothing.
    """
    scores = view.bm25(query)
    least = float(np.partition(scores, -k)[-k]) if 0 < k <= len(scores) else 0.0
    found = []
    for score, start, end in view.shown_windows(query):
        found.append((score, start, end, "the prompt shows it already"))
    for score, start, end in view.later_windows(query):
        reason = "after the cursor" if start > view.cursor_line else "holds code after the cursor"
        found.append((score, start, end, reason))
    found = sorted((item for item in found if item[0] > max(least, 0.0)), key=lambda item: (-item[0], item[1]))
    return tuple((Place(view.path, start, end), reason) for _, start, end, reason in found[:k])
