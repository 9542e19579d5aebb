"""Occurrences of a symbol in the sources of a workspace, outside of strings and comments.

The file graph has no facts about names that are not called. The inverted index gives the candidate files, the syntax
tree confirms each occurrence, and name resolution decides whether it is the symbol in question. Knows no question and
no edit. Lines are 0-based.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from ...codegraph.bound_names import word_spans
from ...codegraph.file_graph import MODULE_SCOPE, FileGraph
from ...codegraph.graph import CodeGraph
from ...codegraph.resolve import SAME_NAME
from ...codegraph.resolver import parse_dotted
from ...codegraph.symbol_table import MODULE, STAR_IMPORTS, Entry, ImportedName, SymbolTable, is_class
from ...codegraph.syntax import TOO_SLOW
from ...codegraph.typed_resolver import TypedResolver
from ...codegraph.values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, MODULE_VALUE, SUPER_VALUE, Value
from ...languages import Language, dotted_name, language_named
from ...languages.references import (
    Role,
    has_implicit_receiver,
    is_name,
    literal_type,
    receiver_in_macro,
    receiver_of,
    role_of,
)
from ...retrieval import RepositoryIndex
from .part_trees import Part, parts_at, tree_of
from .symbol import Symbol

MAX_HOPS = 4  # of re-exports of a value
MAX_FILES = 300  # the most files that are read for matches by name


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in a source that is the symbol, or may be it.

    `start` and `end` are offsets in bytes. `is_use` is False for declarations, imports, and the binding of a value:
    these are not resolved.
    """

    path: str
    start: int
    end: int
    line: int
    role: Role
    is_resolved: bool  # False where the name alone matches
    node: Node
    is_use: bool = True


def files_with(index: RepositoryIndex, name: str, n_files: int | None = MAX_FILES) -> Sequence[str]:
    """The first files that contain a name as a word, in order of paths; all of them for None."""
    return sorted(index.files_with(name))[:n_files]


def is_parsed(file: FileGraph) -> bool:
    """Whether a grammar read the file, within the time limit of the index."""
    return language_named(file.language).grammar is not None and TOO_SLOW not in file.problems


def is_name_at(root: Node, start: int, end: int) -> bool:
    """Whether a range in bytes is a name of code, outside of strings and comments."""
    return _name_at(root, start, end) is not None


def is_in_macro(root: Node, start: int, end: int) -> bool:
    """Whether a range in bytes is in the text of a macro of C, which is no tree: `#define TWICE(x) twice(x)`."""
    node = root.descendant_for_byte_range(start, end)
    return node is not None and node.type == "preproc_arg"


def is_prototype(name: Node) -> bool:
    """Whether a name is that of a function that is declared without a body: `int twice(int x);`."""
    around = name.parent
    if around is None or around.type != "function_declarator":
        return False
    while around is not None and around.type.endswith("declarator"):
        around = around.parent
    return around is not None and around.type in ("declaration", "field_declaration")


def _name_at(root: Node, start: int, end: int) -> Node | None:
    node = root.descendant_for_byte_range(start, end)
    # The node of a private name includes its sign: `#pay`.
    is_found = node is not None and node.end_byte == end and start - node.start_byte <= 1 and is_name(node)
    return node if is_found else None


@dataclass(frozen=True, slots=True)
class Places:
    """Where the names of a symbol stand in the source of a file, by their text, and what of it a grammar has to read.

    `spans` are ranges in bytes, in order. `root` is the tree of the whole file, if it is known; else there is a part
    around each span.
    """

    path: str
    language: str
    source: bytes
    spans: list[tuple[int, int]]
    parts: list[Part]
    root: Node | None

    @property
    def n_bytes(self) -> int:
        """How much a grammar has to read."""
        return 0 if self.root is not None else sum(part.n_bytes for part in set(self.parts))

    def roots(self) -> Iterator[tuple[int, int, Node]]:
        """Each span with the root of a tree around it."""
        last, root = None, self.root
        for span, part in zip(self.spans, self.parts, strict=True):
            if root is None or (self.root is None and part is not last):
                last, root = part, tree_of(self.language, self.source, part)
            yield *span, root


