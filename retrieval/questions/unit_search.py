"""From the words of a question to ranked units.

Owns the course of a search: windows by their words and by what is related to them, definitions by their names, then
the units that these lie in, each read as a whole. Knows no model and no wording of answers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..lexical import FloatArray
from ..names import Named
from ..values import ScorePart
from .scoring import Reader, Weighed
from .units import Unit, is_document, units_of
from .wording import Wording, read_question

if TYPE_CHECKING:
    from ..index import RepositoryIndex

# Measured on the same questions as the weights in `scoring`.

N_WINDOWS = 80
"""The units of so many best windows are read."""

N_NAMED = 40
"""And so many definitions whose names say most of the question."""

RELATION = 0.5
"""What the fragments around a window add to its score: alpha of Eq. 10 (papers' spec 1.4)."""

AROUND = 0.4
"""What the relation adds to the score of a unit."""

NAMED_AS_WRITTEN = 1.0
NAMED_IN_WORDS = 0.12
"""A unit that defines what the question names gains this share of what all its words weigh."""

GIVEN_IN_WORDS = 0.4
"""So does one that gives a value to a name of several words of the question: `COOKIE_AGE` for "cookie age"."""

MOST_GIVEN = 10
"""Of the places where such a name gets a value so many are looked at."""

LEAST_NAME = 3
"""Plain words of fewer letters are no names."""

TEST_SHARE = 0.6
"""Tests count this much, unless the question is about tests."""

DOCUMENT_SHARE, DOCUMENT_GAIN = 0.85, 1.5
"""Documents, when the question asks for code, and when it asks for documents."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What to search with; the defaults are the shipped ones."""

    n: int = 30  # units
    relation: float = RELATION  # alpha; 0 is words alone
    n_windows: int = N_WINDOWS


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. `idf` is the weight of each concept of the wording, and `df` how many windows have it."""

    wording: Wording
    units: tuple[Weighed, ...]  # best first
    idf: tuple[float, ...]
    df: tuple[int, ...]
    named: tuple[tuple[str, tuple[Named, ...]], ...]  # names of the question that are defined here, with definitions
    as_written: frozenset[str]  # those of them that stand in the question as they stand in the code
    timings_ms: Mapping[str, float] = field(default_factory=dict)


def search(index: RepositoryIndex, text: str, options: SearchOptions = SearchOptions()) -> Found:
    """The units that speak to a question, best first; none when no word of it is in the index.

    Reads one snapshot and may run in any thread.
    """
    started = time.perf_counter()
    wording = read_question(text)
    groups = [concept.forms for concept in wording.concepts]
    windows = index.lexical.bm25_of_groups(groups, [concept.weight for concept in wording.concepts])
    idf = tuple(
        concept.weight * float(np.log1p((index.n_fragments - df + 0.5) / (df + 0.5)))
        for concept, df in zip(wording.concepts, windows.df, strict=True)
    )
    scores = windows.scores
    around = np.zeros(len(scores))
    if options.relation and scores.any():
        around = index.relations.environment(scores, alpha=options.relation)
        scores = np.where(scores > 0, scores + options.relation * around, 0.0)
    ranked = time.perf_counter()
    reader = Reader(wording, idf)
    named = _named(index, wording)
    candidates: dict[tuple[str, int, int], tuple[Unit, float]] = {}
    for window in _best(scores, options.n_windows):
        place = index.place(window)
        for unit in _units_between(index, place.path, place.start_line, place.end_line):
            key = (unit.path, unit.start_line, unit.end_line)
            if key not in candidates:
                candidates[key] = unit, float(around[window])
    gains: dict[tuple[str, int, int], tuple[str, float]] = {}
    most = sum(idf)
    for name, definitions, share in named:
        for path, definition in definitions:
            defined = _unit_at(index, path, definition.header_line)
            if defined is not None:
                key = (defined.path, defined.start_line, defined.end_line)
                candidates.setdefault(key, (defined, 0.0))
                gain = share * most / max(1, len(definitions)) ** 0.5
                if gain > gains.get(key, ("", 0.0))[1]:
                    gains[key] = name, gain
    for name, path, line in _given(index, wording):
        holds = _unit_at(index, path, line)
        if holds is not None:
            key = (holds.path, holds.start_line, holds.end_line)
            candidates.setdefault(key, (holds, 0.0))
            if most * GIVEN_IN_WORDS > gains.get(key, ("", 0.0))[1]:
                gains[key] = name, most * GIVEN_IN_WORDS
    for path, line in _by_parts(index, wording, idf):
        said = _unit_at(index, path, line)
        if said is not None:
            candidates.setdefault((said.path, said.start_line, said.end_line), (said, 0.0))
    lines: dict[str, list[bytes]] = {}
    weighed = []
    for key, (unit, relation) in candidates.items():
        if unit.path not in lines:
            lines[unit.path] = index.texts[unit.path].split(b"\n")
        found = reader.weigh(unit, lines[unit.path])
        parts = [*found.parts, ScorePart("related code", AROUND * relation)]
        if key in gains:
            parts.append(ScorePart("defines", gains[key][1], gains[key][0]))
        share = _share(unit, wording)
        parts = [ScorePart(part.name, part.value * share, part.detail) for part in parts if part.value]
        score = sum(part.value for part in parts)
        if found.lines or key in gains:
            weighed.append(Weighed(unit, score, tuple(parts), found.covered, found.lines))
    weighed.sort(key=lambda item: (-item.score, item.unit.path, item.unit.start_line))
    done = time.perf_counter()
    return Found(
        wording,
        tuple(weighed[: options.n]),
        idf,
        windows.df,
        tuple((name, tuple(definitions)) for name, definitions, _ in named),
        frozenset(name for name, _, share in named if share == NAMED_AS_WRITTEN),
        {"windows": 1e3 * (ranked - started), "units": 1e3 * (done - ranked)},
    )


@lru_cache(maxsize=4096)
def is_test(path: str) -> bool:
    """Whether a path names tests."""
    return _TEST.search(path) is not None


_TEST = re.compile(r"(^|/)((tests?|testing|spec)/|(test_[^/]*|conftest)\.py$)|_test(_lib)?\.\w+$|\.(test|spec)\.\w+$")


def _share(unit: Unit, wording: Wording) -> float:
    share = 1.0
    if is_test(unit.path) and not wording.about_tests:
        share *= TEST_SHARE
    if is_document(unit.path):
        share *= DOCUMENT_GAIN if "documentation" in wording.kinds else DOCUMENT_SHARE
    return share


def _best(scores: FloatArray, n: int) -> list[int]:
    positive = np.flatnonzero(scores > 0)
    if len(positive) > n:
        positive = positive[np.argpartition(-scores[positive], n)[:n]]
    order: list[int] = positive[np.argsort(-scores[positive], kind="stable")].tolist()
    return order


def _units_between(index: RepositoryIndex, path: str, start_line: int, end_line: int) -> list[Unit]:
    units = units_of(index.graph.files[path], index.texts[path])
    return [unit for unit in units if unit.start_line < end_line and unit.end_line > start_line]


def _unit_at(index: RepositoryIndex, path: str, line: int) -> Unit | None:
    """The innermost unit of a line."""
    found = _units_between(index, path, line, line + 1)
    return max(found, key=lambda unit: unit.start_line) if found else None


def _named(index: RepositoryIndex, wording: Wording) -> list[tuple[str, list[Named], float]]:
    """The names of a question that are defined here, with their definitions and how surely they are meant."""
    found: dict[str, tuple[list[Named], float]] = {}
    for name in wording.names:
        definitions = index.names.defined(name)
        if definitions:
            found[name] = definitions, NAMED_AS_WRITTEN
    for name in wording.capitalised:
        definitions = [named for named in index.names.defined(name) if named.definition.name == name]
        if definitions:
            found[name] = definitions, NAMED_AS_WRITTEN
    for n in (3, 2, 1):
        for at in range(len(wording.words) - n + 1):
            words = wording.words[at : at + n]
            if n == 1 and not _may_be_name(words[0], wording):
                continue
            name = "".join(words)
            definitions = [] if len(name) < LEAST_NAME else index.names.defined(name)
            if definitions:
                found.setdefault(name, (definitions, NAMED_IN_WORDS if n == 1 else NAMED_IN_WORDS * n**0.5))
    return [(name, definitions, share) for name, (definitions, share) in found.items()]


def _given(index: RepositoryIndex, wording: Wording) -> Iterator[tuple[str, str, int]]:
    """Names of several words of the question that are given a value here, with file and line."""
    for n in (4, 3, 2):
        for at in range(len(wording.words) - n + 1):
            for path, name, line in index.names.given("".join(wording.words[at : at + n]))[:MOST_GIVEN]:
                yield name, path, line


def _may_be_name(word: str, wording: Wording) -> bool:
    return any(concept.word == word and concept.weight == 1.0 for concept in wording.concepts)


def _by_parts(index: RepositoryIndex, wording: Wording, idf: tuple[float, ...]) -> list[tuple[str, int]]:
    """File and line of the definitions whose own names say most of the question."""
    said: dict[tuple[str, int], float] = {}
    for concept, weight in zip(wording.concepts, idf, strict=True):
        best: dict[tuple[str, int], float] = {}
        for form, share in concept.forms.items():
            for place in index.names.with_part(form.lower()):
                best[place] = max(best.get(place, 0.0), share)
        for place, share in best.items():
            said[place] = said.get(place, 0.0) + weight * share
    order = sorted(said, key=lambda place: (-said[place], place))[:N_NAMED]
    return [(place[0], index.names.named(place).definition.header_line) for place in order]
