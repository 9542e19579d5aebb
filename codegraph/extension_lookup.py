"""Members that are defined outside of their types: by a dotted name, or in a block for the type.

Owns the types that such members belong to, and which of them a file sees.
"""

from __future__ import annotations

from ..languages import Language
from .package_lookup import PackageLookup
from .resolver import (
    MAX_CANDIDATES,
    MAX_PLACES,
    distance,
    parse_dotted,
)
from .symbol_table import (
    ImportedName,
    language_family,
)
from .values import (
    CLASS_VALUE,
    FUNCTION_VALUE,
    INSTANCE_VALUE,
    Value,
)


class ExtensionLookup(PackageLookup):
    """Lookups of extensions."""

    def extension(self, path: str, classes: tuple[tuple[str, str], ...], name: str, of: str = "") -> Value | None:
        """The member of a class that is defined outside of it; the nearest to a file if there are several.

        `of` is `ELEMENTS` for the collections of objects of the class.
        """
        symbols = self.symbols(path)
        if symbols is None:
            return None
        family = language_family(symbols.language)
        lasts = dict.fromkeys(owner.rpartition(".")[2] + of for _, owner in classes)
        places = [place for last in lasts for place in self._places(f"{family}\0+{last}.{name}", path)]
        if not places:
            return None
        types = {self.identity(*each) for each in classes}
        for other, key in sorted(places, key=lambda place: distance(path, place[0])) if len(lasts) > 1 else places:
            owner = self._owner(other, key)
            if owner is not None and self.identity(owner.path, owner.name) in types:
                return self.attribute(other, key)
        return None

    def _extensions_by_name(self, path: str, name: str, type_name: str = "") -> tuple[Value, ...]:
        """The few extensions of this name of types from outside of the repository; of one type if it is known."""
        rules = self._rules(path)
        places = self._places(f"{language_family(rules.name)}\0+{name}", path)
        places = [place for place in places if self._is_of_outside(*place)]
        if rules.has_extension_packages:
            packages = self._visible_packages(path)
            places = [place for place in places if self._package_around(*place) in packages]
        elif rules.declares_all and (type_name or name in rules.builtin_names):
            places = self._of_outside_type(path, places, type_name, name in rules.builtin_names, rules)
        places = self.distinct(places, path) if len(places) <= MAX_PLACES else places
        values = (self.attribute(*place) for place in places)
        found = dict.fromkeys(value for value in values if value is not None and value.kind == FUNCTION_VALUE)
        return tuple(found) if len(found) <= MAX_CANDIDATES else ()

    def _of_outside_type(
        self, path: str, places: list[tuple[str, str]], type_name: str, is_builtin: bool, rules: Language
    ) -> list[tuple[str, str]]:
        """The extensions of one type from outside of the repository; without any, those of types that it may be."""
        owners = {place: self._outside_owner(path, *place) for place in places}
        exact = [place for place in places if owners[place] == type_name]
        if exact or is_builtin:
            return exact
        is_standard = type_name in rules.builtin_names
        return [
            place for place in places if owners[place] and not (is_standard and owners[place] in rules.builtin_names)
        ]

    def _package_around(self, path: str, key: str) -> str:
        """The package or namespace that holds a member outside of its type."""
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        extension = symbols.extensions.get(key) if symbols is not None else None
        if symbols is None or extension is None:
            return ""
        return (symbols.package_key.partition("\0")[2] + extension.scope).rstrip(".")

    def _imported_extension(self, path: str, name: str) -> Value | None:
        """The only extension that an import of this name means, whatever the type that it belongs to."""
        symbols = self.symbols(path)
        if symbols is None or name not in symbols.entries:
            return None
        found: dict[str, Value] = {}
        for item in symbols.entries.get(name, ()):
            if not isinstance(item, ImportedName):
                return None
            for other, key in self._places(f"{language_family(symbols.language)}\0+{item.name}", path):
                table = self.symbols(other)
                extension = table.extensions.get(key) if table is not None else None
                if table is None or extension is None:
                    continue
                package = table.package_key.partition("\0")[2]
                if (package + extension.scope).removesuffix(".") == item.module:
                    self.dependencies.add((other, key))
                    found.setdefault(key, Value(FUNCTION_VALUE, other, key, "import"))
        return next(iter(found.values())) if len(found) == 1 else None

    def distinct(self, places: list[tuple[str, str]], near: str) -> list[tuple[str, str]]:
        """The nearest place of each global name (`expect` and `actual`); all places without declared packages."""
        tables = [self.symbols(path) for path, _ in places]
        if not any(table is not None and table.rules.package_style == "declared" for table in tables):
            return places
        found: dict[str, tuple[str, str]] = {}
        for path, name in sorted(places, key=lambda place: distance(near, place[0])):
            symbols = self.symbols(path)
            if symbols is None or symbols.rules.package_style != "declared":
                return places
            # Their places change with the package of the file.
            self.dependencies |= {(symbols.package_key + name,), (symbols.package_key + name.partition(".")[0],)}
            found.setdefault(symbols.package_key + name, (path, name))
        return list(found.values())

    def _outside_owner(self, near: str, path: str, key: str) -> str:
        """The type of an extension as it is written; "" for one in a class of another file, which few files see."""
        symbols = self.symbols(path)
        extension = symbols.extensions.get(key) if symbols is not None else None
        return "" if extension is None or (extension.scope and path != near) else extension.owner

    def _is_of_outside(self, path: str, key: str) -> bool:
        owner = self._owner(path, key)
        symbols = self.symbols(owner.path) if owner is not None else None
        return owner is None or (symbols is not None and symbols.is_foreign_part(owner.name))

    def _owner(self, path: str, key: str) -> Value | None:
        """An object of the type to which a member outside of it belongs."""
        return self.memoised(self.shared, (path, key, "owner"), self._read_owner, path, key)

    def _read_owner(self, path: str, key: str) -> Value | None:
        symbols = self.symbols(path)
        self.dependencies.add((path, key))
        extension = symbols.extensions.get(key) if symbols is not None else None
        if extension is None:
            return None
        value = self.read(path, extension.scope, parse_dotted(extension.owner), is_type=True)
        return (
            value._replace(kind=INSTANCE_VALUE, how="self") if value is not None and value.kind == CLASS_VALUE else None
        )
