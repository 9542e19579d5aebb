"""Ranking of definitions that the code at a cursor may use next: a weighted sum of features.

Owns the features, their weights and their explanation. Knows windows only by location and weight; the strategy decides
how many definitions a result has.

Candidates are the definitions that similar code calls, that the file imports by name, and that complete the expression
at the cursor. Other reachable symbols did not improve any measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import sqrt

from ..codegraph import Definition, ReachableSymbol, reachable_symbols
from ..codegraph.imports_at import imported_module_at
from ..codegraph.reachability import UNMENTIONED
from ..codegraph.typed_resolver import TypedResolver
from ..languages import language_of
from ..languages.import_lines import MAX_STATEMENT
from .explain import location_text
from .index import CursorView
from .terms import terms_of
from .values import Component, Location, ScorePart

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
) -> list[Candidate]:
    """Definitions that the code at the cursor may use next, best first.

    `similar` gives code like that before the cursor, most similar first, with a weight; `terms` are those of the
    query, with theirs. Definitions of the cursor's own file from line `hidden_from` on are left out, and so are the
    features in `without`.
    """
    candidates: dict[tuple[str, str], Candidate] = {}
    language, resolver = language_of(view.path), TypedResolver(view.names)
    sees_tests = language.is_test_file(view.path)

    def candidate(path: str, name: str) -> Candidate | None:
        symbols = view.names.symbols(path)
        if symbols is not None and symbols.is_constructor(name):
            # A constructor is represented by its class, which may be in another file.
            owner = resolver.object_around(path, name)
            path, name = (owner.path, owner.name) if owner is not None else (path, name)
        if not sees_tests and language.is_test_file(path):
            return None
        if (path, name) not in candidates:
            definition = view.names.definition(path, name)
            if definition is None or (path == view.path and definition.start_line >= hidden_from):
                return None
            candidates[path, name] = Candidate(path, definition)
        return candidates[path, name]

    for location, weight, path, name in _calls(view, similar):
        found = candidate(path, name)
        if found:
            found.calls += weight
            found.caller = found.caller or location
    typed = _typed(view)
    called = {found.definition.name for found in candidates.values()}
    owners = {name.rpartition(".")[0].rpartition(".")[2] for _, name in candidates} - {""}
    for reached in reachable_symbols(
        view.names, view.path, view.cursor_line, wanted=called, owners=owners, typed=typed
    ):
        fits = _fits(typed, reached.name)
        is_imported = reached.how in ("import", "re-export")
        found = candidate(reached.path, reached.definition.qualified_name)
        if found:
            found.reached = found.reached or reached
            found.is_imported |= is_imported
            found.fits |= fits
    for number, (path, definition) in enumerate(_exports(view)[:MAX_EXPORTS]):
        found = candidate(path, definition.qualified_name)
        if found:
            found.exported = 1 - number / (2 * MAX_EXPORTS)
    most = max((found.calls for found in candidates.values()), default=0.0)
    for found in candidates.values():
        features: tuple[tuple[Component, float], ...] = (
            ("called by similar code", CALLED_BY_SIMILAR_CODE * sqrt(found.calls / most) if found.calls else 0.0),
            ("reachable", _reachable(found.reached)),
            ("imported by name", IMPORTED_BY_NAME * found.is_imported),
            ("fits what is typed", FITS_WHAT_IS_TYPED * found.fits),
            ("exported by the named module", EXPORTED * found.exported),
            ("name in query", NAME_IN_QUERY * max(terms.get(term, 0.0) for term in _name_terms(found.definition.name))),
        )
        found.values = {name: value for name, value in features if name not in without}
    return sorted(candidates.values(), key=_best_first)


def _reachable(reached: ReachableSymbol | None) -> float:
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
        calls = view.names.files[path].calls
        spans = [(location.start_line, location.end_line) for location in locations]
        for edge in view.names.call_edges_in(path, spans):
            if edge.how == "implementation":  # the method of the interface is what the code names
                continue
            line = calls[edge.call].line
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


def _fits(typed: str, name: str) -> bool:
    """Whether `name` completes `typed`: "self.store.load" does "self.store.lo", and "self.store"+"." too."""
    return bool(typed) and name.startswith(typed) and "." not in name[len(typed) :]
