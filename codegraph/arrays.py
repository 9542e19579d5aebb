"""Vectorised array primitives: concatenated ranges, scatter-add, and sums and maxima grouped by key.

Owns no state and knows no graph. Keys are int64 and hold two numbers: row * width + column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32] | NDArray[np.int64]


def multi_arange(starts: Ints, lengths: Ints) -> Int64s:
    """Several ranges, concatenated: range i has `lengths[i]` numbers from `starts[i]` on."""
    ends: Int64s = lengths.cumsum(dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    shifts: Int64s = (starts - (ends - lengths)).repeat(lengths)
    return np.arange(total, dtype=np.int64) + shifts


def row_offsets(lengths: Ints | list[int]) -> Int64s:
    """0 and the cumulative sums of the lengths: the row offsets of a compressed sparse matrix."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def scatter_add(indices: Ints, values: Floats, length: int) -> Floats:
    """An array of this length with each value added at its index."""
    # For empty input, bincount returns integers.
    return np.bincount(indices, values, length).astype(np.float64, copy=False)


def max_by_key(keys: Int64s, values: Floats) -> tuple[Int64s, Floats]:
    """The distinct keys in order, and the largest value of each."""
    order, first = _runs(keys)
    return keys[order[first]], np.maximum.reduceat(values[order], first) if len(first) else values


def sum_by_key(keys: Int64s, values: Floats) -> tuple[Int64s, Floats]:
    """The distinct keys in order, and the sum of the values of each."""
    order, first = _runs(keys)
    return keys[order[first]], np.add.reduceat(values[order], first) if len(first) else values


def lookup_sorted(keys: Int64s, values: Floats, wanted: Int64s) -> Floats:
    """Values by key, 0 where a key is missing. The keys are distinct and in order."""
    if not len(keys):
        return np.zeros(len(wanted))
    indices = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    return np.where(keys[indices] == wanted, values[indices], 0.0)


def top_k_per_row(rows: Int64s, values: Floats, at_most: int) -> Int64s:
    """Indices of the `at_most` largest values of each row."""
    if len(rows) <= at_most:
        return np.arange(len(rows))
    order = np.lexsort((-values, rows))
    ordered = rows[order]
    rank = np.arange(len(rows)) - ordered.searchsorted(ordered)
    return order[rank < at_most]


def _runs(keys: Int64s) -> tuple[Int64s, Int64s]:
    """An order that sorts the keys, and the offset in it of each distinct key."""
    order = keys.argsort(kind="stable")
    ordered = keys[order]
    starts = np.ones(len(keys), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return order, starts.nonzero()[0]
