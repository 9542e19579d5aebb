"""Index of definitions and value bindings by name, for any spelling of the name.

`DataLoader`, `data_loader` and "data loader" have one key. Knows no text and no score. Built for the first question;
the index of the next snapshot reads only the files that changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..codegraph import CodeGraph, Definition, FileGraph
from ..codegraph.file_graph import MODULE_SCOPE
from ..codegraph.symbol_table import is_class


class NamedDefinition(NamedTuple):
    """A definition and its file."""

    path: str
    definition: Definition


class ValueBinding(NamedTuple):
    """A line that binds a value to a name of a module or a class."""

    path: str
    name: str  # qualified: "Shop.limit"
    line: int


class DefinitionIndex:
    """The names of one graph. Immutable."""

    def __init__(self, graph: CodeGraph, previous: DefinitionIndex | None = None) -> None:
        self.graph = graph
        known = previous._by_file if previous is not None else {}
        self._by_file: dict[str, _FileNames] = {}
        for path, file in graph.files.items():
            names = known.get(path)
            self._by_file[path] = names if names is not None and names.file is file else _names_of(file)
        self._by_name: dict[str, list[tuple[str, int]]] = {}
        self._bindings: dict[str, list[tuple[str, int]]] = {}
        self._by_base: dict[str, list[tuple[str, int]]] = {}
        for path, names in self._by_file.items():
            for table, found in (
                (self._by_name, names.definitions),
                (self._bindings, names.bindings),
                (self._by_base, names.bases),
            ):
                for key, index in found:
                    table.setdefault(key, []).append((path, index))

    def definitions(self, name: str) -> list[NamedDefinition]:
        """The definitions that a plain or dotted name may mean: top-level ones first, then by path and line.

        Of a dotted name the last part is the definition's, and the others are parts of its qualified name or of its
        module: `Shop.pay`, `shop.pay` for shop.py, `weft.server.Shop.pay`. Exact spellings have priority.
        """
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = [self.at(entry) for entry in self._by_name.get(normalised_name(last), ())]
        if outer:
            found = [named for named in found if _is_inside(named, outer)]
        exact = [named for named in found if named.definition.name == last]
        return sorted(exact or found, key=_top_level_first)

    def value_bindings(self, name: str) -> list[ValueBinding]:
        """The lines that bind a value to a name of a module or a class, by path and line."""
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = []
        for path, index in self._bindings.get(normalised_name(last), ()):
            binding = self.graph.files[path].bindings[index]
            scope = "" if binding.scope == MODULE_SCOPE else self._definition(path, binding.scope).qualified_name
            own = binding.name.removeprefix("self.")
            qualified = f"{scope}.{own}" if scope else own
            if not outer or set(outer) <= {*scope.split("."), *_modules(path)}:
                found.append(ValueBinding(path, qualified, binding.line))
        exact = [item for item in found if item.name.rpartition(".")[2] == last]
        return sorted(exact or found, key=lambda item: (item.path, item.line))

    def subclasses(self, name: str) -> list[NamedDefinition]:
        """The classes with the base `name`, by path and line."""
        found = map(self.at, self._by_base.get(name, ()))
        return sorted(found, key=lambda named: (named.path, named.definition.start_line))

    def at(self, entry: tuple[str, int]) -> NamedDefinition:
        """The definition of a path and an index."""
        return NamedDefinition(entry[0], self._definition(*entry))

    def _definition(self, path: str, index: int) -> Definition:
        return self.graph.files[path].definitions[index]


@lru_cache(maxsize=1 << 14)
def normalised_name(name: str) -> str:
    """The key of a name: lower case without underscores."""
    return name.replace("_", "").lower()


class _FileNames(NamedTuple):
    file: FileGraph
    definitions: tuple[tuple[str, int], ...]  # normalised_name, index
    bindings: tuple[tuple[str, int], ...]
    bases: tuple[tuple[str, int], ...]


def _names_of(file: FileGraph) -> _FileNames:
    definitions: list[tuple[str, int]] = []
    bases: list[tuple[str, int]] = []
    for index, definition in enumerate(file.definitions):
        definitions.append((normalised_name(definition.name), index))
        bases.extend((base.rpartition(".")[2], index) for base in definition.bases)
    return _FileNames(file, tuple(definitions), tuple(_bindings(file)), tuple(bases))


def _bindings(file: FileGraph) -> Iterator[tuple[str, int]]:
    """Bindings of modules and classes; local names are found as words."""
    for index, binding in enumerate(file.bindings):
        if binding.scope == MODULE_SCOPE or is_class(file.definitions[binding.scope]):
            yield normalised_name(binding.name.removeprefix("self.")), index


def _top_level_first(named: NamedDefinition) -> tuple[bool, str, int]:
    return "." in named.definition.qualified_name, named.path, named.definition.start_line


def _is_inside(named: NamedDefinition, outer: list[str]) -> bool:
    around = {
        normalised_name(part) for part in (*named.definition.qualified_name.split(".")[:-1], *_modules(named.path))
    }
    return all(normalised_name(part) in around for part in outer)


def _modules(path: str) -> list[str]:
    """The parts of a path, without the extension."""
    return path.rpartition(".")[0].split("/") if "." in path.rpartition("/")[2] else path.split("/")
