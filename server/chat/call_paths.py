"""Call paths between definitions, by bidirectional best-first search for the largest product of confidences.

Owns the confidences of steps and the search. One search goes from the sources along calls, one back from the targets
along callers, always the one with fewer definitions ahead; they meet where the path is best. So the cost depends on
the smaller side: a definition that calls little, or that few call, ends the search. Calls and callers are columns of
the code graph: no file is decoded but those of the path, and those with unresolved calls of the target's name. Lines
are 0-based.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf, log2
from typing import NamedTuple

from ...codegraph.resolve import SAME_NAME, THROUGH_INTERFACE
from ...codegraph.symbol_table import is_class, language_family
from ...codegraph.typed_resolver import TypedResolver
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_test
from ..next_edit.nearness import by_nearness
from .symbol_queries import (
    callers,
    implementations,
    is_member,
    may_call,
    overridden,
    scope_name,
    subclasses,
    unresolved_calls,
)

MAX_STEPS = 3  # of a call path that ends at a definition
MAX_VISITED = 5_000  # the most definitions that a search visits
MAX_READ = 40  # the most files that are read for unresolved calls of a target's name, nearest first

BY_CALL, BY_UNIQUE_NAME, BY_OVERRIDE, BY_CREATION, BY_NAME = 0.9, 0.6, 0.5, 0.2, 0.1
"""The confidence of a call step: resolved, resolved by a name unique in the repository, an override in a subclass, a
call in some method of a created object, and an unresolved call of the target's name. A path has the product of its
steps' confidences."""

OF_CREATED_OBJECT, BY_OVERRIDING, BY_NAME_ALONE = "method of the created object", "override", "name alone"

_CONFIDENCES = {
    "unique name": BY_UNIQUE_NAME,
    THROUGH_INTERFACE: BY_OVERRIDE,
    BY_OVERRIDING: BY_OVERRIDE,
    OF_CREATED_OBJECT: BY_CREATION,
    BY_NAME_ALONE: BY_NAME,
}
"""By `CallStep.how`; a call that is resolved in another way has `BY_CALL`."""


@dataclass(frozen=True, slots=True)
class CallStep:
    """One step of a call path: a line of the source definition calls the target definition."""

    source: NamedDefinition
    target: NamedDefinition
    line: int  # of the call in the source's file; for an override the target's header line
    how: str  # one of codegraph.HOW, "override", OF_CREATED_OBJECT, or "name alone"
    enclosing: str = ""  # the qualified name of the definition that contains the line


def call_path_to(
    index: RepositoryIndex, named: NamedDefinition, preferred: Collection[str] = ()
) -> tuple[CallStep, ...]:
    """A call path of at most `MAX_STEPS` that ends at a definition, outermost call first; empty without callers.

    Of several callers the order of preference is: one of the `preferred` names, code before tests, the first.
    """
    steps: list[CallStep] = []
    seen = {_key(named)}
    while len(steps) < MAX_STEPS:
        calls = [call for call in callers(index, named) if call.enclosing and (call.path, call.enclosing) not in seen]
        if not calls:
            break
        call = min(calls, key=lambda call: (call.enclosing not in preferred, is_test(call.path)))
        source = index.graph.definition(call.path, call.enclosing)
        if source is None or (steps and is_test(call.path)):
            break
        caller = NamedDefinition(call.path, source)
        steps.append(CallStep(caller, named, call.line, call.how, call.enclosing))
        seen.add(_key(caller))
        named = caller
    return tuple(reversed(steps))


def confidence(step: CallStep) -> float:
    """The confidence of a step, 0 to 1."""
    return _CONFIDENCES.get(step.how, BY_CALL)


