"""Invalidation of name resolution: which files and memo entries a change of some files affects.

Owns the comparison of two snapshots by their answers, and the packed dependencies of each file. A change inside a
function changes no answer that another file depends on, so it invalidates one file. Knows no text and no disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias

from ..languages import language_named
from .file_graph import Definition
from .json_bytes import from_json, to_json
from .mentions import Mentions
from .modules import ModuleQuery, manifest_style, names_affected_by
from .persistent_map import PersistentMap
from .resolver import MAX_PLACES, Dependency, Key, MemoEntry, global_name_key
from .symbol_table import STAR_IMPORTS, Entry, SymbolTable, changed_names, global_import_key
from .typed_resolver import TypedResolver

if TYPE_CHECKING:
    from .graph import CodeGraph


class Invalidation:
    """The dependencies whose answers have changed."""

    def __init__(self, names: Mapping[str, set[str]], others: set[Dependency]) -> None:
        self._by_path = names
        self._all = others.union((path, name) for path, found in names.items() for name in found)
        self._others = others
        self._whole = {path for path, found in names.items() if _ANY in found}

    def __bool__(self) -> bool:
        return bool(self._all)

    def invalidates(self, known: MemoEntry) -> bool:
        """Whether an entry depends on a changed answer."""
        if not self._all.isdisjoint(known.dependencies):
            return True
        return bool(self._whole) and not self._whole.isdisjoint(known.paths())

    def valid(self, entries: Mapping[Key, MemoEntry]) -> dict[Key, MemoEntry]:
        """The entries without those that depend on a changed answer."""
        independent = self._all.isdisjoint
        found = {key: known for key, known in entries.items() if independent(known.dependencies)}
        if self._whole:
            found = {key: known for key, known in found.items() if self._whole.isdisjoint(known.paths())}
        return found

    def dependents(self, packed_dependencies: Mentions) -> set[str]:
        """The files whose resolution depends on a changed answer."""
        keys = [*self._by_path, *map(_mentioned, self._others)]
        # A substring search first: decoding the dependencies of a file takes much longer.
        needles = [to_json(path) for path in self._by_path]
        needles += [to_json(dependency[0] if len(dependency) == 1 else list(dependency)) for dependency in self._others]
        found = set()
        for path, packed in packed_dependencies.mentioning(keys) if keys else ():
            if any(needle in packed for needle in needles):
                names, others = from_json(packed)
                dependencies = {(other, name) for other in names.keys() & self._by_path for name in names[other]}
                if self.invalidates(MemoEntry(None, dependencies.union(map(tuple, others)), 0)):
                    found.add(path)
        return found


_ANY = "?"
"""Stands for every name of a file."""


_Tables: TypeAlias = Mapping[str, tuple[SymbolTable | None, SymbolTable | None]]
"""The symbol tables of each updated file before and after; None where it does not exist."""


def update_names(old: CodeGraph, new: CodeGraph, tables: _Tables) -> Invalidation:
    """Update the indexes of names and modules of `new` to its files; returns the answers that differ from `old`."""
    moved = {path for path, (was, now) in tables.items() if (was is None) != (now is None)}
    manifests = {path for path in tables if _manifest(old, path) != _manifest(new, path)}
    if moved or manifests:
        new._modules = None
    new._star_imported = old._star_imported.difference(tables).union(
        path for path, (_, now) in tables.items() if star_imports_of(now)
    )
    # No answer depends on a file that did not exist; all answers that depend on a removed file, or on one that now
    # declares another package, are invalid.
    names = {
        path: {_ANY} if now is None or now.package_key != was.package_key else changed_names(was, now)
        for path, (was, now) in tables.items()
        if was is not None
    }
    for path, more in _names_changed_by_star_imports(old, new, tables, moved | manifests).items():
        names[path] = names.get(path, set()) | more
    moves: NameMoves = {}
    for path, (was, now) in tables.items():
        note_moves(moves, path, was, now)
    others = _changed_modules(old, new, moved, {manifest_style(path) for path in manifests})
    if moves:
        new._by_global_name = apply_moves(old._by_global_name, moves)
        others |= {(key,) for key in moves if _answer(key, old) != _answer(key, new)}
    return Invalidation({path: found for path, found in names.items() if found}, others)


def star_imports_of(symbols: SymbolTable | None) -> tuple[Entry, ...]:
    """The star imports of a module by its files; names of declared packages are dependencies of their own."""
    if symbols is None or language_named(symbols.language).package_style == "declared":
        return ()
    return symbols.entries.get(STAR_IMPORTS, ())


def is_definition(symbols: SymbolTable | None, name: str) -> bool:
    entries = symbols.entries.get(name, ()) if symbols is not None else ()
    return any(isinstance(entry, Definition) for entry in entries)


def module_names(symbols: SymbolTable | None) -> set[str]:
    return {key for key in symbols.entries if "." not in key} if symbols is not None else set()


def new_names(path: str, old: SymbolTable | None, new: SymbolTable | None) -> set[str]:
    """The names of a file that other files could not refer to before, as they occur in dependencies."""
    names = module_names(new) - module_names(old)
    return names | {key for key, _ in global_names(path, new) - global_names(path, old) if "\0" in key}


def _names_changed_by_star_imports(
    old: CodeGraph, new: CodeGraph, tables: _Tables, moved: Set[str]
) -> dict[str, set[str]]:
    """Names of modules with star imports whose meaning may change, because another file has new names.

    `moved` are the files that can change what an import refers to.
    """
    added = {path: names for path, (was, now) in tables.items() if (names := module_names(now) - module_names(was))}
    found: dict[str, set[str]] = {}
    if not moved and all(star_imports_of(was) == star_imports_of(now) for was, now in tables.values()):
        for source, names in added.items():
            for path in old.star_users(source):
                found.setdefault(path, set()).update(names)
        new._star_users = old._star_users
        return found
    new._star_users = None
    before, after = TypedResolver(old), TypedResolver(new)
    for path in old._star_imported | new._star_imported:
        sources = before.star_sources(path)
        if after.star_sources(path) != sources:
            found[path] = {_ANY}
        else:
            names = set().union(*(added[source] for source, _ in sources if source in added))
            if names:
                found[path] = names
    return found


def star_users_of(graph: CodeGraph, importers: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each file whose names star imports bring into other modules: these modules, of the given importers."""
    resolver = TypedResolver(graph)
    found: dict[str, list[str]] = {}
    for path in sorted(importers):
        for source, _ in resolver.star_sources(path):
            found.setdefault(source, []).append(path)
    return {source: tuple(users) for source, users in found.items()}


