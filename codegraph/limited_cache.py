"""A cache of values that follow from immutable objects, limited by bytes.

A value is found by the identity of its object. The cache keeps no object alive: a file that the object is mapped from
can be closed. Knows nothing about the values.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")


class LimitedCache(Generic[K, V]):
    """`make(owner)`, memoised. Thread-safe.

    `size_of` estimates the bytes of a value from its object. The least recently used values are dropped when all
    together have more than `limit_bytes`; the latest is always kept.
    """

    def __init__(self, make: Callable[[K], V], size_of: Callable[[K], int], limit_bytes: int) -> None:
        self._make = make
        self._size_of = size_of
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[int, _Entry[K, V]] = OrderedDict()  # by identity, the latest used last
        self._n_bytes = 0
        self._lock = threading.Lock()

    def __call__(self, owner: K) -> V:
        with self._lock:
            found = self._entries.get(id(owner))
            if found is not None and found.owner() is owner:
                self._entries.move_to_end(id(owner))
                return found.value
        value = self._make(owner)
        with self._lock:
            self._drop(id(owner))
            self._entries[id(owner)] = entry = _Entry(ref(owner), value, self._size_of(owner))
            self._n_bytes += entry.n_bytes
            while self._n_bytes > self._limit_bytes and len(self._entries) > 1:
                self._drop(next(iter(self._entries)))
        return value

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._entries.clear()
            self._n_bytes = 0

    def _drop(self, key: int) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._n_bytes -= entry.n_bytes


class _Entry(NamedTuple, Generic[K, V]):
    owner: ref[K]
    value: V
    n_bytes: int
