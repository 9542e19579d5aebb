"""Uses of a name that are no calls: reads of attributes, type annotations, base classes, decorators, values passed on.

The file graph has no facts about them. The inverted index gives the candidate files, the syntax tree confirms each
occurrence outside of strings and comments, and name resolution decides whether it is the definition in question. Knows
no question and no wording. Lines are 0-based.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node, Parser

from ...codegraph.file_graph import MODULE_SCOPE, FileGraph
from ...codegraph.modules import directory_of
from ...codegraph.resolver import parse_dotted
from ...codegraph.symbol_table import STAR_IMPORTS, Entry, ImportedName, SymbolTable, is_class
from ...codegraph.syntax import TOO_SLOW
from ...codegraph.typed_resolver import TypedResolver
from ...codegraph.values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, MODULE_VALUE, SUPER_VALUE, Value
from ...languages import Language, dotted_name, grammar, language_named
from ...languages.references import Role, is_name, literal_type, receiver_in_macro, receiver_of, role_of
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition, ValueBinding
from ...retrieval.questions import is_test
from .symbol_queries import files_with

TIME_LIMIT_S = 0.35
"""Files that are not read within this time are counted as unread."""

MAX_BYTES = 500_000
"""Larger files are counted as unread."""

SLICE_BYTES = 16_384
MAX_HOPS = 4  # of re-exports of a value

Key = tuple[str, str]
"""The path and the qualified name of a definition."""


@dataclass(frozen=True, slots=True)
class Use:
    """A line that uses a name. `is_resolved` is False where the name alone matches."""

    path: str
    line: int
    role: Role
    enclosing: str  # the qualified name of the enclosing definition, "" at the top level
    is_resolved: bool


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of a name, and the number of files that were not read in time."""

    found: tuple[Use, ...]
    n_unread: int = 0

    @property
    def resolved(self) -> list[Use]:
        return [use for use in self.found if use.is_resolved]

    @property
    def by_name(self) -> list[Use]:
        """Those that match by name; names of fields in literals only where there is nothing else."""
        reads = [use for use in self.found if not use.is_resolved and use.role != "key"]
        return reads or ([] if self.resolved else list(self.found))


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
    *outer, last = name.split(".")
    resolver = TypedResolver(index.graph)
    keys, owners, modules = set[Key](), set[Key](), set[str]()
    for path, definition in definitions:
        keys.add((path, definition.qualified_name))
        last = definition.name
    bindings = set[tuple[str, int]]()
    for value in values:
        last = value.name.rpartition(".")[2]
        symbols = index.graph.symbols(value.path)
        scope = MODULE_SCOPE if symbols is None else symbols.scope_at(value.line)
        if symbols is None or scope == MODULE_SCOPE or is_class(symbols.definitions[scope]):
            bindings.add((value.path, value.line))
    for path, qualified in (*keys, *((value.path, value.name) for value in values)):
        owner = qualified.rpartition(".")[0]
        if not owner:
            modules.add(path)
        elif (found := _class_named(index, resolver, path, owner)) is not None:
            owners.add(found)
    if outer and not keys and not values:
        for named in index.names.definitions(".".join(outer)):
            if is_class(named.definition):
                owners.add((named.path, named.definition.qualified_name))
    return Symbol(last, frozenset(keys), frozenset(owners), frozenset(modules), frozenset(bindings))


def _class_named(index: RepositoryIndex, resolver: TypedResolver, path: str, name: str) -> Key | None:
    """The class of a name in a file; in Go, it may be in another file of the package."""
    value = resolver.attribute(path, name)
    if value is not None and value.kind == CLASS_VALUE:
        return value.path, value.name
    definition = index.graph.definition(path, name)
    return (path, name) if is_class(definition) else None  # type: ignore[arg-type]


def uses(
    index: RepositoryIndex, symbol: Symbol, called: Collection[tuple[str, int]] = (), *, with_calls: bool = False
) -> Uses:
    """The uses of a symbol: code before tests, by path and line.

    Elements and decorators on the lines of `called` are calls. Other calls are uses where asked for.
    """
    until_s = time.perf_counter() + TIME_LIMIT_S
    own = symbol.paths
    directories = {directory_of(path) for path in own}
    paths = sorted(
        (path for path in files_with(index, symbol.name, None) if _is_parsed(index.graph.files[path])),
        key=lambda path: (path not in own, directory_of(path) not in directories, is_test(path), path),
    )
    checker = _Checker(index, symbol)
    found: list[Use] = []
    n_unread = 0
    for path in paths:
        if time.perf_counter() > until_s or len(index.texts[path]) > MAX_BYTES:
            n_unread += 1
        else:
            in_file = checker.uses_in(path, with_calls)
            found += (use for use in in_file if use.role not in _CALLING or (path, use.line) not in called)
    return Uses(tuple(sorted(found, key=lambda use: (is_test(use.path), use.path, use.line))), n_unread)


