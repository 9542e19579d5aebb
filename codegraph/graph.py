"""The code graph of a folder: the facts of every file and the resolved calls, as an immutable snapshot.

`CodeGraph` never changes: `with_changes` gives the next snapshot and resolves only the files that a change affects
(`invalidation`), or leaves that to `settled`; `overlay` gives a snapshot with one file replaced, for one query. Knows
no text and no disk.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..languages import language_named
from .byte_table import from_table, to_table
from .file_graph import MODULE_SCOPE, Call, Definition, FileGraph
from .invalidation import (
    Invalidation,
    NameMoves,
    apply_moves,
    global_names,
    is_definition,
    keys_of_dependencies,
    new_names,
    note_moves,
    pack_dependencies,
    star_imports_of,
    star_users_of,
    update_names,
)
from .json_bytes import from_json, to_json
from .mentions import Mentions, Packed
from .modules import ModuleIndex, ModuleQuery
from .name_table import NameTable
from .persistent_map import PersistentMap
from .resolve import resolve_calls
from .resolver import Memo, OverlayMemo
from .symbol_table import SymbolTable, changed_names, has_definitions_in_order

MAX_TABLES_BYTES = 10_000_000
"""Limit of cached symbol tables in a snapshot, by the packed outlines of their files: a table takes about five times as
much. Measured by jumps at 1.2 million lines: 2 MB take twice the processor time, 16 MB no less."""

MAX_BUILD_TABLES_BYTES = 32_000_000
"""The same while all files are resolved, which takes the tables of many files in turn."""

MAX_CALLERS = 40_000
"""Limit of cached callers in a snapshot, at about 150 bytes each."""


Spread: TypeAlias = Callable[[Callable[[str], tuple[bytes, bytes]], Sequence[str]], Iterable[tuple[bytes, bytes]]]
"""Maps a function over many paths, in their order: `map`, or one that uses several processes."""


class CallEdge(NamedTuple):
    """A call and a definition that it resolves to. A call of a class resolves to the class and to its __init__."""

    call: int  # index into the calling file's `calls`
    path: str
    qualified_name: str
    how: str  # one of resolve.HOW


class CallInside(NamedTuple):
    """A resolved call with the place where it is made."""

    line: int
    enclosing: str  # the qualified name of the innermost definition around it, "" at the top level
    edge: CallEdge


class Caller(NamedTuple):
    """A call that resolves to a given definition."""

    path: str
    call: int  # index into that file's `calls`
    how: str
    line: int
    enclosing: str  # as in `CallInside`


class _Unresolved(NamedTuple):
    """What a snapshot still has to resolve. Its names are those of its files; some of its calls are earlier ones."""

    files: Mapping[str, FileGraph | None]
    """The files to resolve, each as it was when its calls were resolved; None for a new file."""
    changes: tuple[Invalidation, ...] = ()
    """Changes whose dependents are to be resolved too."""
    edited: frozenset[str] = frozenset()
    """Files that calls of an earlier snapshot may lead to although the definition is gone."""


_NOTHING = _Unresolved({})


class CodeGraph:
    """An immutable snapshot. Cheap to derive from the previous one; safe to read from several threads."""

    __slots__ = (
        *("_by_global_name", "_callers", "_dependencies", "_edges", "_files", "_latest_overlay", "_memo", "_modules"),
        *("_calling", "_max_tables_bytes", "_n_callers", "_n_tables_bytes", "_older_symbols", "_root_name", "_roots"),
        *("_star_imported", "_star_users", "_symbols", "_unresolved", "__weakref__"),
    )

    def __init__(self, root_name: str = "", roots: Collection[str] = ("",)) -> None:
        self._root_name = root_name
        self._roots = roots
        self._files: PersistentMap[FileGraph] = PersistentMap()
        self._edges = Mentions()
        self._dependencies = Mentions()
        # `global_name_key` -> definitions, as "path\0qualified name"
        self._by_global_name: PersistentMap[tuple[str, ...]] = PersistentMap()
        self._star_imported: frozenset[str] = frozenset()  # files with star imports
        self._unresolved = _NOTHING
        # Caches that follow from the fields above.
        # The tables that were used since the last time that half of the limit was reached, and those before.
        self._symbols: dict[str, SymbolTable] = {}
        self._older_symbols: dict[str, SymbolTable] = {}
        self._n_tables_bytes, self._max_tables_bytes = 0, MAX_TABLES_BYTES
        self._modules: ModuleIndex | None = None
        self._star_users: Mapping[str, tuple[str, ...]] | None = None
        self._memo = Memo()
        self._callers: dict[str, Mapping[str, tuple[Caller, ...]]] = {}
        self._n_callers = 0
        self._calling: dict[tuple[str, str], tuple[str, ...]] = {}
        self._latest_overlay: _Overlay | None = None

    @classmethod
    def build(
        cls,
        files: Iterable[FileGraph],
        root_name: str = "",
        roots: Collection[str] = ("",),
        spread: Spread = map,
    ) -> CodeGraph:
        """The graph of these files, resolved from scratch. The last of several files with one path counts.

        `root_name` is the folder's own name: how its files are imported where the folder is a package itself. `roots`
        are the directories of the folders of a workspace with several. `spread` resolves the files.
        """
        graph = cls(root_name, roots)
        graph._files = PersistentMap({file.path: file for file in files})
        graph._max_tables_bytes = MAX_BUILD_TABLES_BYTES
        with garbage_collection_paused():
            came: NameMoves = {}
            starred = []
            for path in graph._files:
                symbols = graph.symbols(path)
                note_moves(came, path, None, symbols)
                if star_imports_of(symbols):
                    starred.append(path)
            graph._by_global_name = apply_moves(graph._by_global_name, came)
            graph._star_imported = frozenset(starred)
            graph._resolve(sorted(graph._files), spread)
        graph._memo = Memo()  # larger than the graph; queries fill it again as needed
        graph._max_tables_bytes = MAX_TABLES_BYTES
        return graph

    @property
    def files(self) -> Mapping[str, FileGraph]:
        return self._files

    def call_edges(self, path: str) -> tuple[CallEdge, ...]:
        """The resolved calls of a file, in source order; () for a file that is not in the graph.

        Before the snapshot is `settled`, those of a file that is to be resolved again are the calls that were resolved
        before and are still there, to definitions that still exist.
        """
        return tuple(self._columns(path).edges())

    def calls_on(self, path: str, lines: Collection[int]) -> list[tuple[int, CallEdge]]:
        """The resolved calls on some lines of a file, in source order, each with its line.

        Less work than `call_edges`: the edges of the other lines are not made.
        """
        found = self._columns(path)
        rows = zip(found.lines, found.calls, found.numbers, strict=True)
        return [(line, CallEdge(call, *found.targets[number])) for line, call, number in rows if line in lines]

    def calls_inside(self, path: str, qualified_name: str) -> list[CallInside]:
        """The resolved calls in all definitions of a name in a file and in those inside of them, in source order."""
        found = self._columns(path)
        inner = f"{qualified_name}."
        scopes = {at for at, name in enumerate(found.scopes) if name == qualified_name or name.startswith(inner)}
        if not scopes:
            return []
        return [
            CallInside(line, found.scopes[scope], CallEdge(call, *found.targets[number]))
            for line, scope, call, number in zip(
                found.lines, found.scope_numbers, found.calls, found.numbers, strict=True
            )
            if scope in scopes
        ]

    def callers(self, path: str, qualified_name: str) -> tuple[Caller, ...]:
        """The calls that resolve to a definition, by path and source order."""
        return self.callers_into(path).get(qualified_name, ())

    def callers_into(self, path: str) -> Mapping[str, tuple[Caller, ...]]:
        """The same for all definitions of a file, by qualified name."""
        table = self._callers.get(path)
        if table is None:
            table = self._callers_into(path)
            if self._n_callers > MAX_CALLERS:
                self._callers, self._n_callers = {}, 0
            self._n_callers += sum(map(len, table.values()))
            self._callers[path] = table
        return table

    def call_targets(self, path: str) -> tuple[Sequence[tuple[str, str, str]], Sequence[int], Sequence[int]]:
        """The resolved calls of a file in columns: path, qualified name and `how` of each definition that is called;
        the number of the definition of each resolved call; and the number of the call, equal for a class and its
        constructor."""
        found = self._columns(path)
        return found.targets, found.numbers, found.calls

    def calling_files(self, path: str, qualified_name: str) -> tuple[str, ...]:
        """The files with calls that resolve to a definition, sorted; faster than `callers`, which reads these calls."""
        key = path, qualified_name
        found = self._calling.get(key)
        if found is None and path in self._unresolved.edited and self.definition(*key) is None:
            return ()
        if found is None:
            needle = to_json(key)[:-1] + b","  # of a packed target: `["path","name","how"]`
            callers = (at for at, edges in self._edges.mentioning([path]) if needle in edges)
            found = self._calling[key] = tuple(sorted(callers))
        return found

    def definition(self, path: str, qualified_name: str) -> Definition | None:
        """The first definition of this name in a file. Without a symbol table, where none is needed yet."""
        symbols = self._symbols.get(path)
        if symbols is None:
            file: FileGraph | None = self._files.get(path)
            if file is not None and has_definitions_in_order(language_named(file.language)):
                return file.definition(qualified_name)
            symbols = self.symbols(path)
        return symbols.definition(qualified_name) if symbols is not None else None

    def with_changes(
        self,
        changed: Iterable[FileGraph] = (),
        removed: Iterable[str] = (),
        spread: Spread = map,
        *,
        settles: bool = True,
    ) -> CodeGraph:
        """The snapshot after some files were created, edited or deleted. This snapshot does not change.

        `spread` resolves the affected files. Without `settles` none is resolved: `settled` does that.
        """
        updates: dict[str, FileGraph | None] = {path: None for path in removed if path in self._files}
        updates.update((file.path, file) for file in changed)
        new = self._copy()
        gone = [path for path, file in updates.items() if file is None]
        new._files = self._files.with_changes({path: file for path, file in updates.items() if file is not None}, gone)
        if len(updates) > len(self._files):  # to find the answers that can differ takes longer than to resolve all
            return CodeGraph.build(new._files.values(), self._root_name, self._roots, spread)
        new._edges = self._edges.with_changes({}, gone)
        new._dependencies = self._dependencies.with_changes({}, gone)
        tables: dict[str, tuple[SymbolTable | None, SymbolTable | None]] = {}
        for path in updates:
            new._symbols.pop(path, None)
            new._older_symbols.pop(path, None)
            tables[path] = self.symbols(path), new.symbols(path)
        changes = update_names(self, new, tables)
        new._memo = self._memo.reduced(changes.valid) if changes else self._memo
        new._latest_overlay = None if changes else self._latest_overlay
        new._unresolved = self._unresolved_after(updates, changes)
        new._forget_callers(self, updates, updates)
        return new.settled(spread=spread) if settles else new

    @property
    def is_settled(self) -> bool:
        """Whether all calls are resolved as from scratch."""
        return self._unresolved is _NOTHING

    def unresolved(self) -> set[str]:
        """The files that `settled` resolves."""
        found = set(self._unresolved.files)
        for changes in self._unresolved.changes:
            found |= changes.dependents(self._dependencies)
        return found & self._files.keys()

    def settled(self, is_over: Callable[[], bool] = lambda: False, spread: Spread = map) -> CodeGraph:
        """The snapshot with the calls resolved that edits left; some of them, and one at least, once `is_over`.

        `spread` resolves the files. The result is this snapshot if nothing is left.
        """
        if self.is_settled:
            return self
        new = self._copy()
        new._files, new._edges, new._dependencies = self._files, self._edges, self._dependencies
        new._memo, new._latest_overlay, new._unresolved = self._memo, self._latest_overlay, _NOTHING
        # In order of paths, because neighbours depend on the same symbol tables.
        waiting = sorted(self.unresolved())
        resolved = new._resolve(waiting, spread, is_over)
        left = waiting[len(resolved) :]
        if left:
            files = {path: self._unresolved.files.get(path, self._files[path]) for path in left}
            new._unresolved = _Unresolved(files, (), self._unresolved.edited)
        new._forget_callers(self, resolved, ())
        return new

    def overlay(self, file: FileGraph) -> CodeGraph:
        """A snapshot for one query in which `file` replaces the file of its path: the buffer up to the cursor.

        Only that file is resolved. The calls of other files are those of this snapshot whose target, by its qualified
        name, still exists.
        """
        latest = self._latest_overlay
        if latest is None or latest._base is not self or latest.files.get(file.path) is not file:
            latest = self._latest_overlay = _Overlay(self, file, latest)
        return latest

    def overlaid(self, files: Iterable[FileGraph]) -> CodeGraph:
        """As `overlay` for several files. The next `overlay` does not build on it."""
        graph = self
        for file in files:
            graph = _Overlay(graph, file)
        return graph

    # The interface for name resolution (`resolver.ResolutionSource`)

    @property
    def memo(self) -> Memo:
        return self._memo

    @property
    def modules(self) -> ModuleIndex:
        if self._modules is None:
            manifests = {path: file.manifest for path, file in self._files.items() if file.manifest}
            self._modules = ModuleIndex(self._files.keys(), self._root_name, manifests, self._roots)
        return self._modules

    def symbols(self, path: str) -> SymbolTable | None:
        """The symbol table of a file; None when the file is not in the graph."""
        found = self._symbols.get(path)
        if found is None:
            file = self._files.get(path)
            if file is None:
                return None
            if 2 * self._n_tables_bytes > self._max_tables_bytes:
                self._older_symbols, self._symbols, self._n_tables_bytes = self._symbols, {}, 0
            found = self._older_symbols.pop(path, None) or SymbolTable(file)
            self._n_tables_bytes += file.n_outline_bytes
            self._symbols[path] = found
        return found

    def star_users(self, path: str) -> tuple[str, ...]:
        """The modules into which star imports bring the names of a file, directly or through others. The first call
        reads all modules with star imports."""
        if self._star_users is None:
            self._star_users = star_users_of(self, self._star_imported)
        return self._star_users.get(path, ())

    def find_module(self, query: ModuleQuery) -> tuple[str, ...]:
        """The files of a module, () when it is not in the repository."""
        return self.modules.find(query)

    def definitions_named(self, key: str) -> tuple[str, ...]:
        """The definitions with this `global_name_key`, as "path\\0qualified name"."""
        found: tuple[str, ...] = self._by_global_name.get(key, ())
        return found

    # Storage

    def __getstate__(self) -> dict[str, Any]:
        """Columns instead of objects: a large graph loads in a fraction of a second."""
        if not self.is_settled:
            return self.settled().__getstate__()
        states = [file.__getstate__() for file in self._files.values()]
        nodes = [file.nodes for file in self._files.values()]
        return {
            "files": [list(column) for column in zip(*((*state[:4], *state[6:8]) for state in states), strict=True)],
            "problems": {number: state[5] for number, state in enumerate(states) if state[5]},
            "nodes": np.concatenate(nodes, axis=1) if nodes else np.zeros((5, 0), np.int32),
            "n_nodes": [file.n_nodes for file in self._files.values()],
            "outlines": to_table(state[8] for state in states),
            "calls": to_table(state[9] for state in states),
            "resolved": list(self._edges),
            "edges": self._edges.state(_called_paths),
            "dependencies": self._dependencies.state(keys_of_dependencies),
            "global_names": NameTable(self._by_global_name),
            "star_imported": self._star_imported,
            "root_name": self._root_name,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        CodeGraph.__init__(self, state["root_name"])
        start = 0
        files: dict[str, FileGraph] = {}
        packed = zip(from_table(state["outlines"]), from_table(state["calls"]), strict=True)
        facts = zip(*state["files"], strict=True)
        for number, (known, n_nodes, packed_facts) in enumerate(zip(facts, state["n_nodes"], packed, strict=True)):
            nodes, problems = state["nodes"][:, start : start + n_nodes], state["problems"].get(number, ())
            file = FileGraph.from_state((*known[:4], nodes, problems, *known[4:], *packed_facts))
            files[file.path] = file
            start += n_nodes
        self._files = PersistentMap(files)
        self._edges = Mentions.restored(state["resolved"], state["edges"])
        self._dependencies = Mentions.restored(state["resolved"], state["dependencies"])
        self._by_global_name = PersistentMap(state["global_names"])
        self._star_imported = state["star_imported"]

    def __repr__(self) -> str:
        return f"CodeGraph({len(self._files)} files)"

    # Deriving the next snapshot

    def _copy(self) -> CodeGraph:
        new = CodeGraph(self._root_name, self._roots)
        new._by_global_name, new._star_imported = self._by_global_name, self._star_imported
        new._symbols, new._modules, new._star_users = self._symbols.copy(), self._modules, self._star_users
        new._older_symbols, new._n_tables_bytes = self._older_symbols.copy(), self._n_tables_bytes
        return new

    def _unresolved_after(self, updates: Mapping[str, FileGraph | None], changes: Invalidation) -> _Unresolved:
        """What the next snapshot has to resolve, with these files replaced or removed."""
        files = dict(self._unresolved.files)
        for path, file in updates.items():
            if file is None:
                files.pop(path, None)
            else:
                files.setdefault(path, self._files.get(path))
        changed = (*self._unresolved.changes, changes) if changes else self._unresolved.changes
        return _Unresolved(files, changed, self._unresolved.edited.union(updates))

    def _forget_callers(self, old: CodeGraph, resolved: Iterable[str], edited: Iterable[str]) -> None:
        """Take over the callers that an earlier snapshot has found, but for definitions whose callers may differ."""
        if old._callers or old._calling:
            packed = (graph._edges.get(path) for path in resolved for graph in (old, self))
            called = {*edited, *(path for edges in packed if edges for path in _called_paths(bytes(edges)))}
            self._callers = {path: table for path, table in list(old._callers.items()) if path not in called}
            self._n_callers = old._n_callers
            self._calling = {key: found for key, found in list(old._calling.items()) if key[0] not in called}

    def _resolve(
        self, paths: Sequence[str], spread: Spread = map, is_over: Callable[[], bool] = lambda: False
    ) -> list[str]:
        """Resolve the calls of these files, while the snapshot is made; returns those that were when it `is_over`."""
        edges: dict[str, Packed] = {}
        dependencies: dict[str, Packed] = {}
        for path, found in zip(paths, spread(self._resolved, paths), strict=False):
            edges[path], dependencies[path] = found
            if is_over():
                break
        self._edges = self._edges.with_changes(edges)
        self._dependencies = self._dependencies.with_changes(dependencies)
        return list(edges)

    def _resolved(self, path: str) -> tuple[bytes, bytes]:
        """The edges and the dependencies of a file, packed."""
        file = self._files[path]
        edges, dependencies = resolve_calls(self, file)
        packed = to_json(_columns_of([CallEdge(call, *target) for call, target in edges], file))
        return packed, pack_dependencies(dependencies, path, self.symbols(path))

    def _columns(self, path: str) -> _EdgeColumns:
        """The resolved calls of a file. See `call_edges`."""
        packed = self._edges.get(path)
        if not packed:
            return _NO_EDGES
        found = _edge_columns(bytes(packed))
        edited, before = self._unresolved.edited, self._unresolved.files.get(path)
        if before is not None and before is not self._files[path]:
            edges = _moved(list(found.edges()), before.calls, self._files[path].calls)
            found = _columns_of(edges, self._files[path])
        if edited and any(target in edited for target, _, _ in found.targets):
            found = found.leading_to(lambda target, name: target not in edited or self.definition(target, name))
        return found

    def _callers_into(self, path: str) -> dict[str, tuple[Caller, ...]]:
        needle = to_json(path)
        found: dict[str, list[Caller]] = {}
        for source, edges in sorted(self._edges.mentioning([path])):
            if needle in edges:
                for name, caller in self._columns(source).callers_of(path, source):
                    found.setdefault(name, []).append(caller)
        return {name: tuple(callers) for name, callers in found.items()}


class _Overlay(CodeGraph):
    """See `CodeGraph.overlay`. Reads all files but one from the base snapshot."""

    __slots__ = ("_base", "_own_by_global_name", "_own_callers", "_path")

    def __init__(self, base: CodeGraph, file: FileGraph, previous: _Overlay | None = None) -> None:
        super().__init__()
        self._base = base
        self._path = file.path
        self._files = base._files.with_changes({file.path: file})
        self._memo = self._overlay_memo(base, previous)
        self._own_callers: dict[tuple[str, str], list[Caller]] | None = None
        self._own_by_global_name: dict[str, list[str]] | None = None

    def _columns(self, path: str) -> _EdgeColumns:
        if path == self._path:
            if path not in self._edges:
                self._resolve([path])
            return super()._columns(path)
        found = self._base._columns(path)
        if any(target == self._path for target, _, _ in found.targets):
            return found.leading_to(self._exists)
        return found  # it calls nothing in the file of the cursor

    def calls_on(self, path: str, lines: Collection[int]) -> list[tuple[int, CallEdge]]:
        if path != self._path or path in self._edges:
            return super().calls_on(path, lines)
        calls = self._files[path].calls
        edges, _ = resolve_calls(self, self._files[path], lines)
        return [(calls[call].line, CallEdge(call, *target)) for call, target in edges]

    def callers(self, path: str, qualified_name: str) -> tuple[Caller, ...]:
        if not self._exists(path, qualified_name):
            return ()
        below = [caller for caller in self._base.callers(path, qualified_name) if caller.path != self._path]
        return tuple(sorted(below + self._callers_here().get((path, qualified_name), [])))

    def callers_into(self, path: str) -> Mapping[str, tuple[Caller, ...]]:
        names = {*self._base.callers_into(path), *(name for target, name in self._callers_here() if target == path)}
        found = ((name, self.callers(path, name)) for name in names)
        return {name: callers for name, callers in found if callers}

    def calling_files(self, path: str, qualified_name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(caller.path for caller in self.callers(path, qualified_name)))

    def with_changes(
        self,
        changed: Iterable[FileGraph] = (),
        removed: Iterable[str] = (),
        spread: Spread = map,
        *,
        settles: bool = True,
    ) -> CodeGraph:
        raise TypeError("An overlay is for one query; apply changes to its base snapshot.")

    def definition(self, path: str, qualified_name: str) -> Definition | None:
        own = path == self._path
        return super().definition(path, qualified_name) if own else self._base.definition(path, qualified_name)

    def symbols(self, path: str) -> SymbolTable | None:
        return super().symbols(path) if path == self._path else self._base.symbols(path)

    def find_module(self, query: ModuleQuery) -> tuple[str, ...]:
        return self._base.find_module(query)

    def definitions_named(self, key: str) -> tuple[str, ...]:
        if self._own_by_global_name is None:
            own: dict[str, list[str]] = {}
            for name, target in global_names(self._path, self.symbols(self._path)):
                own.setdefault(name, []).append(target)
            self._own_by_global_name = own
        below = self._base.definitions_named(key)
        here = f"{self._path}\0"
        added = self._own_by_global_name.get(key, ())
        if not added and not any(other.startswith(here) for other in below):
            return below
        return tuple(sorted((*(other for other in below if not other.startswith(here)), *added)))

    def _overlay_memo(self, base: CodeGraph, previous: _Overlay | None) -> Memo:
        below, own = base.symbols(self._path), self.symbols(self._path)
        if star_imports_of(below) != star_imports_of(own):
            return Memo()
        memo = OverlayMemo(base._memo, self._path, new_names(self._path, below, own))
        if previous is not None and previous._path == self._path:
            # A keystroke mostly changes a local name of one function, so nearly all entries stay valid.
            before = previous.symbols(self._path)
            names = changed_names(before, own)
            if not any(is_definition(table, name) for table in (before, own) for name in names):
                memo.copy_from(previous._memo, Invalidation({self._path: names} if names else {}, set()).invalidates)
        return memo

    def _callers_here(self) -> dict[tuple[str, str], list[Caller]]:
        """The callers in the file of the overlay, by path and qualified name of what they call."""
        if self._own_callers is None:
            own: dict[tuple[str, str], list[Caller]] = {}
            found = self._columns(self._path)
            for path in {target for target, _, _ in found.targets}:
                for name, caller in found.callers_of(path, self._path):
                    own.setdefault((path, name), []).append(caller)
            self._own_callers = own
        return self._own_callers

    def _exists(self, path: str, qualified_name: str) -> bool:
        return path != self._path or self.definition(path, qualified_name) is not None


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the garbage collector: there are no reference cycles, and collecting takes half of the time of a build."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _EdgeColumns(NamedTuple):
    """The edges of a file in columns, without a value for each edge."""

    calls: Sequence[int]
    lines: Sequence[int]
    scope_numbers: Sequence[int]  # indices of `scopes`
    numbers: Sequence[int]  # indices of `targets`
    scopes: Sequence[str]  # qualified names of the definitions around the calls, "" for the top level
    targets: Sequence[tuple[str, str, str]]

    def edges(self) -> Iterator[CallEdge]:
        for call, number in zip(self.calls, self.numbers, strict=True):
            yield CallEdge(call, *self.targets[number])

    def callers_of(self, path: str, source: str) -> Iterator[tuple[str, Caller]]:
        """The calls of definitions of a file, with their qualified names; `source` is the file that calls them."""
        wanted = {number: target for number, target in enumerate(self.targets) if target[0] == path}
        if wanted:
            for row, number in enumerate(self.numbers):
                if number in wanted:
                    _, name, how = wanted[number]
                    scope = self.scopes[self.scope_numbers[row]]
                    yield name, Caller(source, self.calls[row], how, self.lines[row], scope)

    def leading_to(self, exists: Callable[[str, str], object]) -> _EdgeColumns:
        """The edges whose target, a path and a qualified name, exists."""
        kept = {number for number, (path, name, _) in enumerate(self.targets) if exists(path, name)}
        if len(kept) == len(self.targets):
            return self
        at = [row for row, number in enumerate(self.numbers) if number in kept]
        calls, lines, scope_numbers, numbers = ([column[row] for row in at] for column in self[:4])
        return _EdgeColumns(calls, lines, scope_numbers, numbers, self.scopes, self.targets)


_NO_EDGES = _EdgeColumns((), (), (), (), (), ())


def _columns_of(edges: Sequence[CallEdge], file: FileGraph) -> _EdgeColumns:
    all_calls, definitions = file.calls, file.definitions
    calls = [all_calls[edge.call] for edge in edges]
    around = ["" if call.scope == MODULE_SCOPE else definitions[call.scope].qualified_name for call in calls]
    scopes: dict[str, int] = {}
    targets: dict[tuple[str, str, str], int] = {}
    return _EdgeColumns(
        [edge.call for edge in edges],
        [call.line for call in calls],
        [scopes.setdefault(name, len(scopes)) for name in around],
        [targets.setdefault(edge[1:], len(targets)) for edge in edges],
        list(scopes),
        list(targets),
    )


# Successive queries read the calls of the same similar files.
@lru_cache(maxsize=256)
def _edge_columns(packed: bytes) -> _EdgeColumns:
    calls, lines, scope_numbers, numbers, scopes, targets = from_json(packed)
    return _EdgeColumns(calls, lines, scope_numbers, numbers, scopes, tuple(map(tuple, targets)))


def _moved(edges: Iterable[CallEdge], old: Sequence[Call], new: Sequence[Call]) -> list[CallEdge]:
    """The resolved calls of an earlier version of a file, for the calls above and below what an edit has changed."""
    n = min(len(old), len(new))
    first = next((i for i in range(n) if old[i].callee != new[i].callee), n)
    n_last = next((i for i in range(n - first) if old[-1 - i].callee != new[-1 - i].callee), n - first)
    beyond, shift = len(old) - n_last, len(new) - len(old)
    return [
        edge._replace(call=edge.call if edge.call < first else edge.call + shift)
        for edge in edges
        if edge.call < first or edge.call >= beyond
    ]


def _called_paths(packed: bytes) -> list[str]:
    return [path for path, _, _ in _edge_columns.__wrapped__(packed).targets]
