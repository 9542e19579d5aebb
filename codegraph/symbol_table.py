"""Symbol table of one file: definitions, imports, variables and attributes by qualified name.

The key of a member is "Shop.pay", that of an attribute "self.x" of Shop is "Shop.x", that of a local "pay.x". Knows one
file; `resolve` follows names across files.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from ..languages import Language, language_named
from .file_graph import LAMBDA_OBJECT, MODULE_SCOPE, OF_ONE_FILE, Binding, Definition, FileGraph
from .modules import CSHARP_MANIFESTS, manifest_style

MODULE = ""
"""The qualified name of the scope at the top level of a file."""

STAR_IMPORTS = "*"
"""The key of a file's star imports."""

GLOBAL_IMPORT = "global"
"""The local name of a star import that holds in all files of a project."""

NAME_LIST = "."
"""The key that changes when a file's module gains or loses a name."""

DECLARATION = "declaration"
"""The kind of a function without a body, which a member of the same name outside of the type may have."""

FUNCTION_KINDS = frozenset({"function", "method", "constructor", "macro", DECLARATION})
NAMESPACE_KINDS = frozenset({"namespace", "module"})
PART_KINDS = frozenset({"impl", "extension"})
"""Kinds of definitions that add members to a type, which is usually defined elsewhere."""

_IMPLEMENTING_KINDS = frozenset({"class", "enum", "module", "object", "record", "struct"}) | PART_KINDS
_ENCLOSING_KINDS = FUNCTION_KINDS | NAMESPACE_KINDS


class ImportedName(NamedTuple):
    """A name imported from another module; see `file_graph.Import`."""

    local_name: str
    module: str
    level: int
    name: str


class Extension(NamedTuple):
    """A member of a type that is defined outside of it: in a block for the type, or by a dotted name."""

    name: str
    owner: str  # the type as written, dotted
    scope: str  # where `owner` must be read, a qualified name
    key: str  # the qualified name of the member in its file


class BoundName(NamedTuple):
    """A name that holds a value; see `file_graph.Binding`. `scope` is where `value` must be read."""

    how: str
    value: str
    scope: str


class Lambda(NamedTuple):
    """A lambda with an object of its own: its value, and the lines of the lambda."""

    value: BoundName
    first_line: int
    last_line: int
    around: int  # index of the innermost lambda around it among those of the scope, -1 for none


_NO_LINE = 1 << 30
"""The last line of a lambda that is not closed."""

Entry: TypeAlias = Definition | ImportedName | BoundName


