"""Name resolution without types: by the names of a call, imports, directories and unique names.

Owns the order of the scopes: the enclosing class, the import of the first name, the same file, star imports, the own
package, and a name that is unique in the repository. Two definitions in one scope leave the call unresolved.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..languages import language_named
from .file_graph import Definition
from .modules import directory_of
from .resolver import Resolution, Resolver, parse_dotted
from .symbol_table import STAR_IMPORTS, ImportedName, SymbolTable, enclosing_class, is_class


class GenericResolver(Resolver):
    """Resolves names in languages without type information."""

    def targets(self, path: str, within: str, callee: str) -> tuple[Resolution, ...]:
        """The definition of a call of `callee` in a scope (a qualified name), and the constructor of a class."""
        target = self._target(path, within, callee)
        if target is None:
            return ()
        symbols = self.symbols(target.path)
        definition = symbols.definition(target.qualified_name) if symbols is not None else None
        if symbols is None or definition is None or not is_class(definition):
            return (target,)
        for name in filter(None, (definition.name, language_named(symbols.language).constructor)):
            key = f"{target.qualified_name}.{name}"
            self.dependencies.add((target.path, key))
            if symbols.definition(key) is not None:
                return (target, Resolution(target.path, key, "constructor"))
        return (target,)

    def _target(self, path: str, within: str, callee: str) -> Resolution | None:
        symbols = self.symbols(path)
        if symbols is None:
            return None
        parts = parse_dotted(callee)
        head, last = parts[0].name, parts[-1].name
        receiver = parts[-2].name if len(parts) > 1 else ""
        language = language_named(symbols.language)
        if len(parts) == 2 and head in language.own_object.split():
            key = f"{enclosing_class(symbols, within) or within.partition('.')[0]}.{last}"
            if symbols.definition(key) is not None:
                return Resolution(path, key, "self")
        imports = [entry for entry in symbols.entries.get(head, ()) if isinstance(entry, ImportedName)]
        for item in imports:
            wanted = item.name if item.name and len(parts) == 1 else last
            found = self._in_files(self._files_of(path, symbols, item), receiver, wanted)
            if found:
                return _if_unambiguous(found, "import")
        if imports:
            return None  # imported from outside of the repository
        own = self._in_files([path], receiver, last)
        if own:
            return _if_unambiguous(own, "same file")
        for entry in symbols.entries.get(STAR_IMPORTS, ()):
            if isinstance(entry, ImportedName):
                found = self._in_files(self._files_of(path, symbols, entry), receiver, last)
                if found:
                    return _if_unambiguous(found, "import")
        if language.shares_directory:
            found = self._in_files(self._package(path), receiver, last)
            if found:
                return _if_unambiguous(found, "same package")
        return self.unique(symbols.language, last)

    def _in_files(self, paths: Iterable[str], receiver: str, name: str) -> list[tuple[str, str]]:
        """The definitions of a name in some files; only those in the receiver's class if there are any."""
        found: dict[tuple[str, str], None] = {}
        for path in paths:
            symbols = self.symbols(path)
            if symbols is None:
                continue
            self.dependencies.add((path, f"~{name}"))
            for entry in symbols.entries.get(f"~{name}", ()):
                if isinstance(entry, Definition):
                    found[path, entry.qualified_name] = None
        owned = [key for key in found if receiver and f".{key[1]}".endswith(f".{receiver}.{name}")]
        return owned or [key for key in found if (key[0], key[1].rpartition(".")[0]) not in found]

    def _files_of(self, path: str, symbols: SymbolTable, item: ImportedName) -> tuple[str, ...]:
        kind = language_named(symbols.language).module_style or "class"
        module = (
            f"{item.module}.{item.name}" if kind == "class" and item.name not in ("", STAR_IMPORTS) else item.module
        )
        return self.module(kind, directory_of(path), module)

    def _package(self, path: str) -> list[str]:
        _, dot, suffix = path.rpartition(".")
        return [other for other in self.module("directory", directory_of(path), dot + suffix) if other != path]


def _if_unambiguous(found: list[tuple[str, str]], how: str) -> Resolution | None:
    return Resolution(*found[0], how) if len(found) == 1 else None
