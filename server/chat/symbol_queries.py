"""What a person asks of names: where is it defined, who uses it, what does it call, how does one reach the other?

Owns the reading of the code graph for such questions, and tells what is resolved from what only has the same name.
Knows no question text and no score. Lines are 0-based, as everywhere inside.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import log
from typing import Literal

from ...codegraph import Call, CallEdge
from ...codegraph.file_graph import MODULE_SCOPE
from ...codegraph.symbol_table import is_class
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_test

MAX_FILES = 300
"""So many files are read for what only has the same name."""

MAX_VISITED = 5_000
"""A way is looked for through so many definitions."""

BY_CALL, BY_UNIQUE_NAME, BY_OVERRIDE, BY_NAME = 0.9, 0.6, 0.5, 0.1
"""How sure a step is: a resolved call, one that a name unique in the repository leads somewhere, a method of a base for
which that of a subclass stands, and the call of something unknown that has the target's name. Of equally sure ways the
shortest is the surest."""

SiteKind = Literal["call", "call by name", "import"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A line that uses a definition."""

    path: str
    line: int
    kind: SiteKind
    inside: str = ""  # the qualified name of the definition around it, "" at the top of a file
    how: str = ""  # of a resolved call: one of codegraph.HOW


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a way through calls: from a definition, by a line, to a definition."""

    source: NamedDefinition
    target: NamedDefinition
    line: int  # of the call in the source's file; the target's own first line when it overrides
    how: str  # one of codegraph.HOW, "override", or "name alone"
    inside: str = ""  # the qualified name of the definition that holds the line


def callers(index: RepositoryIndex, named: NamedDefinition) -> list[Reference]:
    """The calls that the graph resolves to a definition, by path and line. A class is called where it is made."""
    graph = index.graph
    found = {
        (caller.path, graph.files[caller.path].calls[caller.call].line): caller
        for caller in graph.callers(named.path, named.definition.qualified_name)
    }
    return [
        Reference(path, line, "call", _scope_name(index, path, graph.files[path].calls[caller.call].scope), caller.how)
        for (path, line), caller in sorted(found.items())
    ]


def callers_by_name(index: RepositoryIndex, name: str) -> list[Reference]:
    """The calls of something of this name that lead nowhere in the graph: its receiver is not known."""
    found = []
    for path in _files_with(index, name):
        resolved = {edge.call for edge in index.graph.call_edges(path)}
        for number, call in enumerate(index.graph.files[path].calls):
            if number not in resolved and call.callee.rpartition(".")[2] == name:
                found.append(Reference(path, call.line, "call by name", _scope_name(index, path, call.scope)))
    return found


def importers(index: RepositoryIndex, name: str) -> list[Reference]:
    """The lines that import something of this name."""
    return [
        Reference(path, item.line, "import", _scope_name(index, path, item.scope))
        for path in _files_with(index, name)
        for item in index.graph.files[path].imports
        if item.name == name
    ]


def subclasses(index: RepositoryIndex, name: str) -> list[NamedDefinition]:
    """The classes that name it as a base, and theirs in turn; by path and line, direct ones first."""
    found: dict[tuple[str, str], NamedDefinition] = {}
    level = [name]
    while level:
        found_here = [named for base in level for named in index.names.subclasses(base)]
        new = [named for named in found_here if _key(named) not in found]
        found.update((_key(named), named) for named in new)
        level = list(dict.fromkeys(named.definition.name for named in new))
    return list(found.values())


def callees(index: RepositoryIndex, named: NamedDefinition) -> list[tuple[int, NamedDefinition]]:
    """What a definition calls in this repository: line of the first call and definition, in the order of the lines."""
    found: dict[tuple[str, str], tuple[int, NamedDefinition]] = {}
    for call, edge in _calls_inside(index, named):
        target = _target(index, edge)
        if target is not None:
            found.setdefault(_key(target), (call.line, target))
    return sorted(found.values(), key=lambda item: item[0])


def call_path_to(
    index: RepositoryIndex, named: NamedDefinition, preferred: Collection[str] = (), n_steps: int = 3
) -> tuple[Step, ...]:
    """How calls lead to a definition: the last few of them, from the outside in; empty when nobody calls it.

    Of several callers one of the `preferred` names is taken, else code before tests, else the first.
    """
    way: list[Step] = []
    seen = {_key(named)}
    while len(way) < n_steps:
        sites = [site for site in callers(index, named) if site.inside and (site.path, site.inside) not in seen]
        if not sites:
            break
        site = min(sites, key=lambda site: (site.inside not in preferred, is_test(site.path)))
        source = index.graph.definition(site.path, site.inside)
        if source is None or (way and is_test(site.path)):
            break
        caller = NamedDefinition(site.path, source)
        way.append(Step(caller, named, site.line, site.how, site.inside))
        seen.add(_key(caller))
        named = caller
    return tuple(reversed(way))


def find_call_path(
    index: RepositoryIndex, sources: Sequence[NamedDefinition], targets: Sequence[NamedDefinition]
) -> tuple[Step, ...]:
    """The surest way along calls from one of the sources to one of the targets; empty when none leads there.

    A class is left through any of its methods, and reached when it is made or when one of its methods is called.
    """
    wanted = {_key(target) for target in targets}
    classes = {_key(target) for target in targets if is_class(target.definition)}
    heap: list[tuple[float, int, NamedDefinition, tuple[Step, ...]]] = []
    order = count()
    for source in sources:
        heapq.heappush(heap, (0.0, next(order), source, ()))
    done: set[tuple[str, str]] = set()
    while heap and len(done) < MAX_VISITED:
        cost, _, named, way = heapq.heappop(heap)
        path, name = key = _key(named)
        if way and (key in wanted or (path, name.rpartition(".")[0]) in classes):
            return way
        if key in done:
            continue
        done.add(key)
        for step, strength in (*_steps(index, named), *_steps_by_name(index, named, targets)):
            if _key(step.target) not in done:
                heapq.heappush(heap, (cost - log(strength), next(order), step.target, (*way, step)))
    return ()


def _steps(index: RepositoryIndex, named: NamedDefinition) -> Iterator[tuple[Step, float]]:
    for call, edge in _calls_inside(index, named):
        target = _target(index, edge)
        if target is not None:
            strength = BY_UNIQUE_NAME if edge.how == "unique name" else BY_CALL
            yield Step(named, target, call.line, edge.how, _scope_name(index, named.path, call.scope)), strength
    outer, _, method = named.definition.qualified_name.rpartition(".")
    if outer and not is_class(named.definition):
        for sub in index.names.subclasses(outer.rpartition(".")[2]):
            override = index.graph.definition(sub.path, f"{sub.definition.qualified_name}.{method}")
            if override is not None:
                yield Step(named, NamedDefinition(sub.path, override), override.header_line, "override"), BY_OVERRIDE


def _steps_by_name(
    index: RepositoryIndex, named: NamedDefinition, targets: Sequence[NamedDefinition]
) -> Iterator[tuple[Step, float]]:
    """Calls that lead nowhere in the graph, but are of the target's name."""
    path, definition = named
    by_name = {target.definition.name: target for target in reversed(targets) if not is_class(target.definition)}
    resolved = {edge.call for edge in index.graph.call_edges(path)}
    for number, call in enumerate(index.graph.files[path].calls):
        if number not in resolved and definition.header_line <= call.line < definition.end_line:
            target = by_name.get(call.callee.rpartition(".")[2])
            if target is not None:
                inside = _scope_name(index, path, call.scope)
                yield Step(named, target, call.line, "name alone", inside), BY_NAME


def _calls_inside(index: RepositoryIndex, named: NamedDefinition) -> Iterator[tuple[Call, CallEdge]]:
    """The resolved calls in the lines of a definition."""
    path, definition = named
    calls = index.graph.files[path].calls
    for edge in index.graph.call_edges(path):
        call = calls[edge.call]
        if definition.header_line <= call.line < definition.end_line:
            yield call, edge


def _target(index: RepositoryIndex, edge: CallEdge) -> NamedDefinition | None:
    definition = index.graph.definition(edge.path, edge.qualified_name)
    return None if definition is None else NamedDefinition(edge.path, definition)


def _files_with(index: RepositoryIndex, name: str) -> Iterable[str]:
    """The code files in which a name stands as a word, in order."""
    scores = index.lexical.bm25_of_groups([{name: 1.0}], [1.0]).scores
    paths = {index.location(fragment).path for fragment in scores.nonzero()[0].tolist()}
    return sorted(paths)[:MAX_FILES]


def _scope_name(index: RepositoryIndex, path: str, scope: int) -> str:
    return "" if scope == MODULE_SCOPE else index.graph.files[path].definitions[scope].qualified_name


def _key(named: NamedDefinition) -> tuple[str, str]:
    return named.path, named.definition.qualified_name
