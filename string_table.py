"""Strings in arrays, which a stored index maps: strings by number, and numbers by string.

A `StringArray` and a `StringTable` are immutable and take no private memory when their arrays are mapped from a file.
A `StringNumbers` has a table and the strings that came since. Knows nothing about the meaning of the strings.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class StringArray(Sequence[str]):
    """Strings, numbered from 0. Immutable. The arrays: the strings as UTF-8, one after another; where each ends."""

    __slots__ = ("_data", "_ends")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.__setstate__(_joined(list(map(_encode, strings))))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        """The string of a number, or those of several. Raises IndexError."""
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        if number < 0:
            raise IndexError(f"{number} is no number of a string")
        return str(self._bytes(number), "utf-8", "surrogatepass")

    def __getstate__(self) -> tuple[NDArray[Any], ...]:
        return np.asarray(self._data), np.asarray(self._ends)

    def __setstate__(self, state: tuple[NDArray[Any], ...]) -> None:
        """Raises ValueError if the ends are not within the data. Reads none of the strings."""
        data, ends = state
        if (ends[-1] if len(ends) else 0) != len(data):
            raise ValueError("the ends of an array of strings do not fit its data")
        # Single items of a memoryview are read faster than those of an array.
        self._data, self._ends = data.data, ends.data

    def _bytes(self, number: int) -> memoryview:
        return self._data[self._ends[number - 1] if number else 0 : self._ends[number]]


class StringTable(StringArray):
    """Distinct strings, numbered from 0, and the number of each. Immutable.

    The arrays: those of a `StringArray`; the sorted 64-bit hashes of all strings; and the number of the string of each
    hash. Strings with equal hashes are told apart by comparison.
    """

    __slots__ = ("_hashes", "_numbers")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        """The table of distinct strings, in this order."""
        encoded = list(map(_encode, strings))
        self.__setstate__((*_joined(encoded), *_sorted_hashes(encoded)))

    def extended(self, strings: Iterable[str]) -> StringTable:
        """The table with further strings; none may be in this one."""
        encoded = list(map(_encode, strings))
        (data, ends), (hashes, numbers) = _joined(encoded), _sorted_hashes(encoded)
        own_data, own_ends, own_hashes, own_numbers = self.__getstate__()
        hashes, numbers = np.append(own_hashes, hashes), np.append(own_numbers, numbers + np.int32(len(self)))
        order = np.argsort(hashes, kind="stable")
        table = StringTable.__new__(StringTable)
        ends = np.append(own_ends, ends + len(own_data))
        table.__setstate__((np.append(own_data, data), ends, hashes[order], numbers[order]))
        return table

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.find(string) is not None

    def find(self, string: str) -> int | None:
        """The number of a string; None for one that is not in the table."""
        encoded = _encode(string)
        wanted = _hash(encoded)
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            number: int = self._numbers[at]
            if self._bytes(number) == encoded:
                return number
            at += 1
        return None

    def __getstate__(self) -> tuple[NDArray[Any], ...]:
        return *super().__getstate__(), np.asarray(self._hashes), np.asarray(self._numbers)

    def __setstate__(self, state: tuple[NDArray[Any], ...]) -> None:
        """Raises ValueError if the arrays are not those of one table. Reads none of the strings."""
        data, ends, hashes, numbers = state
        super().__setstate__((data, ends))
        if not len(ends) == len(hashes) == len(numbers):
            raise ValueError("the arrays of a table of strings do not fit each other")
        self._hashes, self._numbers = hashes.data, numbers.data


class StringNumbers:
    """Numbers of distinct strings: a table, and those that were added since. A number never changes its string.

    Append-only and thread-safe.
    """

    def __init__(self, known: StringTable | None = None) -> None:
        self._known = StringTable() if known is None else known
        self._n_known = len(self._known)
        self._new: list[str] = []
        self._numbers: dict[str, int] = {}  # of all new strings, and of known ones that were looked up
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._n_known + len(self._new)

    def __getitem__(self, number: int) -> str:
        """The string of a number. Raises IndexError."""
        return self._known[number] if number < self._n_known else self._new[number - self._n_known]

    def __contains__(self, string: str) -> bool:
        return self.find(string) is not None

    def find(self, string: str) -> int | None:
        """The number of a string; None for an unknown one."""
        number = self._numbers.get(string)
        if number is None and self._n_known:
            number = self._known.find(string)
            if number is not None:
                self._numbers[string] = number
        return number

    def number(self, string: str) -> int:
        """The number of a string, which is added if it is new."""
        number = self.find(string)
        if number is None:
            with self._lock:
                number = self.find(string)
                if number is None:
                    number = len(self)
                    self._new.append(string)
                    self._numbers[string] = number  # last: threads that find the number read its string
        return number

    def unknown(self, strings: Iterable[str]) -> list[str]:
        """Those of the strings that have no number."""
        numbers = self._numbers
        return [string for string in strings if string not in numbers and self.find(string) is None]

    def numbers_of(self, strings: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of strings that all have one, (n,). Raises KeyError."""
        try:
            return np.fromiter(map(self._numbers.__getitem__, strings), np.int32, len(strings))
        except KeyError:
            missing = [string for string in strings if self.find(string) is None]
            if missing:
                raise KeyError(missing[0]) from None
            return np.fromiter(map(self._numbers.__getitem__, strings), np.int32, len(strings))

    def table(self) -> StringTable:
        """All strings."""
        return self._known.extended(self._new[:]) if self._new else self._known


def _joined(encoded: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(each) for each in encoded], dtype=np.int64)


def _sorted_hashes(encoded: Sequence[bytes]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    hashes = np.fromiter(map(_hash, encoded), np.uint64, len(encoded))
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    return hashes[order], order


def _encode(string: str) -> bytes:
    return string.encode("utf-8", "surrogatepass")


def _hash(encoded: bytes) -> int:
    """A hash that is the same in every process; nobody can make many strings that share one."""
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")
