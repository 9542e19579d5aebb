"""Figures of the static vectors: the rank of the code that a description describes, by vectors and by BM25.

Every definition of a tree with a description is a candidate, and each description is a query. Owns both rankings and
their figures. Knows no fit; needs numpy alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...retrieval.bm25 import FloatArray, idf, length_norm, saturated
from ...retrieval.static_vectors import N_DIMENSIONS, StaticVectors, Vectors, normalised
from ...retrieval.terms import lower_terms
from .encoding import Encoded, encode_pair
from .pairs import Pair

DEPTH = 5

Ranks = NDArray[np.float64]
"""The rank of the code of each description, 1 is best. Equal scores share the mean of their ranks."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Mean reciprocal rank, and the share of codes in the first DEPTH."""

    mrr: float
    in_first: float

    @classmethod
    def of(cls, ranks: Ranks) -> Figures:
        return cls(float((1 / ranks).mean()), float((ranks <= DEPTH).mean()))

    @classmethod
    def mean(cls, figures: Sequence[Figures]) -> Figures:
        n = len(figures)
        return cls(sum(each.mrr for each in figures) / n, sum(each.in_first for each in figures) / n)


def ranks_by_vectors(table: StaticVectors, pairs: Sequence[Pair], n_first: int = N_DIMENSIONS) -> Ranks:
    """By the cosine of the first components. The vector of a pair with a text without known words is zero."""
    index = {word: row for row, word in enumerate(table.words)}
    nothing = Encoded(np.zeros(0, np.int64), np.zeros(0, np.float32))
    made = [encode_pair(index, pair) or (nothing, nothing, nothing) for pair in pairs]

    def matrix(texts: Sequence[Encoded]) -> Vectors:
        return normalised(np.stack([text.weights @ table.take(text.rows, n_first) for text in texts]))

    descriptions, codes = matrix([each[0] for each in made]), matrix([each[1] for each in made])
    # Rounded: the vectors of equal texts differ in their last bits.
    return _ranks(np.round(codes @ description, 5) for description in descriptions)


def ranks_by_bm25(pairs: Sequence[Pair]) -> Ranks:
    """By Okapi BM25 of the same words."""
    codes = [Counter(lower_terms(f"{pair.name}\n{pair.code}")) for pair in pairs]
    lengths = np.array([code.total() for code in codes], np.float64)
    norms = length_norm(lengths, float(lengths.mean()))
    postings = dict[str, list[int]]()
    for number, code in enumerate(codes):
        for word in code:
            postings.setdefault(word, []).append(number)

    def scores(description: str) -> FloatArray:
        found = np.zeros(len(codes))
        for word, weight in Counter(lower_terms(description)).items():
            if here := postings.get(word):
                counts = np.array([codes[number][word] for number in here], np.float64)
                found[here] += weight * idf(len(codes), float(len(here))) * saturated(counts, norms[here])
        return found

    return _ranks(np.round(scores(pair.description), 9) for pair in pairs)


def _ranks(scores: Iterable[NDArray[np.floating]]) -> Ranks:
    """Of the scores of all codes for each description in turn."""
    ranks = [(row > row[n]).sum() + ((row == row[n]).sum() + 1) / 2 for n, row in enumerate(scores)]
    return np.array(ranks, np.float64)