_OUTSIDE = frozenset({"meta_property"})  # import.meta
_OWN_ATTRIBUTES = frozenset({"class_variable", "instance_variable"})  # of the object around a method
_CALLING: frozenset[Role] = frozenset({"element", "decorator"})


def _is_parsed(file: FileGraph) -> bool:
    """Whether a grammar read the file, within the time limit of the index."""
    return language_named(file.language).grammar is not None and TOO_SLOW not in file.problems


@dataclass(slots=True)
class _Checker:
    """Finds and resolves the occurrences of one symbol."""

    index: RepositoryIndex
    symbol: Symbol
    resolver: TypedResolver = field(init=False)
    packages: set[str] = field(init=False)
    owners: set[str] = field(init=False)  # the identities of the symbol's owners

    def __post_init__(self) -> None:
        self.resolver = TypedResolver(self.index.graph)
        self.owners = {self.resolver.identity(*owner) for owner in self.symbol.owners}
        tables = (self.index.graph.symbols(path) for path in self.symbol.modules)
        self.packages = {table.package_key for table in tables if table is not None and table.package_key}

    def uses_in(self, path: str, with_calls: bool) -> Iterator[Use]:
        """The uses in a file, one for each line and role."""
        file, source = self.index.graph.files[path], self.index.texts[path]
        source = language_named(file.language).readable(source)
        aliases = {item.local_name for item in file.imports if item.name == self.symbol.name} - {""}
        words = "|".join(map(re.escape, sorted(aliases | {self.symbol.name}))).encode("utf-8", "surrogatepass")
        places = [found.span() for found in re.finditer(rb"(?<![\w$])(?:%b)(?![\w$])" % words, source)]
        if not places:
            return
        # Reading slices lets other threads run.
        parser = Parser(grammar(file.language))
        root = parser.parse(lambda at, _: source[at : at + SLICE_BYTES]).root_node
        seen = set[tuple[int, Role]]()
        for start, end in places:
            node = root.descendant_for_byte_range(start, end)
            # The node of a private name includes its sign: `#pay`.
            if node is None or node.end_byte != end or start - node.start_byte > 1 or not is_name(node):
                continue
            role, line = role_of(node), node.start_point[0]
            is_binding = role == "assignment" and (path, line) in self.symbol.bindings
            if role in ("declaration", "import") or is_binding or (role == "call" and not with_calls):
                continue
            verdict = self._verdict(path, node, role, line)
            if role == "type" and self.symbol.owners and not self.symbol.definitions:
                role = "read"  # the grammar of Go reads `s.items[s.index](x)` as types
            if verdict is not None and (line, role) not in seen:
                seen.add((line, role))
                symbols = self.index.graph.symbols(path)
                scope = MODULE_SCOPE if symbols is None else symbols.scope_at(line)
                enclosing = "" if symbols is None or scope == MODULE_SCOPE else symbols.scopes[scope]
                yield Use(path, line, role, enclosing, verdict)

    def _verdict(self, path: str, node: Node, role: Role, line: int) -> bool | None:
        """True for the symbol, False when it may be the symbol, None for another one."""
        symbols = self.index.graph.symbols(path)
        if symbols is None or not self.symbol.paths:
            return False
        scope = symbols.scope_at(line)
        within = "" if scope == MODULE_SCOPE else symbols.scopes[scope]
        if node.type in _OWN_ATTRIBUTES:
            return self._is_member(self.resolver.object_around(path, within))
        if role == "key" and (named := literal_type(node)) is not None:
            return self._is_member(self._value(path, within, named.text or b"", line))
        in_macro = receiver_in_macro(node)
        if in_macro is not None:
            return self._is_member(self._value(path, within, in_macro, line))
        receiver = receiver_of(node)
        if receiver is not None and receiver.type in _OUTSIDE:
            return None
        if receiver is not None:
            return self._is_member(self._value(path, within, receiver.text or b"", line))
        if role == "key" and not node.type.startswith("shorthand"):
            return False if self.symbol.owners else None
        return self._is_name(path, within, symbols, node, role, line)

    def _value(self, path: str, within: str, text: bytes, line: int) -> Value | None:
        dotted = dotted_name(text.decode("utf-8", "replace"))
        value = self.resolver.read(path, within, parse_dotted(dotted), line) if dotted else None
        return self.resolver.result(value) if value is not None and value.kind == FUNCTION_VALUE else value

    def _is_member(self, value: Value | None) -> bool | None:
        """Whether the member of a value is the symbol."""
        name = self.symbol.name
        if value is None:
            return False
        if value.kind == MODULE_VALUE:
            member = self.resolver.member(value, name)
            if member is not None and (member.path, member.name) in self.symbol.definitions:
                return True
            is_own = value.name in self.packages if value.name else self._origin(value.path, name)
            return True if is_own else None
        if value.kind not in (CLASS_VALUE, INSTANCE_VALUE, SUPER_VALUE):
            return None
        owner = self._owner_of(value)
        if owner is not None:
            return True if owner in self.owners else None
        complete = self.resolver.mro(value.path, value.name).complete
        below = any((value.path, value.name) in self.resolver.mro(*owner).classes for owner in self.symbol.owners)
        return False if below or not complete else None

    def _owner_of(self, value: Value) -> str | None:
        """The first class of a value that has the symbol or another member of its name; None without any."""
        for path, name in self.resolver.mro(value.path, value.name).classes:
            table, identity = self.index.graph.symbols(path), self.resolver.identity(path, name)
            has_member = table is not None and f"{name}.{self.symbol.name}" in table.entries
            is_constructor = name.rpartition(".")[2] == self.symbol.name  # plain names do not mean it
            if identity in self.owners or (has_member and not is_constructor):
                return identity
        return None

    def _is_name(self, path: str, within: str, symbols: SymbolTable, node: Node, role: Role, line: int) -> bool | None:
        """Whether a name without a receiver is the symbol."""
        name, scope = (node.text or b"").decode("utf-8", "replace").lstrip("#"), within
        rules = language_named(symbols.language)
        while scope:
            around = self.resolver.object_around(path, scope) if self._has_object(symbols, scope, rules) else None
            if around is not None:  # its members need no receiver
                owner = self._owner_of(around)
                if owner is not None:
                    return True if owner in self.owners else None
            elif symbols.is_class(scope):  # its names need a receiver, but in an assignment of its own body
                if role == "assignment" and scope == within:
                    return True if (path, scope) in self.symbol.owners else None
                definition = self.index.graph.definition(path, scope)
                is_namespace = definition is not None and definition.kind == "namespace"
                if is_namespace and self.resolver.identity(path, scope) in self.owners:
                    return True
            elif f"{scope}.{name}" in symbols.entries and symbols.encloses_functions(scope):
                return True if (path, f"{scope}.{name}") in self.symbol.definitions else None
            scope = scope.rpartition(".")[0]
        is_other = name in symbols.entries and path not in self.symbol.modules
        if symbols.package_key in self.packages and rules.is_shared(name) and not is_other:
            return True
        if self.symbol.modules and self._origin(path, name):
            return True
        value = self.resolver.name(path, within, name, line)
        is_own = value is not None and (value.path, value.name) in self.symbol.definitions
        return True if is_own else None

    def _has_object(self, symbols: SymbolTable, scope: str, rules: Language) -> bool:
        """Whether a scope has the members of a class among its names."""
        return rules.has_implicit_object and (symbols.is_class(scope) or scope in symbols.extensions)

    def _origin(self, path: str, name: str, hops: int = 0) -> bool:
        """Whether a name of a module is the symbol's value, bound there or imported."""
        symbols = self.index.graph.symbols(path)
        if symbols is None or hops > MAX_HOPS:
            return False
        entries: tuple[Entry, ...] = symbols.entries.get(name, ())
        if path in self.symbol.modules and name == self.symbol.name:
            return True
        for entry in (*entries, *symbols.entries.get(STAR_IMPORTS, ())):
            if isinstance(entry, ImportedName):
                wanted = name if entry.name == STAR_IMPORTS else entry.name
                files = self.resolver.import_files(path, entry, wanted)
                if any(self._origin(file, wanted, hops + 1) for file in files if not file.endswith("/")):
                    return True
        return False
