"""Symbol queries on the code graph: callers, callees, importers, subclasses and implementations.

Owns these queries, and distinguishes resolved references from matches by name. Knows no question text and no score.
Lines are 0-based.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ...codegraph import Call
from ...codegraph.file_graph import MODULE_SCOPE, Definition
from ...codegraph.resolve import SAME_NAME, THROUGH_INTERFACE
from ...codegraph.resolver import parse_dotted
from ...codegraph.symbol_table import FUNCTION_KINDS, MODULE, is_class
from ...codegraph.typed_resolver import TypedResolver
from ...codegraph.values import CLASS_VALUE, FUNCTION_VALUE, OUTSIDE_VALUE, Value
from ...languages import language_named
from ...retrieval import Location, RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_test
from ..symbols.occurrences import files_with

MAX_IMPLEMENTATIONS = 20  # the most types that are found for an interface
MAX_CANDIDATES = 400  # the most methods whose types are checked for it

ReferenceKind = Literal["call", "call by name", "import", "raise", "use", "word"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A line that refers to a definition."""

    path: str
    line: int
    kind: ReferenceKind
    enclosing: str = ""  # the qualified name of the enclosing definition, "" at the top level
    how: str = ""  # of a resolved call: one of codegraph.HOW


def callers(index: RepositoryIndex, named: NamedDefinition) -> list[Reference]:
    """The calls that resolve to a definition, by path and line. Creating an instance is a call of its class."""
    all_callers = index.graph.callers(named.path, named.definition.qualified_name)
    found = {
        (caller.path, caller.line): caller
        # The last one of a line counts.
        for caller in sorted(all_callers, key=lambda caller: caller.how != THROUGH_INTERFACE)
        if caller.how != SAME_NAME
    }
    return [
        Reference(path, line, "call", caller.enclosing, caller.how) for (path, line), caller in sorted(found.items())
    ]


def overridden(index: RepositoryIndex, named: NamedDefinition) -> list[NamedDefinition]:
    """The methods of base classes, interfaces and protocols that a method overrides, nearest first.

    None for a constructor: no call of a base class's constructor reaches that of a class below.
    """
    owner, _, method = named.definition.qualified_name.rpartition(".")
    if not owner:
        return []
    classes, _, n_parts = TypedResolver(index.graph).mro(named.path, owner)
    found = {(path, base): index.graph.definition(path, f"{base}.{method}") for path, base in classes[n_parts:]}
    above = [NamedDefinition(path, each) for (path, _), each in found.items() if each is not None]
    above += _of_protocols(index, named, set(classes))
    return [] if above and is_constructor(index, named) else above


def _of_protocols(
    index: RepositoryIndex, named: NamedDefinition, known: Collection[tuple[str, str]]
) -> Iterator[NamedDefinition]:
    """The methods of protocols that the class of a method implements without naming them; `known` are its bases."""
    base = language_named(index.graph.files[named.path].language).protocol_base
    owner, _, method = named.definition.qualified_name.rpartition(".")
    resolver = TypedResolver(index.graph)
    for protocol in index.names.subclasses(base)[:MAX_CANDIDATES] if base else ():
        path, name = protocol.path, protocol.definition.qualified_name
        found = index.graph.definition(path, f"{name}.{method}") if (path, name) not in known else None
        if found is not None:
            methods = _methods_to_have(index, resolver, protocol)
            if method in methods and _has_methods(resolver, Value(CLASS_VALUE, named.path, owner, ""), methods):
                yield NamedDefinition(path, found)


def is_constructor(index: RepositoryIndex, named: NamedDefinition) -> bool:
    """Whether a definition makes objects of its class."""
    symbols = index.graph.symbols(named.path)
    return symbols is not None and symbols.is_constructor(named.definition.qualified_name)


def callers_by_name(index: RepositoryIndex, name: str, definitions: Sequence[NamedDefinition] = ()) -> list[Reference]:
    """The unresolved calls of a name that may be of one of the definitions: the type of the receiver is unknown."""
    resolver = TypedResolver(index.graph)
    are_members = {is_member(index, named) for named in definitions} or {True, False}
    return [
        Reference(path, call.line, "call by name", scope_name(index, path, call.scope))
        for path in files_with(index, name)
        for call in unresolved_calls(index, path)
        if call.callee.rpartition(".")[2] == name and may_call(resolver, path, call, are_members, index)
    ]


