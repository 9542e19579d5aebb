"""Segment scoring for a query (FragRel, Eq. 4): BM25, Jaccard, dense and hybrid indexes behind one interface.

Owns `SegmentIndex` and the selection by name. Knows no relation between segments and no strategy.
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

SCORERS = ("auto", "bm25", "jaccard", "dense", "hybrid", "dense_if_semantic")


class SegmentIndex(Protocol):
    """A searchable index of segments. Immutable."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def scores(self, question: str) -> Scores:
        """Scores of all segments, (n_segments,); larger is better, 0 means no match."""
        ...


Indexer = Callable[[Sequence[Segment]], SegmentIndex]
"""Builds an index. Every strategy takes one, so any scorer, FragRel's included, works with any strategy."""


def best(index: SegmentIndex, question: str, n: int) -> list[tuple[Segment, float]]:
    """The `n` best segments with their scores, best first, ties in their order; scores of 0 are left out."""
    if isinstance(index, DenseIndex):
        return index.nearest(question, n)
    scores = index.scores(question)
    order = np.argsort(-scores, kind="stable")[:n]
    return [(index.segments[i], float(scores[i])) for i in order if scores[i] > 0]


def indexer(how: str = "bm25", context: StrategyContext | None = None) -> Indexer:
    """The indexer for a name of `SCORERS`; vectors come from the embedder of the context.

    `auto` is hybrid with a semantic embedder, otherwise BM25: hashed vectors do not improve BM25 (recall 92.0 % with
    and without them, on the sample below). `dense_if_semantic` is dense with a semantic embedder, otherwise BM25.
    Raises ValueError for an unknown name.
    """
    embedder = (context or StrategyContext()).embedder
    is_semantic = knows_meaning(embedder)

    def dense(segments: Sequence[Segment]) -> SegmentIndex:
        return DenseIndex(segments, embedder)

    def hybrid(segments: Sequence[Segment]) -> SegmentIndex:
        return HybridIndex(segments, embedder)

    ways: dict[str, Indexer] = {
        "auto": hybrid if is_semantic else Bm25Index,
        "bm25": Bm25Index,
        "jaccard": JaccardIndex,
        "dense": dense,
        "hybrid": hybrid,
        "dense_if_semantic": dense if is_semantic else Bm25Index,
    }
    if how not in ways:
        raise ValueError(f"unknown scorer {how!r}; use one of {', '.join(SCORERS)}.")
    return ways[how]


class Bm25Index:
    """Okapi BM25 by the formulas of `retrieval.bm25`, with postings of prose terms (`words`).

    Repeated query terms count each time, as in rank_bm25.
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
    """Jaccard similarity of the sets of terms (RepoCoder)."""

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
    """Cosine similarity, 0 where it is negative. Raises ModelError if the embedder does."""

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
        """Same as `best`, by vector search."""
        found = self._index.search(self._vector(question), n)
        return [(self.segments[int(row)], score) for row, score in found if score > 0]

    def _vector(self, question: str) -> Vectors:
        vectors: Vectors = self._embedder.embed([question], are_queries=True)
        return vectors.reshape(-1)


class HybridIndex:
    """The mean of the cosine and the BM25 score divided by its maximum, so that 1 is the best by both.

    Recall@10 of gold paragraphs on the HotpotQA sample is 96.0 %; min-max normalised sums give 96.5, reciprocal rank
    fusion 94.0, BM25 alone 92.0 and the cosines of all-MiniLM-L6-v2 alone 89.5 (benchmarks/results/memory-log.md).
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
    """Postings of terms: three arrays, sorted by term and segment."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        terms_of = _NumbersOfRun()
        numbers = [
            np.fromiter(chain.from_iterable(map(terms_of.__getitem__, runs_of(segment.text))), np.int64)
            for segment in segments
        ]
        self.n_terms = np.array([len(each) for each in numbers], np.float64)  # term count of each segment
        n = max(1, len(segments))
        keys = np.concatenate([each * n + i for i, each in enumerate(numbers)]) if segments else np.zeros(0, np.int64)
        keys, counts = np.unique(keys, return_counts=True)
        self.owners = keys % n
        self.counts = counts.astype(np.float64)
        self._starts = np.searchsorted(keys // n, np.arange(len(terms_of.number_of_term) + 1))
        self._number_of_term = terms_of.number_of_term

    def of(self, term: str) -> slice:
        """The rows of a term; empty if no segment has it."""
        number = self._number_of_term.get(term)
        return slice(0, 0) if number is None else slice(int(self._starts[number]), int(self._starts[number + 1]))


class _NumbersOfRun(dict[str, tuple[int, ...]]):
    """Term ids of each run of letters, computed on first access."""

    def __init__(self) -> None:
        super().__init__()
        self.number_of_term: dict[str, int] = {}

    def __missing__(self, run: str) -> tuple[int, ...]:
        known = self.number_of_term
        numbers = tuple(known.setdefault(term, len(known)) for term in terms_of_run(run))
        self[run] = numbers
        return numbers