class SymbolTable:
    """The names of one file. `entries` lists the meanings of each qualified name, in source order."""

    __slots__ = (
        *("_extensions", "_first_members", "_has_parts", "_lambdas", "_members", "_several", "definitions", "entries"),
        *("global_imports", "has_lambdas", "is_source", "language", "lines", "package_key", "rules", "scopes"),
    )

    def __init__(self, file: FileGraph) -> None:
        self._members: dict[str, tuple[Definition, ...]] | None = None
        self._first_members: dict[str, Mapping[str, Definition]] = {}
        self._extensions: dict[str, Extension] | None = None
        self.language = file.language
        self.rules = language = language_named(file.language)
        self.package_key = package_key(language, file.path, file.package)
        self.definitions = file.definitions
        endings = tuple(f".{suffix}" for suffix in language.import_suffixes.split())
        self.is_source = language.module_style == "include" and file.path.endswith(endings)
        self.scopes = tuple(definition.qualified_name for definition in self.definitions)
        self._has_parts = any(definition.kind in PART_KINDS for definition in self.definitions)
        entries: dict[str, list[Entry]] = {}
        lines: dict[str, list[int]] = {}

        def add(key: str, entry: Entry, line: int) -> None:
            if key in entries:
                entries[key].append(entry)
                lines[key].append(line)
            else:
                entries[key] = [entry]
                lines[key] = [line]

        for definition in self.definitions:
            add(definition.qualified_name, definition, definition.start_line)
        for item in file.imports:
            key = STAR_IMPORTS if item.name == STAR_IMPORTS else self.key(item.scope, item.local_name)
            add(key, ImportedName(item.local_name, item.module, item.level, item.name), item.line)
        starts = [definition.start_line for definition in self.definitions]
        for binding in file.bindings:
            self._bind(add, binding, starts)
        self.global_imports = _global_imports(file)
        if not has_definitions_in_order(language):
            _put_parts_last(entries, lines)
        self.entries: Mapping[str, tuple[Entry, ...]] = {key: tuple(found) for key, found in entries.items()}
        if language.has_extensions:
            self._extensions = {each.key: each for each in self._find_extensions(file.bindings)}
        self.has_lambdas = any(binding.name == LAMBDA_OBJECT for binding in file.bindings)
        # Only names with several meanings need lines, and those that may belong to the object around a lambda.
        self.lines = {key: tuple(found) for key, found in lines.items() if len(found) > 1 or self.has_lambdas}
        self._lambdas: dict[str, tuple[Lambda, ...]] = {}
        self._several = frozenset(key.rpartition(".")[2] for key in self.lines)

    def key(self, scope: int, name: str) -> str:
        """The qualified name of `name` in the scope with this definition index."""
        return name if scope == MODULE_SCOPE else f"{self.scopes[scope]}.{name}"

    def is_class(self, qualified_name: str) -> bool:
        found = self.entries.get(qualified_name)
        return found is not None and is_class(found[0])

    def is_function(self, qualified_name: str) -> bool:
        found = self.entries.get(qualified_name)
        return found is not None and isinstance(found[0], Definition) and found[0].kind in FUNCTION_KINDS

    def encloses_functions(self, qualified_name: str) -> bool:
        """Whether the names of a scope are known in the functions inside of it."""
        found = self.entries.get(qualified_name)
        return found is not None and isinstance(found[0], Definition) and found[0].kind in _ENCLOSING_KINDS

    def definition(self, qualified_name: str) -> Definition | None:
        """The first definition of this name."""
        for entry in self.entries.get(qualified_name, ()):
            if isinstance(entry, Definition):
                return entry
        return None

    def is_constructor(self, qualified_name: str) -> bool:
        """Whether a name is that of a constructor, by the word of the language or by the name of its class."""
        definition = self.definition(qualified_name)
        return definition is not None and is_constructor(definition, self.rules)

    def constructor_of(self, owner: str) -> Definition | None:
        """The first constructor in the body of a class."""
        return next((each for each in self.members(owner) if self.is_constructor(each.qualified_name)), None)

    def members(self, qualified_name: str) -> tuple[Definition, ...]:
        """The definitions directly in a class or function, in source order."""
        if self._members is None:
            found: dict[str, list[Definition]] = {}
            for definition in self.definitions:
                # Some languages define a method outside of its class: `func (s *Shop) Pay()`.
                owner = definition.qualified_name.rpartition(".")[0]
                if owner:
                    found.setdefault(owner, []).append(definition)
            self._members = {name: tuple(inner) for name, inner in found.items()}
        return self._members.get(qualified_name, ())

    def first_members(self, qualified_name: str) -> Mapping[str, Definition]:
        """The first of the `members` with each name, in source order."""
        found = self._first_members.get(qualified_name)
        if found is None:
            found = {member.name: member for member in reversed(self.members(qualified_name))}
            found = self._first_members[qualified_name] = {name: found[name] for name in reversed(found)}
        return found

    def lambdas_at(self, scope: str, line: float) -> Iterator[Lambda]:
        """The lambdas with an object of their own around a line of a scope, innermost first."""
        key = f"{scope}.{LAMBDA_OBJECT}" if scope else LAMBDA_OBJECT
        if key not in self.entries:
            return
        if key not in self._lambdas:
            self._lambdas[key] = self._find_lambdas(key)
        lambdas = self._lambdas[key]
        at = bisect_right(lambdas, line, key=lambda found: found.first_line) - 1
        while at != -1:
            if line <= lambdas[at].last_line:
                yield lambdas[at]
            at = lambdas[at].around

    def is_bound_below(self, scope: str, key: str, line: float) -> bool:
        """Whether a local name of a function is bound below a line only, so that it has another meaning there."""
        if not self.has_lambdas or line < 0:
            return False
        around = self.definition(scope)
        if around is None or around.kind not in FUNCTION_KINDS or isinstance(self.entries[key][0], Definition):
            return False
        return all(at > line for at in self.lines[key])

    def depends_on_line(self, name: str) -> bool:
        """Whether a plain name of this file may mean different things in one scope."""
        return name in self._several or (self.has_lambdas and bool(self._several))

    def _find_lambdas(self, key: str) -> tuple[Lambda, ...]:
        entries = self.entries[key]
        lines = self.lines[key]
        ranges: list[tuple[int, int, int]] = []
        for at, entry in enumerate(entries):
            if isinstance(entry, BoundName) and entry.value:
                is_closed = at + 1 < len(entries) and not entries[at + 1][1]
                ranges.append((lines[at], -lines[at + 1] if is_closed else -_NO_LINE, at))
        found: list[Lambda] = []
        for first_line, last_line, at in sorted(ranges):
            around = len(found) - 1
            while around != -1 and found[around].last_line < first_line:
                around = found[around].around
            found.append(Lambda(entries[at], first_line, -last_line, around))  # type: ignore[arg-type]
        return tuple(found)

    @property
    def extensions(self) -> Mapping[str, Extension]:
        """The members of types that this file defines outside of them, by their qualified names."""
        return self._extensions or {}

    def _find_extensions(self, bindings: Iterable[Binding]) -> Iterator[Extension]:
        for definition in self.definitions:
            around = self.definitions[definition.parent] if definition.parent != MODULE_SCOPE else None
            scope = around.qualified_name if around is not None else MODULE
            written = definition.qualified_name.removeprefix(f"{scope}.") if scope else definition.qualified_name
            owner = written.rpartition(".")[0]
            if owner and definition.kind in FUNCTION_KINDS:
                yield Extension(definition.name, owner, scope, definition.qualified_name)
            elif around is not None and self.is_foreign_part(scope):
                outer = self.definitions[around.parent].qualified_name if around.parent != MODULE_SCOPE else MODULE
                yield Extension(definition.name, scope.removeprefix(f"{outer}."), outer, definition.qualified_name)
        for binding in bindings:
            owner, _, name = binding.name.rpartition(".")
            if owner and owner != "self":
                scope = MODULE if binding.scope == MODULE_SCOPE else self.scopes[binding.scope]
                yield Extension(name, owner, scope, self.key(binding.scope, binding.name))

    def is_foreign_part(self, qualified_name: str) -> bool:
        """Whether this file defines members of a type without the type itself."""
        if not self._has_parts:
            return False
        kinds = {entry.kind for entry in self.entries.get(qualified_name, ()) if isinstance(entry, Definition)}
        return bool(kinds) and kinds <= PART_KINDS

    def extension_keys(self) -> Iterator[tuple[str, str]]:
        """Keys and qualified names by which members outside of their types are found.

        By the name of the member, by the last name of the type, and by both; blocks for a type are found by the second.
        """
        family = language_family(self.language)
        for extension in self.extensions.values():
            last = extension.owner.rpartition(".")[2]
            yield f"{family}\0+{extension.name}", extension.key
            yield f"{family}\0+{last}.{extension.name}", extension.key
            yield f"{family}\0&{last}", extension.key
        if self._extensions is not None:
            for definition in self.definitions:
                if definition.kind in PART_KINDS and self.is_foreign_part(definition.qualified_name):
                    yield f"{family}\0&{definition.name}", definition.qualified_name

    def attributes(self) -> Iterator[tuple[str, str]]:
        """Names and qualified names of the attributes of classes, which no definition states.

        Where classes change at run time, they count when a member is looked up by its name alone.
        """
        if self.rules.has_mixins:
            for key, entries in self.entries.items():
                owner, _, name = key.rpartition(".")
                if isinstance(entries[0], BoundName) and name.isidentifier() and self.is_class(owner):
                    yield name, key

    def implementation_keys(self) -> Iterator[tuple[str, str]]:
        """Keys and qualified names by which the implementations of an interface are found.

        The key of a class is the name of each base; where interfaces are implicit, that of a method is its name.
        """
        language = self.rules
        for definition in self.definitions:
            if language.has_method_sets:
                if "." in definition.qualified_name and definition.kind in FUNCTION_KINDS:
                    yield f"{language_family(self.language)}\0.{definition.name}", definition.qualified_name
            elif language.has_interfaces and definition.kind in _IMPLEMENTING_KINDS:
                for base in definition.bases:
                    key = f"{language_family(self.language)}\0:{base.rpartition('.')[2]}"
                    yield key, definition.qualified_name

    def package_names(self) -> set[str]:
        """The keys of the qualified names that other files of the package can refer to, without the package's."""
        if self.rules.package_style == "declared":
            return self._declared_names()
        names = {key for key in self.entries if "." not in key and not isinstance(self.entries[key][0], ImportedName)}
        for definition in self.definitions:
            if definition.parent == MODULE_SCOPE and "." in definition.qualified_name:
                # "Shop." says that the file defines methods of Shop outside of it.
                names |= {definition.qualified_name, definition.qualified_name.rpartition(".")[0] + "."}
        return names - {STAR_IMPORTS}

    def _declared_names(self) -> set[str]:
        """The names in no type and no function, and the types in open types."""
        are_open = self.rules.has_open_types
        namespaces, types = {MODULE_SCOPE}, {MODULE_SCOPE}
        names: set[str] = set()
        for index, definition in enumerate(self.definitions):
            is_type = definition.kind not in FUNCTION_KINDS
            if not are_open and self.is_foreign_part(definition.qualified_name):
                continue  # found by `extension_keys`
            is_global = definition.parent in namespaces or (are_open and is_type and definition.parent in types)
            if is_global and not self.is_hidden(definition):
                names.add(definition.qualified_name)
            if definition.kind in NAMESPACE_KINDS and definition.parent in namespaces:
                namespaces.add(index)
            if is_type and definition.parent in types:
                types.add(index)
        owners = {self.scopes[index] for index in namespaces if index != MODULE_SCOPE} | {MODULE}
        for key, entries in self.entries.items():
            owner, _, name = key.rpartition(".")
            if isinstance(entries[0], BoundName) and owner in owners and name.isidentifier():
                names.add(key)
        language = self.rules
        return (
            {name for name in names if language.is_shared(name.rpartition(".")[2])} if language.shared_names else names
        )

    def namespaces(self) -> set[str]:
        """The declared package of the file, the namespaces that it defines, and those around them."""
        declared = self.package_key.partition("\0")[2]
        found = {declared[:-1]} if declared else set()
        are_open = self.rules.has_open_types
        for definition in self.definitions:
            if definition.kind in NAMESPACE_KINDS:
                found.add(declared + definition.qualified_name)
            elif are_open and "." in definition.qualified_name and definition.kind not in FUNCTION_KINDS:
                found.add(declared + definition.qualified_name.rpartition(".")[0])  # `class A::Shop` without `module A`
        return {
            ".".join(parts[:end]) for name in found for parts in [name.split(".")] for end in range(1, len(parts) + 1)
        }

    def is_hidden(self, definition: Definition) -> bool:
        """Whether other files cannot mean a definition: private functions, and what a source file of C has."""
        if self.rules.module_style != "include":
            return definition.kind in FUNCTION_KINDS and definition.bases == OF_ONE_FILE
        if not self.is_source or definition.kind in NAMESPACE_KINDS:
            return False
        if definition.kind in FUNCTION_KINDS:
            return definition.kind == "macro" or definition.bases == OF_ONE_FILE
        around = self.scopes[definition.parent] if definition.parent != MODULE_SCOPE else MODULE
        return definition.qualified_name.rpartition(".")[0] == around  # else `struct Shop::Till {…}`

    def scope_at(self, line: int) -> int:
        """Index of the innermost definition that contains `line`, MODULE_SCOPE outside of all."""
        return _innermost(self.definitions, [d.start_line for d in self.definitions], line)

    def _bind(self, add: object, binding: Binding, starts: list[int]) -> None:
        scope, how, value = binding.scope, binding.how, binding.value
        name = binding.name
        if name.startswith("self."):
            # The value of `self.x = x` is evaluated in the method that assigns it.
            name = name[5:]
            within = _innermost(self.definitions, starts, binding.line)
        else:
            within = scope
        read_in = MODULE if within == MODULE_SCOPE else self.scopes[within]
        add(self.key(scope, name), BoundName(how, value, read_in), binding.line)  # type: ignore[operator]


