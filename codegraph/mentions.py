"""Packed facts of files, and an inverted index of the keys that they mention: a change reads the files that it concerns
and not those of the whole repository.

Owns the index and which files it still holds for. Knows nothing about the meaning of the facts: a function gives the
keys of a file. Without an index, as in a graph that was never stored, all files are candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .byte_table import ByteTable, from_table, to_table
from .persistent_map import PersistentMap

Packed = bytes | memoryview
"""Facts of a file; those of a mapped index are a view."""

KeysOf = Callable[[bytes], Iterable[str]]
"""The keys that the facts of a file mention."""

MentionsState = tuple[ByteTable, NDArray[np.uint32], NDArray[np.int32]]
"""The facts; the sorted CRC-32 of all mentioned keys, and the index of the file of each."""


class Mentions(Mapping[str, Packed]):
    """Packed facts by path. Immutable."""

    __slots__ = ("_hashes", "_paths", "_rows", "_values")

    def __init__(self, values: PersistentMap[Packed] | None = None) -> None:
        self._values = PersistentMap[Packed]() if values is None else values
        # The index of the lowest layer of `_values`.
        self._paths: tuple[str, ...] = ()
        self._hashes: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._rows: NDArray[np.int32] = np.zeros(0, np.int32)

    @classmethod
    def restored(cls, paths: Iterable[str], state: MentionsState) -> Mentions:
        """The facts with this `state` of these paths."""
        table, hashes, rows = state
        new = cls()
        new._paths = tuple(paths)
        new._values = PersistentMap(dict(zip(new._paths, from_table(table), strict=True)))
        if len(hashes) != len(rows):
            raise ValueError("an index of mentioned keys does not fit its files")
        new._hashes, new._rows = hashes, rows
        return new

    def state(self, keys_of: KeysOf) -> MentionsState:
        """What `restored` needs, in the order of the paths."""
        values = self._values
        paths = list(values)
        unchanged = values.base.keys() - values.changed_since_base() if self._paths else set()
        numbers = {path: number for number, path in enumerate(paths)}
        moved = np.array([numbers[path] if path in unchanged else -1 for path in self._paths], np.int32)
        rows = moved[self._rows] if len(self._rows) else self._rows
        hashes = [self._hashes[rows >= 0]]
        all_rows = [rows[rows >= 0]]
        for number, path in enumerate(paths):
            if path not in unchanged:
                found = np.unique(_hashes(keys_of(bytes(values[path]))))
                hashes.append(found)
                all_rows.append(np.full(len(found), number, np.int32))
        joined, joined_rows = np.concatenate(hashes), np.concatenate(all_rows)
        order = np.argsort(joined, kind="stable")
        return to_table(values.values()), joined[order], joined_rows[order]

    def with_changes(self, changed: Mapping[str, Packed], removed: Collection[str] = ()) -> Mentions:
        """The facts with those of some files added or replaced, and some left out."""
        new = Mentions(self._values.with_changes(changed, removed))
        if new._values.base is self._values.base:
            new._paths, new._hashes, new._rows = self._paths, self._hashes, self._rows
        return new

    def mentioning(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The paths and facts of all files that mention one of the keys, and possibly of others."""
        values = self._values
        if not self._paths:
            found: Iterable[str] = values
        else:
            found = values.changed_since_base() | {self._paths[row] for row in self._rows_with(keys)}
        for path in found:
            packed = values.get(path)
            if packed is not None:
                yield path, bytes(packed)

    def differing_from(self, other: Mentions) -> set[str]:
        """The paths of this snapshot whose facts differ in another one, or that it does not have."""
        return self._values.differing_from(other._values)

    def __getitem__(self, path: str) -> Packed:
        return self._values[path]

    def __contains__(self, path: object) -> bool:
        return path in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def _rows_with(self, keys: Iterable[str]) -> set[int]:
        wanted = _hashes(keys)
        first, end = (np.searchsorted(self._hashes, wanted, side) for side in ("left", "right"))
        parts = [self._rows[begin:until] for begin, until in zip(first.tolist(), end.tolist(), strict=True)]
        return set(np.concatenate(parts).tolist()) if parts else set()


def _hashes(keys: Iterable[str]) -> NDArray[np.uint32]:
    # A collision costs a look at a file that does not mention the key.
    return np.array([crc32(key.encode("utf-8", "surrogatepass")) for key in keys], np.uint32)
