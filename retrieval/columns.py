"""Columns over fragment ids that snapshots share: an edit appends rows and copies none.

Owns the memory behind the arrays, and which snapshot may append to it. Knows nothing about the values.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPARE_SHARE, MIN_SPARE = 16, 1024
"""A copy has room for a sixteenth more rows, and for this many at least."""


class GrowingColumns:
    """Arrays of equal length, whose memory may have room for more rows. Immutable but for rows that no snapshot has."""

    __slots__ = ("_buffers", "_memory", "arrays")

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        """Columns of these arrays, which must not change any more."""
        self.arrays = tuple(arrays)
        self._buffers = self.arrays
        self._memory = _Memory(len(arrays[0]))

    def grown(self, n_rows: int, first_written: int) -> GrowingColumns:
        """Columns of `n_rows` rows, not fewer than before, of which the rows from `first_written` on may be written.

        Rows that are added are 0. All are copied if an existing row may be written, or if no room is left.
        """
        n_before = len(self.arrays[0])
        new: GrowingColumns = GrowingColumns.__new__(GrowingColumns)
        if first_written >= n_before and self._memory.take(n_before, n_rows, len(self._buffers[0])):
            new._buffers, new._memory = self._buffers, self._memory
        else:
            n_room = n_rows + max(n_rows // SPARE_SHARE, MIN_SPARE)
            new._buffers = tuple(np.zeros(n_room, array.dtype) for array in self.arrays)
            for buffer, array in zip(new._buffers, self.arrays, strict=True):
                buffer[:n_before] = array
            new._memory = _Memory(n_rows)
        new.arrays = tuple(buffer[:n_rows] for buffer in new._buffers)
        return new


class _Memory:
    """How many rows of some buffers are in use. Thread-safe."""

    def __init__(self, n_used: int) -> None:
        self._n_used = n_used
        self._lock = threading.Lock()

    def take(self, n_before: int, n_rows: int, n_room: int) -> bool:
        """Whether the rows behind the first `n_before` are free; then those below `n_rows` are in use from now on."""
        with self._lock:
            if self._n_used != n_before or n_rows > n_room:
                return False
            self._n_used = n_rows
            return True