def _global_imports(file: FileGraph) -> tuple[tuple[str, str], ...]:
    """The packages that the file imports for all files of its project, with the families of languages."""
    if file.manifest and manifest_style(file.path) == CSHARP_MANIFESTS:
        return tuple((CSHARP_MANIFESTS, name) for name in json.loads(file.manifest).get("usings", ()))
    if not language_named(file.language).project_ending:
        return ()
    family = language_family(file.language)
    stars = (item for item in file.imports if item.name == STAR_IMPORTS)
    return tuple((family, item.module) for item in stars if item.local_name == GLOBAL_IMPORT)


def is_class(entry: Entry) -> bool:
    """Whether an entry is a definition with members: a class, an interface, a struct, a module …"""
    return isinstance(entry, Definition) and entry.kind not in FUNCTION_KINDS


def is_constructor(definition: Definition, language: Language) -> bool:
    """Whether a definition is a constructor, by the word of the language or by the name of its class."""
    owner, _, name = definition.qualified_name.rpartition(".")
    if definition.kind not in FUNCTION_KINDS or not owner:
        return False
    if definition.kind == DECLARATION:
        return name == owner.rpartition(".")[2]
    return definition.kind == "constructor" or name == language.constructor


def has_definitions_in_order(language: Language) -> bool:
    """Whether the first definition of a name in a file is the first one of its entries in a symbol table."""
    return not (language.has_open_types or language.has_extensions)