NameMoves: TypeAlias = dict[str, tuple[set[str], set[str]]]
"""For each `global_name_key`: the removed and the added definitions."""


def _answer(key: str, graph: CodeGraph) -> tuple[str, ...]:
    """What resolution reads under a key: the definitions of a package, or the few of a name."""
    found = graph.definitions_named(key)
    if key.endswith("/"):  # only whether there is such a namespace
        return found and ("",)
    return found if "\0" in key or len(found) <= MAX_PLACES else ()


def note_moves(moves: NameMoves, path: str, old: SymbolTable | None, new: SymbolTable | None) -> None:
    before, after = global_names(path, old), global_names(path, new)
    for key, place in before - after:
        moves.setdefault(key, (set(), set()))[0].add(place)
    for key, place in after - before:
        moves.setdefault(key, (set(), set()))[1].add(place)


def global_names(path: str, symbols: SymbolTable | None) -> set[tuple[str, str]]:
    if symbols is None:
        return set()
    keyed = ((global_name_key(symbols.language, d.name), d) for d in symbols.definitions)
    found = {(key, f"{path}\0{definition.qualified_name}") for key, definition in keyed if key is not None}
    attributes = ((global_name_key(symbols.language, name), key) for name, key in symbols.attributes())
    found.update((key, f"{path}\0{name}") for key, name in attributes if key is not None)
    found.update((key, f"{path}\0{name}") for key, name in symbols.implementation_keys())
    found.update((key, f"{path}\0{name}") for key, name in symbols.extension_keys())
    found.update((global_import_key(family), f"{path}\0{name}") for family, name in symbols.global_imports)
    if symbols.package_key:
        found.update((symbols.package_key + key, f"{path}\0{key}") for key in symbols.package_names())
        family = symbols.package_key.partition("\0")[0]
        found.update((f"{family}\0{name}/", f"{path}\0") for name in symbols.namespaces())
    return found


def apply_moves(places: PersistentMap[tuple[str, ...]], moves: NameMoves) -> PersistentMap[tuple[str, ...]]:
    after = {key: tuple(sorted(came.union(places.get(key, ())) - gone)) for key, (gone, came) in moves.items()}
    return places.with_changes({key: here for key, here in after.items() if here}, after)


def _changed_modules(
    old: CodeGraph, new: CodeGraph, moved: Iterable[str], manifest_styles: Set[str]
) -> set[Dependency]:
    """The module queries whose answers changed: paths were added or removed, or manifests of some module styles."""
    names: set[str] = set()
    for path in moved:
        names |= names_affected_by(path, old.modules, new.modules)
    needles = [to_json(name)[1:-1] if name else to_json(name) for name in names]
    needles += [b'["%s","' % style.encode() for style in manifest_styles]
    if not needles:
        return set()
    dependencies = old.memo.module_dependencies()
    for view in new._dependencies.values():
        packed = bytes(view)
        if any(needle in packed for needle in needles):
            dependencies.update(tuple(dependency) for dependency in from_json(packed)[1] if len(dependency) == 3)
    changed: set[Dependency] = set()
    for kind, directory, module in dependencies:
        if kind in manifest_styles or any(name in module or name in directory for name in names):
            dependency = ModuleQuery(kind, directory, module)
            if old.find_module(dependency) != new.find_module(dependency):
                changed.add(dependency)
    return changed


def _manifest(graph: CodeGraph, path: str) -> str:
    file = graph.files.get(path)
    return file.manifest if file is not None else ""


# Packed dependencies


def pack_dependencies(dependencies: set[Dependency], path: str, symbols: SymbolTable | None) -> bytes:
    """The dependencies of a file on other files; those on itself, star imports apart, never outlive a change."""
    starred = bool(star_imports_of(symbols))
    names: dict[str, list[str]] = {}
    others = []
    for dependency in dependencies:
        if len(dependency) != 2:
            others.append(dependency)
            continue
        other, name = dependency
        if other != path or (starred and "." not in name and symbols is not None and name not in symbols.entries):
            names.setdefault(other, []).append(name)
    return to_json([names, others])


def keys_of_dependencies(packed: bytes) -> list[str]:
    """The keys under which `Invalidation.dependents` finds a file with these dependencies."""
    names, others = from_json(packed)
    return [*names, *map(_mentioned, others)]


def _mentioned(dependency: Sequence[str]) -> str:
    return "\0".join(dependency)
