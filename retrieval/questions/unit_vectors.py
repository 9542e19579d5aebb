"""The meaning of units for a question: cosines of its vector with those of their lines, and of their names and files.

Owns what of a unit its vectors are made of, which is as the table was fitted: lines of a definition with its name, and
its name with the name of its file. Without a table all cosines are 0. Knows no words and no score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..bm25 import FloatArray
from ..static_vectors import (
    N_DIMENSIONS,
    N_STORED,
    NO_ROW,
    StaticVectors,
    Vectors,
    normalised,
    shipped_vectors,
    weight_of_count,
)
from ..terms import Vocabulary, encode, shared_vocabulary
from .query_analysis import AnalysedQuestion
from .units import Unit

if TYPE_CHECKING:
    from ..index import RepositoryIndex

PIECE_LINES = 30
"""A longer unit has a vector for each piece of this many lines; the nearest one counts."""

MOST_PIECES = 12

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

    def of_units(self, units: Sequence[Unit], lines_of: Callable[[str], Sequence[bytes]]) -> list[UnitMeaning]:
        """What the question shares with each unit; `lines_of` gives the lines of a path."""
        table = shipped_vectors()
        if table is None or not self.vector.any():
            return [UnitMeaning(0.0, 0.0, (unit.start_line, unit.end_line)) for unit in units]
        pieces, owners, bodies, heads = list[tuple[int, int]](), list[int](), list[bytes](), list[bytes]()
        for number, unit in enumerate(units):
            lines = lines_of(unit.path)
            name = encode(f"{unit.symbol} {unit.title}")
            heads.append(name + b" " + encode(unit.path.rpartition("/")[2]))
            for piece in _pieces(unit, len(lines)):
                pieces.append((piece[0], piece[-1] + 1))
                owners.append(number)
                bodies.append(b" ".join((*(lines[line] for line in piece), name)))
        vocabulary = shared_vocabulary()
        near = (_vectors(table, vocabulary, bodies) @ self.vector).tolist()
        best: dict[int, int] = {}
        for at, owner in enumerate(owners):
            if owner not in best or near[at] > near[best[owner]]:
                best[owner] = at
        cosines = (_vectors(table, vocabulary, heads) @ self.vector).tolist()
        return [
            UnitMeaning((near[best[number]] - self.mean) / self.deviation, cosine, pieces[best[number]])
            for number, cosine in enumerate(cosines)
        ]


class UnitMeaning(NamedTuple):
    """The cosine of a unit's nearest piece, in standard deviations above the mean of the windows; that of its name."""

    body: float
    head: float
    nearest: tuple[int, int]  # lines of that piece, half-open


def _pieces(unit: Unit, n_lines: int) -> list[list[int]]:
    """The own lines of a unit in pieces; one piece of a unit of up to 4/3 of a piece."""
    own = [line for line in islice(unit.lines(), MOST_PIECES * PIECE_LINES) if line < n_lines]
    if len(own) <= PIECE_LINES * 4 // 3:
        return [own or [min(unit.start_line, n_lines - 1)]]
    return [own[at : at + PIECE_LINES] for at in range(0, len(own), PIECE_LINES)]


def _mean_and_deviation(cosines: FloatArray) -> tuple[float, float]:
    """Of the cosines and the prior ones together."""
    n = len(cosines) + N_PRIOR
    mean = (float(cosines.sum()) + N_PRIOR * PRIOR_MEAN) / n
    squares = float(np.square(cosines - mean).sum()) + N_PRIOR * (PRIOR_DEVIATION**2 + (PRIOR_MEAN - mean) ** 2)
    return mean, float(np.sqrt(squares / n))


def _vectors(table: StaticVectors, vocabulary: Vocabulary, texts: Sequence[bytes]) -> Vectors:
    numbers = [vocabulary.numbers(text.replace(b"\n", b" ")) for text in texts]
    sizes = [len(each) for each in numbers]
    if not sum(sizes):
        return np.zeros((len(texts), N_DIMENSIONS), np.float32)
    distinct, inverse = np.unique(np.concatenate(numbers), return_inverse=True)
    rows = table.rows(vocabulary.keys(distinct.tolist()))[inverse]
    owners = np.repeat(np.arange(len(texts)), sizes)[rows != NO_ROW]
    n_rows = len(table)
    codes, counts = np.unique(owners * n_rows + rows[rows != NO_ROW], return_counts=True)
    weighted = table.take(codes % n_rows) * weight_of_count(counts)[:, None]
    found = np.zeros((len(texts), N_DIMENSIONS), np.float32)
    owners = codes // n_rows
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    if len(firsts):
        found[owners[firsts]] = np.add.reduceat(weighted, firsts, axis=0)
    return normalised(found)
