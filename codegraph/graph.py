"""The code graph of a folder: every file's part, and which calls lead to which definitions.

Owns the snapshot: `CodeGraph` never changes, `with_changes` gives the next one and resolves again only
what a change can affect, `overlay` gives a view for one query. Knows no text and no disk.

What each file's resolution looked at is kept beside its edges. A change is compared by its answers: an edit
inside a function changes no answer that another file asked for, so it resolves one file.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .facts import Definition, FileGraph
from .lookup import Memo, MemoBeside, Question, Remembered, unique_key
from .modules import ModuleIndex, ModuleQuestion, names_touched_by
from .python_names import PythonNames
from .resolve import resolve_calls
from .symbols import STARS, Entry, Symbols, changed_names

MAX_TABLES = 2048
"""How many files' tables of names a snapshot keeps; one of a file of 200 lines takes about 20 kB."""


class CallEdge(NamedTuple):
    """A call and a definition that it leads to. A call of a class leads to the class and to its __init__."""

    call: int  # index into the calling file's `calls`
    path: str
    qualified_name: str
    how: str  # one of resolve.HOW


class Caller(NamedTuple):
    """A call that leads to the definition asked about."""

    path: str
    call: int  # index into that file's `calls`
    how: str


class CodeGraph:
    """An immutable snapshot. Cheap to make from the one before; safe to read from several threads."""

    __slots__ = (
        *("_asked", "_callers", "_edges", "_files", "_latest_overlay", "_memo", "_modules", "_places", "_root_name"),
        *("_starred", "_symbols"),
    )

    def __init__(self, root_name: str = "") -> None:
        self._root_name = root_name
        self._files: dict[str, FileGraph] = {}
        self._edges: dict[str, bytes] = {}
        self._asked: dict[str, bytes] = {}
        # "python total" -> where names that may be resolved as unique ones are defined, as "path\0qualified name".
        self._places: dict[str, tuple[str, ...]] = {}
        self._starred: frozenset[str] = frozenset()  # files with star imports
        # Filled by whoever asks first, and never wrong: they follow from the four above.
        self._symbols: dict[str, Symbols] = {}
        self._modules: ModuleIndex | None = None
        self._memo = Memo()
        self._callers: dict[str, dict[str, tuple[Caller, ...]]] = {}
        self._latest_overlay: _Overlay | None = None

    @classmethod
    def build(cls, files: Iterable[FileGraph], root_name: str = "") -> CodeGraph:
        """The graph of these files, resolved from scratch. The last of several files with one path counts.

        `root_name` is the folder's own name: how its files are imported where the folder is a package itself.
        """
        graph = cls(root_name)
        graph._files = {file.path: file for file in files}
        with no_search_for_cycles():
            came: _Moves = {}
            starred = []
            for path in graph._files:
                symbols = graph.symbols(path)
                _note_moves(came, path, None, symbols)
                if _stars_of(symbols):
                    starred.append(path)
            graph._places = _after_moves({}, came)
            graph._starred = frozenset(starred)
            # Neighbours after each other: they ask about the same files.
            for path in sorted(graph._files):
                graph._resolve(path)
        graph._memo = Memo()  # larger than the graph; what queries need of it comes back
        return graph

    @property
    def files(self) -> Mapping[str, FileGraph]:
        return MappingProxyType(self._files)

    def call_edges(self, path: str) -> tuple[CallEdge, ...]:
        """The resolved calls of a file, in source order; () for a file that is not in the graph."""
        packed = self._edges.get(path)
        return _unpack_edges(packed) if packed else ()

    def callers(self, path: str, qualified_name: str) -> tuple[Caller, ...]:
        """The calls that lead to a definition, by path and source order."""
        table = self._callers.get(path)
        if table is None:
            table = self._callers[path] = self._callers_into(path)
        return table.get(qualified_name, ())

    def definition(self, path: str, qualified_name: str) -> Definition | None:
        """The first definition of this name in a file."""
        symbols = self.symbols(path)
        return symbols.definition(qualified_name) if symbols is not None else None

    def with_changes(self, changed: Iterable[FileGraph] = (), removed: Iterable[str] = ()) -> CodeGraph:
        """The snapshot after some files were created, edited or deleted. This one stays as it is."""
        updates: dict[str, FileGraph | None] = {path: None for path in removed if path in self._files}
        updates.update((file.path, file) for file in changed)
        new = self._copy()
        tables: dict[str, tuple[Symbols | None, Symbols | None]] = {}
        for path, file in updates.items():
            new._symbols.pop(path, None)
            if file is None:
                del new._files[path], new._edges[path], new._asked[path]
            else:
                new._files[path] = file
            tables[path] = self.symbols(path), new.symbols(path)
        changes = _replace_names(self, new, tables)
        new._memo = self._memo.without(changes.concern) if changes else self._memo
        new._latest_overlay = None if changes else self._latest_overlay
        affected = (updates.keys() & new._files.keys()) | changes.askers(new._asked)
        for path in affected:
            new._resolve(path)
        called = {edge.path for path in affected | updates.keys() for g in (self, new) for edge in g.call_edges(path)}
        new._callers = {path: table for path, table in list(self._callers.items()) if path not in called}
        return new

    def overlay(self, file: FileGraph) -> CodeGraph:
        """A view for one query, in which `file` stands for the file of its path: the buffer up to the cursor.

        Only that file is resolved. The calls of other files are those of this snapshot, as far as the
        definition that they lead to, by its qualified name, is still there.
        """
        latest = self._latest_overlay
        if latest is None or latest._base is not self or latest.files.get(file.path) is not file:
            latest = self._latest_overlay = _Overlay(self, file, latest)
        return latest

    # What resolution reads (`lookup.Sources`)

    @property
    def memo(self) -> Memo:
        return self._memo

    @property
    def modules(self) -> ModuleIndex:
        if self._modules is None:
            self._modules = ModuleIndex(self._files.keys(), self._root_name)
        return self._modules

    def symbols(self, path: str) -> Symbols | None:
        """The table of a file's names; None when the file is not in the graph."""
        found = self._symbols.get(path)
        if found is None:
            file = self._files.get(path)
            if file is None:
                return None
            if len(self._symbols) >= MAX_TABLES:
                self._symbols = dict(list(self._symbols.items())[MAX_TABLES // 2 :])
            found = self._symbols[path] = Symbols(file)
        return found

    def find_module(self, question: ModuleQuestion) -> tuple[str, ...]:
        """The files that a module consists of, () when it is not in the repository."""
        return self.modules.find(question)

    def places_named(self, key: str) -> tuple[str, ...]:
        """Where names with this `unique_key` are defined, as "path\\0qualified name"."""
        return self._places.get(key, ())

    # Storage

    def __getstate__(self) -> dict[str, Any]:
        """Columns instead of objects, so that a large graph is loaded in a fraction of a second."""
        states = [file.__getstate__() for file in self._files.values()]
        nodes = [file.nodes for file in self._files.values()]
        return {
            "files": [(*state[:4], *state[5:]) for state in states],
            "nodes": np.concatenate(nodes, axis=1) if nodes else np.zeros((5, 0), np.int32),
            "n_nodes": [file.n_nodes for file in self._files.values()],
            "edges": [self._edges[path] for path in self._files],
            "asked": [self._asked[path] for path in self._files],
            "places": self._places,
            "starred": self._starred,
            "root_name": self._root_name,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        CodeGraph.__init__(self, state["root_name"])
        start = 0
        for facts, n_nodes in zip(state["files"], state["n_nodes"], strict=True):
            file = FileGraph.__new__(FileGraph)
            file.__setstate__((*facts[:4], state["nodes"][:, start : start + n_nodes], *facts[4:]))
            self._files[file.path] = file
            start += n_nodes
        self._edges = dict(zip(self._files, state["edges"], strict=True))
        self._asked = dict(zip(self._files, state["asked"], strict=True))
        self._places = state["places"]
        self._starred = state["starred"]

    def __repr__(self) -> str:
        return f"CodeGraph({len(self._files)} files)"

    # Making the next snapshot

    def _copy(self) -> CodeGraph:
        new = CodeGraph(self._root_name)
        new._files, new._edges, new._asked = self._files.copy(), self._edges.copy(), self._asked.copy()
        new._places, new._starred = self._places, self._starred
        new._symbols, new._modules = self._symbols.copy(), self._modules
        return new

    def _resolve(self, path: str) -> None:
        edges, asked = resolve_calls(self, self._files[path])
        self._edges[path] = _pack_edges([CallEdge(call, *target) for call, target in edges])
        self._asked[path] = _pack_asked(asked, path, self.symbols(path))

    def _callers_into(self, path: str) -> dict[str, tuple[Caller, ...]]:
        needle = _json(path)
        found: dict[str, list[Caller]] = {}
        for source in sorted(self._edges):
            if needle in self._edges[source]:
                for call, target, name, how in self.call_edges(source):
                    if target == path:
                        found.setdefault(name, []).append(Caller(source, call, how))
        return {name: tuple(callers) for name, callers in found.items()}


class _Overlay(CodeGraph):
    """See `CodeGraph.overlay`. Reads through to the snapshot below for all but one file."""

    __slots__ = ("_base", "_own_callers", "_own_places", "_path")

    def __init__(self, base: CodeGraph, file: FileGraph, previous: _Overlay | None = None) -> None:
        super().__init__()
        self._base = base
        self._path = file.path
        self._files = base._files | {file.path: file}
        self._memo = self._memo_beside(base, previous)
        self._own_callers: dict[tuple[str, str], list[Caller]] | None = None
        self._own_places: dict[str, list[str]] | None = None

    def call_edges(self, path: str) -> tuple[CallEdge, ...]:
        if path == self._path:
            if path not in self._edges:
                self._resolve(path)
            return super().call_edges(path)
        edges = self._base.call_edges(path)
        if all(self._is_there(edge.path, edge.qualified_name) for edge in edges):
            return edges
        return tuple(edge for edge in edges if self._is_there(edge.path, edge.qualified_name))

    def callers(self, path: str, qualified_name: str) -> tuple[Caller, ...]:
        if not self._is_there(path, qualified_name):
            return ()
        if self._own_callers is None:
            own: dict[tuple[str, str], list[Caller]] = {}
            for call, target, name, how in self.call_edges(self._path):
                own.setdefault((target, name), []).append(Caller(self._path, call, how))
            self._own_callers = own
        below = [caller for caller in self._base.callers(path, qualified_name) if caller.path != self._path]
        return tuple(sorted(below + self._own_callers.get((path, qualified_name), [])))

    def with_changes(self, changed: Iterable[FileGraph] = (), removed: Iterable[str] = ()) -> CodeGraph:
        raise TypeError("An overlay is for one query; make changes to the snapshot it was made from.")

    def symbols(self, path: str) -> Symbols | None:
        return super().symbols(path) if path == self._path else self._base.symbols(path)

    def find_module(self, question: ModuleQuestion) -> tuple[str, ...]:
        return self._base.find_module(question)

    def places_named(self, key: str) -> tuple[str, ...]:
        if self._own_places is None:
            own: dict[str, list[str]] = {}
            for name, place in _places_of(self._path, self.symbols(self._path)):
                own.setdefault(name, []).append(place)
            self._own_places = own
        below = (place for place in self._base.places_named(key) if not place.startswith(f"{self._path}\0"))
        return (*below, *self._own_places.get(key, ()))

    def _memo_beside(self, base: CodeGraph, previous: _Overlay | None) -> Memo:
        below, own = base.symbols(self._path), self.symbols(self._path)
        if _stars_of(below) != _stars_of(own):
            return Memo()
        memo = MemoBeside(base._memo, self._path, _module_names(own) - _module_names(below))
        if previous is not None and previous._path == self._path:
            # Between two keystrokes nearly all answers stay: what changed is mostly a local of one function.
            before = previous.symbols(self._path)
            names = changed_names(before, own)
            if not any(_is_definition(table, name) for table in (before, own) for name in names):
                memo.take_over(previous._memo, _Changes({self._path: names} if names else {}, set()).concern)
        return memo

    def _is_there(self, path: str, qualified_name: str) -> bool:
        return path != self._path or self.definition(path, qualified_name) is not None


# What a change is made of


class _Changes:
    """The questions that have other answers now."""

    def __init__(self, names: Mapping[str, set[str]], others: set[Question]) -> None:
        self._by_path = names
        self._questions = others.union((path, name) for path, found in names.items() for name in found)
        self._others = others
        self._whole = {path for path, found in names.items() if _ANY in found}

    def __bool__(self) -> bool:
        return bool(self._questions)

    def concern(self, known: Remembered) -> bool:
        """Whether an answer may be another one now."""
        if not self._questions.isdisjoint(known.asked):
            return True
        return bool(self._whole) and not self._whole.isdisjoint(known.paths())

    def askers(self, packed_asked: Mapping[str, bytes]) -> set[str]:
        """The files whose resolution asked one of the questions."""
        # A look for the bytes first: hardly any file asks, and unpacking all of them would cost a second.
        needles = [_json(path) for path in self._by_path]
        needles += [_json(question[0] if len(question) == 1 else list(question)) for question in self._others]
        found = set()
        for path, packed in packed_asked.items() if needles else ():
            if any(needle in packed for needle in needles):
                names, others = _unpack(packed)
                asked = {(other, name) for other in names.keys() & self._by_path for name in names[other]}
                if self.concern(Remembered(None, asked.union(map(tuple, others)), 0)):
                    found.add(path)
        return found


_ANY = "?"
"""Stands for every name of a file."""


_Tables: TypeAlias = Mapping[str, tuple[Symbols | None, Symbols | None]]
"""The names of each updated file before and after; None where it is not there."""


def _replace_names(old: CodeGraph, new: CodeGraph, tables: _Tables) -> _Changes:
    """Bring what `new` knows of names and modules up to date with its files; gives what is different from `old`."""
    moved = {path for path, (was, now) in tables.items() if (was is None) != (now is None)}
    if moved:
        new._modules = None
    new._starred = old._starred.difference(tables).union(path for path, (_, now) in tables.items() if _stars_of(now))
    # Of a file that was not there nobody has asked anything; of one that is gone all answers are void.
    names = {
        path: {_ANY} if now is None else changed_names(was, now)
        for path, (was, now) in tables.items()
        if was is not None
    }
    for path, more in _names_moved_by_stars(old, new, tables, moved).items():
        names[path] = names.get(path, set()) | more
    moves: _Moves = {}
    for path, (was, now) in tables.items():
        _note_moves(moves, path, was, now)
    others: set[Question] = _changed_modules(old, new, moved) if moved else set()
    if moves:
        new._places = _after_moves(old._places, moves)
        others |= {(key,) for key in moves if _only(old.places_named(key)) != _only(new.places_named(key))}
    return _Changes({path: found for path, found in names.items() if found}, others)


def _stars_of(symbols: Symbols | None) -> tuple[Entry, ...]:
    return symbols.entries.get(STARS, ()) if symbols is not None else ()


def _is_definition(symbols: Symbols | None, name: str) -> bool:
    entries = symbols.entries.get(name, ()) if symbols is not None else ()
    return any(isinstance(entry, Definition) for entry in entries)


def _module_names(symbols: Symbols | None) -> set[str]:
    return {key for key in symbols.entries if "." not in key} if symbols is not None else set()


def _names_moved_by_stars(old: CodeGraph, new: CodeGraph, tables: _Tables, moved: Set[str]) -> dict[str, set[str]]:
    """Names of modules with star imports that may stand for something else, because another file has new names."""
    came = {path: names for path, (was, now) in tables.items() if (names := _module_names(now) - _module_names(was))}
    rewired = bool(moved) or any(_stars_of(was) != _stars_of(now) for was, now in tables.values())
    if not came and not rewired:
        return {}
    found: dict[str, set[str]] = {}
    before, after = PythonNames(old), PythonNames(new)
    for path in old._starred | new._starred:
        sources = before.star_sources(path)
        if rewired and after.star_sources(path) != sources:
            found[path] = {_ANY}
        else:
            names = set().union(*(came[source] for source, _ in sources if source in came))
            if names:
                found[path] = names
    return found


_Moves: TypeAlias = dict[str, tuple[set[str], set[str]]]
"""For each `unique_key`: the places gone, and the places that came."""


def _only(places: tuple[str, ...]) -> str | None:
    return places[0] if len(places) == 1 else None


def _note_moves(moves: _Moves, path: str, old: Symbols | None, new: Symbols | None) -> None:
    before, after = _places_of(path, old), _places_of(path, new)
    for key, place in before - after:
        moves.setdefault(key, (set(), set()))[0].add(place)
    for key, place in after - before:
        moves.setdefault(key, (set(), set()))[1].add(place)


def _places_of(path: str, symbols: Symbols | None) -> set[tuple[str, str]]:
    keyed = ((unique_key(symbols.language, d.name), d) for d in symbols.definitions) if symbols is not None else ()
    return {(key, f"{path}\0{definition.qualified_name}") for key, definition in keyed if key is not None}


def _after_moves(places: Mapping[str, tuple[str, ...]], moves: _Moves) -> dict[str, tuple[str, ...]]:
    after = dict(places)
    for key, (gone, came) in moves.items():
        here = came.union(places.get(key, ())) - gone
        if here:
            after[key] = tuple(sorted(here))
        else:
            del after[key]
    return after


def _changed_modules(old: CodeGraph, new: CodeGraph, moved: Iterable[str]) -> set[Question]:
    """The modules, of those that were asked for, that are other files now that paths came or went."""
    names: set[str] = set()
    for path in moved:
        names |= names_touched_by(path, old.modules, new.modules)
    needles = [_json(name)[1:-1] if name else _json(name) for name in names]
    asked = old.memo.module_questions()
    for packed in new._asked.values():
        if any(needle in packed for needle in needles):
            asked.update(tuple(question) for question in _unpack(packed)[1] if len(question) == 3)
    changed: set[Question] = set()
    for kind, directory, module in asked:
        if any(name in module or name in directory for name in names):
            question = ModuleQuestion(kind, directory, module)
            if old.find_module(question) != new.find_module(question):
                changed.add(question)
    return changed


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Tables and answers hold no cycles, but walking them again and again is half of a build of a million lines."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# Packing: what is read rarely is kept as the text that the disk cache stores


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _unpack(packed: bytes) -> Any:
    return json.loads(packed.decode("utf-8", "surrogatepass"))


def _pack_asked(asked: set[Question], path: str, symbols: Symbols | None) -> bytes:
    """What a file asked of others. What it asked of itself is settled whenever it changes, star imports apart."""
    starred = bool(_stars_of(symbols))
    names: dict[str, list[str]] = {}
    others = []
    for question in asked:
        if len(question) != 2:
            others.append(question)
            continue
        other, name = question
        if other != path or (starred and "." not in name and symbols is not None and name not in symbols.entries):
            names.setdefault(other, []).append(name)
    return _json([names, others])


def _pack_edges(edges: list[CallEdge]) -> bytes:
    numbers: dict[tuple[str, str, str], int] = {}
    rows = [(edge.call, numbers.setdefault(edge[1:], len(numbers))) for edge in edges]
    return _json([rows, list(numbers)])


# A query reads the calls of the files that resemble its own, and the next query of the same ones.
@lru_cache(maxsize=512)
def _unpack_edges(packed: bytes) -> tuple[CallEdge, ...]:
    rows, targets = _unpack(packed)
    return tuple(CallEdge(call, *targets[number]) for call, number in rows)
