"""Names of packages and namespaces that files declare: own, outer, imported and global ones; the nearest of several.

Owns what a name of a file means that no scope in it binds. Knows no class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..languages import language_named
from .file_graph import Definition
from .module_lookup import ModuleLookup
from .modules import contains, directory_of, manifest_style, upwards
from .resolver import distance, kept
from .symbol_table import (
    NAME_LIST,
    STAR_IMPORTS,
    BoundName,
    ImportedName,
    SymbolTable,
    global_import_key,
    is_class,
    language_family,
    package_key,
)
from .values import (
    CLASS_VALUE,
    DEFAULT_EXPORT,
    FUNCTION_VALUE,
    INSTANCE_VALUE,
    MAX_PARTS,
    MODULE_VALUE,
    OUTSIDE,
    OUTSIDE_VALUE,
    Value,
)

INCLUDE_STEPS = 3
"""Steps of includes that say which of several definitions of a name a file means."""


class PackageLookup(ModuleLookup):
    """Lookups of names that other files of a package or namespace declare."""

    @kept
    def attribute(self, path: str, key: str) -> Value | None:
        """The value of a qualified name of a file: a name of the module, or "Class.name" in the class itself."""
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        entries = symbols.entries.get(key) if symbols is not None else None
        if symbols is None:
            return None
        if entries is not None and not symbols.is_foreign_part(key):
            first = entries[0]
            if isinstance(first, Definition):
                return Value(CLASS_VALUE if is_class(first) else FUNCTION_VALUE, path, key, "same file")
            return self.memoised(self.shared, (path, key), self._first, path, key, entries)
        if entries is not None and any(not isinstance(entry, Definition) for entry in entries):
            return self.memoised(self.shared, (path, key), self._first, path, key, entries)
        found = self._from_elsewhere(path, key, symbols)
        if found is None and entries is not None:
            return Value(CLASS_VALUE, path, key, "same file")
        return found

    def _from_elsewhere(self, path: str, key: str, symbols: SymbolTable) -> Value | None:
        """The value of a name that the file does not bind: from its package, those around it, and star imports."""
        rules = symbols.rules
        owner, _, last = key.rpartition(".")
        if not rules.is_shared(last):
            return None
        is_closed = rules.package_style == "declared" and not (rules.has_open_types or rules.has_extensions)
        if symbols.package_key and not (is_closed and owner and self._is_type(symbols, owner)):
            found = self._in_package(path, symbols.package_key, key)
            if found is not None:
                return found
        if owner:
            # The star imports of an inline module are those of its file.
            is_inline = rules.module_separator and not self._is_type(symbols, owner) and symbols.is_class(owner)
            return self._from_elsewhere(path, key.rpartition(".")[2], symbols) if is_inline else None
        if rules.package_style == "declared":
            family, _, package = symbols.package_key.partition("\0")
            for around in [*_outwards(package)][1:] if rules.has_outer_packages else ():
                found = self._in_package(path, f"{family}\0{around}", key)
                if found is not None:
                    return found
            return self._from_star(path, key, symbols)
        if self._is_private(symbols, key) or STAR_IMPORTS not in symbols.entries:
            return None
        found = self.memoised(self.shared, (path, key), self._star_imported, path, key)
        if found is None and rules.module_separator:
            return self.memoised(self.shared, (path, key, "star"), self._member_of_stars, path, key)
        return found

    def _member_of_stars(self, path: str, name: str) -> Value | None:
        """The value of a name that a star import of an enum or an inline module brings."""
        symbols = self.symbols(path)
        for item in symbols.entries.get(STAR_IMPORTS, ()) if symbols is not None else ():
            owner = self._module_at(path, item.module, "") if isinstance(item, ImportedName) else None
            found = self.member(owner, name) if owner is not None and owner.kind == CLASS_VALUE else None
            if found is not None and found.kind != OUTSIDE_VALUE:
                return found
        return None

    def _from_star(self, path: str, name: str, symbols: SymbolTable) -> Value | None:
        """The value of a name that a star import of a package or of a class brings."""
        key = (path, STAR_IMPORTS, "declared")
        for around in self.memoised(self.shared, key, self._star_packages, path, symbols) or ():
            is_package = around.kind == MODULE_VALUE
            found = self._in_package(path, around.name, name) if is_package else self.member(around, name)
            if found is not None and found.kind != OUTSIDE_VALUE:
                return found.reached("import") if found.kind in (CLASS_VALUE, FUNCTION_VALUE) else found
        return None

    def _global_imports(self, path: str, symbols: SymbolTable) -> tuple[str, ...]:
        """The packages that other files of the project import for all of its files."""
        if not symbols.rules.project_ending:
            return ()
        directory = directory_of(path)
        key = (f"{directory}/", symbols.language, "global imports")
        return self.memoised(self.shared, key, self._find_global_imports, directory, symbols.language) or ()

    def _find_global_imports(self, directory: str, language: str) -> tuple[str, ...]:
        key, ending = global_import_key(language_family(language)), language_named(language).project_ending
        self.dependencies.add((key,))
        places = [place.partition("\0")[::2] for place in self._source.definitions_named(key)]
        project = self._project(directory, ending) if places else ""
        found: dict[str, None] = {}
        for path, module in places:
            self.dependencies.add((path, STAR_IMPORTS))
            other = directory_of(path)
            if contains(other, directory) if manifest_style(path) else self._project(other, ending) == project:
                found[module] = None
        return tuple(found)

    def _project(self, directory: str, ending: str) -> str:
        """The directory of the project that holds a directory; the root without one."""
        found = (above for above in upwards(directory) if self.module("directory", above, ending))
        return next(found, "")

    def _star_packages(self, path: str, symbols: SymbolTable) -> tuple[Value, ...]:
        """The packages and classes of the repository whose names star imports bring into a file."""
        self.dependencies.add((path, STAR_IMPORTS))
        entries = symbols.entries.get(STAR_IMPORTS, ())
        modules = [(item.module, item.level) for item in entries if isinstance(item, ImportedName)]
        modules += [(module, 0) for module in self._global_imports(path, symbols)]
        found = (
            self._declared_around(path, symbols, *module) or self._object_named(path, symbols, module[0])
            for module in dict.fromkeys(modules)
        )
        kinds = (MODULE_VALUE, CLASS_VALUE, INSTANCE_VALUE)
        return tuple(value for value in found if value is not None and value.kind in kinds)

    def _object_named(self, path: str, symbols: SymbolTable, name: str) -> Value | None:
        """The object in a variable of a file whose members an import brings: `import builder._`."""
        if "." in name or not symbols.rules.has_relative_imports:
            return None
        for key, entries in symbols.entries.items():
            if key.rpartition(".")[2] == name and isinstance(entries[0], BoundName):
                value = self._first(path, key, entries)
                return self.result(value) if value is not None and value.kind == FUNCTION_VALUE else value
        return None

    def _declared_around(self, path: str, symbols: SymbolTable, dotted: str, level: int) -> Value | None:
        """The value of a name in an import: a global name, or with a level one in the packages around the import."""
        found = self.imported(path, dotted)
        if level and (found is None or found.kind == OUTSIDE_VALUE):
            around = sorted(symbols.namespaces(), key=lambda package: -len(package))
            values = (self.declared(path, f"{package}.{dotted}") for package in around)
            found = next((value for value in values if value is not None and value.kind != OUTSIDE_VALUE), found)
        return found

    def _namespace(self, path: str, symbols: SymbolTable, name: str) -> Value | None:
        """The namespace or package of this name, beginning at the root or in the packages around the file's."""
        family, _, package = symbols.package_key.partition("\0")
        for around in _outwards(package) if self._rules(path).has_outer_packages else ("",):
            key = f"{family}\0{around}{name}/"
            self.dependencies.add((key,))
            if self._source.definitions_named(key):
                return Value(MODULE_VALUE, "", f"{family}\0{around}{name}.", "import")
        return None

    def imported(self, path: str, dotted: str) -> Value | None:
        """The value of the path of an import, a global name; in some languages also in the package of the file."""
        found = self.declared(path, dotted)
        symbols = self.symbols(path)
        if found is None and symbols is not None and symbols.rules.has_relative_imports:
            package = symbols.package_key.partition("\0")[2]
            return self.declared(path, package + dotted) if package else None
        return found

    def declared(self, path: str, dotted: str) -> Value | None:
        """The value of a global name: a definition, a member of one, or a namespace."""
        symbols = self.symbols(path)
        if symbols is None:
            return None
        family = symbols.package_key.partition("\0")[0]
        found = self._in_package(path, f"{family}\0", dotted)
        if found is not None:
            return found
        owner, _, last = dotted.rpartition(".")
        around = self.declared(path, owner) if owner else None
        if around is not None and around.kind == CLASS_VALUE:
            return self.member(around, last)
        key = f"{family}\0{dotted}/"
        self.dependencies.add((key,))
        return Value(MODULE_VALUE, "", key[:-1] + ".", "import") if self._source.definitions_named(key) else None

    def _visible_packages(self, path: str) -> frozenset[str]:
        """The packages and namespaces whose names a file can use: its own, those around it, and imported ones."""
        return self.memoised(self.local, (path, "packages"), self._find_visible_packages, path) or frozenset()

    def _find_visible_packages(self, path: str) -> frozenset[str]:
        symbols = self.symbols(path)
        if symbols is None:
            return frozenset()
        self.dependencies.add((path, NAME_LIST))
        found = {"", *symbols.namespaces()}
        for value in self._star_packages(path, symbols):
            if value.kind == MODULE_VALUE:
                found.add(value.name.partition("\0")[2].rstrip("."))
            else:  # a namespace that is a definition, or a class with static members
                name = self.identity(value.path, value.name).partition("\0")[2]
                found |= {name, name.rpartition(".")[0]}
        return frozenset(found)

    def _imported(self, path: str, item: ImportedName) -> Value | None:
        directory = directory_of(path)
        rules = self._rules(path)
        if rules.package_style == "declared":
            symbols, dotted = self.symbols(path), ".".join(filter(None, (item.module, item.name)))
            value = None if symbols is None else self._declared_around(path, symbols, dotted, item.level)
            if value is None:
                return OUTSIDE
            return value.reached("import") if value.kind in (CLASS_VALUE, FUNCTION_VALUE) else value
        if rules.module_separator:
            return self._module_at(path, item.module, item.name)
        style = rules.module_style
        module = "." * item.level + item.module
        if not item.name and style == "python" and item.local_name == item.module.partition(".")[0]:
            module = item.local_name  # `import a.b` binds a; `import a.b as c` binds a.b.
        found = self.module(style, directory, module)
        if not found:
            return OUTSIDE
        target = Value(
            MODULE_VALUE, found[0], package_key(rules, found[0], "") if found[0].endswith("/") else "", "import"
        )
        if not item.name:
            return target
        if found[0] == path:  # `from . import name` in a package itself can only import a module
            return self._submodule(path, item.name)
        if item.name == DEFAULT_EXPORT:
            return self._default_export(target) or target
        value = self._module_member(target, item.name)
        return None if value is None else _as_imported(value, found[0], item.name)

    def _in_package(self, path: str, package: str, key: str) -> Value | None:
        """The value of a qualified name of a package, from the file that defines it; the nearest of several."""
        full = package + key
        self.dependencies.add((full,))
        place = self._nearest.get((path, full))
        if place is None:
            places = [place.partition("\0")[::2] for place in self._source.definitions_named(full)]
            place = self._nearest_of(path, places) if places else ("", "")
            if self._rules(path).module_style != "include":  # included files are dependencies of each answer
                self._nearest[path, full] = place
        other, name = place
        if other and self._is_namespace(other, name):
            if self._rules(path).module_style != "include":
                return Value(MODULE_VALUE, "", f"{full}.", "import")
            if path and name == key:
                return Value(CLASS_VALUE, path, key, "same package")  # its names are looked up as the file means them
        value = self.attribute(other, name) if other and place != (path, key) else None
        if value is None or value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
            return value
        return value.reached("same package")

    def _nearest_of(self, path: str, places: list[tuple[str, str]]) -> tuple[str, str]:
        """The place of a global name that a file means: an included one, one in a file of its name, a near one."""
        if len(places) == 1 or self._rules(path).package_style != "declared" or self._is_namespace(*places[0]):
            return places[0]
        for steps in range(INCLUDE_STEPS if self._rules(path).module_style == "include" else 0):
            included = self._included(path, steps)
            found = [place for place in places if place[0] in included]
            if found:
                places = found
                break
        return min(places, key=lambda place: (not _is_named_like(*place), distance(path, place[0])))

    def _included(self, path: str, steps: int) -> Mapping[str, None]:
        """The files that a file includes after so many steps through other files, and the source files of headers."""
        key = (path, STAR_IMPORTS, "files", str(steps))
        return self.memoised(self.shared, key, self._find_included, path, steps) or {}

    def _find_included(self, path: str, steps: int) -> Mapping[str, None]:
        found: dict[str, None] = {}
        for file in list(self._included(path, steps - 1))[:MAX_PARTS] if steps else (path,):
            symbols = self.symbols(file)
            self.dependencies.add((file, STAR_IMPORTS))
            if symbols is not None and (not symbols.is_source or not steps):
                modules = (
                    item.module for item in symbols.entries.get(STAR_IMPORTS, ()) if isinstance(item, ImportedName)
                )
                for module in modules:
                    found.update(dict.fromkeys(self.module("include", directory_of(file), module)))
        return found


def _outwards(package: str) -> Iterator[str]:
    """The package "a.b.", those around it, and "" at last."""
    while package:
        yield package
        package = package[:-1].rpartition(".")[0]
        package = package and f"{package}."
    yield ""


def _is_named_like(path: str, name: str) -> bool:
    """Whether a file has the name of a definition, in any style of letters."""
    stem = path.rpartition("/")[2].partition(".")[0]
    return stem.replace("_", "").replace("-", "").lower() == name.rpartition(".")[2].replace("_", "").lower()


def _as_imported(value: Value, module: str, name: str) -> Value:
    if value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
        return value
    return value.reached("import" if value.path == module and value.name == name else "re-export")
