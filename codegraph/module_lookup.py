"""Names of modules that are files: re-exports, star imports, default exports, submodules, and all public names.

Owns the meaning of a module. Knows no class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lookup import Lookup
from .modules import directory_of
from .symbol_table import (
    NAME_LIST,
    STAR_IMPORTS,
    ImportedName,
    SymbolTable,
)
from .values import (
    CLASS_VALUE,
    DEFAULT_EXPORT,
    FUNCTION_VALUE,
    INSTANCE_VALUE,
    MODULE_VALUE,
    OUTSIDE,
    OUTSIDE_VALUE,
    Value,
)


class ModuleLookup(Lookup):
    """Lookups of names in files as modules."""

    def exports(self, module: Value) -> Mapping[str, Value]:
        """The definitions under the public names of a module or a package, its own and imported ones."""
        path = module.path
        if path and not path.endswith("/"):
            return self.memoised(self.shared, (path, NAME_LIST), self._exported, path) or {}
        found: dict[str, Value] = {}
        files: tuple[str, ...] = ()
        if path:
            files = self.module("directory", path.rstrip("/"), "") if module.name else ()
        elif module.name:
            files = tuple(file for file, _ in self._places(f"{module.name[:-1]}/", ""))
        for file in files:
            symbols = self.symbols(file)
            if symbols is not None and module.name.startswith(symbols.package_key):
                inside = module.name.removeprefix(symbols.package_key)
                own = self.memoised(self.shared, (file, "own", inside), self._own_exports, file, inside) or {}
                found.update((name, value.reached("module attribute")) for name, value in own.items())
        return found

    def _module_at(self, path: str, module: str, name: str) -> Value | None:
        """The value of a module path, or of a name in it, where a part may also be a type or an imported name."""
        rules = self._rules(path)
        found = self.module(rules.module_style, path, module)
        if found:
            target: Value | None = Value(MODULE_VALUE, found[0], "", "import")
        else:
            outer, separator, last = module.rpartition(rules.module_separator)
            target = self._module_at(path, outer, last) if separator else self.attribute(path, module) or OUTSIDE
        if target is None or not name:
            return target
        value = self.member(target, name)
        return value if value is None or not found else _as_imported(value, found[0], name)

    def import_files(self, path: str, item: ImportedName, name: str) -> tuple[str, ...]:
        """The files of the module from which an import takes a name; of a declared package those that define it."""
        rules, symbols = self._rules(path), self.symbols(path)
        if rules.package_style == "declared" and symbols is not None:
            family = symbols.package_key.partition("\0")[0]
            return tuple(place for place, _ in self._places(f"{family}\0{item.module}.{name}", path))
        if rules.module_separator:
            value = self._module_at(path, item.module, "")
            return (value.path,) if value is not None and value.kind == MODULE_VALUE and value.path else ()
        return self.module(rules.module_style, directory_of(path), "." * item.level + item.module)

    def _default_export(self, module: Value) -> Value | None:
        """What `export default` or `module.exports =` gives of a module."""
        if not module.path or module.path.endswith("/"):
            return None
        name = DEFAULT_EXPORT
        if self._rules(module.path).module_separator:  # `pub mod serve; pub use serve::serve;`
            name = re.sub(r"(?:/mod)?\.\w+$", "", module.path).rpartition("/")[2]
        value = self.attribute(module.path, name)
        return None if value is None or value.kind == MODULE_VALUE else _as_imported(value, module.path, value.name)

    def _module_member(self, module: Value, name: str) -> Value | None:
        path = module.path
        if module.name:
            value = self._in_package(path, module.name, name)
            if value is None and not path:
                key = f"{module.name}{name}/"
                self.dependencies.add((key,))
                return module._replace(name=f"{key[:-1]}.") if self._source.definitions_named(key) else None
            return None if value is None else value.reached("module attribute")
        if not path.endswith("/"):
            value = self.attribute(path, name)
            if value is not None:
                return value.reached("typed attribute" if value.kind == INSTANCE_VALUE else "module attribute")
        return self._submodule(path, name)

    def _submodule(self, path: str, name: str) -> Value | None:
        rules = self._rules(path)
        if rules.module_separator:
            found = self.module(rules.module_style, path, f"self{rules.module_separator}{name}")
            return Value(MODULE_VALUE, found[0], "", "import") if found else None
        if self._rules(path).module_style not in ("python", ""):
            return None
        if not path.endswith(("/", "__init__.py", "__init__.pyi")):
            return None
        found = self.module("python", directory_of(path), f".{name}")
        return Value(MODULE_VALUE, found[0], "", "import") if found else None

    def star_sources(self, path: str) -> tuple[tuple[str, bool], ...]:
        """The files whose public names star imports bring into a module, and whether directly; the first has priority.

        The dependencies of this answer are not added to those of the current lookup: in a package made of star
        imports nearly every name would depend on every file. Snapshots compare these answers instead (`invalidation`).
        """
        if self._rules(path).package_style == "declared":
            return ()
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
                rules = symbols.rules
                if rules.module_separator:
                    value = self._module_at(path, item.module, "")
                    found.append(value.path if value is not None and value.kind == MODULE_VALUE else "")
                    continue
                files = self.module(rules.module_style, directory_of(path), "." * item.level + item.module)
                found.append(files[0] if files and not files[0].endswith("/") else "")
        return found

    def has_outside_stars(self, path: str) -> bool:
        symbols = self.symbols(path)
        if symbols is None or STAR_IMPORTS not in symbols.entries:
            return False
        return self._rules(path).package_style != "declared" and "" in self._star_modules(path, symbols)

    def _exported(self, path: str) -> Mapping[str, Value]:
        found: dict[str, Value] = {}
        sources = [source for source, _ in self.star_sources(path)]
        for module in (*reversed(sources), path):
            self.dependencies.add((module, STAR_IMPORTS))
            found.update(self.memoised(self.shared, (module, "own"), self._own_exports, module) or {})
        return found

    def _own_exports(self, path: str, inside: str = "") -> Mapping[str, Value]:
        """The definitions under the public names of a file, or of a namespace in it ("a.b.")."""
        symbols = self.symbols(path)
        self.dependencies.add((path, NAME_LIST))
        found: dict[str, Value] = {}
        if symbols is None:
            return found
        for key in symbols.entries:
            name = key.removeprefix(inside)
            if inside and name == key:
                continue
            if "." not in name and name != STAR_IMPORTS and not self._is_private(symbols, name):
                value = self.attribute(path, key)
                if value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE):
                    found[name] = value
        return found


def _as_imported(value: Value, module: str, name: str) -> Value:
    if value.kind not in (CLASS_VALUE, FUNCTION_VALUE):
        return value
    return value.reached("import" if value.path == module and value.name == name else "re-export")