def find_call_path(
    index: RepositoryIndex,
    sources: Sequence[NamedDefinition],
    targets: Sequence[NamedDefinition],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> tuple[CallStep, ...]:
    """The call path of highest confidence from one of the sources to one of the targets; empty if there is none.

    Of equally confident paths it is one with the fewest steps. A path starts at any method of a source class, and ends
    at the creation of a target class or at a call of a method. The creation of an object leads to its constructor, and
    with little confidence to the calls in its other methods. A search that is cancelled finds nothing, and one that
    has visited `MAX_VISITED` definitions the best path so far.
    """
    return _Search(index, sources, targets).path(is_cancelled)


_Key = tuple[str, str]  # path and qualified name


class _Edge(NamedTuple):
    """A step of the search between two definitions."""

    source: _Key
    target: _Key
    how: str
    line: int
    enclosing: str


def _cost(how: str) -> int:
    """Costs are added where confidences are multiplied. Whole numbers, so that the order of a sum does not matter."""
    return round(-log2(_CONFIDENCES.get(how, BY_CALL)) * (1 << 40)) + 1  # 1: the fewest steps of equal paths


class _Side:
    """Dijkstra's algorithm from one end. Costs are final below `least`.

    `later` are kinds of edges that some definitions have besides calls: they are weaker and take longer to find.
    """

    def __init__(self, starts: Iterable[_Key], later: Callable[[_Key], Sequence[str]]) -> None:
        self._later = later
        self.costs: dict[_Key, int] = dict.fromkeys(starts, 0)
        self.reached_by: dict[_Key, _Edge] = {}
        self._order = count()
        # Cost, order, definition, and the kind of its edges that is next, "" for calls.
        self._queue: list[tuple[int, int, _Key, str]] = [(0, next(self._order), key, "") for key in self.costs]

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def least(self) -> float:
        """The cost of what is next."""
        return self._queue[0][0] if self._queue else inf

    def next(self) -> tuple[_Key, str] | None:
        """The next definition and the kind of its edges that is wanted. None for an outdated one."""
        cost, _, key, kind = heappop(self._queue)
        best = self.costs[key]
        if not kind and cost == best:
            for later in self._later(key):
                heappush(self._queue, (cost + _cost(later), next(self._order), key, later))
        return (key, kind) if cost == best + (_cost(kind) if kind else 0) else None

    def reach(self, key: _Key, cost: int, edge: _Edge) -> bool:
        """Note a way to a definition; whether it is better than those before."""
        if cost >= self.costs.get(key, inf):
            return False
        self.costs[key], self.reached_by[key] = cost, edge
        heappush(self._queue, (cost, next(self._order), key, ""))
        return True


class _Search:
    """One search between two ends."""

    def __init__(
        self, index: RepositoryIndex, sources: Sequence[NamedDefinition], targets: Sequence[NamedDefinition]
    ) -> None:
        self._index, self._graph = index, index.graph
        self._sources = {_key(each) for each in sources}
        wanted = {key for each in targets for key in (_key(each), *_members(index, each))}
        self._targets = {_key(each): each for each in reversed(targets) if not is_class(each.definition)}
        self._forward = _Side(sorted(self._sources), self._later)
        self._backward = _Side(sorted(wanted - self._sources), self._later_behind)
        self._below: dict[_Key, list[NamedDefinition]] = {}
        self._best: float = inf
        self._meeting: _Key | None = None

    def path(self, is_cancelled: Callable[[], bool]) -> tuple[CallStep, ...]:
        """See `find_call_path`."""
        forward, backward = self._forward, self._backward
        for _ in range(MAX_VISITED):
            if is_cancelled():
                return ()
            if not forward:
                self._end_by_name()
                break
            if not backward or forward.least + backward.least >= self._best:
                break
            if len(forward) <= len(backward):
                self._go_on(forward, backward, is_forward=True)
            else:
                self._go_on(backward, forward, is_forward=False)
        return () if self._meeting is None else tuple(self._steps(self._meeting))

    def _go_on(self, side: _Side, other: _Side, *, is_forward: bool) -> None:
        found = side.next()
        if found is None:
            return
        key, kind = found
        for edge in self._from(key, kind) if is_forward else self._to(key, kind):
            at = edge.target if is_forward else edge.source
            cost = side.costs[key] + _cost(edge.how)
            if side.reach(at, cost, edge) and (total := cost + other.costs.get(at, inf)) < self._best:
                self._best, self._meeting = total, at

    def _end_by_name(self) -> None:
        """Add the last steps by the name alone to the definitions that the sources reach."""
        for key in self._targets.keys() - self._sources:
            for edge in self._callers_by_name(key):
                cost = self._forward.costs.get(edge.source, inf) + _cost(edge.how)
                if cost < self._best and self._backward.reach(edge.source, _cost(edge.how), edge):
                    self._best, self._meeting = cost, edge.source

    def _later(self, key: _Key) -> Sequence[str]:
        return (BY_OVERRIDING,) if "." in key[1] else ()

    def _later_behind(self, key: _Key) -> Sequence[str]:
        return (*self._later(key), BY_NAME_ALONE) if key in self._targets else self._later(key)

    def _from(self, key: _Key, kind: str) -> Iterator[_Edge]:
        """The steps of a kind from a definition, without those by the name alone: these are found from the target."""
        return self._overrides(key) if kind else self._calls(key)

    def _to(self, key: _Key, kind: str) -> Iterator[_Edge]:
        """The steps of a kind to a definition."""
        if not kind:
            return self._callers(key)
        return self._overridden(key) if kind == BY_OVERRIDING else self._callers_by_name(key)

    def _calls(self, key: _Key) -> Iterator[_Edge]:
        path, name = key
        is_created = key not in self._sources and self._is_class(key)
        for line, enclosing, edge in self._graph.calls_inside(path, name):
            if edge.how != SAME_NAME:
                how = OF_CREATED_OBJECT if is_created and enclosing != name else edge.how
                yield _Edge(key, (edge.path, edge.qualified_name), how, line, enclosing)

    def _callers(self, key: _Key) -> Iterator[_Edge]:
        path, name = key
        seen = set[tuple[str, str, str]]()
        for caller in self._graph.callers(path, name):
            where = caller.path, caller.enclosing, caller.how
            if caller.how == SAME_NAME or where in seen:
                continue
            seen.add(where)
            for source in _around(caller.path, caller.enclosing):
                is_created = source[1] != caller.enclosing and source not in self._sources and self._is_class(source)
                how = OF_CREATED_OBJECT if is_created else caller.how
                yield _Edge(source, key, how, caller.line, caller.enclosing)

    def _overrides(self, key: _Key) -> Iterator[_Edge]:
        """The methods of subclasses, and of implementations of a protocol, that override a method."""
        owner, _, method = key[1].rpartition(".")
        base = self._graph.definition(key[0], owner) if owner else None
        if base is not None and is_class(base):
            at = key[0], owner
            if at not in self._below:
                named = NamedDefinition(key[0], base)
                self._below[at] = subclasses(self._index, base.name, [named])
                if base.kind != "interface":  # of Go, whose calls reach the implementations in the graph
                    self._below[at] += implementations(self._index, named)[0]
            for path, each in self._below[at]:
                target = path, f"{each.qualified_name}.{method}"
                if override := self._graph.definition(*target):
                    yield _Edge(key, target, BY_OVERRIDING, override.header_line, override.qualified_name)

    def _overridden(self, key: _Key) -> Iterator[_Edge]:
        """The methods of base classes that a method overrides."""
        definition = self._graph.definition(*key)
        if definition is not None and "." in key[1] and not is_class(definition):
            for base in overridden(self._index, NamedDefinition(key[0], definition)):
                yield _Edge(_key(base), key, BY_OVERRIDING, definition.header_line, definition.qualified_name)

    def _callers_by_name(self, key: _Key) -> Iterator[_Edge]:
        """The unresolved calls of a target's name in the nearest files."""
        target = self._targets.get(key)
        if target is None:
            return
        path, name = target.path, target.definition.name
        resolver, are_members = TypedResolver(self._graph), {is_member(self._index, target)}
        alike = (each for each in self._index.files_with(name) if self._family(each) == self._family(path))
        for each in by_nearness(alike, path)[:MAX_READ]:
            for call in unresolved_calls(self._index, each):
                if call.callee.rpartition(".")[2] == name and may_call(resolver, each, call, are_members, self._index):
                    enclosing = scope_name(self._index, each, call.scope)
                    for source in _around(each, enclosing):
                        yield _Edge(source, key, BY_NAME_ALONE, call.line, enclosing)

    def _family(self, path: str) -> str:
        return language_family(self._graph.files[path].language)

    def _is_class(self, key: _Key) -> bool:
        definition = self._graph.definition(*key)
        return definition is not None and is_class(definition)

    def _steps(self, meeting: _Key) -> Iterator[CallStep]:
        edges: list[_Edge] = []
        at = meeting
        while at in self._forward.reached_by:
            edges.append(self._forward.reached_by[at])
            at = edges[-1].source
        edges.reverse()
        at = meeting
        while at in self._backward.reached_by:
            edges.append(self._backward.reached_by[at])
            at = edges[-1].target
        for edge in edges:
            source, target = (self._named(each) for each in (edge.source, edge.target))
            if source is not None and target is not None:
                yield CallStep(source, target, edge.line, edge.how, edge.enclosing)

    def _named(self, key: _Key) -> NamedDefinition | None:
        definition = self._graph.definition(*key)
        return None if definition is None else NamedDefinition(key[0], definition)


def _members(index: RepositoryIndex, named: NamedDefinition) -> Iterator[_Key]:
    """The definitions directly in a class."""
    path, definition = named
    if is_class(definition):
        for each in index.graph.files[path].definitions:
            if each.qualified_name.rpartition(".")[0] == definition.qualified_name:
                yield path, each.qualified_name


def _around(path: str, enclosing: str) -> Iterator[_Key]:
    """The definitions that a call belongs to: the innermost one, and those around it."""
    while enclosing:
        yield path, enclosing
        enclosing = enclosing.rpartition(".")[0]


def _key(named: NamedDefinition) -> _Key:
    return named.path, named.definition.qualified_name
