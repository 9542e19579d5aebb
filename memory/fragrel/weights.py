"""Weight matrices w_ij of relations (FragRel, Eq. 5), in forms that are fast to multiply.

Owns sums over neighbours: geometric decay, sparse rows, blocks of cosines, and mixtures. Knows no query and no score.
Sums exclude the segment itself; its own weight is stored separately, so that excluding it causes no rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..values import Segment

Floats = NDArray[np.float64]

N_KEPT = 2048  # up to this size a dense matrix is cached (32 MB); beyond it, the blocks are recomputed for each query
ROWS_AT_ONCE = 512


class Weights(Protocol):
    """Immutable. Row i holds the weight of segment i to each segment; larger is stronger, none is negative."""

    @property
    def own(self) -> Floats:
        """The weight of each segment to itself, (n,)."""
        ...

    def sum_over_others(self, values: Floats) -> Floats:
        """sum_j w_ij values_j over all j but i, (n,)."""
        ...

    def row(self, i: int) -> Floats:
        """The weights of one segment to all segments, itself included, (n,)."""
        ...


class SparseWeights:
    def __init__(self, n: int, rows: Sequence[Mapping[int, float]] = ()) -> None:
        self.own = np.zeros(n)
        i, j, values = list[int](), list[int](), list[float]()
        for number, row in enumerate(rows):
            for other, weight in row.items():
                if other == number:
                    self.own[number] = weight
                elif weight:
                    i.append(number)
                    j.append(other)
                    values.append(weight)
        self._rows, self._others, self._values = np.array(i, np.int64), np.array(j, np.int64), np.array(values)

    def sum_over_others(self, values: Floats) -> Floats:
        return np.bincount(self._rows, self._values * values[self._others], len(self.own)).astype(np.float64)

    def row(self, i: int) -> Floats:
        row = np.zeros(len(self.own))
        mine = self._rows == i
        row[self._others[mine]] = self._values[mine]
        row[i] = self.own[i]
        return row


class DecayingWeights:
    """w^|loc_i - loc_j| within one source, 0 across (Eq. 7); w is `before` for j < i and `after` for j > i; 0^0 is 1.

    Computed by one forward and one backward recurrence along each source instead of a matrix.
    """

    def __init__(self, segments: Sequence[Segment], before: float, after: float) -> None:
        self._segments, self._before, self._after = segments, before, after
        self.own = np.ones(len(segments))
        places: dict[str, list[tuple[int, int]]] = {}
        for i, segment in enumerate(segments):
            places.setdefault(segment.source, []).append((segment.number, i))
        self._chains = [
            (np.array([i for _, i in chain], np.int64), _decays(chain, before), _decays(chain, after))
            for chain in map(sorted, places.values())
        ]

    def sum_over_others(self, values: Floats) -> Floats:
        sums = np.zeros(len(values))
        for ids, before, after in self._chains:
            along = values[ids].tolist()
            forward = _carried(along, before)
            backward = _carried(along[::-1], after[::-1])[::-1]
            sums[ids] = np.add(forward, backward)
        return sums

    def row(self, i: int) -> Floats:
        here = self._segments[i]
        distances = [segment.number - here.number for segment in self._segments]
        return np.array(
            [
                0.0 if segment.source != here.source else self._after**way if way > 0 else self._before**-way
                for segment, way in zip(self._segments, distances, strict=True)
            ]
        )


def _decays(chain: Sequence[tuple[int, int]], w: float) -> list[float]:
    """The decay between consecutive segments of a source; a chain holds pairs of number and index."""
    return [w ** (number - before) for (before, _), (number, _) in pairwise(chain)]


def _carried(values: list[float], decays: list[float]) -> list[float]:
    carried, sums = 0.0, [0.0]
    for value, decay in zip(values, decays, strict=False):
        carried = decay * (carried + value)
        sums.append(carried)
    return sums


class CosineWeights:
    """A function of the cosines of all pairs of vectors, in blocks of rows."""

    def __init__(self, vectors: Floats, weigh: Callable[[Floats], Floats]) -> None:
        """`vectors` is (n, n_dimensions) with rows of length 1 or 0."""
        self._vectors, self._weigh = vectors, weigh
        self.own = weigh((vectors * vectors).sum(1))
        n = len(vectors)
        self._blocks = [self._block(start) for start in range(0, n, ROWS_AT_ONCE)] if n <= N_KEPT else None

    def sum_over_others(self, values: Floats) -> Floats:
        blocks = self._blocks or (self._block(start) for start in range(0, len(values), ROWS_AT_ONCE))
        return np.concatenate([np.zeros(0), *(block @ values for block in blocks)])

    def row(self, i: int) -> Floats:
        row = self._weigh(self._vectors @ self._vectors[i])
        row[i] = self.own[i]
        return row

    def strongest(self, n: int) -> SparseWeights:
        """A sparse matrix with the `n` largest weights of each row, ties in order, and the diagonal."""
        rows = list[dict[int, float]]()
        for start in range(0, len(self._vectors), ROWS_AT_ONCE):
            block = self._block(start)
            for row, neighbours in zip(block, np.argsort(-block, axis=1, kind="stable")[:, :n], strict=True):
                i = len(rows)
                kept = {j: float(row[j]) for j in neighbours.tolist() if j != i}
                rows.append({**kept, i: float(self.own[i])})
        return SparseWeights(len(rows), rows)

    def _block(self, start: int) -> Floats:
        """A block of rows with a zero diagonal, (up to ROWS_AT_ONCE, n)."""
        rows = self._vectors[start : start + ROWS_AT_ONCE]
        block = self._weigh(rows @ self._vectors.T)
        block[np.arange(len(rows)), np.arange(start, start + len(rows))] = 0
        return block


class MixedWeights:
    def __init__(self, parts: Sequence[tuple[float, Weights]]) -> None:
        self._parts = parts
        self.own: Floats = sum((share * weights.own for share, weights in parts), np.zeros(1))

    def sum_over_others(self, values: Floats) -> Floats:
        return sum((share * weights.sum_over_others(values) for share, weights in self._parts), np.zeros(len(values)))

    def row(self, i: int) -> Floats:
        return sum((share * weights.row(i) for share, weights in self._parts), np.zeros(len(self.own)))