@dataclass(slots=True)
class Occurrences:
    """Finds and resolves the occurrences of one symbol. `texts` are the sources of the files of the graph.

    `roots` has the roots of syntax trees that are known.
    """

    graph: CodeGraph
    texts: Mapping[str, bytes]
    symbol: Symbol
    roots: Mapping[str, Node] = field(default_factory=dict)
    resolver: TypedResolver = field(init=False)
    packages: set[str] = field(init=False)
    _called: dict[str, set[int]] = field(init=False, default_factory=dict)  # lines of resolved calls by file
    owners: set[str] = field(init=False)  # the identities of the symbol's owners

    def __post_init__(self) -> None:
        self.resolver = TypedResolver(self.graph)
        self.owners = {self.resolver.identity(*owner) for owner in self.symbol.owners}
        tables = (self.graph.symbols(path) for path in self.symbol.modules)
        self.packages = {table.package_key for table in tables if table is not None and table.package_key}

    def in_file(self, path: str) -> Iterator[Occurrence]:
        """The occurrences in a file, in order, but those of other symbols. Of declarations and imports all."""
        return self.at(self.places(path))

    def places(self, path: str) -> Places:
        """Where the occurrences in a file may be."""
        file, source = self.graph.files[path], self.texts[path]
        source = language_named(file.language).readable(source)
        aliases = {item.local_name for item in file.imports if item.name == self.symbol.name} - {""}
        names = (name.encode("utf-8", "surrogatepass") for name in aliases | {self.symbol.name})
        spans = sorted(span for name in names for span in word_spans(source, name))
        return Places(
            path,
            file.language,
            source,
            spans,
            parts_at(file, source, [start for start, _ in spans]),
            self.roots.get(path),
        )

    def at(self, places: Places) -> Iterator[Occurrence]:
        """As `in_file`, at these places."""
        path = places.path
        for start, end, root in places.roots():
            node = _name_at(root, start, end)
            if node is None:
                continue
            role, line = role_of(node), node.start_point[0]
            if role in ("declaration", "import") or (role == "assignment" and (path, line) in self.symbol.bindings):
                yield Occurrence(path, start, end, line, role, True, node, is_use=False)
                continue
            verdict = self._verdict(path, node, role, line)
            if verdict is False and role == "call" and line in self._called_on(path):
                verdict = True  # as the graph resolves it: an extension of a type from outside, a method of a trait
            if role == "type" and self.symbol.owners and not self.symbol.definitions:
                role = "read"  # the grammar of Go reads `s.items[s.index](x)` as types
            if verdict is not None:
                yield Occurrence(path, start, end, line, role, verdict, node)

    def _called_on(self, path: str) -> set[int]:
        """The lines of a file with calls that the graph resolves to the symbol."""
        if path not in self._called:
            calls = self.graph.files[path].calls
            self._called[path] = {
                calls[edge.call].line
                for edge in self.graph.call_edges(path)
                if edge.how != SAME_NAME and (edge.path, edge.qualified_name) in self.symbol.definitions
            }
        return self._called[path]

    def is_imported(self, occurrence: Occurrence) -> bool:
        """Whether an import, as its name in the module says, brings the symbol."""
        path, line = occurrence.path, occurrence.line
        symbols = self.graph.symbols(path)
        if symbols is None:
            return False
        near = [item for item in self.graph.files[path].imports if item.name == self.symbol.name]
        for item in sorted(near, key=lambda each: abs(each.line - line)):
            local = item.local_name or item.name
            value = self.resolver.name(path, MODULE, local)
            if value is not None and (value.path, value.name) in self.symbol.definitions:
                return True
            if self.symbol.modules and self._origin(path, local):
                return True
        return False

    def is_redefined(self, occurrence: Occurrence) -> bool:
        """Whether a declaration is a member of a class below or above the symbol's, so that it has the same name."""
        definitions = self.graph.files[occurrence.path].definitions
        own = next(
            (
                each
                for each in definitions
                if each.header_line == occurrence.line and each.name == self.symbol.name and each.parent != MODULE_SCOPE
            ),
            None,
        )
        if own is None or not self.symbol.owners:
            return False
        around = definitions[own.parent]
        if not is_class(around):
            return False
        here = self.resolver.identity(occurrence.path, around.qualified_name)
        if here in self.owners:
            return False  # the symbol itself
        above = {
            self.resolver.identity(*each) for each in self.resolver.mro(occurrence.path, around.qualified_name).classes
        }
        if not above.isdisjoint(self.owners):
            return True
        return any(
            here in {self.resolver.identity(*each) for each in self.resolver.mro(*owner).classes}
            for owner in self.symbol.owners
        )

    def _verdict(self, path: str, node: Node, role: Role, line: int) -> bool | None:
        """True for the symbol, False when it may be the symbol, None for another one."""
        symbols = self.graph.symbols(path)
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
        if (role == "key" and not node.type.startswith("shorthand")) or has_implicit_receiver(node):
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
        classes, _, n_parts = self.resolver.mro(value.path, value.name)
        for path, name in classes[n_parts:] if value.kind == SUPER_VALUE else classes:
            table, identity = self.graph.symbols(path), self.resolver.identity(path, name)
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
                definition = self.graph.definition(path, scope)
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
        symbols = self.graph.symbols(path)
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


_OUTSIDE = frozenset({"meta_property"})  # import.meta
_OWN_ATTRIBUTES = frozenset({"class_variable", "instance_variable"})  # of the object around a method
