"""Name resolution for Python: the meaning of a dotted name in a scope, with types where the source states them.

Owns Python's rules across files: scopes, imports and re-exports, modules and their attributes, instances of known
classes, inheritance, `super()` and return annotations. Static: no code is run. A name without a known value is unknown,
and a name from outside of the repository is known to be outside.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import NamedTuple

from .file_graph import Definition
from .modules import directory_of
from .resolver import NamePart, Resolution, Resolver, parse_dotted
from .symbol_table import (
    MODULE,
    NAME_LIST,
    STAR_IMPORTS,
    Entry,
    ImportedName,
    SymbolTable,
    enclosing_class,
    header_key,
    is_class,
)

BUILTIN_NAMES = frozenset(dir(builtins))


class Value(NamedTuple):
    """The abstract value of a name: a definition and its role."""

    kind: int
    path: str
    name: str  # qualified name in `path`; "" for a module
    how: str


MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE, OUTSIDE_VALUE = range(6)
_OUTSIDE = Value(OUTSIDE_VALUE, "", "", "")


class MethodResolutionOrder(NamedTuple):
    """A class and its bases in the order of attribute lookup; `complete` when no base is unknown or from outside."""

    classes: tuple[tuple[str, str], ...]  # path, qualified name
    complete: bool


class PythonResolver(Resolver):
    """Resolves names over the Python files of one snapshot."""

    # Calls

    def targets(self, path: str, within: str, callee: str, line: int) -> tuple[Resolution, ...]:
        """The targets of a call of `callee` in a scope (a qualified name, "" for the module)."""
        parts = parse_dotted(callee)
        last = parts[-1].name
        if len(parts) == 1:
            found = self.read(path, within, parts, line)
            # A name without a binding can only come from a star import of a module outside of the repository.
            if found is None and self._has_outside_stars(path) and not self._is_bound(path, within, last):
                target = self.unique("python", last)
                return () if target is None else (target,)
            return self._called(found)
        receiver = self.read(path, within, parts[:-1], line)
        found = None if receiver is None else self.member(receiver, last)
        if found is None and (receiver is None or self._is_open(receiver)):
            target = self.unique("python", last)
            return () if target is None or "." not in target.qualified_name else (target,)
        return self._called(found)

    def _is_open(self, receiver: Value) -> bool:
        """Whether a missing member may still be defined in the repository: a mix-in calls methods of its subclasses."""
        known = receiver.kind in (INSTANCE_VALUE, CLASS_VALUE)
        return known and self.mro(receiver.path, receiver.name).complete

    def _called(self, value: Value | None) -> tuple[Resolution, ...]:
        """The targets of a call of the value: of a class, the class and its own or inherited __init__."""
        if value is None:
            return ()
        if value.kind == FUNCTION_VALUE:
            return (Resolution(value.path, value.name, value.how),)
        if value.kind == CLASS_VALUE:
            itself = Resolution(value.path, value.name, value.how)
            init = self.member(value, "__init__")
            if init is not None and init.kind == FUNCTION_VALUE:
                return (itself, Resolution(init.path, init.name, "constructor"))
            return (itself,)
        if value.kind == INSTANCE_VALUE:
            found = self.member(value, "__call__")
            if found is not None and found.kind == FUNCTION_VALUE:
                return (Resolution(found.path, found.name, found.how),)
        return ()

    # Names

    def read(self, path: str, within: str, parts: tuple[NamePart, ...], line: int | None = None) -> Value | None:
        """The value of a dotted expression in a scope (a qualified name); None when it is unknown."""
        head = parts[0]
        if head.name == "?":
            return None
        if head.name == "super" and head.n_calls:
            value = self._super(path, within)
            calls = head.n_calls - 1
        else:
            value = self.name(path, within, head.name, line)
            calls = head.n_calls
        for _ in range(calls):
            value = self.result(value)
        for part in parts[1:]:
            if value is None:
                return None
            value = self.member(value, part.name)
            for _ in range(part.n_calls):
                value = self.result(value)
        return value

    def name(self, path: str, within: str, name: str, line: int | None = None) -> Value | None:
        """The value of a plain name: local, enclosing functions, module, star imports; built-ins are outside."""
        symbols = self.symbols(path)
        if symbols is None:
            return None
        scope = within
        while scope != MODULE:
            # A class body is not an enclosing scope of its functions.
            if scope == within or not symbols.is_class(scope):
                key = f"{scope}.{name}"
                entries = symbols.entries.get(key)
                self.dependencies.add((path, key))
                if entries is not None:
                    return self._local(path, key, entries, symbols, line)
            scope = scope.rpartition(".")[0]
        if name in ("self", "cls") and within != MODULE:
            owner = enclosing_class(symbols, within)
            if owner:
                return Value(INSTANCE_VALUE if name == "self" else CLASS_VALUE, path, owner, "self")
        found = self.attribute(path, name)
        if found is None and name in BUILTIN_NAMES and not self._is_bound(path, MODULE, name):
            return _OUTSIDE
        return found

    def attribute(self, path: str, key: str) -> Value | None:
        """The value of a qualified name of a file: a name of the module, or "Class.name" in the class itself."""
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        entries = symbols.entries.get(key) if symbols is not None else None
        if symbols is None:
            return None
        if entries is not None:
            first = entries[0]
            if isinstance(first, Definition):
                return Value(CLASS_VALUE if is_class(first) else FUNCTION_VALUE, path, key, "same file")
            return self.memoised(self.shared, (path, key), self._first, path, key, entries)
        if "." in key or key.startswith("_") or STAR_IMPORTS not in symbols.entries:
            return None
        return self.memoised(self.shared, (path, key), self._star_imported, path, key)

    def member(self, value: Value, name: str) -> Value | None:
        """The value of `value.name`."""
        kind, path = value.kind, value.path
        if kind == OUTSIDE_VALUE:
            return value
        if kind == MODULE_VALUE:
            return self._module_member(path, name)
        if kind == FUNCTION_VALUE:
            # Treated as a property: its value is its result.
            result = self.result(value)
            return None if result is None else self.member(result, name)
        classes, complete = self.mro(path, value.name)
        for depth, (class_path, class_name) in enumerate(classes[1:] if kind == SUPER_VALUE else classes):
            found = self.attribute(class_path, f"{class_name}.{name}")
            if found is None:
                continue
            if found.kind == OUTSIDE_VALUE:
                return found
            if found.path != class_path or found.name != f"{class_name}.{name}":
                return found._replace(how="typed attribute")
            if kind == SUPER_VALUE:
                how = "super"
            elif depth:
                how = "inherited"
            else:
                how = "class attribute" if kind == CLASS_VALUE and value.how != "self" else value.how
            return found._replace(how=how)
        return _OUTSIDE if kind == SUPER_VALUE and not complete else None

    def result(self, value: Value | None) -> Value | None:
        """The value of a call of `value`."""
        if value is None or value.kind == OUTSIDE_VALUE:
            return value
        if value.kind == CLASS_VALUE:
            return Value(INSTANCE_VALUE, value.path, value.name, "returned type")
        if value.kind == INSTANCE_VALUE:
            call = self.member(value, "__call__")
            return None if call is None or call.kind != FUNCTION_VALUE else self.result(call)
        if value.kind != FUNCTION_VALUE:
            return None
        return self.memoised(self.shared, (value.path, value.name, "()"), self._returned, value.path, value.name)

    def exports(self, path: str) -> Mapping[str, Value]:
        """The definitions under the public names of a module, its own and imported ones."""
        if path.endswith("/"):
            return {}
        return self.memoised(self.shared, (path, NAME_LIST), self._exported, path) or {}

    def mro(self, path: str, name: str) -> MethodResolutionOrder:
        """A class and all its bases, in the order of Python's MRO except in unusual hierarchies."""
        found = self.memoised(self.shared, (path, name, "bases"), self._linearise, path, name)
        return found if found is not None else MethodResolutionOrder(((path, name),), False)

    def _local(
        self, path: str, key: str, entries: tuple[Entry, ...], symbols: SymbolTable, line: int | None
    ) -> Value | None:
        """The value of a local name: the latest assignment before `line`."""
        lines = symbols.lines.get(key)
        given = ""
        if lines is not None and line is not None:
            latest = max((at for at in lines if at <= line), default=lines[0])
            entries = tuple(entry for entry, at in zip(entries, lines, strict=True) if at == latest)
            given = str(latest)
        return self.memoised(self.local, (path, key, "at", given), self._first, path, key, entries)

    def _first(self, path: str, key: str, entries: tuple[Entry, ...]) -> Value | None:
        """The value of the first entry that has one in the repository."""
        self.dependencies.add((path, key))
        outside = None
        for entry in entries:
            value = self._value(path, key, entry)
            if value is not None:
                if value.kind != OUTSIDE_VALUE:
                    return value
                outside = value
        return outside

    def _value(self, path: str, key: str, entry: Entry) -> Value | None:
        if isinstance(entry, Definition):
            return Value(CLASS_VALUE if is_class(entry) else FUNCTION_VALUE, path, key, "same file")
        if isinstance(entry, ImportedName):
            return self._imported(path, entry)
        if not entry.value:
            return None
        value = self.read(path, entry.scope, parse_dotted(entry.value))
        if entry.how == "call":
            value = self.result(value)
        elif entry.how == "annotation":
            value = self._instance(value)
        return value._replace(how="typed local") if value is not None and value.kind == INSTANCE_VALUE else value

    def _instance(self, annotated: Value | None) -> Value | None:
        """The value of a name with this annotation."""
        if annotated is None or annotated.kind == OUTSIDE_VALUE:
            return annotated
        if annotated.kind == CLASS_VALUE:
            return Value(INSTANCE_VALUE, annotated.path, annotated.name, "typed local")
        return None

    def _imported(self, path: str, item: ImportedName) -> Value | None:
        directory = directory_of(path)
        if not item.name:
            # `import a.b` binds a; `import a.b as c` binds a.b.
            top = item.module.partition(".")[0]
            found = self.module("python", directory, top if item.local_name == top else item.module)
            return Value(MODULE_VALUE, found[0], "", "import") if found else _OUTSIDE
        found = self.module("python", directory, "." * item.level + item.module)
        if not found:
            return _OUTSIDE
        if found[0] == path:  # `from . import name` in a package itself can only import a module
            return self._submodule(path, item.name)
        value = self._module_member(found[0], item.name)
        return None if value is None else _as_imported(value, found[0], item.name)

    def _module_member(self, path: str, name: str) -> Value | None:
        if not path.endswith("/"):
            value = self.attribute(path, name)
            if value is not None:
                return value._replace(how="typed attribute" if value.kind == INSTANCE_VALUE else "module attribute")
        return self._submodule(path, name)

    def _submodule(self, path: str, name: str) -> Value | None:
        if not path.endswith(("/", "__init__.py", "__init__.pyi")):
            return None
        found = self.module("python", directory_of(path), f".{name}")
        return Value(MODULE_VALUE, found[0], "", "import") if found else None

    def star_sources(self, path: str) -> tuple[tuple[str, bool], ...]:
        """The files whose public names star imports bring into a module, and whether directly; the first has priority.

        The dependencies of this answer are not added to those of the current lookup: in a package made of star
        imports nearly every name would depend on every file. Snapshots compare these answers instead (`invalidation`).
        """
        outer, self.dependencies = self.dependencies, set()
        found = self.memoised(self.shared, (path, STAR_IMPORTS), self._follow_stars, path)
        self.dependencies = outer
        return found or ()

    def _follow_stars(self, path: str) -> tuple[tuple[str, bool], ...]:
        found: dict[str, None] = {}
        pending, direct = [path], None
        while pending:
            module = pending.pop()
            if module in found:
                continue
            found[module] = None
            symbols = self.symbols(module)
            self.dependencies.add((module, STAR_IMPORTS))
            if symbols is not None:
                # The last star import has priority; it is the first to be popped.
                stars = [star for star in self._star_modules(module, symbols) if star]
                pending += stars
                direct = stars if direct is None else direct
        del found[path]
        return tuple((module, module in (direct or ())) for module in found)

    def _star_imported(self, path: str, name: str) -> Value | None:
        self.dependencies.add((path, name))
        for module, direct in self.star_sources(path):
            symbols = self.symbols(module)
            if symbols is not None and name in symbols.entries:
                value = self.attribute(module, name)
                if value is not None and value.kind != OUTSIDE_VALUE:
                    return _as_imported(value, module if direct else "", name)
        return None

    def _star_modules(self, path: str, symbols: SymbolTable) -> list[str]:
        """The files of a module's own star imports, "" for one that is not in the repository."""
        found = []
        for item in symbols.entries.get(STAR_IMPORTS, ()):
            if isinstance(item, ImportedName):
                files = self.module("python", directory_of(path), "." * item.level + item.module)
                found.append(files[0] if files and not files[0].endswith("/") else "")
        return found

    def _has_outside_stars(self, path: str) -> bool:
        symbols = self.symbols(path)
        return symbols is not None and STAR_IMPORTS in symbols.entries and "" in self._star_modules(path, symbols)

    def _exported(self, path: str) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        sources = [source for source, _ in self.star_sources(path)]
        for module in (*reversed(sources), path):
            self.dependencies.add((module, STAR_IMPORTS))
            found.update(self.memoised(self.shared, (module, "own"), self._own_exports, module) or {})
        return found

    def _own_exports(self, path: str) -> Mapping[str, Value]:
        symbols = self.symbols(path)
        self.dependencies.add((path, NAME_LIST))
        found: dict[str, Value] = {}
        for name in symbols.entries if symbols is not None else ():
            if "." not in name and not name.startswith("_") and name != STAR_IMPORTS:
                value = self.attribute(path, name)
                if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    found[name] = value
        return found

    def _is_bound(self, path: str, within: str, name: str) -> bool:
        """Whether the file binds the name in this scope or an enclosing one, to a known value or not."""
        symbols = self.symbols(path)
        scope = within
        while symbols is not None:
            key = f"{scope}.{name}" if scope else name
            self.dependencies.add((path, key))
            if key in symbols.entries:
                return True
            if scope == MODULE:
                return False
            scope = scope.rpartition(".")[0]
        return False

    def _returned(self, path: str, name: str) -> Value | None:
        """The result of a call of the function, from its annotation."""
        symbols = self.symbols(path)
        self.dependencies |= {(path, name), (path, header_key(name))}
        definition = symbols.definition(name) if symbols is not None else None
        if symbols is None or definition is None or not definition.returns:
            return None
        around = name.rpartition(".")[0]
        if definition.returns in ("Self", "typing.Self", "typing_extensions.Self"):
            owner = enclosing_class(symbols, around)
            return Value(INSTANCE_VALUE, path, owner, "returned type") if owner else None
        value = self._instance(self.read(path, around, parse_dotted(definition.returns)))
        return value if value is None or value.kind == OUTSIDE_VALUE else value._replace(how="returned type")

    def _linearise(self, path: str, name: str) -> MethodResolutionOrder:
        symbols = self.symbols(path)
        self.dependencies |= {(path, name), (path, header_key(name))}
        definition = symbols.definition(name) if symbols is not None else None
        if definition is None:
            return MethodResolutionOrder(((path, name),), False)
        around = name.rpartition(".")[0]
        found, complete = [(path, name)], True
        for base in definition.bases:
            value = self.read(path, around, parse_dotted(base))
            if value is None or value.kind != CLASS_VALUE:
                complete = complete and base == "object"
                continue
            above = self.mro(value.path, value.name)
            found.extend(above.classes)
            complete = complete and above.complete
        # A shared base comes after all classes that inherit from it.
        return MethodResolutionOrder(tuple(reversed(dict.fromkeys(reversed(found)))), complete)

    def _super(self, path: str, within: str) -> Value | None:
        symbols = self.symbols(path)
        owner = enclosing_class(symbols, within) if symbols is not None else ""
        return Value(SUPER_VALUE, path, owner, "super") if owner else None


def _as_imported(value: Value, module: str, name: str) -> Value:
    if value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
        return value
    return value._replace(how="import" if value.path == module and value.name == name else "re-export")
