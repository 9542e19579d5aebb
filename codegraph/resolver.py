"""Memoised name lookup with dependency tracking and cycle detection: the base of the name resolvers.

Owns what an answer depends on, the memo table of a snapshot, and the handling of cyclic lookups. Knows no language:
`typed_resolver` builds on it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Set
from functools import lru_cache, wraps
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from ..languages import language_named
from .modules import ModuleQuery
from .symbol_table import SymbolTable, language_family

MIN_UNIQUE_LENGTH = 4
_BUILTIN_TYPES = (str, bytes, list, dict, set, tuple, int, float, type, object, BaseException, io.TextIOWrapper)
_COMMON_VERBS = """
    apply build call check clean clear config create data debug delete execute exit fetch filter find forward
    from_dict generate handle info init initialize load load_state_dict log main make merge name next parse
    post predict print process push reduce register remove render report request reset resolve result run save
    send setup shape show size start state_dict status step stop submit summary test to_dict train transform
    unregister validate values warn warning
"""
COMMON_NAMES = frozenset(_COMMON_VERBS.split()).union(*(dir(kind) for kind in _BUILTIN_TYPES))
"""Names that are too common to be resolved by name alone: methods of the built-in types, and common verbs."""

# Longer chains of lookups are left unresolved; real code needs a handful of steps.
_MAX_STEPS = 40


MAX_CANDIDATES = 3
"""A name with more definitions is not resolved by name alone, and a call of an interface's method reaches no more
implementations."""


MAX_PLACES = 12
"""A name with more definitions is not resolved by name alone, even if some of them have one global name."""


class Resolution(NamedTuple):
    """A definition that a name resolves to, and how."""

    path: str
    qualified_name: str
    how: str  # one of resolve.HOW


class NamePart(NamedTuple):
    """One name of a dotted text and what follows it there: "(" for each call, "[" for each index.

    `shops[]().pay` is ("shops", "[(") and ("pay", "").
    """

    name: str
    operations: str


Dependency: TypeAlias = tuple[str, ...]
"""Input of an answer. By length: (path, name) is the meaning of a qualified name of a file, a `ModuleQuery` the files
of a module, and (key,) the only definition with a `global_name_key`."""


class MemoEntry:
    """A memoised answer with its dependencies. `height` is the longest chain of lookups below it."""

    __slots__ = ("_paths", "answer", "dependencies", "height")

    def __init__(self, answer: object, dependencies: Set[Dependency], height: int) -> None:
        self.answer = answer
        self.dependencies = dependencies
        self.height = height
        self._paths: frozenset[str] | None = None

    def paths(self) -> frozenset[str]:
        """The files of which the answer depends on a name."""
        if self._paths is None:
            self._paths = frozenset(dependency[0] for dependency in self.dependencies if len(dependency) == 2)
        return self._paths


Key: TypeAlias = tuple[str, ...]


class Memo:
    """A memo table; entries are valid as long as their dependencies are unchanged. Several threads may share one."""

    __slots__ = ("_answers",)

    def __init__(self, answers: dict[Key, MemoEntry] | None = None) -> None:
        self._answers = {} if answers is None else answers

    def get(self, key: Key) -> MemoEntry | None:
        return self._answers.get(key)

    def put(self, key: Key, entry: MemoEntry) -> None:
        self._answers[key] = entry

    def module_dependencies(self) -> set[Dependency]:
        """The module queries that entries depend on."""
        return {
            dependency
            for known in list(self._answers.values())
            for dependency in known.dependencies
            if len(dependency) == 3
        }

    def reduced(self, valid: Callable[[Mapping[Key, MemoEntry]], dict[Key, MemoEntry]]) -> Memo:
        """The table of the entries that a function selects."""
        return Memo(valid(self._answers.copy()))


class OverlayMemo(Memo):
    """The memo table of an overlay that replaces the file `path`: entries that do not depend on the file are shared.

    `new_names` are the module-level names that only the overlay has. Star imports may bring them into any module, so
    entries about such a name are not shared.
    """

    __slots__ = ("_new_names", "_other", "_path")

    def __init__(self, other: Memo, path: str, new_names: Set[str]) -> None:
        super().__init__()
        self._other, self._path, self._new_names = other, path, new_names

    def get(self, key: Key) -> MemoEntry | None:
        found = self._answers.get(key)
        if found is None:
            found = self._other.get(key)
            if found is not None and not self._is_shared(found):
                return None
        return found

    def put(self, key: Key, entry: MemoEntry) -> None:
        if self._is_shared(entry):
            self._other.put(key, entry)
        else:
            self._answers[key] = entry

    def copy_from(self, previous: Memo, is_invalid: Callable[[MemoEntry], bool]) -> None:
        """Take over the own entries of an earlier overlay memo; none when its `new_names` differ."""
        if isinstance(previous, OverlayMemo) and previous._new_names == self._new_names:
            self._answers = {key: known for key, known in list(previous._answers.items()) if not is_invalid(known)}

    def _is_shared(self, entry: MemoEntry) -> bool:
        if self._path in entry.paths():
            return False
        return not self._new_names or not any(dependency[-1] in self._new_names for dependency in entry.dependencies)


class ResolutionSource(Protocol):
    """The interface of a snapshot for name resolution."""

    @property
    def memo(self) -> Memo: ...

    def symbols(self, path: str) -> SymbolTable | None: ...

    def find_module(self, query: ModuleQuery) -> tuple[str, ...]: ...

    def definitions_named(self, key: str) -> tuple[str, ...]: ...


_T = TypeVar("_T")


_Self = TypeVar("_Self", bound="Resolver")


def kept(lookup: Callable[[_Self, str, str], _T]) -> Callable[[_Self, str, str], _T]:
    """A lookup of two texts that keeps its answers, since many calls of a file ask the same.

    Only outside of other lookups: there an answer follows from the snapshot, and its dependencies are noted for good.
    """

    @wraps(lookup)
    def find(self: _Self, first: str, second: str) -> _T:
        if self._depth:
            return lookup(self, first, second)
        question = lookup, first, second
        if question in self._kept:
            return self._kept[question]  # type: ignore[return-value]
        answer = self._kept[question] = lookup(self, first, second)
        return answer

    return find


class _Tables(dict[str, SymbolTable | None]):
    """The symbol tables of a snapshot by path, each taken from it once."""

    def __init__(self, source: ResolutionSource) -> None:
        super().__init__()
        self._source = source

    def __missing__(self, path: str) -> SymbolTable | None:
        table = self[path] = self._source.symbols(path)
        return table


class Resolver:
    """Lookups in one snapshot by one thread. `dependencies` is the union of the dependencies of all answers so far."""

    def __init__(self, source: ResolutionSource) -> None:
        self._source = source
        self.symbols: Callable[[str], SymbolTable | None] = _Tables(source).__getitem__
        self.shared = source.memo
        self.local = Memo()  # answers about local names, which no other file needs
        self.dependencies: set[Dependency] = set()
        # Lookups on the stack, and those that depend on one of them: a cyclic lookup gives None, and answers
        # that depend on it are valid for the outermost lookup only (see `memoised`).
        self._in_progress: dict[Key, object] = {}
        self._incomplete = False
        self._depth = 0
        self._height = 0
        self._kept: dict[tuple[object, ...], object] = {}  # see `kept`

    def module(self, kind: str, directory: str, module: str) -> tuple[str, ...]:
        """The files of a module as imported in a directory; see `ModuleQuery`."""
        query = ModuleQuery(kind, directory, module)
        self.dependencies.add(query)
        return self._source.find_module(query)

    def unique(self, language: str, name: str, near: str = "") -> Resolution | None:
        """The definition of a name that only one definition of the repository has."""
        found = self.by_name(language, name, near)
        return found[0] if len(found) == 1 else None

    def by_name(self, language: str, name: str, near: str) -> list[Resolution]:
        """The definitions of a name if they are few, nearest to a file first."""
        key = global_name_key(language, name)
        if key is None:
            return []
        self.dependencies.add((key,))
        found = [place.partition("\0")[::2] for place in self._source.definitions_named(key)]
        if 1 < len(found) <= MAX_PLACES:
            found = self.distinct(found, near)
        if len(found) > MAX_CANDIDATES:
            return []
        rules = language_named(language)
        if rules.has_mixins and not all(self._is_definition(*place) for place in found):
            return []  # an attribute has the name, too
        tests = rules.test_path
        if near and tests and not re.search(tests, near):
            found = [place for place in found if not re.search(tests, place[0])]
        if len(found) == 1:
            return [Resolution(*found[0], "unique name")]
        return [
            Resolution(path, name, "same name") for path, name in sorted(found, key=lambda at: distance(near, at[0]))
        ]

    def _is_definition(self, path: str, name: str) -> bool:
        symbols = self.symbols(path)
        self.dependencies.add((path, name))
        return symbols is None or symbols.definition(name) is not None

    def distinct(self, places: list[tuple[str, str]], near: str) -> list[tuple[str, str]]:
        """The definitions without others of the same global name."""
        return places

    def memoised(self, memo: Memo, key: Key, compute: Callable[..., _T | None], *arguments: object) -> _T | None:
        """`compute(*arguments)`, or the memoised result.

        A result that depends on a lookup in progress is kept only until the outermost lookup returns, because another
        order of lookups can give another result. So every memoised result is a function of the snapshot.
        """
        known = memo.get(key)
        if known is not None and self._depth + known.height < _MAX_STEPS:
            self.dependencies |= known.dependencies
            self._height = max(self._height, known.height)
            return known.answer  # type: ignore[return-value]
        if key in self._in_progress or self._depth >= _MAX_STEPS:
            self._incomplete = True
            return self._in_progress.get(key)  # type: ignore[return-value]
        outer, outer_incomplete, outer_height = self.dependencies, self._incomplete, self._height
        self.dependencies, self._incomplete, self._height = set(), False, 0
        self._in_progress[key] = None
        self._depth += 1
        answer = compute(*arguments)
        self._depth -= 1
        height = self._height + 1
        if self._incomplete:
            self._in_progress[key] = answer
        else:
            del self._in_progress[key]
            memo.put(key, MemoEntry(answer, self.dependencies, height))
        outer |= self.dependencies
        self.dependencies, self._height = outer, max(outer_height, height)
        self._incomplete = self._incomplete or outer_incomplete
        if self._depth == 0:
            self._in_progress.clear()
            self._incomplete = False
            self._height = 0
        return answer


@lru_cache(maxsize=8192)
def parse_dotted(dotted: str) -> tuple[NamePart, ...]:
    """The names of a dotted text with their calls and indices."""
    parts = []
    for text in dotted.split("."):
        name = text.rstrip("()[]")
        parts.append(NamePart(name, text[len(name) :: 2]))
    return tuple(parts)


def distance(path: str, other: str) -> tuple[int, str]:
    """How many directories lie between two files; ties in order of paths."""
    own, their = path.split("/"), other.split("/")
    n_common = 0
    for part, other_part in zip(own, their, strict=False):
        if part != other_part:
            break
        n_common += 1
    return len(own) + len(their) - 2 * n_common, other


def global_name_key(language: str, name: str) -> str | None:
    """The key of a name in the index of unique names; None for a name that is too short or too common."""
    if len(name) < MIN_UNIQUE_LENGTH or name in COMMON_NAMES:
        return None
    return f"{language_family(language)} {name}"
