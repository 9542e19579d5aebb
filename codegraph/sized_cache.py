"""A cache of values by key, limited by bytes.

Owns which values are dropped. Knows nothing about the values.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Values with their sizes. Thread-safe.

    The least recently used values are dropped when all together have more than `limit_bytes`; the latest is always
    kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()  # the latest used last
        self._n_bytes = 0
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """The bytes of all values together."""
        return self._n_bytes

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, n_bytes: int) -> None:
        with self._lock:
            self._drop(key)
            self._entries[key] = value, n_bytes
            self._n_bytes += n_bytes
            while self._n_bytes > self._limit_bytes and len(self._entries) > 1:
                self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._entries.clear()
            self._n_bytes = 0

    def _drop(self, key: K) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._n_bytes -= found[1]
