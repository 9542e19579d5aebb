"""The texts of a snapshot by path. A text of a mapped index is read from it when it is needed.

Owns which texts take memory of their own. Knows no fragment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..codegraph.byte_table import ByteTable, from_table, to_table
from ..codegraph.limited_cache import LimitedCache
from ..codegraph.persistent_map import PersistentMap, as_persistent


class _MappedText:
    """A text of a mapped index. Snapshots share it, so that they share the text that is read."""

    __slots__ = ("__weakref__", "data")

    def __init__(self, data: memoryview) -> None:
        self.data = data


def _read(text: _MappedText) -> bytes:
    return bytes(text.data)


def _n_bytes(text: _MappedText) -> int:
    return len(text.data)


# A query reads several windows of one text.
_mapped_text = LimitedCache(_read, _n_bytes, 4_000_000)


class Texts(Mapping[str, bytes]):
    """Texts as normalised UTF-8, by path. Immutable: `with_changes` returns the next one."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, bytes | _MappedText] | None = None) -> None:
        self._values = as_persistent(values or {})

    def with_changes(self, changed: Mapping[str, bytes], removed: Iterable[str]) -> Texts:
        """These texts with others added or replaced, and some left out."""
        return Texts(self._values.with_changes(changed, removed))

    def __getitem__(self, path: str) -> bytes:
        value = self._values[path]
        return value if isinstance(value, bytes) else _mapped_text(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, path: object) -> bool:
        return path in self._values

    def __getstate__(self) -> tuple[list[str], ByteTable]:
        data = (value if isinstance(value, bytes) else value.data for value in self._values.values())
        return list(self._values), to_table(data)

    def __setstate__(self, state: tuple[list[str], ByteTable]) -> None:
        paths, table = state
        self._values = PersistentMap(dict(zip(paths, map(_MappedText, from_table(table)), strict=True)))
