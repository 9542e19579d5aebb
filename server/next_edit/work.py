"""The work of one request for next edits: how much of other files it may read, and whether it is still wanted.

Owns the limits, and that other requests go first. Bytes are counted rather than time, so that the same edits have the
same offers on each machine, whatever is known already; time ends only what takes far too long.
"""

from __future__ import annotations

from ...codegraph import CpuTimeLimit
from ...errors import Cancelled
from ...llm import Cancel
from ..workspace.turns import let_others_first

MAX_BYTES = 250_000
"""So many bytes of other files, and of their facts, are read for one request: some 40 ms of processor time."""

MAX_BYTES_OF_LIST = 16 * MAX_BYTES
"""A list of all edits may take longer, so that few uses of a widely used name are missing."""

MAX_S = 0.25
"""After so much processor time no further kind of edits is tried; for a list as many times more as it may read."""


class Work:
    """Used by one thread."""

    def __init__(self, cancel: Cancel | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._cancel = cancel
        self.max_bytes = self._n_left = max_bytes
        self._time = CpuTimeLimit(MAX_S * max(1, max_bytes // MAX_BYTES))
        self._read: dict[str, int] = {}  # of each file, the most bytes that a kind has read
        self.left_out: set[str] = set()  # files that were not read, since the limit was reached

    def pause(self) -> None:
        """Between two pieces of a few milliseconds: other requests go first. Raises Cancelled."""
        let_others_first()
        if self._cancel is not None and self._cancel.cancelled:
            raise Cancelled("The request was superseded.")

    @property
    def is_over(self) -> bool:
        """Whether the time of the request is up."""
        return self._time.is_over

    def admits(self, path: str, n_bytes: int) -> bool:
        """Whether so many bytes of a file may be read. Those that another kind has read are not counted again."""
        n_more = n_bytes - self._read.get(path, 0)
        if n_more > self._n_left:
            self.left_out.add(path)
            return False
        if n_more > 0:
            self._n_left -= n_more
            self._read[path] = n_bytes
        return True
