"""The base of name lookups: what all of them share, and the lookups that build on each other.

Owns the reading of headers and places with their dependencies. Knows no language but by its record.
"""

from __future__ import annotations

from ..languages import UNKNOWN, Language
from .file_graph import Definition
from .resolver import (
    NamePart,
    Resolution,
    ResolutionSource,
    Resolver,
    distance,
)
from .symbol_table import (
    MODULE,
    NAMESPACE_KINDS,
    Entry,
    SymbolTable,
    header_key,
)
from .values import MAX_PARTS, Value


class Lookup(Resolver):
    """Shared steps, and the signatures of lookups that subclasses define."""

    def __init__(self, source: ResolutionSource) -> None:
        super().__init__(source)
        self._nearest: dict[
            tuple[str, str], tuple[str, str]
        ] = {}  # file and key -> file and name, of a package's names

    # Lookups of the subclasses

    def read(
        self,
        path: str,
        within: str,
        parts: tuple[NamePart, ...],
        line: float | None = None,
        *,
        is_type: bool = False,
        is_called: bool = False,
    ) -> Value | None:
        raise NotImplementedError

    def attribute(self, path: str, key: str) -> Value | None:
        raise NotImplementedError

    def member(self, value: Value, name: str, *, is_called: bool = False) -> Value | None:
        raise NotImplementedError

    def result(self, value: Value | None) -> Value | None:
        raise NotImplementedError

    def object_around(self, path: str, within: str) -> Value | None:
        raise NotImplementedError

    def _in_package(self, path: str, package: str, key: str) -> Value | None:
        raise NotImplementedError

    def _first(self, path: str, key: str, entries: tuple[Entry, ...]) -> Value | None:
        raise NotImplementedError

    def _typed(self, path: str, scope: str, type_text: str) -> Value | None:
        raise NotImplementedError

    def _called(self, value: Value | None) -> tuple[Resolution, ...]:
        raise NotImplementedError

    # Shared steps

    def _is_type(self, symbols: SymbolTable, name: str) -> bool:
        definition = symbols.definition(name)
        return definition is not None and definition.kind not in NAMESPACE_KINDS

    def _places(self, key: str, near: str) -> list[tuple[str, str]]:
        """The definitions under a key, nearest to a file first."""
        self.dependencies.add((key,))
        found = [place.partition("\0")[::2] for place in self._source.definitions_named(key)]
        if len(found) < 2:
            return found
        return sorted(found, key=lambda place: distance(near, place[0]))[:MAX_PARTS]

    def identity(self, path: str, name: str) -> str:
        """The same for all parts of one type."""
        symbols = self.symbols(path)
        if symbols is not None and symbols.rules.package_style == "declared":
            return symbols.package_key + name
        return f"{path}\0{name}"

    def _is_namespace(self, path: str, name: str) -> bool:
        """Whether a definition is a namespace: all places of one are alike, and they are many."""
        definition = self._header(path, name)
        return definition is not None and definition.kind == "namespace"

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

    def _header(self, path: str, name: str) -> Definition | None:
        """The definition of a name, for its bases or its return annotation."""
        self.dependencies |= {(path, name), (path, header_key(name))}
        symbols = self.symbols(path)
        return symbols.definition(name) if symbols is not None else None

    def _rules(self, path: str) -> Language:
        symbols = self.symbols(path)
        return symbols.rules if symbols is not None else UNKNOWN

    def _is_private(self, symbols: SymbolTable, name: str) -> bool:
        prefix = symbols.rules.private_prefix
        return bool(prefix) and name.startswith(prefix)
