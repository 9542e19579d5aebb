"""The meaning of units for a question: cosines of its vector with those of their lines, and of their names and files.

Owns what of a unit its vectors are made of, which is as the table was fitted: the first lines of a definition with its
name, and its name with the name of its file. Without a table all cosines are 0. Knows no words and no score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..static_vectors import N_STORED, NO_ROW, StaticVectors, Vectors, normalised, shipped_vectors, weight_of_count
from ..terms import Vocabulary, encode, shared_vocabulary
from .query_analysis import AnalysedQuestion
from .units import Unit

if TYPE_CHECKING:
    from ..index import RepositoryIndex

MOST_LINES = 40
"""The lines of a unit that its vector is made of."""

PRIOR_MEAN, PRIOR_DEVIATION, N_PRIOR = 0.03, 0.11, 20
"""Of the cosines in 3,300 windows of Python and Markdown with 25 questions; counted as so many windows more.

The cosines of one or two windows say nothing of their spread: a single window has none, and any unit would stand out.
"""

Cosines = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class QuestionMeaning:
    """The vector of a question, and its cosines with the windows of a repository."""

    vector: Vectors  # (N_DIMENSIONS,), of length 1, or 0 without known words
    windows: Cosines  # (n_ids,), 0 for dead windows
    mean: float  # of the windows
    deviation: float

    @classmethod
    def of(cls, index: RepositoryIndex, question: AnalysedQuestion) -> QuestionMeaning:
        table = shipped_vectors()
        vector = np.zeros(N_STORED, np.float32) if table is None else table.vector(dict(question.meaning))
        if not vector.any() or not index.lexical.live.any():
            return cls(vector, np.zeros(index.lexical.n_ids, np.float32), 0.0, 1.0)
        windows = index.meaning(normalised(vector[:N_STORED]))
        return cls(vector, windows, *_mean_and_deviation(windows[index.lexical.live]))

    def of_units(self, units: Sequence[Unit], lines_of: Callable[[str], Sequence[bytes]]) -> tuple[Cosines, Cosines]:
        """The cosines of lines, in standard deviations above the mean of the windows, and those of names: (n,) each."""
        table = shipped_vectors()
        if table is None or not self.vector.any():
            return np.zeros(len(units), np.float32), np.zeros(len(units), np.float32)
        bodies, heads = unit_vectors(table, units, lines_of)
        return (bodies @ self.vector - np.float32(self.mean)) / np.float32(self.deviation), heads @ self.vector


def _mean_and_deviation(cosines: Cosines) -> tuple[float, float]:
    """Of the cosines and the prior ones together."""
    n = len(cosines) + N_PRIOR
    mean = (float(cosines.sum()) + N_PRIOR * PRIOR_MEAN) / n
    squares = float(np.square(cosines - mean).sum()) + N_PRIOR * (PRIOR_DEVIATION**2 + (PRIOR_MEAN - mean) ** 2)
    return mean, float(np.sqrt(squares / n))


def unit_vectors(
    table: StaticVectors, units: Sequence[Unit], lines_of: Callable[[str], Sequence[bytes]]
) -> tuple[Vectors, Vectors]:
    """The vectors of the units' lines, and of their names and files: (n, 96) each. `lines_of` a path."""
    vocabulary = shared_vocabulary()
    bodies, heads = [], []
    for unit in units:
        lines = lines_of(unit.path)
        own = (lines[number] for number in islice(unit.lines(), MOST_LINES) if number < len(lines))
        name = encode(f"{unit.symbol} {unit.title}")
        bodies.append(b" ".join((*own, name)))
        heads.append(name + b" " + encode(unit.path.rpartition("/")[2]))
    return _vectors(table, vocabulary, bodies), _vectors(table, vocabulary, heads)


def _vectors(table: StaticVectors, vocabulary: Vocabulary, texts: Sequence[bytes]) -> Vectors:
    numbers = [vocabulary.numbers(text.replace(b"\n", b" ")) for text in texts]
    sizes = [len(each) for each in numbers]
    if not sum(sizes):
        return np.zeros((len(texts), table.vectors.shape[1]), np.float32)
    distinct, inverse = np.unique(np.concatenate(numbers), return_inverse=True)
    rows = table.rows(vocabulary.keys(distinct.tolist()))[inverse]
    owners = np.repeat(np.arange(len(texts)), sizes)[rows != NO_ROW]
    n_rows = len(table.vectors)
    codes, counts = np.unique(owners * n_rows + rows[rows != NO_ROW], return_counts=True)
    weighted = table.vectors[codes % n_rows] * weight_of_count(counts)[:, None]
    found = np.zeros((len(texts), table.vectors.shape[1]), np.float32)
    owners = codes // n_rows
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    if len(firsts):
        found[owners[firsts]] = np.add.reduceat(weighted, firsts, axis=0)
    return normalised(found)
