"""The meaning of units for a question: cosines of its vector with those of their lines, and of their names and files.

Owns what of a unit its vectors are made of, which is as the table was fitted: lines of a definition with its name, and
its name with the name of its file. Without a table all cosines are 0. Knows no words and no score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..bm25 import FloatArray
from ..static_vectors import N_DIMENSIONS, N_STORED, Vectors, normalised, shipped_vectors
from .query_analysis import AnalysedQuestion
from .unit_texts import UnitTexts

if TYPE_CHECKING:
    from ..index import RepositoryIndex

PRIOR_MEAN, PRIOR_DEVIATION, N_PRIOR = 0.03, 0.11, 20
"""Of the cosines in 3,300 windows of Python and Markdown with 25 questions; counted as so many windows more.

The cosines of one or two windows say nothing of their spread: a single window has none, and any unit would stand out.
"""


@dataclass(frozen=True, slots=True, eq=False)
class QuestionMeaning:
    """The vector of a question, and its cosines with the windows of a repository."""

    vector: Vectors  # (N_DIMENSIONS,), of length 1, or 0 without known words
    windows: FloatArray  # (n_ids,) cosines, 0 for dead windows
    mean: float  # of the windows
    deviation: float

    @classmethod
    def of(cls, index: RepositoryIndex, question: AnalysedQuestion) -> QuestionMeaning:
        table, weights = shipped_vectors(), dict(question.meaning)
        if table is None or not weights or not index.lexical.live.any():
            return cls(np.zeros(N_DIMENSIONS, np.float32), np.zeros(index.lexical.n_ids), 0.0, 1.0)
        vector = table.vector(weights)
        windows = index.meaning(normalised(vector[:N_STORED])).astype(np.float64)
        return cls(vector, windows, *_mean_and_deviation(windows[index.lexical.live]))

    def of_units(self, texts: UnitTexts) -> list[UnitMeaning]:
        """What the question shares with each unit."""
        table = shipped_vectors()
        if table is None or not self.vector.any():
            return [UnitMeaning(0.0, 0.0, (text.unit.start_line, text.unit.end_line)) for text in texts]
        n_pieces = len(texts.owners)
        vectors = normalised(table.sums(texts.postings(), n_pieces + len(texts), N_DIMENSIONS))
        cosines = (vectors[:n_pieces] @ self.vector).tolist()
        pieces = [piece for text in texts for piece in text.pieces]
        best: dict[int, int] = {}
        for at, owner in enumerate(texts.owners):
            if owner not in best or cosines[at] > cosines[best[owner]]:
                best[owner] = at
        return [
            UnitMeaning((cosines[best[number]] - self.mean) / self.deviation, cosine, pieces[best[number]])
            for number, cosine in enumerate((vectors[n_pieces:] @ self.vector).tolist())
        ]


class UnitMeaning(NamedTuple):
    """The cosine of a unit's nearest piece, in standard deviations above the mean of the windows; that of its name."""

    body: float
    head: float
    nearest: tuple[int, int]  # lines of that piece, half-open


def _mean_and_deviation(cosines: FloatArray) -> tuple[float, float]:
    """Of the cosines and the prior ones together."""
    n = len(cosines) + N_PRIOR
    mean = (float(cosines.sum()) + N_PRIOR * PRIOR_MEAN) / n
    squares = float(np.square(cosines - mean).sum()) + N_PRIOR * (PRIOR_DEVIATION**2 + (PRIOR_MEAN - mean) ** 2)
    return mean, float(np.sqrt(squares / n))
