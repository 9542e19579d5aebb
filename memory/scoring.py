"""How well each segment fits a question by itself (FragRel, Eq. 4): the interface that every strategy searches by.

Owns `SegmentIndex` and the choice by name. Knows no relation between segments and no strategy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..retrieval.terms import count_terms
from .values import Segment

Scores = NDArray[np.float64]


class SegmentIndex(Protocol):
    """Segments made ready to be searched. Immutable."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def scores(self, question: str) -> Scores:
        """One score a segment, (n_segments,); larger fits better, 0 is nothing in common."""
        ...


Indexer = Callable[[Sequence[Segment]], SegmentIndex]
"""Makes segments ready. Strategies take one, so that BM25, vectors, both, or FragRel's scores can stand below any."""


def best(index: SegmentIndex, question: str, n: int) -> list[tuple[Segment, float]]:
    """The `n` segments that fit best, best first, ties in their order; none with a score of 0."""
    scores = index.scores(question)
    order = np.argsort(-scores, kind="stable")[:n]
    return [(index.segments[i], float(scores[i])) for i in order if scores[i] > 0]


def indexer(how: str = "bm25") -> Indexer:
    """The indexer of a name. Raises ValueError for an unknown one."""
    if how != "bm25":
        raise ValueError(f"no way to score is called {how!r}; there is bm25.")
    return Bm25Index


class Bm25Index:
    """Okapi BM25 with k1 = 1.5, b = 0.75 and idf = ln(1 + (N - df + .5) / (df + .5)) (papers' spec, F6)."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self._counts = [count_terms(segment.text.lower()) for segment in segments]
        self._lengths = np.array([counts.total() for counts in self._counts], np.float64)
        self._frequencies = Counter(term for counts in self._counts for term in counts)

    def scores(self, question: str) -> Scores:
        scores = np.zeros(len(self.segments))
        norms = 1.5 * (0.25 + 0.75 * self._lengths / max(1.0, self._lengths.mean() if len(self._lengths) else 1.0))
        for term in count_terms(question.lower()):
            n = self._frequencies[term]
            idf = np.log(1 + (len(self.segments) - n + 0.5) / (n + 0.5))
            counts = np.array([counts[term] for counts in self._counts], np.float64)
            scores += idf * counts * 2.5 / (counts + norms)
        return scores
