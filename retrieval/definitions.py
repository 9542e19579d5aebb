"""Ranking of definitions that the code at a cursor may use next: a weighted sum of features.

Owns the features, their weights and their explanation. Knows windows only by location and weight; the strategy decides
how many definitions a result has.

Candidates are the definitions that similar code calls, that the file imports by name, and that complete the expression
at the cursor. Other reachable symbols did not improve any measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, merge
from itertools import chain, count
from math import sqrt
from typing import Generic, NamedTuple, TypeVar

from ..codegraph import CodeGraph, Definition, ReachableSymbol
from ..codegraph.imports_at import imported_module_at
from ..codegraph.reachability import UNMENTIONED, ReachableMembers, reachable
from ..codegraph.symbol_table import FUNCTION_KINDS, NAMESPACE_KINDS, has_definitions_in_order, is_constructor
from ..codegraph.typed_resolver import TypedResolver
from ..languages import language_named, language_of
from ..languages.import_lines import MAX_STATEMENT
from .explain import location_text
from .index import CursorView
from .terms import terms_of
from .values import Component, Location, ScorePart

T = TypeVar("T")

# Fitted on the API tasks of seven repositories at a time, read on the eighth, rounded (benchmarks/results/
# retrieval.md); the last one is read from the same tasks with the cursor at the called name.
CALLED_BY_SIMILAR_CODE = 0.35
REACHABLE = 0.5
IMPORTED_BY_NAME = 0.1
NAME_IN_QUERY = 0.1
FITS_WHAT_IS_TYPED = 0.5

NAMEABLE = 0.25
"""The weight instead of `REACHABLE` for a member of a type that the file can name and does not mention; chosen on six
repositories (benchmarks/results/retrieval-log.md)."""

EXPORTED, MAX_EXPORTS = 1.0, 30
"""The weight of the likeliest name that an import line at the cursor can name, and how many names are candidates. The
line itself asks for them, so they come before all else."""


IMPORTED = ("import", "re-export")
"""How names are found that the file imports, see `resolve.HOW`."""


@dataclass(slots=True)
class Candidate:
    """A definition that may be used next, and its features."""

    path: str
    definition: Definition
    calls: float = 0.0  # by similar code, weighted
    caller: Location | None = None  # the most similar code that calls it
    reached: ReachableSymbol | None = None  # by the receiver that was mentioned last
    is_imported: bool = False  # by its own name
    fits: bool = False  # completes the expression before the cursor
    exported: float = 0.0  # by the module that an import line at the cursor names: 1 for the likeliest name
    values: Mapping[Component, float] = field(default_factory=dict)  # of each feature

    @property
    def is_likely(self) -> bool:
        """Whether there is more evidence than reachability: similar code calls it, or the file names it."""
        return bool(self.calls or self.exported) or self.is_imported or self.fits

    @property
    def score(self) -> float:
        return sum(self.values.values())

    def parts(self) -> tuple[ScorePart, ...]:
        """The parts of the score; they add up to it."""
        details: dict[Component, str] = {
            "called by similar code": location_text(self.caller) if self.caller else "",
            "reachable": f"{self.reached.name} ({self.reached.how})" if self.reached else "",
            "name in query": self.definition.name,
        }
        return tuple(ScorePart(name, value, details.get(name, "")) for name, value in self.values.items() if value)


def rank_definitions(
    view: CursorView,
    similar: Mapping[Location, float],
    terms: Mapping[str, float],
    hidden_from: int,
    without: frozenset[Component] = frozenset(),
) -> Iterable[Candidate]:
    """Definitions that the code at the cursor may use next, best first; can be iterated several times.

    `similar` gives code like that before the cursor, most similar first, with a weight; `terms` are those of the
    query, with theirs. Definitions of the cursor's own file from line `hidden_from` on are left out, and so are the
    features in `without`.
    """
    found = _Candidates(view, terms, hidden_from, without)
    for location, weight, path, name in _calls(view, similar):
        found.add_call(location, weight, path, name)
    typed = _typed(view)
    called = found.called()
    owners = {name.rpartition(".")[0].rpartition(".")[2] for _, name in called} - {""}
    wanted = {each.definition.name for each in called.values()}
    for reached in reachable(view.names, view.path, view.cursor_line, wanted=wanted, owners=owners, typed=typed):
        if isinstance(reached, ReachableSymbol):
            found.add_reached(reached, _fits(typed, reached.name))
        elif reached.how in IMPORTED or _may_fit(typed, reached.expression):
            for symbol in reached.symbols():
                found.add_reached(symbol, _fits(typed, symbol.name))
        else:
            found.add_members(reached)
    for number, (path, definition) in enumerate(_exports(view)[:MAX_EXPORTS]):
        found.add_exported(path, definition.qualified_name, 1 - number / (2 * MAX_EXPORTS))
    return found.ranked()


class _Reached(NamedTuple):
    """How a definition is reached that is only reachable. A symbol is made of it when it is needed."""

    by: ReachableSymbol | ReachableMembers
    name: str  # of the member
    member: Definition
    definition: Definition  # what is shown: of a constructor its class

    def symbol(self) -> ReachableSymbol:
        return self.by if isinstance(self.by, ReachableSymbol) else self.by.symbol(self.name, self.member)


_Ordered = tuple[float, int, str, int, int, Candidate]
"""A candidate after the key of its order, see `_best_first`; the last number is that of the candidate."""


class _Candidates:
    """The candidates by file and qualified name. Those that are only reachable are many, and made on demand."""

    def __init__(
        self, view: CursorView, terms: Mapping[str, float], hidden_from: int, without: frozenset[Component]
    ) -> None:
        self._view = view
        self._graph = view.names
        self._terms = terms
        self._hidden_from = hidden_from
        self._without = without
        self._resolver = TypedResolver(self._graph)
        self._language = language_of(view.path)
        self._sees_tests = self._language.is_test_file(view.path)
        self._seen_files: dict[str, bool] = {}  # no cache around a method: that would be a cycle of references
        self._found: dict[tuple[str, str], Candidate] = {}
        self._reached: dict[tuple[str, str], _Reached] = {}
        self._whole: set[tuple[str, str]] = set()  # the classes of which all members were added
        self._numbers: dict[tuple[str, str], int] = {}  # the order in which they were found breaks ties

    def called(self) -> Mapping[tuple[str, str], Candidate]:
        """The candidates so far that are not only reachable."""
        return self._found

    def add_call(self, caller: Location, weight: float, path: str, name: str) -> None:
        found = self._candidate(path, name)
        if found:
            found.calls += weight
            found.caller = found.caller or caller

    def add_reached(self, reached: ReachableSymbol, fits: bool) -> None:
        is_imported = reached.how in IMPORTED
        path, name = reached.path, reached.definition.qualified_name
        if not fits and not is_imported:
            if (path, name) in self._reached:
                return  # a class is often reached by several expressions
            path, name = key = _represented(self._graph, self._resolver, path, name)
            if key not in self._found:
                definition = self._visible(path, name) if key not in self._reached else None
                if definition is not None:
                    self._add(key, _Reached(reached, "", reached.definition, definition))
                return
        found = self._candidate(path, name)
        if found:
            found.reached = found.reached or reached
            found.is_imported |= is_imported
            found.fits |= fits

    def add_members(self, reached: ReachableMembers) -> None:
        """Add members that are no imports and do not complete what is typed."""
        path, owner = reached.path, reached.owner
        if (path, owner) in self._whole or not self._is_visible_file(path):
            return
        if reached.is_whole:
            self._whole.add((path, owner))
        hidden_from = self._hidden_from if path == self._view.path else None
        language = language_named(self._graph.files[path].language)
        for name, member in reached.members:
            key = path, member.qualified_name
            if key in self._reached:
                continue
            if is_constructor(member, language):
                self.add_reached(reached.symbol(name, member), fits=False)
            elif key in self._found:
                found = self._found[key]
                found.reached = found.reached or reached.symbol(name, member)
            elif hidden_from is None or member.start_line < hidden_from:
                self._add(key, _Reached(reached, name, member, member))

    def _add(self, key: tuple[str, str], reached: _Reached) -> None:
        self._numbers[key] = len(self._numbers)
        self._reached[key] = reached

    def add_exported(self, path: str, name: str, value: float) -> None:
        found = self._candidate(path, name)
        if found:
            found.exported = value

    def _candidate(self, path: str, name: str) -> Candidate | None:
        key = _represented(self._graph, self._resolver, path, name)
        if key not in self._found:
            definition = self._visible(*key)
            if definition is None:
                return None
            self._numbers.setdefault(key, len(self._numbers))
            reached = self._reached.pop(key, None)
            self._found[key] = Candidate(key[0], definition, reached=reached.symbol() if reached else None)
        return self._found[key]

    def _visible(self, path: str, name: str) -> Definition | None:
        """A definition that the cursor's file may use: no test for other code, and nothing below the cursor."""
        if not self._is_visible_file(path):
            return None
        definition = self._graph.definition(path, name)
        is_hidden = definition is not None and path == self._view.path and definition.start_line >= self._hidden_from
        return None if is_hidden else definition

    def _is_visible_file(self, path: str) -> bool:
        found = self._seen_files.get(path)
        if found is None:
            found = self._seen_files[path] = self._sees_tests or not self._language.is_test_file(path)
        return found

    def ranked(self) -> Iterable[Candidate]:
        most = max((found.calls for found in self._found.values()), default=0.0)
        for found in self._found.values():
            found.values = self._features(found, most)
        likely = [(*_best_first(found), self._numbers[key], found) for key, found in self._found.items()]
        return _Once(entry[-1] for entry in merge(sorted(likely), self._reachable_first()))

    def _reachable_first(self) -> Iterator[_Ordered]:
        """The candidates that are only reachable, best first. A result needs few of them."""
        of_reach, of_name = "reachable" not in self._without, "name in query" not in self._without
        weights: dict[str, float] = {}  # of names: many classes have members of one name
        by_score: dict[float, list[tuple[str, str]]] = {}
        for key, reached in self._reached.items():
            name = reached.definition.name
            weight = weights.get(name)
            if weight is None:
                weight = weights[name] = of_name * NAME_IN_QUERY * self._in_query(name)
            by_score.setdefault(of_reach * _reachable(reached.by) + weight, []).append(key)
        for score in sorted(by_score, reverse=True):
            yield from self._with_score(score, by_score[score])

    def _with_score(self, score: float, keys: Iterable[tuple[str, str]]) -> Iterator[_Ordered]:
        """The candidates of these keys, which have one score, in order."""
        heap = []
        for key in keys:
            reached = self._reached[key]
            heap.append((reached.by.distance, key[0], reached.definition.start_line, self._numbers[key], key))
        heapify(heap)
        while heap:
            distance, path, line, number, key = heappop(heap)
            reached = self._reached[key]
            found = Candidate(path, reached.definition, reached=reached.symbol())
            found.values = self._features(found, 0.0)
            yield -score, distance, path, line, number, found

    def _features(self, found: Candidate, most: float) -> dict[Component, float]:
        calls = CALLED_BY_SIMILAR_CODE * sqrt(found.calls / most) if found.calls else 0.0
        features: tuple[tuple[Component, float], ...] = (
            ("called by similar code", calls),
            ("reachable", _reachable(found.reached)),
            ("imported by name", IMPORTED_BY_NAME * found.is_imported),
            ("fits what is typed", FITS_WHAT_IS_TYPED * found.fits),
            ("exported by the named module", EXPORTED * found.exported),
            ("name in query", NAME_IN_QUERY * self._in_query(found.definition.name)),
        )
        return {name: value for name, value in features if name not in self._without}

    def _in_query(self, name: str) -> float:
        """The largest weight in the query of a term of a name."""
        return max(self._terms.get(term, 0.0) for term in _name_terms(name))


