"""How well each segment fits a question by itself (FragRel, Eq. 4): the interface that every strategy searches by.

Owns `SegmentIndex`, the ways to score and the choice by name. Knows no relation between segments and no strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..retrieval.bm25 import idf, length_norm, saturated
from .embedding import Embedder, Vectors, knows_meaning
from .strategy import StrategyContext
from .values import Segment
from .vectors import VectorIndex
from .words import count_terms, runs_of, terms_of_run

Scores = NDArray[np.float64]

SCORERS = ("auto", "bm25", "jaccard", "dense", "hybrid")


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
    if isinstance(index, DenseIndex):
        return index.nearest(question, n)
    scores = index.scores(question)
    order = np.argsort(-scores, kind="stable")[:n]
    return [(index.segments[i], float(scores[i])) for i in order if scores[i] > 0]


def indexer(how: str = "bm25", context: StrategyContext | None = None) -> Indexer:
    """The indexer of a name, which is one of `SCORERS`; vectors come from the kit's embedder.

    `auto` is both words and vectors where the embedder knows meaning, else words: letters add nothing to them (92.0 %
    with hashing and without, on the sample below). Raises ValueError for an unknown name.
    """
    embedder = (context or StrategyContext()).embedder
    ways: dict[str, Indexer] = {
        "auto": (lambda segments: HybridIndex(segments, embedder)) if knows_meaning(embedder) else Bm25Index,
        "bm25": Bm25Index,
        "jaccard": JaccardIndex,
        "dense": lambda segments: DenseIndex(segments, embedder),
        "hybrid": lambda segments: HybridIndex(segments, embedder),
    }
    if how not in ways:
        raise ValueError(f"no way to score is called {how!r}; there are {', '.join(SCORERS)}.")
    return ways[how]


class Bm25Index:
    """Okapi BM25 by the formulas of `retrieval.bm25`, with postings of prose terms (`words`).

    A word that a question says twice counts twice, as in rank_bm25.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self._postings = _Postings(segments)
        n_terms = self._postings.n_terms
        norms = length_norm(n_terms, float(n_terms.mean()) if n_terms.any() else 1.0)
        self._weights = saturated(self._postings.counts, norms[self._postings.owners])

    def scores(self, question: str) -> Scores:
        scores = np.zeros(len(self.segments))
        for term, n in count_terms(question).items():
            at = self._postings.of(term)
            scores[self._postings.owners[at]] += n * idf(len(self.segments), at.stop - at.start) * self._weights[at]
        return scores


class JaccardIndex:
    """Shared terms among all terms of both, each counted once (RepoCoder)."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self._postings = _Postings(segments)
        self._n_distinct = np.bincount(self._postings.owners, minlength=len(segments))

    def scores(self, question: str) -> Scores:
        terms = count_terms(question).keys()
        shared = np.zeros(len(self.segments))
        for term in terms:
            shared[self._postings.owners[self._postings.of(term)]] += 1
        either = self._n_distinct + len(terms) - shared
        scores: Scores = np.divide(shared, either, out=np.zeros(len(shared)), where=either > 0)
        return scores


class DenseIndex:
    """The cosine of two vectors, 0 where it is negative. Raises ModelError where the embedder does."""

    def __init__(self, segments: Sequence[Segment], embedder: Embedder) -> None:
        self.segments = segments
        self._embedder = embedder
        vectors = embedder.embed([segment.text for segment in segments])
        self._index = VectorIndex(vectors.shape[1])
        self._index.add({str(row): vector for row, vector in enumerate(vectors)})

    def scores(self, question: str) -> Scores:
        scores: Scores = np.maximum(0.0, (self._index.vectors @ self._vector(question)).astype(np.float64))
        return scores

    def nearest(self, question: str, n: int) -> list[tuple[Segment, float]]:
        """As `best`, by the search for vectors."""
        found = self._index.search(self._vector(question), n)
        return [(self.segments[int(row)], score) for row, score in found if score > 0]

    def _vector(self, question: str) -> Vectors:
        vectors: Vectors = self._embedder.embed([question], are_queries=True)
        return vectors.reshape(-1)


class HybridIndex:
    """Half the cosine and half BM25 as a share of its best, so that 1 is the best by both.

    On the HotpotQA sample this found 96.0 % of the gold paragraphs among the best 10, sums of scores spread to 0 to 1
    96.5, sums of reciprocal ranks 94.0, BM25 alone 92.0 and the cosines of all-MiniLM-L6-v2 alone 89.5
    (benchmarks/results/memory-log.md).
    """

    def __init__(self, segments: Sequence[Segment], embedder: Embedder) -> None:
        self.segments = segments
        self._words = Bm25Index(segments)
        self._vectors = DenseIndex(segments, embedder)

    def scores(self, question: str) -> Scores:
        words = self._words.scores(question)
        most = words.max(initial=0.0)
        scores: Scores = 0.5 * self._vectors.scores(question) + (0.5 / most * words if most > 0 else 0.0)
        return scores


class _Postings:
    """Which segments hold a term, and how often: three arrays, sorted by term and segment."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        terms_of = _NumbersOfRun()
        numbers = [
            np.fromiter(chain.from_iterable(map(terms_of.__getitem__, runs_of(segment.text))), np.int64)
            for segment in segments
        ]
        self.n_terms = np.array([len(each) for each in numbers], np.float64)  # with repeats, by segment
        n = max(1, len(segments))
        keys = np.concatenate([each * n + i for i, each in enumerate(numbers)]) if segments else np.zeros(0, np.int64)
        keys, counts = np.unique(keys, return_counts=True)
        self.owners = keys % n
        self.counts = counts.astype(np.float64)
        self._starts = np.searchsorted(keys // n, np.arange(len(terms_of.number_of_term) + 1))
        self._number_of_term = terms_of.number_of_term

    def of(self, term: str) -> slice:
        """Where the term's rows are; none for a term that no segment has."""
        number = self._number_of_term.get(term)
        return slice(0, 0) if number is None else slice(int(self._starts[number]), int(self._starts[number + 1]))


class _NumbersOfRun(dict[str, tuple[int, ...]]):
    """Run of letters to the numbers of its terms; what is missing is made on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.number_of_term: dict[str, int] = {}

    def __missing__(self, run: str) -> tuple[int, ...]:
        known = self.number_of_term
        numbers = tuple(known.setdefault(term, len(known)) for term in terms_of_run(run))
        self[run] = numbers
        return numbers
