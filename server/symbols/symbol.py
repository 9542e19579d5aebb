"""A symbol: what a name means, as definitions, members of classes, and values of modules.

Owns the value and how it follows from definitions and bindings in the code graph. Knows no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.graph import CodeGraph
from ...codegraph.symbol_table import is_class
from ...codegraph.typed_resolver import TypedResolver
from ...codegraph.values import CLASS_VALUE
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition, ValueBinding

Key = tuple[str, str]
"""The path and the qualified name of a definition."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """The meaning of a name: definitions, members of classes, and values of modules; nothing matches by name alone."""

    name: str
    definitions: frozenset[Key] = frozenset()
    owners: frozenset[Key] = frozenset()  # classes that have it as a member
    modules: frozenset[str] = frozenset()  # files that bind it at the top level
    bindings: frozenset[tuple[str, int]] = frozenset()  # the lines that bind it outside of functions

    @property
    def paths(self) -> set[str]:
        """The files that define it."""
        return {path for path, _ in (*self.definitions, *self.owners)} | set(self.modules)


def symbol_of(
    index: RepositoryIndex, name: str, definitions: Iterable[NamedDefinition], values: Iterable[ValueBinding] = ()
) -> Symbol:
    """The symbol of a plain or dotted name with its definitions and value bindings."""
    definitions, values = tuple(definitions), tuple(values)
    outer = name.rpartition(".")[0]
    if definitions or values or not outer:
        return symbol_in(index.graph, name, definitions, values)
    owners = (each for each in index.names.definitions(outer) if is_class(each.definition))
    return Symbol(name.rpartition(".")[2], owners=frozenset((at.path, at.definition.qualified_name) for at in owners))


def symbol_in(
    graph: CodeGraph, name: str, definitions: Iterable[NamedDefinition], values: Iterable[ValueBinding] = ()
) -> Symbol:
    """`symbol_of` for a name with definitions or value bindings."""
    last = name.rpartition(".")[2]
    resolver = TypedResolver(graph)
    keys, owners, modules = set[Key](), set[Key](), set[str]()
    for path, definition in definitions:
        keys.add((path, definition.qualified_name))
        last = definition.name
    bindings = set[tuple[str, int]]()
    places = list(keys)
    for value in values:
        last = value.name.rpartition(".")[2]
        places.append((value.path, value.name))
        symbols = graph.symbols(value.path)
        scope = MODULE_SCOPE if symbols is None else symbols.scope_at(value.line)
        if symbols is None or scope == MODULE_SCOPE or is_class(symbols.definitions[scope]):
            bindings.add((value.path, value.line))
    for path, qualified in places:
        owner = qualified.rpartition(".")[0]
        if not owner:
            modules.add(path)
        elif (found := _class_named(graph, resolver, path, owner)) is not None:
            owners.add(found)
    return Symbol(last, frozenset(keys), frozenset(owners), frozenset(modules), frozenset(bindings))


def _class_named(graph: CodeGraph, resolver: TypedResolver, path: str, name: str) -> Key | None:
    """The class of a name in a file; in Go, it may be in another file of the package."""
    value = resolver.attribute(path, name)
    if value is not None and value.kind == CLASS_VALUE:
        return value.path, value.name
    definition = graph.definition(path, name)
    return (path, name) if is_class(definition) else None  # type: ignore[arg-type]