class _Once(Generic[T]):
    """Values of an iterator that can be read several times, each taken from it when it is first read."""

    def __init__(self, values: Iterator[T]) -> None:
        self._values = values
        self._taken: list[T] = []

    def __iter__(self) -> Iterator[T]:
        for at in count():
            if at == len(self._taken):
                value = next(self._values, None)
                if value is None:
                    return
                self._taken.append(value)
            yield self._taken[at]


def _represented(graph: CodeGraph, resolver: TypedResolver, path: str, name: str) -> tuple[str, str]:
    """A definition, or the class of a constructor, which may be in another file."""
    definition = graph.definition(path, name)
    if definition is None:
        return path, name
    language = language_named(graph.files[path].language)
    if not is_constructor(definition, language):
        return path, name
    owner = name.rpartition(".")[0]
    around = graph.definition(path, owner) if has_definitions_in_order(language) else None
    if around is not None and around.kind not in FUNCTION_KINDS | NAMESPACE_KINDS:
        return path, owner
    found = resolver.object_around(path, name)
    return (found.path, found.name) if found is not None else (path, name)


def _reachable(reached: ReachableSymbol | ReachableMembers | None) -> float:
    if reached is None:
        return 0.0
    return REACHABLE if reached.distance < UNMENTIONED else NAMEABLE


