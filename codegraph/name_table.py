"""Definitions by global name in arrays, which a stored index maps.

Knows nothing about the meaning of a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ..string_table import StringArray, StringTable
from .arrays import Int64s, row_offsets


class NameTable(Mapping[str, tuple[str, ...]]):
    """Several strings by key. Immutable; the values are read when they are needed."""

    __slots__ = ("_first", "_keys", "_values")

    _first: Int64s  # (n_keys + 1,): the first value of each key, and the end
    _keys: StringTable
    _values: StringArray

    def __init__(self, values: Mapping[str, tuple[str, ...]]) -> None:
        found = dict(values)
        first = row_offsets([len(each) for each in found.values()])
        self.__setstate__((StringTable(found), first, StringArray(chain.from_iterable(found.values()))))

    def __getitem__(self, key: str) -> tuple[str, ...]:
        number = self._keys.find(key)
        if number is None:
            raise KeyError(key)
        begin, end = self._first[number : number + 2].tolist()
        return tuple(self._values[begin:end])

    def get(self, key: str, default: Any = None) -> Any:
        """The strings of a key; `default` for an unknown one."""
        return self[key] if key in self._keys else default

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __getstate__(self) -> tuple[StringTable, Int64s, StringArray]:
        return self._keys, self._first, self._values

    def __setstate__(self, state: tuple[StringTable, Int64s, StringArray]) -> None:
        """Raises ValueError if the parts are not those of one table."""
        self._keys, self._first, self._values = state
        if len(self._first) != len(self._keys) + 1 or self._first[-1] != len(self._values):
            raise ValueError("the values of a table of names do not fit its keys")
