"""Where does a call lead, outside Python? By its names and what the file imports, without types.

Owns the order of places to look at: the class around, the import that names the head, the own file, files
whose names are all imported, the own package, and last a name that is unique in the repository. Two
definitions in one of these places are an open question, not a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..languages import language_named
from .facts import Definition
from .lookup import Lookup, Target, parse_dotted
from .modules import directory_of
from .symbols import STARS, Imported, Symbols, enclosing_class, family, is_class

_OWN_OBJECT = frozenset({"self", "this", "Self", "static"})
_CONSTRUCTORS = ("constructor", "__construct", "initialize")  # and the class's own name
_MAX_HOPS = 4  # of re-exports


class PlainNames(Lookup):
    """Follows names in the languages that are read without types."""

    def targets(self, path: str, within: str, callee: str) -> tuple[Target, ...]:
        """The definition that a call of `callee` in a scope (a qualified name) leads to, with its constructor."""
        target = self._target(path, within, callee)
        if target is None:
            return ()
        symbols = self.symbols(target.path)
        definition = symbols.definition(target.qualified_name) if symbols is not None else None
        if symbols is None or definition is None or not is_class(definition):
            return (target,)
        for name in (definition.name, *_CONSTRUCTORS):
            key = f"{target.qualified_name}.{name}"
            self.asked.add((target.path, key))
            if symbols.definition(key) is not None:
                return (target, Target(target.path, key, "constructor"))
        return (target,)

    def _target(self, path: str, within: str, callee: str) -> Target | None:
        symbols = self.symbols(path)
        if symbols is None:
            return None
        parts = parse_dotted(callee)
        head, last = parts[0].name, parts[-1].name
        receiver = parts[-2].name if len(parts) > 1 else ""
        if head in _OWN_OBJECT and len(parts) == 2:
            key = f"{enclosing_class(symbols, within) or within.partition('.')[0]}.{last}"
            if symbols.definition(key) is not None:
                return Target(path, key, "self")
        imports = [entry for entry in symbols.entries.get(head, ()) if isinstance(entry, Imported)]
        for item in imports:
            wanted = item.name if item.name not in ("", "default") and len(parts) == 1 else last
            found = self._in_files(self._files_of(path, symbols, item), receiver, wanted)
            if found:
                return _the_one(found, "import")
        if imports:
            return None  # of a library, so nothing here is meant
        own = self._in_files([path], receiver, last)
        if own:
            return _the_one(own, "same file")
        for entry in symbols.entries.get(STARS, ()):
            if isinstance(entry, Imported):
                found = self._in_files(self._files_of(path, symbols, entry), receiver, last)
                if found:
                    return _the_one(found, "import")
        if language_named(symbols.language).shares_directory:
            found = self._in_files(self._package(path), receiver, last)
            if found:
                return _the_one(found, "same package")
        return self.unique(symbols.language, last)

    def _in_files(self, paths: Iterable[str], receiver: str, name: str, hops: int = 0) -> list[tuple[str, str]]:
        """The definitions of a name in some files; those in the receiver's own class if there are any."""
        found: dict[tuple[str, str], None] = {}
        for path in paths:
            symbols = self.symbols(path)
            if symbols is None:
                continue
            self.asked.add((path, f"~{name}"))
            for entry in symbols.entries.get(f"~{name}", ()):
                if isinstance(entry, Definition):
                    found[path, entry.qualified_name] = None
            if not found and hops < _MAX_HOPS and family(symbols.language) == "web":
                for item in self._reexports(path, symbols, name):
                    wanted = item.name if item.name not in ("", STARS, "default") else name
                    files = self._files_of(path, symbols, item)
                    found.update(dict.fromkeys(self._in_files(files, receiver, wanted, hops + 1)))
        owned = [place for place in found if receiver and f".{place[1]}".endswith(f".{receiver}.{name}")]
        return owned or [place for place in found if (place[0], place[1].rpartition(".")[0]) not in found]

    def _reexports(self, path: str, symbols: Symbols, name: str) -> Iterator[Imported]:
        for key in (name, STARS):
            self.asked.add((path, key))
            for entry in symbols.entries.get(key, ()):
                if isinstance(entry, Imported):
                    yield entry

    def _files_of(self, path: str, symbols: Symbols, item: Imported) -> tuple[str, ...]:
        kind = language_named(symbols.language).module_style or "class"
        module = f"{item.module}.{item.name}" if kind == "class" and item.name not in ("", STARS) else item.module
        return self.module(kind, directory_of(path), module)

    def _package(self, path: str) -> list[str]:
        ending = path.rpartition(".")[2]
        neighbours = self.module("directory", directory_of(path), "")
        return [other for other in neighbours if other != path and other.endswith(f".{ending}")]


def _the_one(found: list[tuple[str, str]], how: str) -> Target | None:
    return Target(*found[0], how) if len(found) == 1 else None
