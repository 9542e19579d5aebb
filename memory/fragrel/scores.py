"""FragRel scores: the score of a segment plus the weighted mean of its neighbours (Eq. 9 to 11), as an index.

Owns the equations and their explanation. The base index computes the independent scores, so FragRel works with BM25,
vectors or both, and inside every other strategy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...retrieval import ScorePart
from ..scoring import Indexer, SegmentIndex
from ..values import Evidence, Segment
from .relations import Relation
from .weights import Floats, Weights

N_NEIGHBOURS = 3  # neighbours in an explanation


def related(indexer: Indexer, relation: Relation, alpha: float = 0.5, *, include_self: bool = False) -> Indexer:
    """An indexer with FragRel's scores on top of the given one."""
    return lambda segments: RelatedIndex(indexer(segments), relation, alpha, include_self=include_self)


@dataclass(frozen=True, slots=True)
class RelatedScores:
    """Independent scores of all segments, and the scores of their neighbourhoods before alpha. Each (n,)."""

    own: Floats
    around: Floats
    alpha: float

    @property
    def total(self) -> Floats:
        """Eq. 10. With alpha 0 identical to the independent scores, bit by bit."""
        return self.own if self.alpha == 0 else self.own + self.alpha * self.around


class RelatedIndex:
    """An index that adds neighbourhood scores to the scores of a base index."""

    def __init__(
        self, base: SegmentIndex, relation: Relation, alpha: float = 0.5, *, include_self: bool = False
    ) -> None:
        if alpha < 0:
            raise ValueError(f"alpha is {alpha}; it must be 0 or more.")
        self.segments = base.segments
        self._base, self._alpha, self._include_self = base, alpha, include_self
        # With alpha 0 the weights are unused, so nothing is embedded for them.
        self._weights = relation.weights(base.segments) if alpha and base.segments else None

    def scores(self, question: str) -> Floats:
        return self.related_scores(question).total

    def related_scores(self, question: str) -> RelatedScores:
        own = self._base.scores(question)
        if self._weights is None:
            return RelatedScores(own, np.zeros(len(own)), 0.0)
        return RelatedScores(own, environment(self._weights, own, include_self=self._include_self), self._alpha)

    def evidence(self, scores: RelatedScores, i: int) -> Evidence:
        """A segment with its score, the parts that sum to it, and its strongest neighbours."""
        own, around = float(scores.own[i]), float(scores.alpha * scores.around[i])
        neighbours = self._neighbours(scores, i)
        strongest = (f"{named(self.segments[j])} ({weight:.2g} * {scores.own[j]:.3g})" for j, weight in neighbours)
        parts = (ScorePart("own", own), *((ScorePart("around", around, ", ".join(strongest)),) if scores.alpha else ()))
        return Evidence(self.segments[i], float(scores.total[i]), _why(own, around), parts)

    def _neighbours(self, scores: RelatedScores, i: int) -> list[tuple[int, float]]:
        if self._weights is None:
            return []
        weights = self._weights.row(i)
        if not self._include_self:
            weights[i] = 0
        given = weights * scores.own
        strongest = np.argsort(-given, kind="stable")[:N_NEIGHBOURS].tolist()
        return [(j, float(weights[j])) for j in strongest if given[j] > 0]


def named(segment: Segment) -> str:
    """The location of a segment for people. Turns of a conversation have numbers instead of lines."""
    is_round = segment.number > 0 and segment.start == 0
    return f"{segment.source} #{segment.number + 1}" if is_round else segment.place


def environment(weights: Weights, scores: Floats, *, include_self: bool = False) -> Floats:
    """Eq. 9: the weighted mean score of the other segments; 0 without neighbours."""
    sums, mass = (_sums(weights, values, include_self) for values in (scores, np.ones(len(scores))))
    return np.divide(sums, mass, out=np.zeros(len(scores)), where=mass > 0)


def _sums(weights: Weights, values: Floats, include_self: bool) -> Floats:
    others = weights.sum_over_others(values)
    return others + weights.own * values if include_self else others


def _why(own: float, around: float) -> str:
    if own > 0 and around > 0:
        return "matches the question, and so do its neighbours"
    return "matches the question" if own > 0 else "next to segments that match the question"