def may_call(
    resolver: TypedResolver, path: str, call: Call, are_members: Collection[bool], index: RepositoryIndex
) -> bool:
    """Whether an unresolved call may be of a definition that is a member of a class, or is none."""
    language = index.graph.files[path].language
    parts = parse_dotted(call.callee)
    value = resolver.read(path, scope_name(index, path, call.scope) or MODULE, parts[:-1] or parts, call.line)
    if value is not None and value.kind == OUTSIDE_VALUE:
        return False
    if len(parts) == 1:
        return False in are_members or language_named(language).has_implicit_object
    # In a package, an unknown receiver is no package, so the name is that of a member.
    return True in are_members or not language_named(language).shares_directory


def is_member(index: RepositoryIndex, named: NamedDefinition) -> bool:
    """Whether a definition is a member of a class or of an object."""
    owner = named.definition.qualified_name.rpartition(".")[0]
    around = index.graph.definition(named.path, owner) if owner else None
    return bool(owner) and (around is None or is_class(around))


def importers(index: RepositoryIndex, name: str) -> list[Reference]:
    """The lines that import a name."""
    return [
        Reference(path, item.line, "import", scope_name(index, path, item.scope))
        for path in files_with(index, name)
        for item in index.graph.files[path].imports
        if item.name == name
    ]


def is_imported(index: RepositoryIndex, name: str) -> bool:
    """Whether a file imports something under a name."""
    return any(item.local_name == name for path in files_with(index, name) for item in index.graph.files[path].imports)


def subclasses(index: RepositoryIndex, name: str, definitions: Sequence[NamedDefinition] = ()) -> list[NamedDefinition]:
    """Direct and indirect subclasses; by path and line, direct ones first.

    With the definitions of the class, classes whose base resolves to another one of the same name are left out.
    """
    resolver = TypedResolver(index.graph)
    found: dict[tuple[str, str], NamedDefinition] = {}
    known = {_key(named) for named in definitions}
    level = list(dict.fromkeys([name, *(base for named in definitions for base in index.names.base_names(named))]))
    while level:
        found_here = [
            named
            for base in level
            for named in index.names.subclasses(base)
            if _may_extend(resolver, named, base, known)
        ]
        new = [named for named in found_here if _key(named) not in found]
        found.update((_key(named), named) for named in new)
        if known:
            known |= {_key(named) for named in new}
        level = list(dict.fromkeys(base for named in new for base in index.names.base_names(named)))
    return list(found.values())


def _may_extend(resolver: TypedResolver, named: NamedDefinition, name: str, known: Collection[tuple[str, str]]) -> bool:
    """Whether a base `name` of a class is one of the known classes, or has an unknown meaning."""
    symbols = resolver.symbols(named.path)
    if not known or symbols is None:
        return True
    around = named.definition.qualified_name.rpartition(".")[0]
    for base in named.definition.bases:
        if base.rpartition(".")[2] == name:
            value = resolver.read(named.path, around, parse_dotted(base))
            if value is None or (value.path, value.name) in known:
                return True
    return False


def implementations(index: RepositoryIndex, named: NamedDefinition) -> tuple[list[NamedDefinition], list[str]]:
    """The types with all methods of an interface, by path and line, at most `MAX_IMPLEMENTATIONS`, and those methods.

    Empty for interfaces that their types name. Of a protocol of Python, classes that name it are left out. The methods
    of an interface from outside that it embeds are unknown and not required.
    """
    resolver = TypedResolver(index.graph)
    methods = sorted(_methods_to_have(index, resolver, named))
    if not methods:
        return [], []
    names_bases = not language_named(index.graph.files[named.path].language).has_method_sets
    found: dict[tuple[str, str], NamedDefinition] = {}
    having = {method: [n for n in index.names.definitions(method) if n.definition.name == method] for method in methods}
    rarest = min(having.values(), key=len, default=[])
    for candidate in rarest[:MAX_CANDIDATES]:
        owner = candidate.definition.qualified_name.rpartition(".")[0]
        value = resolver.attribute(candidate.path, owner) if owner else None
        if value is None or value.kind != CLASS_VALUE or (value.path, value.name) in found:
            continue
        for each in _with_embedding(index, value):
            target = index.graph.definition(each.path, each.name)
            if target is None or len(found) == MAX_IMPLEMENTATIONS or is_protocol(index, each.path, target):
                continue
            is_below = names_bases and _key(named) in resolver.mro(each.path, each.name).classes
            if not is_below and _has_methods(resolver, each, methods):
                found[each.path, each.name] = NamedDefinition(each.path, target)
    order = sorted(found.values(), key=lambda each: (is_test(each.path), each.path, each.definition.start_line))
    return order, methods


