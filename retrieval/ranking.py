"""Top-k selection of windows by score, with identical windows merged.

Owns the order of fragments and the equality of texts. Knows no formula behind a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bm25 import FloatArray
from .index import CursorView
from .values import Fragment, RankedFragment, RetrievalOptions, Retrieved, ScorePart


@dataclass(frozen=True, slots=True)
class Ranking:
    """A score for every fragment of a view, (n_ids,), 0 for non-candidates; and the parts of each score."""

    scores: FloatArray
    explain: Callable[[int], tuple[ScorePart, ...]]


def best_windows(view: CursorView, ranking: Ranking, options: RetrievalOptions) -> Retrieved:
    """The `k` best windows; identical ones are one fragment with all its locations and the score of the best."""
    chosen: dict[int, int] = {}  # hash of the text -> fragment
    runners_up: list[int] = []
    for fragment in best_first(view, ranking.scores):
        text_hash = int(view.hashes[fragment])
        if len(chosen) < options.k:
            chosen.setdefault(text_hash, fragment)
        elif not options.explain or len(runners_up) == N_RUNNERS_UP:
            break
        elif text_hash not in chosen:
            runners_up.append(fragment)
    fragments = []
    for text_hash, fragment in chosen.items():
        locations = tuple(map(view.location, _in_order(view, ranking.scores, np.flatnonzero(view.hashes == text_hash))))
        fragments.append(
            RankedFragment(
                Fragment(locations, view.text(locations[0])),
                float(ranking.scores[fragment]),
                ranking.explain(fragment) if options.explain else (),
            )
        )
    left_out = [
        (view.location(fragment), f"budget: rank {rank}, and the {options.k} best are returned")
        for rank, fragment in enumerate(runners_up, len(chosen) + 1)
    ]
    return Retrieved(tuple(fragments), tuple(left_out))


class BestWindows:
    """The windows of a view with the best BM25 scores."""

    def __init__(self, view: CursorView, query: Mapping[str, float], n: int) -> None:
        ids, scores = view.best(query, n)
        self.scores: Mapping[int, np.float64] = dict(zip(ids.tolist(), scores, strict=True))
        self.order = sorted(self.scores, key=lambda window: _order(view, float(self.scores[window]), window))[:n]
        self._view = view

    def copies(self, window: int) -> list[int]:
        """The other windows with the text of one in `order`. They have its words, so they have its score."""
        text_hash, score = self._view.text_hash(window), self.scores[window]
        return [
            other
            for other, its in self.scores.items()
            if its == score and other != window and self._view.text_hash(other) == text_hash
        ]


N_RUNNERS_UP = 5
"""Limit of windows after the best in an explanation."""


def best_first(view: CursorView, scores: FloatArray) -> Iterator[int]:
    """Fragments with a positive score, best first; equal scores in order of path and line."""
    remaining = np.flatnonzero(scores > 0)
    size = 64  # Sorted in batches: a result needs some dozens of twenty thousand.
    while len(remaining):
        limit = np.partition(scores[remaining], -size)[-size] if len(remaining) > size else 0.0
        is_next = scores[remaining] >= limit
        yield from _in_order(view, scores, remaining[is_next])
        remaining = remaining[~is_next]
        size *= 8


def _in_order(view: CursorView, scores: FloatArray, fragments: NDArray[np.intp]) -> list[int]:
    candidates: list[int] = fragments[view.candidates[fragments]].tolist()
    return sorted(candidates, key=lambda fragment: _order(view, float(scores[fragment]), fragment))


def _order(view: CursorView, score: float, fragment: int) -> tuple[float, str, int]:
    location = view.location(fragment)
    return -score, location.path, location.start_line
