"""Index of definitions and value bindings by name, for any spelling of the name.

`DataLoader`, `data_loader` and "data loader" have one key. Knows no text and no score. Made for the first query, in
segments; the index of the next snapshot adds a segment of the files that changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from heapq import merge
from itertools import groupby, repeat
from typing import NamedTuple

from ..codegraph import CodeGraph, Definition, FileGraph
from ..codegraph.file_graph import MODULE_SCOPE
from ..codegraph.resolve import resolve
from ..codegraph.symbol_table import DECLARATION, is_class
from ..codegraph.typed_resolver import TypedResolver
from ..codegraph.values import CLASS_VALUE, FUNCTION_VALUE, Value
from .key_rows import Entry
from .name_segment import NameSegment, normalised_name

MAX_SEGMENTS = 8

MAX_KNOWN = 2_000
"""Definitions of earlier lookups that are kept: a query looks up the same names several times."""

DEFAULT_EXPORT = "default"
"""The name of the definition that a module of JavaScript exports without a name."""

MAX_ALIASES = 20
"""The files that are asked for the meaning of an alias."""


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
        self._segments: tuple[NameSegment, ...]
        before = previous.graph.files if previous is not None else {}
        segments: tuple[NameSegment, ...] = previous._segments if previous is not None else ()
        changed = [
            file
            for path, file in graph.files.items()
            # A change that is undone may bring an earlier file back.
            if before.get(path) is not file and not any(file in segment for segment in segments)
        ]
        self._segments = _merged((*segments, NameSegment(changed)) if changed else segments, graph)
        self._known: dict[str, list[NamedDefinition]] = {}
        self._n_known = 0

    def definitions(self, name: str) -> list[NamedDefinition]:
        """The definitions that a plain or dotted name may mean: top-level ones first, then by path and line.

        Of a dotted name the last part is the definition's, and the others are parts of its qualified name or of its
        module or package: `Shop.pay`, `shop.pay` for shop.py, `weft.server.Shop.pay`. Exact spellings have priority.
        Without any, the definition that is imported or inherited under the name.
        """
        known = self._known.get(name)
        if known is None:
            known = self._find(name)
            if self._n_known + len(known) > MAX_KNOWN:
                self._known, self._n_known = {}, 0
            self._known[name] = known
            self._n_known += len(known) + 1
        return list(known)

    def _find(self, name: str) -> list[NamedDefinition]:
        *outer, last = [part for part in name.split(".") if part] or [""]
        key = normalised_name(last)
        found = [named for segment in self._segments for named in self._at(segment, segment.definitions[key])]
        if outer:
            found = [named for named in found if self._is_inside(named, outer)]
        exact = [named for named in found if named.definition.name == last]
        spelled = [named for named in exact if outer and f".{named.definition.qualified_name}".endswith(f".{name}")]
        around = set(map(normalised_name, outer))
        # The other names are modules: `api.get` is no method of a class in api.py, if there is a function.
        owned = [named for named in exact if outer and set(map(normalised_name, _owners(named))) <= around]
        found = spelled or owned or exact or found
        if not found:
            found = self._inherited(".".join(outer), last) if outer else self._renamed(last)
        return sorted(self._distinct(found), key=_top_level_first)

    def begun(self, name: str, n: int) -> list[NamedDefinition]:
        """At most `n` definitions whose names begin with the last part of a plain or dotted name, the shortest first.

        The parts before must end the names around the definition: `Shop.pa` for `Shop.pay`.
        """
        outer, _, last = name.rpartition(".")
        prefix = normalised_name(last)
        entries = merge(*map(self._entries, range(len(self._segments)), repeat(prefix)))
        found: list[NamedDefinition] = []
        for _, same in groupby(entries, key=lambda item: item[0][:2]):
            named = (each for entry, number in same for each in self._at(self._segments[number], entry.numbers))
            ordered = sorted(named, key=lambda each: (each.path, each.definition.start_line))
            found += (each for each in ordered if not outer or f".{'.'.join(_owners(each))}".endswith(f".{outer}"))
            if len(found) >= n:
                break
        return found[:n]

    def _entries(self, number: int, prefix: str) -> Iterator[tuple[Entry, int]]:
        """The names of a segment that begin with a text, each with the number of the segment."""
        return ((entry, number) for entry in self._segments[number].definitions.beginning_with(prefix))

    def _distinct(self, found: list[NamedDefinition]) -> list[NamedDefinition]:
        """The definitions without constructors of a class among them, and without declarations of one with a body."""
        names = {named.definition.qualified_name for named in found if named.definition.kind != DECLARATION}
        return [named for named in found if not self._is_part(named, names)]

    def _is_part(self, named: NamedDefinition, names: Set[str]) -> bool:
        name = named.definition.qualified_name
        if named.definition.kind == DECLARATION and name in names:
            return True
        if name.rpartition(".")[0] not in names:
            return False
        symbols = self.graph.symbols(named.path)
        return symbols is not None and symbols.is_constructor(name)

    @cached_property
    def name_parts(self) -> frozenset[str]:
        """The sub-words of all names of definitions and of bound values, in lower case; also those of earlier files."""
        return frozenset().union(*(segment.name_parts for segment in self._segments))

    def value_bindings(self, name: str) -> list[ValueBinding]:
        """The lines that bind a value to a name of a module or a class, by path and line."""
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = []
        key = normalised_name(last)
        for segment in self._segments:
            for row in segment.bindings[key]:
                file = segment.file_of_binding(row)
                if not self._has(file):
                    continue
                binding, definition = segment.binding(row)
                scope = "" if definition is None else definition.qualified_name
                own = binding.name.removeprefix("self.")
                qualified = f"{scope}.{own}" if scope else own
                if not outer or set(outer) <= {*scope.split("."), *_modules(file)}:
                    found.append(ValueBinding(file.path, qualified, binding.line))
        exact = [item for item in found if item.name.rpartition(".")[2] == last]
        return sorted(exact or found, key=lambda item: (item.path, item.line))

    def subclasses(self, name: str) -> list[NamedDefinition]:
        """The classes with the base `name`, by path and line."""
        found = (named for segment in self._segments for named in self._at(segment, segment.by_base[name]))
        return sorted(found, key=lambda named: (named.path, named.definition.start_line))

    def base_names(self, named: NamedDefinition) -> list[str]:
        """The names under which classes may name a definition as their base: its own, and those of its imports."""
        name = named.definition.name
        aliases, left = dict[str, None](), [name, DEFAULT_EXPORT]
        while left:  # an alias may have an alias
            of = left.pop()
            new = {alias for segment in self._segments for alias in segment.aliases_of(of)} - aliases.keys()
            aliases.update(dict.fromkeys(sorted(new)))
            left += sorted(new)
        bases = (alias for alias in aliases if alias != name and self._is_base(alias))
        return [name, *(alias for alias in bases if named in self._renamed(alias))]

    def _is_base(self, name: str) -> bool:
        """Whether a class names a base so, in this graph or an earlier one."""
        return any(segment.by_base[name] for segment in self._segments)

    def _renamed(self, alias: str) -> list[NamedDefinition]:
        """The definitions that files import or export under another name."""
        found = {
            (target.path, target.qualified_name): None
            for path in self._files_with(alias)[:MAX_ALIASES]
            for target in resolve(self.graph, path, MODULE_SCOPE, alias)
        }
        return [NamedDefinition(path, d) for path, name in found if (d := self.graph.definition(path, name))]

    def _inherited(self, owner: str, name: str) -> list[NamedDefinition]:
        """The members of the bases of a class, where the class has no own member of the name."""
        found: dict[tuple[str, str], None] = {}
        for path, definition in self.definitions(owner):
            if is_class(definition):
                owned = Value(CLASS_VALUE, path, definition.qualified_name, "")
                member = TypedResolver(self.graph).member(owned, name)
                if member is not None and member.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    found[member.path, member.name] = None
        return [NamedDefinition(path, d) for path, qualified in found if (d := self.graph.definition(path, qualified))]

    def _is_inside(self, named: NamedDefinition, outer: list[str]) -> bool:
        around = (*_owners(named), *_modules(self.graph.files[named.path]))
        return {normalised_name(part) for part in outer} <= {normalised_name(part) for part in around}

    def _files_with(self, alias: str) -> list[str]:
        """The files that give a definition this other name, sorted."""
        files = (segment.files[number] for segment in self._segments for number in segment.aliases[alias])
        return sorted(file.path for file in files if self._has(file))

    def _at(self, segment: NameSegment, rows: Iterable[int]) -> Iterator[NamedDefinition]:
        """The definitions of some rows, without those of files that have changed."""
        for row in rows:
            file = segment.file_of_definition(row)
            if self._has(file):
                yield NamedDefinition(file.path, segment.definition(row))

    def _has(self, file: FileGraph) -> bool:
        return self.graph.files.get(file.path) is file


def _merged(segments: tuple[NameSegment, ...], graph: CodeGraph) -> tuple[NameSegment, ...]:
    """The segments, the last ones merged where there are many, and all where most of their files have changed."""
    if sum(len(segment.files) for segment in segments) > 2 * max(len(graph.files), 1):
        first = 0
    elif len(segments) > MAX_SEGMENTS:
        first, n_files = len(segments) - 1, len(segments[-1].files)
        while first and len(segments[first - 1].files) <= 2 * n_files:
            first -= 1
            n_files += len(segments[first].files)
    else:
        return segments
    files = (file for segment in segments[first:] for file in segment.files)
    live = [file for file in files if graph.files.get(file.path) is file]
    return (*segments[:first], NameSegment(live))


def _top_level_first(named: NamedDefinition) -> tuple[bool, str, int]:
    return "." in named.definition.qualified_name, named.path, named.definition.start_line


def _owners(named: NamedDefinition) -> list[str]:
    return named.definition.qualified_name.split(".")[:-1]


def _modules(file: FileGraph) -> list[str]:
    """The package of a file, and the parts of its path, without the extension."""
    stem = file.path.rpartition(".")[0] if "." in file.path.rpartition("/")[2] else file.path
    return [*stem.split("/"), *file.package.split(".")]