def is_protocol(index: RepositoryIndex, path: str, definition: Definition) -> bool:
    """Whether types implement an interface by their methods alone, without naming it."""
    rules = language_named(index.graph.files[path].language)
    if rules.has_method_sets:
        return definition.kind == "interface"
    bases = (base.partition("[")[0].rpartition(".")[2] for base in definition.bases)
    return bool(rules.protocol_base) and is_class(definition) and rules.protocol_base in bases


def _methods_to_have(index: RepositoryIndex, resolver: TypedResolver, named: NamedDefinition) -> set[str]:
    """The methods that make a type an implementation of a protocol; empty for another definition.

    No properties, which may be fields of the type. A protocol of the call alone has none: functions implement it.
    """
    path, definition = named
    if not is_protocol(index, path, definition):
        return set()
    rules = language_named(index.graph.files[path].language)
    if rules.has_method_sets:
        return resolver.method_names(path, definition.qualified_name)
    methods = {
        each.name
        for owner in resolver.mro(path, definition.qualified_name).classes
        for where, each in resolver.members(*owner)
        if each.kind in FUNCTION_KINDS and not _is_property(index, where, each)
    }
    return methods if methods != {rules.call_method} else set()


def _is_property(index: RepositoryIndex, path: str, definition: Definition) -> bool:
    decorators = index.text(Location(path, definition.start_line, definition.header_line))
    return re.search(r"@(?:[\w.]*[._])?property\b", decorators) is not None


def _has_methods(resolver: TypedResolver, value: Value, methods: Collection[str]) -> bool:
    """Whether a type has all methods, its own or inherited ones."""
    members = (resolver.member(value, method) for method in methods)
    return all(member is not None and member.kind == FUNCTION_VALUE for member in members)


def _with_embedding(index: RepositoryIndex, value: Value) -> Iterator[Value]:
    """A type, and the types that embed it."""
    yield value
    definition = index.graph.definition(value.path, value.name)
    if definition is not None:
        for each in subclasses(index, definition.name, [NamedDefinition(value.path, definition)])[:MAX_IMPLEMENTATIONS]:
            yield Value(CLASS_VALUE, each.path, each.definition.qualified_name, "")


def callees(index: RepositoryIndex, named: NamedDefinition) -> list[tuple[int, NamedDefinition]]:
    """The definitions that a definition calls, each with the line of its first call, in the order of the lines.

    A class is left out where its constructor is called.
    """
    found: dict[tuple[str, str], tuple[int, NamedDefinition]] = {}
    for line, how, target in _calls_inside(index, named):
        if how != THROUGH_INTERFACE:
            found.setdefault(_key(target), (line, target))
    for path, name in [*found]:
        symbols = index.graph.symbols(path)
        if symbols is not None and symbols.is_constructor(name):
            found.pop((path, name.rpartition(".")[0]), None)
    return sorted(found.values(), key=lambda item: item[0])


def _calls_inside(index: RepositoryIndex, named: NamedDefinition) -> Iterator[tuple[int, str, NamedDefinition]]:
    """The resolved calls inside of a definition: their lines, how they were resolved, and their targets."""
    path, definition = named
    for line, _, edge in index.graph.calls_inside(path, definition.qualified_name):
        # Of several definitions of a name, such as overloads, this one alone.
        if definition.header_line <= line < definition.end_line and edge.how != SAME_NAME:
            target = index.graph.definition(edge.path, edge.qualified_name)
            if target is not None:
                yield line, edge.how, NamedDefinition(edge.path, target)


def unresolved_calls(index: RepositoryIndex, path: str) -> Iterator[Call]:
    """The calls of a file that no definition is known for, or several by name alone."""
    resolved = {edge.call for edge in index.graph.call_edges(path) if edge.how != SAME_NAME}
    return (call for number, call in enumerate(index.graph.files[path].calls) if number not in resolved)


def scope_name(index: RepositoryIndex, path: str, scope: int) -> str:
    """The qualified name of the definition with an index in a file; "" for the top level."""
    return "" if scope == MODULE_SCOPE else index.graph.files[path].definitions[scope].qualified_name


def _key(named: NamedDefinition) -> tuple[str, str]:
    return named.path, named.definition.qualified_name
