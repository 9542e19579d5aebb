"""Values as JSON and arrays: the content of a stored index, without pickle.

A value is a JSON node: null, a boolean, a number or a string is itself, and any other value a list whose first item is
a tag:

- `["tuple", nodes]`, `["list", nodes]`, `["set", nodes]`, `["frozenset", nodes]`; with `plain` after the tag, as in
  `["list plain", values]`, all items are themselves.
- `["dict", keys, values]`, two nodes of lists.
- `["bytes", buffer]`, with the number of a buffer.
- `["array", buffer, type, shape]` and `["scalar", buffer, type]`, of numpy, in its notation of types.
- `["new", class, arguments, state]`: an instance of the class with that number in the list of names, made by `__new__`
  with the arguments, which then gets the state unless it is null. With `call` as the tag, the class is called.
- `["same", number]`: the array or object that ended as the given one, counted from 0. A value that is shared stays so.

Decoding calls the allowed classes alone. Owns the format of values. Knows no file.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ControlFlow

_PLAIN = frozenset((type(None), bool, int, float, str))
_SEQUENCES: Mapping[type, str] = {tuple: "tuple", list: "list", set: "set", frozenset: "frozenset"}
_BY_NAME: Mapping[str, Callable[[Any], Any]] = {name: kind for kind, name in _SEQUENCES.items()}


class UnknownClass(ControlFlow):
    """A value has a class that is not allowed. The message is the name of the class."""


class Encoder:
    """Encodes one value. `buffers` are then its arrays and bytes, in order, and `class_names` its classes."""

    def __init__(self, classes: Sequence[type]) -> None:
        self._allowed = frozenset(classes)
        self._numbers: dict[type, int] = {}
        self._known: dict[int, tuple[int, object]] = {}  # by id: the number, and the value, so that the id stays
        self.buffers: list[memoryview] = []

    @property
    def class_names(self) -> list[str]:
        return list(map(class_name, self._numbers))

    def encode(self, value: object) -> Any:
        """The node of a value. Raises UnknownClass."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        name = _SEQUENCES.get(kind)
        if name is not None:
            items = list(value)  # type: ignore[call-overload]
            if _PLAIN.issuperset(map(type, items)):
                return [f"{name} plain", items]
            return [name, list(map(self.encode, items))]
        if isinstance(value, dict) and kind is dict:
            return ["dict", self.encode(list(value)), self.encode(list(value.values()))]
        if kind is bytes:
            return ["bytes", self._buffer(memoryview(value))]  # type: ignore[arg-type]
        known = self._known.get(id(value))
        if known is not None:
            return ["same", known[0]]
        node = self._encode_new(value)
        self._known[id(value)] = len(self._known), value
        return node

    def _encode_new(self, value: object) -> list[Any]:
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.ascontiguousarray(value)
            if array.dtype.hasobject or np.dtype(array.dtype.str) != array.dtype:
                raise UnknownClass(f"an array of {array.dtype}")
            buffer = self._buffer(array.reshape(-1).view(np.uint8).data if array.size else memoryview(b""))
            if isinstance(value, np.generic):
                return ["scalar", buffer, array.dtype.str]
            return ["array", buffer, array.dtype.str, list(value.shape)]
        kind = type(value)
        if kind not in self._allowed:
            raise UnknownClass(class_name(value if isinstance(value, type) else kind))
        reduced = value.__reduce_ex__(4)
        made_by, arguments, *state = reduced if isinstance(reduced, tuple) else (None, ())
        is_new = made_by is copyreg.__newobj__  # type: ignore[attr-defined]
        if is_new:
            made_by, *arguments = arguments
        if made_by is not kind or any(each is not None for each in state[1:]):
            raise UnknownClass(class_name(kind))
        number = self._numbers.setdefault(kind, len(self._numbers))
        nodes = self.encode(tuple(arguments)), self.encode(state[0] if state else None)
        return ["new" if is_new else "call", number, *nodes]

    def _buffer(self, content: memoryview) -> int:
        self.buffers.append(content)
        return len(self.buffers) - 1


class Decoder:
    """Decodes one value. Arrays are views of the buffers."""

    def __init__(self, classes: Sequence[type], class_names: Sequence[str], buffers: Sequence[memoryview]) -> None:
        """Raises UnknownClass if a name is not that of an allowed class."""
        by_name = {class_name(kind): kind for kind in classes}
        for name in class_names:
            if name not in by_name:
                raise UnknownClass(name)
        self._classes = [by_name[name] for name in class_names]
        self._buffers = buffers
        self._known: list[object] = []
        self._strings: dict[Any, Any] = {}

    def decode(self, node: Any) -> Any:
        """The value of a node. Raises ValueError, KeyError, TypeError and other errors of the classes."""
        if not isinstance(node, list):
            return node
        tag, *rest = node
        name, _, plain = tag.partition(" ")
        if name in _BY_NAME:
            (items,) = rest
            return _BY_NAME[name](self._shared(items) if plain else map(self.decode, items))
        if tag == "dict":
            keys, values = map(self.decode, rest)
            return dict(zip(keys, values, strict=True))
        if tag == "bytes":
            return bytes(self._buffers[rest[0]])
        if tag == "same":
            return self._known[rest[0]]
        value = self._decode_new(tag, rest)
        self._known.append(value)
        return value

    def _shared(self, items: list[Any]) -> list[Any]:
        """The items; of equal strings one object remains."""
        share = self._strings.setdefault
        return [share(item, item) if type(item) is str else item for item in items]

    def _decode_new(self, tag: str, rest: list[Any]) -> Any:
        if tag == "array":
            buffer, kind, shape = rest
            if 0 in shape:
                return np.zeros(shape, kind)
            return np.frombuffer(self._buffers[buffer], kind).reshape(shape)
        if tag == "scalar":
            buffer, kind = rest
            return np.frombuffer(self._buffers[buffer], kind)[0]
        if tag not in ("new", "call"):
            raise ValueError(f"a value has the unknown tag {tag!r}")
        number, arguments, state = rest
        kind = self._classes[number]
        values = self.decode(arguments)
        value = kind.__new__(kind, *values) if tag == "new" else kind(*values)
        return _with_state(value, self.decode(state))


def class_name(kind: type) -> str:
    """The name of a class in a stored value."""
    return f"{kind.__module__}.{kind.__qualname__}"


def to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def from_json(data: memoryview) -> Any:
    return json.loads(str(data, "utf-8", "surrogatepass"))


def _with_state(value: Any, state: Any) -> Any:
    if state is None:
        return value
    if hasattr(value, "__setstate__"):
        value.__setstate__(state)
        return value
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, each in {**(attributes or {}), **(slots or {})}.items():
        object.__setattr__(value, name, each)
    return value