def language_family(language: str) -> str:
    """The group of languages that can call each other's definitions by name."""
    return language_named(language).family or language


def package_key(language: Language, path: str, package: str) -> str:
    """The key of the package of a file or a folder (with a slash at its end), to which names are added.

    "" without packages. The files of a Go folder share their names; its external tests are a package of their own.
    Declared packages of one family of languages have names in common: the package is a part of them.
    """
    if language.package_style == "directory":
        return f"{language.name}:{path.rpartition('/')[0]}" + ("_test" if package.endswith("_test") else "") + "\0"
    if language.package_style == "declared":
        return f"{language_family(language.name)}:\0" + (f"{package}." if package else "")
    return ""


def changed_names(old: SymbolTable | None, new: SymbolTable | None) -> set[str]:
    """The qualified names whose meaning has changed. Line numbers do not count."""
    before: Mapping[str, tuple[Entry, ...]] = old.entries if old else {}
    after: Mapping[str, tuple[Entry, ...]] = new.entries if new else {}
    changed = before.keys() ^ after.keys()
    if any("." not in key for key in changed):
        changed.add(NAME_LIST)
    for key, entries in before.items():
        now = after.get(key, entries)
        if now != entries:
            if _meanings(now) != _meanings(entries):
                changed.add(key)
            if _headers(now) != _headers(entries):
                changed.add(header_key(key))
    return changed


