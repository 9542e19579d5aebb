"""Where is a name defined, or a value given to it? Every name of a snapshot, however a question spells it.

Owns the table from spelling to definition: `DataLoader`, `data_loader` and "data loader" are one. Knows no text and
no score. Made when the first question comes; the next snapshot's table reads only the files that changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..codegraph import CodeGraph, Definition, FileGraph
from ..codegraph.file_graph import MODULE_SCOPE
from ..codegraph.symbol_table import is_class


class Named(NamedTuple):
    """A definition and its file."""

    path: str
    definition: Definition


class Given(NamedTuple):
    """A line that gives a name of a module or a class its value."""

    path: str
    name: str  # qualified: "Shop.limit"
    line: int


class NameTable:
    """The names of one graph. Immutable."""

    def __init__(self, graph: CodeGraph, previous: NameTable | None = None) -> None:
        self.graph = graph
        known = previous._rows if previous is not None else {}
        self._rows: dict[str, _Rows] = {}
        for path, file in graph.files.items():
            rows = known.get(path)
            self._rows[path] = rows if rows is not None and rows.file is file else _rows_of(file)
        self._by_spelling: dict[str, list[tuple[str, int]]] = {}
        self._given: dict[str, list[tuple[str, int]]] = {}
        self._by_base: dict[str, list[tuple[str, int]]] = {}
        for path, rows in self._rows.items():
            for table, found in (
                (self._by_spelling, rows.definitions),
                (self._given, rows.given),
                (self._by_base, rows.bases),
            ):
                for key, index in found:
                    table.setdefault(key, []).append((path, index))

    def defined(self, name: str) -> list[Named]:
        """The definitions that a plain or dotted name may mean: top-level ones first, then by path and line.

        Of a dotted name the last part is the definition's, and the others are parts of its qualified name or of its
        module: `Shop.pay`, `shop.pay` for shop.py, `weft.server.Shop.pay`. As written before spelled otherwise.
        """
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = [self.named(place) for place in self._by_spelling.get(spelling(last), ())]
        if outer:
            found = [named for named in found if _is_inside(named, outer)]
        exact = [named for named in found if named.definition.name == last]
        return sorted(exact or found, key=_top_level_first)

    def given(self, name: str) -> list[Given]:
        """The lines that give a value to a name of a module, or to one of a class, by path and line."""
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = []
        for path, index in self._given.get(spelling(last), ()):
            binding = self.graph.files[path].bindings[index]
            scope = "" if binding.scope == MODULE_SCOPE else self._definition(path, binding.scope).qualified_name
            own = binding.name.removeprefix("self.")
            qualified = f"{scope}.{own}" if scope else own
            if not outer or set(outer) <= {*scope.split("."), *_modules(path)}:
                found.append(Given(path, qualified, binding.line))
        exact = [item for item in found if item.name.rpartition(".")[2] == last]
        return sorted(exact or found, key=lambda item: (item.path, item.line))

    def subclasses(self, name: str) -> list[Named]:
        """The classes that name `name` as a base, by path and line."""
        found = map(self.named, self._by_base.get(name, ()))
        return sorted(found, key=lambda named: (named.path, named.definition.start_line))

    def named(self, place: tuple[str, int]) -> Named:
        """The definition of a path and an index."""
        return Named(place[0], self._definition(*place))

    def _definition(self, path: str, index: int) -> Definition:
        return self.graph.files[path].definitions[index]


@lru_cache(maxsize=1 << 14)
def spelling(name: str) -> str:
    """What all ways to write a name have in common."""
    return name.replace("_", "").lower()


class _Rows(NamedTuple):
    file: FileGraph
    definitions: tuple[tuple[str, int], ...]  # spelling, index
    given: tuple[tuple[str, int], ...]
    bases: tuple[tuple[str, int], ...]


def _rows_of(file: FileGraph) -> _Rows:
    definitions: list[tuple[str, int]] = []
    bases: list[tuple[str, int]] = []
    for index, definition in enumerate(file.definitions):
        definitions.append((spelling(definition.name), index))
        bases.extend((base.rpartition(".")[2], index) for base in definition.bases)
    return _Rows(file, tuple(definitions), tuple(_given(file)), tuple(bases))


def _given(file: FileGraph) -> Iterator[tuple[str, int]]:
    """Bindings of modules and classes; locals are found by their words."""
    for index, binding in enumerate(file.bindings):
        if binding.scope == MODULE_SCOPE or is_class(file.definitions[binding.scope]):
            yield spelling(binding.name.removeprefix("self.")), index


def _top_level_first(named: Named) -> tuple[bool, str, int]:
    return "." in named.definition.qualified_name, named.path, named.definition.start_line


def _is_inside(named: Named, outer: list[str]) -> bool:
    around = {spelling(part) for part in (*named.definition.qualified_name.split(".")[:-1], *_modules(named.path))}
    return all(spelling(part) in around for part in outer)


def _modules(path: str) -> list[str]:
    """The parts of a path, without the extension."""
    return path.rpartition(".")[0].split("/") if "." in path.rpartition("/")[2] else path.split("/")