def _best_first(candidate: Candidate) -> tuple[float, int, str, int]:
    distance = candidate.reached.distance if candidate.reached else 0
    return -candidate.score, distance, candidate.path, candidate.definition.start_line


def _calls(view: CursorView, similar: Mapping[Location, float]) -> Iterator[tuple[Location, float, str, str]]:
    """The resolved calls in similar code: its location and weight, and file and name of the called definition."""
    by_path: dict[str, list[Location]] = {}
    for location in similar:
        by_path.setdefault(location.path, []).append(location)
    for path, locations in by_path.items():
        lines = set(chain.from_iterable(range(location.start_line, location.end_line) for location in locations))
        for line, edge in view.names.calls_on(path, lines):
            if edge.how == "implementation":  # the method of the interface is what the code names
                continue
            for location in locations:
                if location.start_line <= line < location.end_line:
                    yield location, similar[location], edge.path, edge.qualified_name


def _exports(view: CursorView) -> list[tuple[str, Definition]]:
    """The definitions that an import line at the cursor can name."""
    before = view.prefix[-MAX_STATEMENT:].decode("utf-8", "replace")
    return imported_module_at(view.names, view.path, language_of(view.path), before, view.query.line_end)


@lru_cache(maxsize=10_000)
def _name_terms(name: str) -> tuple[str, ...]:
    return tuple(terms_of(name)) or (name,)


def _typed(view: CursorView) -> str:
    """The dotted expression that ends at the cursor, "" when nothing is begun."""
    language = language_of(view.path)
    line = view.prefix[view.prefix.rfind(b"\n") + 1 :].decode("utf-8", "replace")
    found = language.typed_expression.search(line)
    typed = found.group() if found else ""
    for operator in language.member_operators.split():
        typed = typed.replace(operator, ".")
    if language.attribute_sign and typed.startswith(language.attribute_sign):
        return f"{language.own_object.partition(' ')[0]}.{typed}"
    return typed


def _may_fit(typed: str, expression: str) -> bool:
    """Whether a member of `expression` may complete `typed`."""
    return bool(typed) and (f"{expression}.".startswith(typed) or typed.startswith(f"{expression}."))


def _fits(typed: str, name: str) -> bool:
    """Whether `name` completes `typed`: "self.store.load" does "self.store.lo", and "self.store"+"." too."""
    return bool(typed) and name.startswith(typed) and "." not in name[len(typed) :]
