"""The facts of one file: syntax nodes, definitions, calls, imports and bindings, in compact form.

Owns the values that parsing hands to name resolution and to relations. Knows no grammar, no other file and no disk:
all facts follow from one text.

Every file of a repository has a `FileGraph` in memory, so its facts are packed: the nodes in one int32 array, the named
records in JSON that is decoded on demand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..languages.syntax import MODULE_SCOPE as MODULE_SCOPE
from .json_bytes import from_json, to_json
from .limited_cache import LimitedCache


class Definition(NamedTuple):
    """A function, method or class, in source order. Lines are 0-based and half-open."""

    name: str
    qualified_name: str  # dotted inside its file: "Shop.pay", "outer.inner"
    kind: str  # "function", "method", "class", or the language's word (interface, struct, enum, trait, module …)
    node: int  # index of the innermost listed syntax node that is or contains the definition
    depth: int  # syntax edges from that node down to the definition node; 0 when it is the node
    start_line: int  # decorators included
    header_line: int  # the line that holds the name
    end_line: int
    parent: int  # index of the enclosing definition, or MODULE_SCOPE
    bases: tuple[str, ...]  # base classes as dotted source text; of a function `OF_ONE_FILE` or nothing
    returns: str  # the return annotation as dotted source text, "" when there is none


OF_ONE_FILE = ("static",)
"""The `bases` of a function that other files do not know, unless they include its file."""


class Call(NamedTuple):
    """One call expression.

    `callee` is the dotted source text of the called expression: "pay", "shop.pay", "self.store.load",
    "super().load", "Shop().pay" (arguments dropped), "items[].pay" (index dropped); when the receiver is no such
    chain it is "?." plus the last name, as in "?.pay" for `(a + b).pay()`.
    """

    callee: str
    node: int  # innermost listed syntax node that is or contains the call node
    depth: int  # syntax edges from that node down to the call node
    line: int
    scope: int  # index of the innermost enclosing definition, or MODULE_SCOPE


class Import(NamedTuple):
    """One imported name. `import a.b as c` has name "" and module "a.b"; `from .m import *` has name "*"."""

    local_name: str  # what the name is called here; for `import a.b` without `as` it is "a"; "" for a star
    module: str  # dotted, without leading dots; other languages: the import path as written
    level: int  # leading dots; of an import in a declared package, whose name may begin inside of the package: 1
    name: str  # the name taken from the module, "" when the module itself is imported, "*" for all
    line: int
    scope: int


class Binding(NamedTuple):
    """A known value or type of a variable or attribute.

    `how` is the meaning of `value`: "annotation" (a dotted type; Optional[T], T | None and quoted
    types are already reduced to T, and "T[]" is a collection of T), "call" (bound to the result of calling that
    dotted callee; `with f() as x` too), "alias" (bound to that dotted expression: "items[]" is an element of items),
    "unknown" (bound to something else: the name hides outer ones and has no `value`).
    """

    scope: int  # definition the name belongs to; for "self.x" the class, else the function or MODULE_SCOPE
    name: str  # "x", "self.x", or RESULT for what a function without a return annotation returns
    how: str
    value: str
    line: int


RESULT = "()"
"""The name of a binding for the result of a function."""

ARGUMENT = "#"
"""The first character of the names of bindings for what a function gives to its arguments: "#1" is the first parameter
of the function that is passed as the second argument, or the value of an `out` argument there; "#1#1" is the second
parameter. Of the last argument also "#" and "##1", and "#this" is the object around a lambda there."""

LAMBDA_OBJECT = "{"
"""The name of bindings in pairs for the object around a lambda, whose members plain names mean: the first has its value
and the first line of the lambda, the second, of an unknown value, the last line. Without the second one the lambda goes
on to the end of the scope."""

NODE_PARENT, NODE_START, NODE_END, NODE_BYTES, NODE_OPEN = range(5)
"""Rows of `FileGraph.nodes`."""


class FileGraph:
    """The part of the code graph that one file contributes. Immutable; equal when all facts are equal.

    `nodes` is int32 of shape (5, n_nodes): parent index (-1 for the root, parents before their
    children, document order), first line, line after the last, length in bytes, and whether the
    node is open (its named children are listed). Only named nodes are listed, and only the
    children of nodes that span several lines: fragments are whole lines and cannot split the others.
    A file that no grammar reads has the root alone, closed, spanning the file.
    """

    __slots__ = (
        "__weakref__",
        "_calls",
        "_outline",
        "language",
        "manifest",
        "n_bytes",
        "n_lines",
        "nodes",
        "package",
        "path",
        "problems",
    )

    has_all_nodes = True
    """Whether all syntax nodes of the text are listed, so that it has relations (see `prefix`)."""

    def __init__(
        self,
        path: str,
        language: str,
        n_lines: int,
        n_bytes: int,
        nodes: NDArray[np.int32],
        *,
        definitions: Sequence[Definition] = (),
        calls: Sequence[Call] = (),
        imports: Sequence[Import] = (),
        bindings: Sequence[Binding] = (),
        problems: Sequence[str] = (),
        package: str = "",
        manifest: str = "",
    ) -> None:
        self.path = path
        self.language = language
        self.n_lines = n_lines
        self.n_bytes = n_bytes
        self.nodes = nodes
        self.problems = tuple(problems)
        self.package = package  # the declared package or namespace
        self.manifest = manifest  # the facts of a manifest (package.json, go.mod …) as JSON, see `manifests`
        # Separate, because other files need the outline only, and calls take most of the space.
        self._outline: Packed = to_json([definitions, imports, bindings])
        self._calls: Packed = to_json(calls)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        return _outline(self)[0]

    @property
    def calls(self) -> tuple[Call, ...]:
        return _calls(self)

    @property
    def imports(self) -> tuple[Import, ...]:
        return _outline(self)[1]

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return _outline(self)[2]

    def definition(self, qualified_name: str) -> Definition | None:
        """The first definition of a qualified name. Decodes this one alone, for files that a query looks at once."""
        known = _single_definitions(self)
        found = known.get(qualified_name)
        if found is None:
            found = _find_definition(self.packed_outline, qualified_name)
            if found is not None:
                known[qualified_name] = found
        return found

    def definition_at(self, start: int, end: int) -> Definition:
        """The definition whose row has these bytes of the packed outline (`outline_rows`)."""
        row = from_json(bytes(self._outline[start:end]))
        row[_BASES] = tuple(row[_BASES])
        return _to_definition(row)

    def binding_at(self, start: int, end: int) -> Binding:
        """The binding whose row has these bytes of the packed outline."""
        return to_binding(from_json(bytes(self._outline[start:end])))

    def imports_as(self, local_name: str) -> tuple[Import, ...]:
        """The imports under a local name, in order. Decodes these alone."""
        rows = _rows_from(self.packed_outline, local_name)
        return tuple(_to_import(row) for row in rows if len(row) == len(Import._fields) and isinstance(row[2], int))

    @property
    def packed_outline(self) -> bytes:
        """Definitions, imports and bindings as JSON, for searches; of a mapped index a copy."""
        return bytes(self._outline)

    @property
    def n_outline_bytes(self) -> int:
        """The length of `packed_outline`."""
        return len(self._outline)

    @property
    def n_nodes(self) -> int:
        return int(self.nodes.shape[1])

    @property
    def is_harmless(self) -> bool:
        """Whether a grammar read all of the text: it took the grammar no longer than the limit of a file."""
        return not self.problems and self.n_nodes > 1

    def at(self, path: str) -> FileGraph:
        """The same facts under another path, with shared contents."""
        return FileGraph.from_state((path, *self.__getstate__()[1:]))

    @classmethod
    def from_state(cls, state: tuple[object, ...]) -> FileGraph:
        """The file graph whose `__getstate__` is `state`."""
        graph = cls.__new__(cls)
        graph.__setstate__(state)
        return graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileGraph) and self._key() == other._key() and np.array_equal(self.nodes, other.nodes)

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"FileGraph({self.path!r}, {self.language}, {self.n_lines} lines, {self.n_nodes} nodes)"

    def __getstate__(self) -> tuple[Any, ...]:
        """The facts in packed form: plain values, one array and JSON; the path is the first."""
        return tuple(getattr(self, name) for name in _STATE)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        for name, value in zip(_STATE, state, strict=True):
            setattr(self, name, value)

    def _key(self) -> tuple[object, ...]:
        facts = (getattr(self, name) for name in _STATE if name not in ("nodes", "_outline", "_calls"))
        return (*facts, self.packed_outline, bytes(self._calls))


Packed = bytes | memoryview
"""JSON; that of a mapped index is a view."""

_STATE = ("path", "language", "n_lines", "n_bytes", "nodes", "problems", "package", "manifest", "_outline", "_calls")

_Outline = tuple[tuple[Definition, ...], tuple[Import, ...], tuple[Binding, ...]]

# The records of their fields; less work than their constructors.
_to_definition = partial(tuple.__new__, Definition)
to_call = partial(tuple.__new__, Call)
_to_import = partial(tuple.__new__, Import)
to_binding = partial(tuple.__new__, Binding)


def _read_outline(file: FileGraph) -> _Outline:
    definitions, imports, bindings = from_json(file.packed_outline)
    for row in definitions:
        row[_BASES] = tuple(row[_BASES])
    return (
        tuple(map(_to_definition, definitions)),
        tuple(map(_to_import, imports)),
        tuple(map(to_binding, bindings)),
    )


_BASES = Definition._fields.index("bases")
_read_row = json.JSONDecoder().raw_decode


def _find_definition(packed: bytes, qualified_name: str) -> Definition | None:
    needle = b"," + to_json(qualified_name) + b","
    at = packed.find(needle)
    while at >= 0:
        # In a packed string a quotation mark has a backslash before it, so this is the beginning of a row.
        start = packed.rfind(b'["', 0, at)
        row = _read_row(packed[start:].decode("utf-8", "surrogatepass"))[0] if start >= 0 else []
        if len(row) == len(Definition._fields) and row[1] == qualified_name:
            row[_BASES] = tuple(row[_BASES])
            return _to_definition(row)
        at = packed.find(needle, at + 1)
    return None


def _rows_from(packed: bytes, first: str) -> Iterator[list[Any]]:
    """The rows, and other lists, whose first value is a text."""
    needle = b"[" + to_json(first) + b","
    at = packed.find(needle)
    while at >= 0:
        # Inside of a packed string the quotation mark would have a backslash before it.
        yield _read_row(packed[at:].decode("utf-8", "surrogatepass"))[0]
        at = packed.find(needle, at + 1)


def _calls_of(file: FileGraph) -> tuple[Call, ...]:
    return tuple(map(to_call, from_json(bytes(file._calls))))


def _no_definitions(file: FileGraph) -> dict[str, Definition]:
    return {}


def _n_calls_bytes(file: FileGraph) -> int:
    return len(file._calls)


# A query reads a few files repeatedly; a pass over the repository reads each file once. The limits count packed bytes:
# decoded, an outline and calls take about nine times as much.
_outline = LimitedCache(_read_outline, attrgetter("n_outline_bytes"), 1_000_000)
_single_definitions = LimitedCache(_no_definitions, attrgetter("n_outline_bytes"), 4_000_000)
_calls = LimitedCache(_calls_of, _n_calls_bytes, 500_000)
