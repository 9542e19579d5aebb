"""From the words of a question to ranked units.

Owns the course of a search: windows by their words and by what is related to them, definitions by their names, then
the units that these lie in, each read as a whole. Knows no model and no wording of answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .. import bm25
from ..bm25 import FloatArray
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

RELATION = 0.5
"""What the fragments around a window add to its score: alpha of Eq. 10 (papers' spec 1.4)."""

AROUND = 0.4
"""What the relation adds to the score of a unit."""

NAMED_AS_WRITTEN = 1.0
NAMED_IN_WORDS = 0.15
"""A unit that defines what the question names gains this share of what all its words weigh: named as the code does, or
in plain words ("data loader")."""

GIVEN_IN_WORDS = 0.4
"""So does one that gives a value to a name of several words of the question: `COOKIE_AGE` for "cookie age"."""

MOST_GIVEN, MOST_MEANT = 10, 30
"""Of the places where such a name gets a value so many are looked at, and so many of the definitions of a name."""

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


def search(index: RepositoryIndex, text: str, options: SearchOptions = SearchOptions()) -> Found:
    """The units that speak to a question, best first; none when no word of it is in the index.

    Reads one snapshot and may run in any thread.
    """
    wording = read_question(text)
    concepts = wording.concepts
    windows = index.lexical.bm25_of_groups([concept.forms for concept in concepts], [c.weight for c in concepts])
    idf = tuple(
        concept.weight * float(bm25.idf(index.n_fragments, df))
        for concept, df in zip(concepts, windows.df, strict=True)
    )
    scores, around = windows.scores, np.zeros(len(windows.scores))
    if options.relation and scores.any():
        around = index.relations.environment(scores, alpha=options.relation)
        scores = np.where(scores > 0, scores + options.relation * around, 0.0)
    candidates = _Candidates(index)
    for window in _best(scores, options.n_windows):
        candidates.add_window(window, float(around[window]))
    named = _named(index, wording)
    for name, definitions, share in named:
        gain = share * sum(idf) / max(1, len(definitions)) ** 0.5
        for path, definition in definitions[:MOST_MEANT]:
            candidates.add_named(path, definition.header_line, name, gain)
    for name, path, line in _given(index, wording):
        candidates.add_named(path, line, name, GIVEN_IN_WORDS * sum(idf))
    reader = Reader(wording, idf)
    units = [weighed for candidate in candidates.all() if (weighed := _weighed(index, wording, reader, candidate))]
    units.sort(key=lambda item: (-item.score, item.unit.path, item.unit.start_line))
    return Found(
        wording,
        tuple(units[: options.n]),
        idf,
        windows.df,
        tuple((name, tuple(definitions)) for name, definitions, _ in named),
        frozenset(name for name, _, share in named if share == NAMED_AS_WRITTEN),
    )


@dataclass(slots=True)
class _Candidate:
    """A unit that may answer, and what speaks for it beside its words."""

    unit: Unit
    around: float = 0.0  # what the code around its best window says
    name: str = ""  # of the question, that it defines or gives a value
    gain: float = 0.0


class _Candidates:
    """The units that are read, each once."""

    def __init__(self, index: RepositoryIndex) -> None:
        self._index = index
        self._found: dict[tuple[str, int], _Candidate] = {}

    def add_window(self, window: int, around: float) -> None:
        """The units that a window shows lines of. Better windows come first."""
        place = self._index.place(window)
        for unit in self._units_between(place.path, place.start_line, place.end_line):
            self._found.setdefault((unit.path, unit.start_line), _Candidate(unit, around))

    def add_named(self, path: str, line: int, name: str, gain: float) -> None:
        """The innermost unit at a line, which stands for a name of the question."""
        units = self._units_between(path, line, line + 1)
        if units:
            unit = max(units, key=lambda unit: unit.start_line)
            found = self._found.setdefault((path, unit.start_line), _Candidate(unit))
            if gain > found.gain:
                found.name, found.gain = name, gain

    def all(self) -> Iterable[_Candidate]:
        return self._found.values()

    def _units_between(self, path: str, start_line: int, end_line: int) -> list[Unit]:
        units = units_of(self._index.graph.files[path], self._index.texts[path])
        return [unit for unit in units if unit.start_line < end_line and unit.end_line > start_line]


def _weighed(index: RepositoryIndex, wording: Wording, reader: Reader, candidate: _Candidate) -> Weighed | None:
    """The unit with all that speaks for it; None when nothing does."""
    unit = candidate.unit
    found = reader.weigh(unit, _lines(index.texts[unit.path]))
    if not found.lines and not candidate.gain:
        return None
    share = _share(unit, wording)
    parts = tuple(
        ScorePart(part.name, part.value * share, part.detail)
        for part in (
            *found.parts,
            ScorePart("related code", AROUND * candidate.around),
            ScorePart("defines", candidate.gain, candidate.name),
        )
        if part.value
    )
    return replace(found, score=sum(part.value for part in parts), parts=parts)


# Units of one file are read after each other, mostly.
@lru_cache(maxsize=64)
def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n")


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
                found.setdefault(name, (definitions, NAMED_IN_WORDS))
    return [(name, definitions, share) for name, (definitions, share) in found.items()]


def _given(index: RepositoryIndex, wording: Wording) -> Iterator[tuple[str, str, int]]:
    """Names of several words of the question that are given a value here, with file and line."""
    for n in (4, 3, 2):
        for at in range(len(wording.words) - n + 1):
            for path, name, line in index.names.given("".join(wording.words[at : at + n]))[:MOST_GIVEN]:
                yield name, path, line


def _may_be_name(word: str, wording: Wording) -> bool:
    return any(concept.word == word and concept.weight == 1.0 for concept in wording.concepts)
