"""From scores to an answer: the best windows, identical ones merged, with the reasons for those left out.

Owns the order of fragments and what counts as the same text. Knows no formula behind a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bm25 import FloatArray
from .index import CursorView
from .values import Fragment, RankedFragment, RetrievalOptions, Retrieved, ScorePart


@dataclass(frozen=True, slots=True)
class Ranking:
    """A score for every fragment of a view, (n_ids,), 0 for what is no candidate; and the parts that a score has."""

    scores: FloatArray
    explain: Callable[[int], tuple[ScorePart, ...]]


def best_windows(view: CursorView, ranking: Ranking, options: RetrievalOptions) -> Retrieved:
    """The `k` best windows; identical ones are one fragment with all its places and the score of the best."""
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
        places = tuple(map(view.place, _in_order(view, ranking.scores, np.flatnonzero(view.hashes == text_hash))))
        fragments.append(
            RankedFragment(
                Fragment(places, view.text(places[0])),
                float(ranking.scores[fragment]),
                ranking.explain(fragment) if options.explain else (),
            )
        )
    left_out = [
        (view.place(fragment), f"budget: rank {rank}, and the {options.k} best are returned")
        for rank, fragment in enumerate(runners_up, len(chosen) + 1)
    ]
    return Retrieved(tuple(fragments), tuple(left_out))


N_RUNNERS_UP = 5
"""How many windows beyond the best an explanation names."""


def best_first(view: CursorView, scores: FloatArray) -> Iterator[int]:
    """Fragments with a positive score, best first; equal scores in order of path and line."""
    remaining = np.flatnonzero(scores > 0)
    size = 64  # Sorting a few at a time: an answer needs some dozens of twenty thousand.
    while len(remaining):
        limit = np.partition(scores[remaining], -size)[-size] if len(remaining) > size else 0.0
        is_next = scores[remaining] >= limit
        yield from _in_order(view, scores, remaining[is_next])
        remaining = remaining[~is_next]
        size *= 8


def _in_order(view: CursorView, scores: FloatArray, fragments: NDArray[np.intp]) -> list[int]:
    def key(fragment: int) -> tuple[float, str, int]:
        place = view.place(fragment)
        return -scores[fragment], place.path, place.start_line

    return sorted(fragments[view.candidates[fragments]].tolist(), key=key)
