"""Numbers by key in arrays: a table of many names that takes a few bytes a name, found by name or by its beginning.

Knows nothing about what keys and numbers mean.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..string_table import StringArray


class Entry(NamedTuple):
    """A key and its numbers. Entries are ordered by the lengths of their keys in characters."""

    length: int
    key: str
    numbers: Sequence[int]


class KeyRows:
    """The numbers of each key. Immutable."""

    __slots__ = ("_first", "_keys", "_lengths", "_numbers")

    def __init__(self, pairs: Iterable[tuple[str, int]]) -> None:
        """`pairs` of a key and a number; the numbers of a key keep their order."""
        numbers: dict[str, list[int]] = {}
        for key, number in pairs:
            numbers.setdefault(key, []).append(number)
        keys = sorted(numbers)
        self._keys = StringArray(keys)
        self._lengths = np.array(list(map(len, keys)), np.int32)
        self._first = np.cumsum([0, *(len(numbers[key]) for key in keys)], dtype=np.int32)
        self._numbers: NDArray[np.int32] = np.array([number for key in keys for number in numbers[key]], np.int32)

    @property
    def keys(self) -> Sequence[str]:
        """All keys, sorted."""
        return self._keys

    def __getitem__(self, key: str) -> Sequence[int]:
        """The numbers of a key; none for an unknown one."""
        at = bisect_left(self._keys, key)
        return self._numbers_at(at) if at < len(self._keys) and self._keys[at] == key else ()

    def beginning_with(self, prefix: str) -> Iterator[Entry]:
        """The entries whose keys begin with a text, the shortest key first, then by key."""
        n = len(prefix)
        first = bisect_left(self._keys, prefix)
        end = bisect_right(self._keys, prefix, first, key=lambda key: key[:n])
        for at in first + np.argsort(self._lengths[first:end], kind="stable"):
            yield Entry(int(self._lengths[at]), self._keys[int(at)], self._numbers_at(int(at)))

    def _numbers_at(self, at: int) -> Sequence[int]:
        numbers: Sequence[int] = self._numbers[self._first[at] : self._first[at + 1]].tolist()
        return numbers
