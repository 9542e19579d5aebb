"""The names of some files in arrays: definitions, value bindings, bases and aliases by name.

A row says where a definition or a binding is in the packed outline of its file, which is read when a query needs it.
Knows no snapshot: which files are still those of a snapshot is the caller's knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codegraph import Definition, FileGraph
from ..codegraph.file_graph import MODULE_SCOPE, Binding
from ..codegraph.outline_rows import OutlineRows, known_bindings, outline_rows
from .key_rows import KeyRows
from .terms import lower_terms


class NamedBinding(NamedTuple):
    """A binding, and the definition that it is in; None in a module."""

    binding: Binding
    scope: Definition | None


class NameSegment:
    """The names of some files. Immutable."""

    def __init__(self, files: Sequence[FileGraph]) -> None:
        self.files = files
        self._ids = frozenset(map(id, files))
        columns = _Columns()
        for number, file in enumerate(files):
            columns.add(number, outline_rows(file))
        self.definitions = KeyRows(columns.definitions)
        """Definitions by `normalised_name`."""
        self.bindings = KeyRows(columns.bindings)
        """Value bindings of modules and classes by `normalised_name`."""
        self.by_base = KeyRows(columns.bases)
        """Definitions by the names of their bases."""
        self.aliases = KeyRows((alias, file) for alias, _, file in columns.aliases)
        """Files by names that they give to definitions with another name."""
        places = {alias: at for at, alias in enumerate(self.aliases.keys)}
        self._aliases_of = KeyRows(sorted({(name, places[alias]) for alias, name, _ in columns.aliases}))
        self._first_definition = np.array(columns.first_definition, np.int32)
        self._first_binding = np.array(columns.first_binding, np.int32)
        self._definition_spans = _spans(columns.definition_spans)
        self._binding_spans = _spans(columns.binding_spans)

    def __contains__(self, file: object) -> bool:
        return id(file) in self._ids

    def file_of_definition(self, row: int) -> FileGraph:
        return self.files[_owner(self._first_definition, row)]

    def file_of_binding(self, row: int) -> FileGraph:
        return self.files[_owner(self._first_binding, row)]

    def aliases_of(self, name: str) -> Iterator[str]:
        """The other names that files give to definitions of a name."""
        return (self.aliases.keys[at] for at in self._aliases_of[name])

    def definition(self, row: int) -> Definition:
        """The definition of a row."""
        number = _owner(self._first_definition, row)
        start, end = self._definition_spans[row].tolist()
        if end:
            return self.files[number].definition_at(start, end)
        return self.files[number].definitions[row - int(self._first_definition[number])]

    def binding(self, row: int) -> NamedBinding:
        """The binding of a row."""
        number = _owner(self._first_binding, row)
        start, end = self._binding_spans[row].tolist()
        if end:
            binding = self.files[number].binding_at(start, end)
        else:
            binding = known_bindings(self.files[number])[row - int(self._first_binding[number])]
        in_module = binding.scope == MODULE_SCOPE
        scope = None if in_module else self.definition(int(self._first_definition[number]) + binding.scope)
        return NamedBinding(binding, scope)

    @cached_property
    def name_parts(self) -> frozenset[str]:
        """The sub-words of all names of definitions and of bound values, in lower case."""
        names: set[str] = set()
        for found in map(outline_rows, self.files):
            names.update(each.name for each in found.definitions)
            names.update(each.name for each in found.bindings)
        return frozenset(part for name in names for part in lower_terms(name))


@lru_cache(maxsize=1 << 14)
def normalised_name(name: str) -> str:
    """The key of a name: lower case without underscores."""
    return name.replace("_", "").lower()


class _Columns:
    """The rows of some files, as they are read."""

    def __init__(self) -> None:
        self.definitions: list[tuple[str, int]] = []
        self.bindings: list[tuple[str, int]] = []
        self.bases: list[tuple[str, int]] = []
        self.aliases: list[tuple[str, str, int]] = []  # the other name, the own one, the file
        self.definition_spans: list[tuple[int, int]] = []
        self.binding_spans: list[tuple[int, int]] = []
        self.first_definition: list[int] = []  # of each file
        self.first_binding: list[int] = []

    def add(self, file: int, found: OutlineRows) -> None:
        self.first_definition.append(len(self.definition_spans))
        self.first_binding.append(len(self.binding_spans))
        for each in found.definitions:
            row = len(self.definition_spans)
            self.definitions.append((normalised_name(each.name), row))
            self.bases.extend((base.rpartition(".")[2], row) for base in each.bases)
            self.definition_spans.append((each.start, each.end))
        for binding in found.bindings:
            self.bindings.append((normalised_name(binding.name.removeprefix("self.")), len(self.binding_spans)))
            self.binding_spans.append((binding.start, binding.end))
        self.aliases.extend((alias, name, file) for alias, name in _aliases(found))


def _aliases(found: OutlineRows) -> Iterator[tuple[str, str]]:
    """The names of a module for definitions that have another name, and that name."""
    for item in found.imports:
        if item.scope == MODULE_SCOPE and item.name not in ("", "*", item.local_name):
            yield item.local_name, item.name
    for binding in found.bindings:
        if binding.scope == MODULE_SCOPE and binding.how == "alias" and binding.name.isidentifier():
            yield binding.name, binding.value.rpartition(".")[2].rstrip("()[]")


def _owner(first: NDArray[np.int32], row: int) -> int:
    """The last file whose first row is not after a row."""
    return int(first.searchsorted(row, side="right")) - 1


def _spans(spans: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    return np.array(spans, np.int32).reshape(len(spans), 2)
