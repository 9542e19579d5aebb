"""Small numpy steps that the engine of relations is made of: ranges, sums and maxima by key.

Owns no state and knows nothing of graphs. Keys are int64 and put two numbers into one: row * width + column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int32] | NDArray[np.int64]


def ranges(starts: Numbers, lengths: Numbers) -> Longs:
    """The numbers of many ranges, one after another: `starts[0]`, `starts[0] + 1`, … for `lengths[0]`, and so on."""
    ends: Longs = lengths.cumsum(dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    shifts: Longs = (starts - (ends - lengths)).repeat(lengths)
    return np.arange(total, dtype=np.int64) + shifts


def bounds(lengths: Numbers | list[int]) -> Longs:
    """0, and the sums of the first 1, 2, … lengths: where each of several runs begins, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def sums_at(places: Numbers, values: Floats, length: int) -> Floats:
    """An array of this length with each value added at its place."""
    # Of nothing, bincount makes integers.
    return np.bincount(places, values, length).astype(np.float64, copy=False)


def strongest_per(keys: Longs, values: Floats) -> tuple[Longs, Floats]:
    """The distinct keys in order, and the largest value of each."""
    order, first = _runs(keys)
    return keys[order[first]], np.maximum.reduceat(values[order], first) if len(first) else values


def sum_per(keys: Longs, values: Floats) -> tuple[Longs, Floats]:
    """The distinct keys in order, and the sum of the values of each."""
    order, first = _runs(keys)
    return keys[order[first]], np.add.reduceat(values[order], first) if len(first) else values


def look_up(keys: Longs, values: Floats, wanted: Longs) -> Floats:
    """Values by key, 0 where a key is missing. The keys are distinct and in order."""
    if not len(keys):
        return np.zeros(len(wanted))
    places = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0.0)


def strongest_in_rows(rows: Longs, values: Floats, at_most: int) -> Longs:
    """Indices of the values that are among the `at_most` largest of their row."""
    if len(rows) <= at_most:
        return np.arange(len(rows))
    order = np.lexsort((-values, rows))
    ordered = rows[order]
    rank = np.arange(len(rows)) - ordered.searchsorted(ordered)
    return order[rank < at_most]


def _runs(keys: Longs) -> tuple[Longs, Longs]:
    """An order that sorts the keys, and where in it each distinct key begins."""
    order = keys.argsort(kind="stable")
    ordered = keys[order]
    starts = np.ones(len(keys), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return order, starts.nonzero()[0]
