"""Static vectors by fragment id, in blocks that snapshots share.

A change copies the blocks that it writes to, not the vectors of the repository, which are larger than all other arrays
over fragments together.

Owns the blocks. Knows no path, no word and no score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .static_vectors import N_STORED, StoredVectors, Vectors, cosines

IDS_IN_BLOCK = 1024


class FragmentVectors:
    """The vectors of the ids below `n_ids`; of an id that was never written, zeros. Immutable."""

    __slots__ = ("_blocks", "n_ids")

    def __init__(self, n_ids: int = 0, blocks: Sequence[StoredVectors] = ()) -> None:
        """Each of `blocks` has IDS_IN_BLOCK rows and is not changed any more."""
        self.n_ids = n_ids
        self._blocks = tuple(blocks)

    def with_changes(self, n_ids: int, changed: Iterable[tuple[int, StoredVectors]]) -> FragmentVectors:
        """The vectors with `n_ids` ids, not fewer than before, and these rows from the given ids on."""
        blocks = list(self._blocks)
        n_blocks = -(-n_ids // IDS_IN_BLOCK)
        new = set(range(len(blocks), n_blocks))  # the blocks that no other snapshot has
        blocks.extend(np.zeros((IDS_IN_BLOCK, N_STORED), np.int8) for _ in new)
        for first, rows in changed:
            while len(rows):
                number, at = divmod(first, IDS_IN_BLOCK)
                if number not in new:
                    new.add(number)
                    blocks[number] = blocks[number].copy()
                here = rows[: IDS_IN_BLOCK - at]
                blocks[number][at : at + len(here)] = here
                first, rows = first + len(here), rows[len(here) :]
        return FragmentVectors(n_ids, blocks)

    def cosines(self, query: Vectors) -> NDArray[np.float32]:
        """The cosine of each vector with a query of length 1, (n_ids,)."""
        found = [cosines(block, query) for block in self._blocks] or [np.zeros(0, np.float32)]
        return np.concatenate(found)[: self.n_ids]

    def joined(self) -> StoredVectors:
        """One array of all vectors, (n_ids, N_STORED)."""
        return self._all_blocks()[: self.n_ids]

    def __getstate__(self) -> tuple[object, ...]:
        return self.n_ids, self._all_blocks()

    def __setstate__(self, state: tuple[int, StoredVectors]) -> None:
        # The blocks are parts of one array: a stored index is loaded without a copy.
        self.n_ids, rows = state
        self._blocks = tuple(rows[at : at + IDS_IN_BLOCK] for at in range(0, len(rows), IDS_IN_BLOCK))

    def _all_blocks(self) -> StoredVectors:
        return np.concatenate((np.zeros((0, N_STORED), np.int8), *self._blocks))
