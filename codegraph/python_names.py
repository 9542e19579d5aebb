"""What does a dotted name mean in Python, seen from a scope of a file?

Owns Python's rules across files: scopes, imports and re-exports, modules and their attributes, instances of
known classes, inheritance, `super()`, return annotations. Only what the source says counts: nothing is run,
and a name whose value it does not tell is unknown, which is an answer too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .facts import Definition
from .lookup import BUILTIN_NAMES, Lookup, Part, Target, parse_dotted
from .modules import directory_of
from .symbols import LISTING, MODULE, STARS, Entry, Imported, Symbols, enclosing_class, header_key, is_class


class Value(NamedTuple):
    """What a name stands for: the definition it leads to, and in which role."""

    kind: int
    path: str
    name: str  # qualified name in `path`; "" for a module
    how: str


MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE, OUTSIDE_VALUE = range(6)
_OUTSIDE = Value(OUTSIDE_VALUE, "", "", "")


class Classes(NamedTuple):
    """A class and its bases in the order of look-up; `complete` when no base is unknown or from outside."""

    places: tuple[tuple[str, str], ...]
    complete: bool


class PythonNames(Lookup):
    """Follows Python's names over the files of one snapshot."""

    # Calls

    def targets(self, path: str, within: str, callee: str, line: int) -> tuple[Target, ...]:
        """The definitions that a call of `callee` in a scope (a qualified name, "" for the module) leads to."""
        parts = parse_dotted(callee)
        last = parts[-1].name
        if len(parts) == 1:
            found = self.read(path, within, parts, line)
            # A name that nothing here binds can only have come with a star, from a file that is not there.
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
        """Whether a member that is not found may still come from the repository: a mix-in calls what its user has."""
        known = receiver.kind in (INSTANCE_VALUE, CLASS_VALUE)
        return known and self.classes(receiver.path, receiver.name).complete

    def _called(self, value: Value | None) -> tuple[Target, ...]:
        """What runs when the value is called: a class stands for itself and the __init__ it has or inherits."""
        if value is None:
            return ()
        if value.kind == FUNCTION_VALUE:
            return (Target(value.path, value.name, value.how),)
        if value.kind == CLASS_VALUE:
            itself = Target(value.path, value.name, value.how)
            init = self.member(value, "__init__")
            if init is not None and init.kind == FUNCTION_VALUE:
                return (itself, Target(init.path, init.name, "constructor"))
            return (itself,)
        if value.kind == INSTANCE_VALUE:
            found = self.member(value, "__call__")
            if found is not None and found.kind == FUNCTION_VALUE:
                return (Target(found.path, found.name, found.how),)
        return ()

    # Names

    def read(self, path: str, within: str, parts: tuple[Part, ...], line: int | None = None) -> Value | None:
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
            # A class body is no scope for the functions in it.
            if scope == within or not symbols.is_class(scope):
                key = f"{scope}.{name}"
                entries = symbols.entries.get(key)
                self.asked.add((path, key))
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
        self.asked.add((path, key))
        entries = symbols.entries.get(key) if symbols is not None else None
        if symbols is None:
            return None
        if entries is not None:
            first = entries[0]
            if isinstance(first, Definition):
                return Value(CLASS_VALUE if is_class(first) else FUNCTION_VALUE, path, key, "same file")
            return self.remember(self.shared, (path, key), self._first, path, key, entries)
        if "." in key or key.startswith("_") or STARS not in symbols.entries:
            return None
        return self.remember(self.shared, (path, key), self._starred, path, key)

    def member(self, value: Value, name: str) -> Value | None:
        """The value of `value.name`."""
        kind, path = value.kind, value.path
        if kind == OUTSIDE_VALUE:
            return value
        if kind == MODULE_VALUE:
            return self._module_member(path, name)
        if kind == FUNCTION_VALUE:
            # A property, for all that is known: its value is what it returns.
            result = self.result(value)
            return None if result is None else self.member(result, name)
        places, complete = self.classes(path, value.name)
        for place, (class_path, class_name) in enumerate(places[1:] if kind == SUPER_VALUE else places):
            found = self.attribute(class_path, f"{class_name}.{name}")
            if found is None:
                continue
            if found.kind == OUTSIDE_VALUE:
                return found
            if found.path != class_path or found.name != f"{class_name}.{name}":
                return found._replace(how="typed attribute")
            if kind == SUPER_VALUE:
                how = "super"
            elif place:
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
        return self.remember(self.shared, (value.path, value.name, "()"), self._returned, value.path, value.name)

    def exports(self, path: str) -> Mapping[str, Value]:
        """The definitions that a module offers by its public names, its own and those it imports."""
        if path.endswith("/"):
            return {}
        return self.remember(self.shared, (path, LISTING), self._exported, path) or {}

    def classes(self, path: str, name: str) -> Classes:
        """A class and all its bases, in Python's order for all but contrived hierarchies."""
        found = self.remember(self.shared, (path, name, "bases"), self._linearised, path, name)
        return found if found is not None else Classes(((path, name),), False)

    def _local(
        self, path: str, key: str, entries: tuple[Entry, ...], symbols: Symbols, line: int | None
    ) -> Value | None:
        """The value of a name of a function: the latest that it was given before `line`."""
        lines = symbols.lines.get(key)
        given = ""
        if lines is not None and line is not None:
            latest = max((at for at in lines if at <= line), default=lines[0])
            entries = tuple(entry for entry, at in zip(entries, lines, strict=True) if at == latest)
            given = str(latest)
        return self.remember(self.local, (path, key, "at", given), self._first, path, key, entries)

    def _first(self, path: str, key: str, entries: tuple[Entry, ...]) -> Value | None:
        """The value of the first entry that has one in the repository."""
        self.asked.add((path, key))
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
        if isinstance(entry, Imported):
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
        """What a name with this annotation holds."""
        if annotated is None or annotated.kind == OUTSIDE_VALUE:
            return annotated
        if annotated.kind == CLASS_VALUE:
            return Value(INSTANCE_VALUE, annotated.path, annotated.name, "typed local")
        return None

    def _imported(self, path: str, item: Imported) -> Value | None:
        directory = directory_of(path)
        if not item.name:
            # `import a.b` binds a; `import a.b as c` binds a.b.
            top = item.module.partition(".")[0]
            found = self.module("python", directory, top if item.local_name == top else item.module)
            return Value(MODULE_VALUE, found[0], "", "import") if found else _OUTSIDE
        found = self.module("python", directory, "." * item.level + item.module)
        if not found:
            return _OUTSIDE
        if found[0] == path:  # `from . import name` in a package itself: only a module can be meant
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
        """The files whose public names star imports bring into a module, and whether directly; the first one wins.

        What the answer depends on is not noted with the question at hand: nearly every name of a package built of
        stars would depend on every file of it. Instead a snapshot compares these answers (see `graph`).
        """
        outer, self.asked = self.asked, set()
        found = self.remember(self.shared, (path, STARS), self._followed_stars, path)
        self.asked = outer
        return found or ()

    def _followed_stars(self, path: str) -> tuple[tuple[str, bool], ...]:
        found: dict[str, None] = {}
        waiting, direct = [path], None
        while waiting:
            module = waiting.pop()
            if module in found:
                continue
            found[module] = None
            symbols = self.symbols(module)
            self.asked.add((module, STARS))
            if symbols is not None:
                # The last of several star imports wins; it is also the first to be taken from the end.
                stars = [star for star in self._star_modules(module, symbols) if star]
                waiting += stars
                direct = stars if direct is None else direct
        del found[path]
        return tuple((module, module in (direct or ())) for module in found)

    def _starred(self, path: str, name: str) -> Value | None:
        self.asked.add((path, name))
        for module, direct in self.star_sources(path):
            symbols = self.symbols(module)
            if symbols is not None and name in symbols.entries:
                value = self.attribute(module, name)
                if value is not None and value.kind != OUTSIDE_VALUE:
                    return _as_imported(value, module if direct else "", name)
        return None

    def _star_modules(self, path: str, symbols: Symbols) -> list[str]:
        """The files of a module's own star imports, "" for one that is not in the repository."""
        found = []
        for item in symbols.entries.get(STARS, ()):
            if isinstance(item, Imported):
                files = self.module("python", directory_of(path), "." * item.level + item.module)
                found.append(files[0] if files and not files[0].endswith("/") else "")
        return found

    def _has_outside_stars(self, path: str) -> bool:
        symbols = self.symbols(path)
        return symbols is not None and STARS in symbols.entries and "" in self._star_modules(path, symbols)

    def _exported(self, path: str) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        sources = [source for source, _ in self.star_sources(path)]
        for module in (*reversed(sources), path):
            self.asked.add((module, STARS))
            found.update(self.remember(self.shared, (module, "own"), self._own_exports, module) or {})
        return found

    def _own_exports(self, path: str) -> Mapping[str, Value]:
        symbols = self.symbols(path)
        self.asked.add((path, LISTING))
        found: dict[str, Value] = {}
        for name in symbols.entries if symbols is not None else ():
            if "." not in name and not name.startswith("_") and name != STARS:
                value = self.attribute(path, name)
                if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    found[name] = value
        return found

    def _is_bound(self, path: str, within: str, name: str) -> bool:
        """Whether the file gives the name a meaning in this scope or around it, known or not."""
        symbols = self.symbols(path)
        scope = within
        while symbols is not None:
            key = f"{scope}.{name}" if scope else name
            self.asked.add((path, key))
            if key in symbols.entries:
                return True
            if scope == MODULE:
                return False
            scope = scope.rpartition(".")[0]
        return False

    def _returned(self, path: str, name: str) -> Value | None:
        """What a call of the function returns, by its annotation."""
        symbols = self.symbols(path)
        self.asked |= {(path, name), (path, header_key(name))}
        definition = symbols.definition(name) if symbols is not None else None
        if symbols is None or definition is None or not definition.returns:
            return None
        around = name.rpartition(".")[0]
        if definition.returns in ("Self", "typing.Self", "typing_extensions.Self"):
            owner = enclosing_class(symbols, around)
            return Value(INSTANCE_VALUE, path, owner, "returned type") if owner else None
        value = self._instance(self.read(path, around, parse_dotted(definition.returns)))
        return value if value is None or value.kind == OUTSIDE_VALUE else value._replace(how="returned type")

    def _linearised(self, path: str, name: str) -> Classes:
        symbols = self.symbols(path)
        self.asked |= {(path, name), (path, header_key(name))}
        definition = symbols.definition(name) if symbols is not None else None
        if definition is None:
            return Classes(((path, name),), False)
        around = name.rpartition(".")[0]
        found, complete = [(path, name)], True
        for base in definition.bases:
            value = self.read(path, around, parse_dotted(base))
            if value is None or value.kind != CLASS_VALUE:
                complete = complete and base == "object"
                continue
            above = self.classes(value.path, value.name)
            found.extend(above.places)
            complete = complete and above.complete
        # A base that several classes share comes after all of them.
        return Classes(tuple(reversed(dict.fromkeys(reversed(found)))), complete)

    def _super(self, path: str, within: str) -> Value | None:
        symbols = self.symbols(path)
        owner = enclosing_class(symbols, within) if symbols is not None else ""
        return Value(SUPER_VALUE, path, owner, "super") if owner else None


def _as_imported(value: Value, module: str, name: str) -> Value:
    if value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
        return value
    return value._replace(how="import" if value.path == module and value.name == name else "re-export")
