"""Index of definitions and value bindings by name, for any spelling of the name.

`DataLoader`, `data_loader` and "data loader" have one key. Knows no text and no score. Built for the first question;
the index of the next snapshot reads only the files that changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cached_property, lru_cache
from typing import NamedTuple

from ..codegraph import CodeGraph, Definition, FileGraph
from ..codegraph.file_graph import MODULE_SCOPE
from ..codegraph.resolve import resolve
from ..codegraph.symbol_table import DECLARATION, is_class
from ..codegraph.typed_resolver import TypedResolver
from ..codegraph.values import CLASS_VALUE, FUNCTION_VALUE, Value
from .terms import lower_terms

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
        known = previous._by_file if previous is not None else {}
        self._by_file: dict[str, _FileNames] = {}
        for path, file in graph.files.items():
            names = known.get(path)
            self._by_file[path] = names if names is not None and names.file is file else _names_of(file)
        self._by_name: dict[str, list[tuple[str, int]]] = {}
        self._bindings: dict[str, list[tuple[str, int]]] = {}
        self._by_base: dict[str, list[tuple[str, int]]] = {}
        self._aliases: dict[str, list[str]] = {}
        self._aliases_of: dict[str, set[str]] = {}
        for path, names in self._by_file.items():
            for table, found in (
                (self._by_name, names.definitions),
                (self._bindings, names.bindings),
                (self._by_base, names.bases),
            ):
                for key, index in found:
                    table.setdefault(key, []).append((path, index))
            for alias, original in names.aliases:
                self._aliases.setdefault(alias, []).append(path)
                self._aliases_of.setdefault(original, set()).add(alias)

    def definitions(self, name: str) -> list[NamedDefinition]:
        """The definitions that a plain or dotted name may mean: top-level ones first, then by path and line.

        Of a dotted name the last part is the definition's, and the others are parts of its qualified name or of its
        module or package: `Shop.pay`, `shop.pay` for shop.py, `weft.server.Shop.pay`. Exact spellings have priority.
        Without any, the definition that is imported or inherited under the name.
        """
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = [self.at(entry) for entry in self._by_name.get(normalised_name(last), ())]
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
        key = normalised_name(last)
        found: list[NamedDefinition] = []
        for each in sorted(
            (each for each in self._by_name if each.startswith(key)), key=lambda each: (len(each), each)
        ):
            named = map(self.at, self._by_name[each])
            found += (it for it in named if not outer or f".{'.'.join(_owners(it))}".endswith(f".{outer}"))
            if len(found) >= n:
                break
        return found[:n]

    def _distinct(self, found: list[NamedDefinition]) -> list[NamedDefinition]:
        """The definitions without constructors of a class among them, and without declarations of one with a body."""
        names = {named.definition.qualified_name for named in found if named.definition.kind != DECLARATION}
        return [named for named in found if not self._is_part(named, names)]

    def _is_part(self, named: NamedDefinition, names: Set[str]) -> bool:
        name = named.definition.qualified_name
        if named.definition.kind == DECLARATION and name in names:
            return True
        symbols = self.graph.symbols(named.path)
        return symbols is not None and name.rpartition(".")[0] in names and symbols.is_constructor(name)

    @cached_property
    def name_parts(self) -> frozenset[str]:
        """The sub-words of all names of definitions and of bound values, in lower case."""
        names = {self._definition(*entries[0]).name for entries in self._by_name.values()}
        names |= {self.graph.files[path].bindings[index].name for (path, index), *_ in self._bindings.values()}
        return frozenset(part for name in names for part in lower_terms(name))

    def value_bindings(self, name: str) -> list[ValueBinding]:
        """The lines that bind a value to a name of a module or a class, by path and line."""
        *outer, last = [part for part in name.split(".") if part] or [""]
        found = []
        for path, index in self._bindings.get(normalised_name(last), ()):
            binding = self.graph.files[path].bindings[index]
            scope = "" if binding.scope == MODULE_SCOPE else self._definition(path, binding.scope).qualified_name
            own = binding.name.removeprefix("self.")
            qualified = f"{scope}.{own}" if scope else own
            if not outer or set(outer) <= {*scope.split("."), *_modules(self.graph.files[path])}:
                found.append(ValueBinding(path, qualified, binding.line))
        exact = [item for item in found if item.name.rpartition(".")[2] == last]
        return sorted(exact or found, key=lambda item: (item.path, item.line))

    def subclasses(self, name: str) -> list[NamedDefinition]:
        """The classes with the base `name`, by path and line."""
        found = map(self.at, self._by_base.get(name, ()))
        return sorted(found, key=lambda named: (named.path, named.definition.start_line))

    def base_names(self, named: NamedDefinition) -> list[str]:
        """The names under which classes may name a definition as their base: its own, and those of its imports."""
        name = named.definition.name
        aliases, left = dict[str, None](), [name, DEFAULT_EXPORT]
        while left:  # an alias may have an alias
            new = sorted(self._aliases_of.get(left.pop(), set()) - aliases.keys())
            aliases.update(dict.fromkeys(new))
            left += new
        bases = (alias for alias in aliases if alias in self._by_base and alias != name)
        return [name, *(alias for alias in bases if named in self._renamed(alias))]

    def _renamed(self, alias: str) -> list[NamedDefinition]:
        """The definitions that files import or export under another name."""
        found = {
            (target.path, target.qualified_name): None
            for path in self._aliases.get(alias, ())[:MAX_ALIASES]
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
    aliases: tuple[tuple[str, str], ...]  # names of the module for definitions that have another name, and that name


def _names_of(file: FileGraph) -> _FileNames:
    definitions: list[tuple[str, int]] = []
    bases: list[tuple[str, int]] = []
    for index, definition in enumerate(file.definitions):
        definitions.append((normalised_name(definition.name), index))
        if definition.bases:
            bases.extend((base.rpartition(".")[2], index) for base in definition.bases)
    return _FileNames(file, tuple(definitions), tuple(_bindings(file)), tuple(bases), tuple(_aliases(file)))


def _aliases(file: FileGraph) -> Iterator[tuple[str, str]]:
    for item in file.imports:
        if item.scope == MODULE_SCOPE and item.name not in ("", "*", item.local_name):
            yield item.local_name, item.name
    for binding in file.bindings:
        if binding.scope == MODULE_SCOPE and binding.how == "alias" and binding.name.isidentifier():
            yield binding.name, binding.value.rpartition(".")[2].rstrip("()[]")


def _bindings(file: FileGraph) -> Iterator[tuple[str, int]]:
    """Bindings of modules and classes; local names are found as words."""
    classes = {MODULE_SCOPE, *(index for index, definition in enumerate(file.definitions) if is_class(definition))}
    for index, binding in enumerate(file.bindings):
        if binding.scope in classes:
            yield normalised_name(binding.name.removeprefix("self.")), index


def _top_level_first(named: NamedDefinition) -> tuple[bool, str, int]:
    return "." in named.definition.qualified_name, named.path, named.definition.start_line


def _owners(named: NamedDefinition) -> list[str]:
    return named.definition.qualified_name.split(".")[:-1]


def _modules(file: FileGraph) -> list[str]:
    """The package of a file, and the parts of its path, without the extension."""
    stem = file.path.rpartition(".")[0] if "." in file.path.rpartition("/")[2] else file.path
    return [*stem.split("/"), *file.package.split(".")]