def global_import_key(family: str) -> str:
    """The key of the packages that some files import for their projects."""
    return f"{family}\0*"


def header_key(qualified_name: str) -> str:
    """The key that changes when a definition's bases or its return annotation do."""
    return f"{qualified_name}()"


def _meanings(entries: Iterable[Entry]) -> list[tuple[object, ...]]:
    return [(e.qualified_name, e.kind) if isinstance(e, Definition) else tuple(e) for e in entries]


def _headers(entries: Iterable[Entry]) -> list[tuple[object, ...]]:
    return [(e.bases, e.returns) for e in entries if isinstance(e, Definition)]


def innermost_definition(definitions: tuple[Definition, ...], line: int) -> Definition | None:
    """The innermost of a file's definitions that contains `line`; None outside of all. Needs no symbol table."""
    index = _innermost(definitions, [definition.start_line for definition in definitions], line)
    return None if index == MODULE_SCOPE else definitions[index]


def _innermost(definitions: tuple[Definition, ...], starts: list[int], line: int) -> int:
    index = bisect_right(starts, line) - 1
    while index != MODULE_SCOPE and definitions[index].end_line <= line:
        index = definitions[index].parent
    return index


def _put_parts_last(entries: dict[str, list[Entry]], lines: dict[str, list[int]]) -> None:
    """Of several meanings of a name, a block of members of a type and a function without a body are the last."""
    for key, found in entries.items():
        if len(found) > 1 and _is_part(found[0]):
            order = sorted(range(len(found)), key=lambda at: _is_part(found[at]))
            entries[key], lines[key] = [found[at] for at in order], [lines[key][at] for at in order]


def _is_part(entry: Entry) -> bool:
    return isinstance(entry, Definition) and (entry.kind in PART_KINDS or entry.kind == DECLARATION)
