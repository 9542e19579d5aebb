"""Reachable symbols: the definitions that code at a line can refer to, with the expression that refers to each.

Owns the enumeration of imported names and modules, `self`, variables and attributes of a known type, and results of
calls. Reports the distance to the last mention of the receiver above the line; the ranking weights it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from .file_graph import MODULE_SCOPE, Definition
from .modules import directory_of
from .resolver import parse_dotted
from .symbol_table import MODULE, STAR_IMPORTS, ImportedName, SymbolTable
from .typed_resolver import TypedResolver
from .values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, MODULE_VALUE, SUPER_VALUE, Value

if TYPE_CHECKING:
    from .graph import CodeGraph

MENTION_LINES = 1000
"""Mentions further above the line do not count."""

UNMENTIONED = 1 << 20
"""The distance of a receiver that the file does not mention."""

_OBJECTS = frozenset({INSTANCE_VALUE, SUPER_VALUE})

NEAR_LINES = 3
"""A mention is near on the line itself and on this many lines above it."""


class ReachableSymbol(NamedTuple):
    """A reachable definition under one expression; another expression for the same definition is another value."""

    path: str
    definition: Definition
    how: str  # one of resolve.HOW
    name: str  # the expression that refers to it: "total", "Shop.pay", "self.store.load", "open_store().load"
    receiver: str  # the part of `name` that the code must mention: "total", "Shop", "self.store", "open_store"
    distance: int  # lines from the last mention of the receiver, at or above the line, to the line
    near: bool  # distance <= NEAR_LINES


class ReachableMembers(NamedTuple):
    """Members of one class under one expression, which a query often reaches by the hundred."""

    path: str
    owner: str  # the qualified name of the class
    members: Sequence[tuple[str, Definition]]  # with their names
    is_whole: bool  # whether no member is missing, because a class below has another one of its name
    how: str
    expression: str
    receiver: str
    distance: int
    near: bool

    def symbol(self, name: str, definition: Definition) -> ReachableSymbol:
        """One of the members."""
        expression = f"{self.expression}.{name}"
        return ReachableSymbol(self.path, definition, self.how, expression, self.receiver, self.distance, self.near)

    def symbols(self) -> Iterator[ReachableSymbol]:
        return (self.symbol(*member) for member in self.members)


def reachable_symbols(
    graph: CodeGraph,
    path: str,
    line: int,
    *,
    wanted: Collection[str] | None = None,
    owners: Collection[str] = (),
    typed: str = "",
) -> tuple[ReachableSymbol, ...]:
    """The definitions that code at `line` of a file can refer to; nearest mention first, then in order of receivers.

    A package can export a thousand names. With `wanted`, only these names of a module are returned, and all names of
    the module that `typed`, the expression before the cursor, refers to; the members of objects of one class have one
    receiver, the one that was mentioned last. The file is usually an overlay that ends at the cursor. A line after its
    last one belongs to the definition at the end of the file. () for a file without a grammar or outside the graph.
    """
    found = reachable(graph, path, line, wanted=wanted, owners=owners, typed=typed)
    each = ((one,) if isinstance(one, ReachableSymbol) else one.symbols() for one in found)
    return tuple(chain.from_iterable(each))


def reachable(
    graph: CodeGraph,
    path: str,
    line: int,
    *,
    wanted: Collection[str] | None = None,
    owners: Collection[str] = (),
    typed: str = "",
) -> tuple[ReachableSymbol | ReachableMembers, ...]:
    """As `reachable_symbols`, in the same order, with the members of a class of one file as one value."""
    symbols = graph.symbols(path)
    if symbols is None:
        return ()
    return _Reachability(graph, path, symbols, line, wanted, owners, typed).all()


class _Reachability:
    def __init__(
        self,
        graph: CodeGraph,
        path: str,
        symbols: SymbolTable,
        line: int,
        wanted: Collection[str] | None,
        owners: Collection[str],
        typed: str,
    ) -> None:
        self._owners = owners
        self._wanted = wanted
        self._typed = typed
        self._typed_receiver = typed.rpartition(".")[0]
        self._graph = graph
        self._path = path
        self._symbols = symbols
        self._line = line
        self._resolver = TypedResolver(graph)
        self._rules = symbols.rules
        self._own = self._rules.own_object.partition(" ")[0]  # "self", "this", or "" where the code names it itself
        self._chain = scopes_around(graph, path, symbols, line)
        self._within = MODULE if self._chain[0] == MODULE_SCOPE else symbols.scopes[self._chain[0]]
        self._mentions: dict[str, int] = {}  # dotted text -> the last line that mentions it
        self._local: list[str] = []  # receivers of the scopes around the line, latest mention last
        self._read_mentions()

    def all(self) -> tuple[ReachableSymbol | ReachableMembers, ...]:
        found: dict[tuple[str, int, str], ReachableSymbol | ReachableMembers] = {}
        seen: set[Value] = set()
        receivers = list(self._receivers())
        if self._wanted is not None:  # the nearest receiver of each class comes first, and suffices
            receivers.sort(key=self._distance)
        for receiver in receivers:
            value = self._value(receiver)
            if value is None:
                continue
            if self._wanted is not None and receiver not in (self._typed_receiver, self._own):
                if value.kind in _OBJECTS and value._replace(how="") in seen:
                    continue
                seen.add(value._replace(how=""))
            for reached in self._via(receiver, value):
                found.setdefault(_identity(reached), reached)
        for reached in (*self._package(), *self._types()):
            found.setdefault(_identity(reached), reached)
        return tuple(sorted(found.values(), key=lambda reached: reached.distance))

    def _distance(self, receiver: str) -> int:
        """Lines from the last mention of a receiver to the line."""
        return self._line - self._mentions.get(receiver, 0)

    def _read_mentions(self) -> None:
        file = self._graph.files[self._path]
        around = set(self._chain)
        owners = {
            scope
            for scope in self._chain
            if scope != MODULE_SCOPE and self._symbols.is_class(self._symbols.scopes[scope])
        }
        definitions = self._symbols.definitions
        local: dict[str, None] = {}
        own = f"{self._own}." if self._own else ""
        first_line = self._line - MENTION_LINES

        def mention(dotted: str, line: int, scope: int) -> None:
            if dotted.startswith("?"):
                return
            if dotted.startswith("self."):
                dotted = f"{own}{dotted[5:]}" if own else ""
            # `self` in sibling methods is the same object.
            sibling = scope != MODULE_SCOPE and definitions[scope].parent in owners and own and dotted.startswith(own)
            while dotted:
                if self._mentions.get(dotted, -1) < line:
                    self._mentions[dotted] = line
                if scope in around or sibling:
                    local.pop(dotted, None)
                    local[dotted] = None
                dotted = dotted.rpartition(".")[0]

        for item in file.imports:
            if first_line <= item.line <= self._line:
                mention(item.local_name, item.line, item.scope)
        for binding in file.bindings:
            if first_line <= binding.line <= self._line:
                mention(binding.name, binding.line, binding.scope)
                mention(binding.value, binding.line, binding.scope)
        for call in file.calls:
            if first_line <= call.line <= self._line:
                mention(call.callee, call.line, call.scope)
        self._local = list(local)

    def _receivers(self) -> Iterator[str]:
        """The names that the code around the line can use, and the chains that it mentions."""
        seen: dict[str, None] = dict.fromkeys(self._local)
        if self._resolver.object_around(self._path, self._within) is not None:
            own = f"{self._rules.own_object} {self._rules.own_class}"
            super_word = self._rules.super_word + ("()" if self._rules.super_is_called else "")
            seen.update(dict.fromkeys(filter(None, (*own.split(), super_word))))
        names = self._symbols.entries
        seen.update(dict.fromkeys(name for name in names if "." not in name and name != STAR_IMPORTS))
        # A chain from a module, as in `shop.Store`, has the same meaning everywhere in the file.
        imported = {name for name in seen if name in names and isinstance(names[name][0], ImportedName)}
        seen.update(dict.fromkeys(m for m in self._mentions if "." in m and m.partition(".")[0] in imported))
        yield from reversed(seen)

    def _value(self, receiver: str) -> Value | None:
        return self._resolver.read(self._path, self._within, parse_dotted(receiver), self._line)

    def _via(self, receiver: str, value: Value) -> Iterator[ReachableSymbol | ReachableMembers]:
        """The definition of a receiver, and its members."""
        if value.kind in (CLASS_VALUE, FUNCTION_VALUE):
            yield from self._one(receiver, receiver, value)
        if value.kind == MODULE_VALUE:
            for name, exported in self._exports(receiver, value):
                yield from self._one(receiver, f"{receiver}.{name}", exported._replace(how="module attribute"))
        elif value.kind == FUNCTION_VALUE:
            if receiver in self._mentions:
                result = self._resolver.result(value)
                if result is not None and result.kind == INSTANCE_VALUE:
                    yield from self._one(receiver, f"{receiver}()", result)
                    yield from self._members(receiver, f"{receiver}()", result)
        elif value.kind in (CLASS_VALUE, INSTANCE_VALUE, SUPER_VALUE):
            yield from self._members(receiver, receiver, value)

    def _exports(self, receiver: str, module: Value) -> Iterable[tuple[str, Value]]:
        """The wanted definitions under the public names of a module."""
        if self._wanted is None or receiver == self._typed_receiver:
            yield from self._resolver.exports(module).items()
            return
        symbols = self._graph.symbols(module.path)
        if symbols is None and not module.name:
            return
        for name in self._wanted:
            if symbols is None or name in symbols.entries or STAR_IMPORTS in symbols.entries:
                value = None if name.startswith("_") else self._resolver.member(module, name)
                if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    yield name, value

    def _package(self) -> Iterator[ReachableSymbol]:
        """The wanted names of the other files of the package, and all of them for a name that is being typed."""
        key = self._symbols.package_key
        if not key:
            return
        names: Iterable[tuple[str, Value | None]]
        if self._wanted is None or (self._typed and not self._typed_receiver):
            folder = f"{directory_of(self._path)}/" if self._rules.package_style == "directory" else ""
            package = Value(MODULE_VALUE, folder, key, "")
            names = self._resolver.exports(package).items()
        else:
            names = [(name, self._resolver.attribute(self._path, name)) for name in self._wanted]
        for name, value in names:
            if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE) and name not in self._symbols.entries:
                yield from self._one(name, name, value._replace(how="same package"))

    def _types(self) -> Iterator[ReachableSymbol]:
        """The wanted members of types of other files that the code can name without an import of their own."""
        if self._wanted is None or self._rules.package_style != "declared":
            return
        for owner in self._owners:
            value = self._resolver.attribute(self._path, owner)
            if value is not None and value.kind == CLASS_VALUE:
                is_mentioned = owner in self._mentions
                for reached in self._each_member(owner, owner, value):
                    if reached.definition.name in self._wanted:
                        yield reached if is_mentioned else reached._replace(distance=UNMENTIONED, near=False)

    def _members(self, receiver: str, expression: str, value: Value) -> Sequence[ReachableSymbol | ReachableMembers]:
        """The members of a class or of its object: together where all are in the file of the class."""
        if receiver == self._own and self._rules.has_implicit_object:
            return self._each_member(receiver, expression, value)
        seen: set[str] = set()
        found: list[ReachableMembers] = []
        distance = self._distance(receiver)
        for path, name, how in self._classes(value):
            symbols = self._graph.symbols(path)
            if symbols is None:
                continue
            rules = symbols.rules
            if rules.has_extensions or rules.package_style == "directory":
                return self._each_member(receiver, expression, value)
            known = symbols.first_members(name)
            members = [member for member in known.items() if member[0] not in seen]
            seen.update(known)
            is_whole = len(members) == len(known)
            near = distance <= NEAR_LINES
            found.append(ReachableMembers(path, name, members, is_whole, how, expression, receiver, distance, near))
        return found

    def _each_member(self, receiver: str, expression: str, value: Value) -> list[ReachableSymbol]:
        # A file can reach thousands of members, so what they share is computed once.
        seen: set[str] = set()
        found: list[ReachableSymbol] = []
        distance = self._distance(receiver)
        near = distance <= NEAR_LINES
        is_implicit = receiver == self._own and self._rules.has_implicit_object
        for path, name, how in self._classes(value):
            for file, member in self._resolver.members(path, name):
                own = member.name
                if own in seen:
                    continue
                seen.add(own)
                found.append(ReachableSymbol(file, member, how, f"{expression}.{own}", receiver, distance, near))
                if is_implicit:
                    found.append(ReachableSymbol(file, member, how, own, receiver, distance, near))
        return found

    def _classes(self, value: Value) -> Iterator[tuple[str, str, str]]:
        """The classes that have the members of a value, and how the members are found."""
        classes, _, n_parts = self._resolver.mro(value.path, value.name)
        for depth, (path, name) in enumerate(classes):
            if depth < n_parts and value.kind == SUPER_VALUE:
                continue
            how = "super" if value.kind == SUPER_VALUE else "inherited" if depth >= n_parts else value.how
            if value.kind == CLASS_VALUE and depth < n_parts and value.how != "self":
                how = "class attribute"
            yield path, name, how

    def _one(self, receiver: str, expression: str, value: Value) -> Iterator[ReachableSymbol]:
        definition = self._graph.definition(value.path, value.name)
        if definition is not None:
            yield self._reached(value.path, definition, value.how, expression, receiver)

    def _reached(self, path: str, definition: Definition, how: str, name: str, receiver: str) -> ReachableSymbol:
        distance = self._distance(receiver)
        return ReachableSymbol(path, definition, how, name, receiver, distance, distance <= NEAR_LINES)


def _identity(reached: ReachableSymbol | ReachableMembers) -> tuple[str, int, str]:
    """What is equal for two values of which the first counts."""
    if isinstance(reached, ReachableSymbol):
        return reached.path, reached.definition.start_line, reached.name
    return reached.path, -1, f"{reached.owner} {reached.expression}"


def scopes_around(graph: CodeGraph, path: str, symbols: SymbolTable, line: int) -> list[int]:
    """The scopes around a line, innermost first, MODULE_SCOPE last."""
    file = graph.files[path]
    scope = symbols.scope_at(line)
    if scope == MODULE_SCOPE and symbols.definitions:
        # Blank lines at the end of a file belong to the definition above them.
        last = max(range(len(symbols.definitions)), key=lambda i: (symbols.definitions[i].end_line, i))
        end = symbols.definitions[last].end_line
        top_starts = file.nodes[1, file.nodes[0] == 0]
        if end <= line and not (top_starts >= end).any():
            scope = last
    chain = [scope]
    while chain[-1] != MODULE_SCOPE:
        chain.append(symbols.definitions[chain[-1]].parent)
    return chain
