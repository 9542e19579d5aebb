"""A persistent map: an immutable mapping whose next version shares nearly all of it, in layers as in a log-structured
merge tree.

Knows nothing about its keys and values.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, TypeVar, cast

V = TypeVar("V")

_GROWTH = 16  # a layer is merged into the one below it when that has at most this many times its keys
_SMALL = 256  # or at most this many
_REMOVED: Any = object()


class PersistentMap(Mapping[str, V]):
    """Values by key. Immutable: `with_changes` returns the next version, at a cost that depends on the changes.

    The lowest layer is any mapping; where it is no dict, as one that is mapped from a file, it is never copied.
    """

    __slots__ = ("_layers", "_length")

    def __init__(self, values: Mapping[str, V] | None = None) -> None:
        """The map of these values, which must not change any more."""
        self._layers: tuple[Mapping[str, V], ...] = ({} if values is None else values,)
        self._length = len(self._layers[0])

    @property
    def base(self) -> Mapping[str, V]:
        """The lowest layer."""
        return self._layers[0]

    def changed_since_base(self) -> set[str]:
        """The keys that were set or removed above the lowest layer."""
        return set().union(*self._layers[1:])

    def with_changes(self, changed: Mapping[str, V], removed: Iterable[str] = ()) -> PersistentMap[V]:
        """The map with these values set and these keys left out; unknown keys among them are ignored."""
        gone = {key for key in removed if key not in changed and key in self}
        if not changed and not gone:
            return self
        new: PersistentMap[V] = PersistentMap.__new__(PersistentMap)
        new._length = self._length - len(gone) + sum(key not in self for key in changed)
        top = {**changed, **dict.fromkeys(gone, _REMOVED)}
        layers = list(self._layers)
        while len(layers) > 1 and len(layers[-1]) <= max(_GROWTH * len(top), _SMALL):
            top = {**layers.pop(), **top}
        if len(layers) == 1 and isinstance(layers[0], dict) and len(layers[0]) <= _GROWTH * len(top):
            layers, top = [], _without_removed({**layers[0], **top})
        new._layers = (*layers, top)
        return new

    def differing_from(self, other: PersistentMap[V]) -> set[str]:
        """The keys of this map that have another value in the other map, or none."""
        if self.base is other.base:
            keys: Iterable[str] = self.changed_since_base() | other.changed_since_base()
        else:
            keys = self
        return {key for key in keys if key in self and self.get(key) != other.get(key)}

    def __getitem__(self, key: str) -> V:
        value = self._find(key)
        if value is _REMOVED:
            raise KeyError(key)
        return cast(V, value)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key; `default` for an unknown one."""
        value = self._find(key)
        return default if value is _REMOVED else value

    def __contains__(self, key: object) -> bool:
        return self._find(cast(str, key)) is not _REMOVED

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._merged())

    def items(self) -> ItemsView[str, V]:
        return self._merged().items()

    def values(self) -> ValuesView[V]:
        return self._merged().values()

    def _find(self, key: str) -> Any:
        for layer in reversed(self._layers):
            value = layer.get(key)
            if value is not None:
                return value
        return _REMOVED

    def _merged(self) -> Mapping[str, V]:
        if len(self._layers) == 1:
            return self._layers[0]
        merged: dict[str, V] = {}
        for layer in self._layers:
            merged.update(layer)
        return _without_removed(merged)


def as_persistent(values: Mapping[str, V]) -> PersistentMap[V]:
    """A map of these values: the same one if it is persistent already."""
    return values if isinstance(values, PersistentMap) else PersistentMap(values)


def _without_removed(values: dict[str, V]) -> dict[str, V]:
    return {key: value for key, value in values.items() if value is not _REMOVED}
