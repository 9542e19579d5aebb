"""Search of units for a question: candidates from windows, definitions and value bindings, scored as whole units.

Owns the order of the search. Knows no model and no text of answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import bm25
from ..bm25 import FloatArray
from ..definition_index import NamedDefinition
from ..name_segment import normalised_name
from .filters import UnitFilter
from .query_analysis import AnalysedQuestion, analyse_question
from .spelling import correct_spelling
from .unit_embeddings import NearUnits, UnitEncoder
from .unit_features import EMBEDDED_WEIGHTS, NAMED_AS_WRITTEN, WEIGHTS, Features, features_of, score_parts
from .unit_scoring import ScoredUnit, UnitScorer
from .unit_texts import UnitTexts
from .unit_vectors import QuestionMeaning
from .units import Unit, units_of

if TYPE_CHECKING:
    from ..index import RepositoryIndex

# Measured on the same questions as the weights in `unit_scoring`.

N_WINDOWS = 70
"""The units of this many best windows are scored."""

N_MEANING_WINDOWS = 70
"""The same for the windows that are nearest by meaning."""

N_FILTERED = 500
"""So many windows are sorted at first when a filter is applied."""

N_EMBEDDED_UNITS = 40
"""This many units that are nearest by an embedding model are scored."""

NEAR_IN_MEANING = 1.0
"""A unit without a word or name of the question is found from this many standard deviations above the mean on.

From 0 on, small repositories have results for questions about something else.
"""

LEAST_WORDS_OF_MEANING = 3
"""With fewer words, units that have none of them are not found: one or two names say too little."""

N_CALL_ROWS = 16
"""Relations by calls are computed for this many windows: 64 find no more in three items, and take a third longer."""

RELATION = 0.5
"""Weight of the environment in the score of a window: alpha of Eq. 10 (papers' spec 1.4)."""

NAMED_IN_WORDS = 0.15
"""The gain of a unit that defines plain words of the question ("data loader"); 1 for a name in its exact spelling."""

BOUND_IN_WORDS = 0.4
"""The same for a unit that binds a value to a name of several words of the question: `COOKIE_AGE` for "cookie age"."""

MAX_BINDINGS, MAX_DEFINITIONS = 10, 30
"""Limits of value bindings, and of definitions, per name."""

MIN_NAME_LENGTH = 3
"""Plain words of fewer letters are not taken as names."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search."""

    n: int = 30
    """Most units in the result."""
    relation: float = RELATION
    """Weight of the relations between windows (alpha of Eq. 10); 0 ranks by words only."""
    n_windows: int = N_WINDOWS
    """Best windows whose units are scored."""
    filter: UnitFilter | None = None
    """The units that the result may have; None for all."""
    corrects_spelling: bool = True
    """Whether misspelled words are replaced."""
    encoder: UnitEncoder | None = None
    """Vectors of an embedding model, which rank beside the words."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a search. `idf` is the weight of each concept of the question, and `df` its document frequency."""

    question: AnalysedQuestion
    units: tuple[ScoredUnit, ...]  # best first
    features: tuple[Features, ...]  # of each unit
    idf: tuple[float, ...]
    df: tuple[int, ...]
    named: tuple[tuple[str, tuple[NamedDefinition, ...]], ...]  # names of the question with definitions
    as_written: frozenset[str]  # those of them in the exact spelling
    corrections: tuple[tuple[str, str], ...] = ()  # misspelled words, and the words that were searched instead


def search(index: RepositoryIndex, text: str, options: SearchOptions = SearchOptions()) -> QuestionResult:
    """The units that match a question, best first; none when no word of it has a vector or is in the index.

    Reads one snapshot and may run in any thread.
    """
    text, corrections = correct_spelling(index, text) if options.corrects_spelling else (text, ())
    question = analyse_question(text)
    concepts = question.concepts
    windows = index.lexical.bm25_of_groups([concept.forms for concept in concepts], [c.weight for c in concepts])
    idf = tuple(
        concept.weight * float(bm25.idf(index.n_fragments, df))
        for concept, df in zip(concepts, windows.df, strict=True)
    )
    scores, around = windows.scores, np.zeros(len(windows.scores))
    if options.relation and scores.any():
        # Those of the best windows alone: a common word is in thousands, whose relations take a second.
        best = _best(scores, N_WINDOWS)
        strong = np.zeros(len(scores))
        strong[best] = scores[best]
        around = index.relations.environment(strong, alpha=options.relation, n_call_rows=N_CALL_ROWS)
        scores = np.where(scores > 0, scores + options.relation * around, 0.0)
    meaning = QuestionMeaning.of(index, question)
    near = meaning.windows
    embedded = options.encoder.near(index, question) if options.encoder is not None else None
    candidates = _UnitCandidates(index, options.filter)
    by_words = _best_passing(index, scores, options.n_windows + 1, options.filter)
    by_meaning = _best_passing(index, near, min(N_MEANING_WINDOWS, options.n_windows), options.filter)
    for window in (*by_words[: options.n_windows], *by_meaning):
        candidates.add_window(window, float(around[window]))
    for path, line in embedded.best(N_EMBEDDED_UNITS) if embedded is not None else ():
        candidates.add_place(path, line)
    named = _named(index, question)
    for name, definitions, share in named:
        if options.filter is not None:
            definitions = options.filter.definitions(index, definitions)
        gain = share / max(1, len(definitions)) ** 0.5
        for path, definition in definitions[:MAX_DEFINITIONS]:
            candidates.add_named(path, definition.header_line, name, gain)
    for name, path, line in _value_bindings(index, question):
        candidates.add_named(path, line, name, BOUND_IN_WORDS)
    found = list(candidates.all())
    if len(concepts) < LEAST_WORDS_OF_MEANING:
        # Most of the nearest windows have no word of the question.
        has_word = windows.scores > 0
        found = [each for each in found if each.gain or _windows_of(index, each.unit, has_word).any()]
    ranked = _ranked(index, question, idf, found, meaning, embedded)
    if options.filter is not None and not ranked and len(by_words) > options.n_windows:
        # The best windows have a unit that passes, but the words are in other units.
        return replace(search(index, text, replace(options, n_windows=len(scores))), corrections=corrections)
    return QuestionResult(
        question,
        tuple(scored for scored, _ in ranked[: options.n]),
        tuple(features for _, features in ranked[: options.n]),
        idf,
        windows.df,
        tuple((name, tuple(definitions)) for name, definitions, _ in named),
        frozenset(name for name, _, share in named if share == NAMED_AS_WRITTEN),
        corrections,
    )


@dataclass(slots=True)
class _UnitCandidate:
    """A candidate unit, and its features beside its words."""

    unit: Unit
    around: float = 0.0  # environment score of its best window
    name: str = ""  # of the question, that it defines or binds
    gain: float = 0.0


class _UnitCandidates:
    """The candidate units, each once."""

    def __init__(self, index: RepositoryIndex, filter: UnitFilter | None) -> None:
        self._index, self._filter = index, filter
        self._found: dict[tuple[str, int], _UnitCandidate] = {}

    def add_window(self, window: int, around: float) -> None:
        """Add the units that overlap a window. Better windows come first."""
        location = self._index.location(window)
        for unit in self._units_between(location.path, location.start_line, location.end_line):
            if self._keeps(unit):
                self._found.setdefault((unit.path, unit.start_line), _UnitCandidate(unit, around))

    def add_place(self, path: str, line: int) -> None:
        """Add the unit that begins at a line."""
        for unit in self._units_between(path, line, line + 1):
            if unit.start_line == line and self._keeps(unit):
                self._found.setdefault((path, line), _UnitCandidate(unit))

    def add_named(self, path: str, line: int, name: str, gain: float) -> None:
        """Add the innermost unit at a line, which defines or binds a name of the question."""
        units = self._units_between(path, line, line + 1)
        if units:
            unit = max(units, key=lambda unit: unit.start_line)
            if not self._keeps(unit):
                return
            found = self._found.setdefault((path, unit.start_line), _UnitCandidate(unit))
            if gain > found.gain:
                found.name, found.gain = name, gain

    def all(self) -> Iterable[_UnitCandidate]:
        return self._found.values()

    def _keeps(self, unit: Unit) -> bool:
        return self._filter is None or self._filter.keeps(unit, self._index.graph.files[unit.path])

    def _units_between(self, path: str, start_line: int, end_line: int) -> list[Unit]:
        units = units_of(self._index.graph.files[path], self._index.texts[path])
        return [unit for unit in units if unit.start_line < end_line and unit.end_line > start_line]


def _ranked(
    index: RepositoryIndex,
    question: AnalysedQuestion,
    idf: tuple[float, ...],
    candidates: list[_UnitCandidate],
    meaning: QuestionMeaning,
    embedded: NearUnits | None,
) -> list[tuple[ScoredUnit, Features]]:
    """The candidates with their scores and features, best first; without those that nothing matches."""
    weights = WEIGHTS if embedded is None else EMBEDDED_WEIGHTS
    texts = UnitTexts([each.unit for each in candidates], lambda path: _lines(index.texts[path]))
    scorer, total = UnitScorer(question, idf, texts), sum(idf) or 1.0
    near = meaning.of_units(texts)
    is_near = NEAR_IN_MEANING if len(question.concepts) >= LEAST_WORDS_OF_MEANING else float("inf")
    found: list[tuple[ScoredUnit, Features]] = []
    for number, (candidate, (body, head, nearest)) in enumerate(zip(candidates, near, strict=True)):
        scored = scorer.score(number)
        near_by_model = _near_by_model(embedded, candidate.unit, body)
        if not scored.lines and not candidate.gain and max(body, near_by_model) < is_near:
            continue
        features = features_of(question, scored, total, candidate.around, candidate.gain, body, head, near_by_model)
        parts = score_parts(features, candidate.name, weights)
        score = sum(part.value for part in parts)
        found.append((replace(scored, score=score, parts=parts, nearest=nearest), features))
    found.sort(key=lambda each: (-each[0].score, each[0].unit.path, each[0].unit.start_line))
    return found


def _near_by_model(embedded: NearUnits | None, unit: Unit, body: float) -> float:
    """The deviation of a unit's cosine; of a unit that was changed since the last vectors that of the word vectors."""
    if embedded is None:
        return 0.0
    deviation = embedded.of(unit)
    return body if deviation is None else deviation


# Mostly, consecutive units are of one file.
@lru_cache(maxsize=64)
def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n")


def _best_passing(index: RepositoryIndex, scores: FloatArray, n: int, filter: UnitFilter | None) -> list[int]:
    """The best windows that have a unit that passes."""
    if filter is None:
        return _best(scores, n)
    return list(islice(filter.windows(index, _descending(scores, N_FILTERED)), n))


def _descending(scores: FloatArray, n: int) -> Iterator[int]:
    """The windows with a score, best first; only the first `n` are sorted unless more are wanted."""
    positive = np.flatnonzero(scores > 0)
    least = np.partition(scores[positive], -n)[-n] if len(positive) > n else 0.0
    for part in (positive[scores[positive] >= least], positive[scores[positive] < least]):
        yield from part[np.argsort(-scores[part], kind="stable")].tolist()


def _windows_of(index: RepositoryIndex, unit: Unit, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The values of the windows that overlap a unit."""
    ids = index.lexical.ids(unit.path)
    first = index.ends[ids.start : ids.stop].searchsorted(unit.start_line, side="right")
    end = index.starts[ids.start : ids.stop].searchsorted(unit.end_line, side="left")
    return values[ids.start + first : ids.start + end]


def _best(scores: FloatArray, n: int) -> list[int]:
    positive = np.flatnonzero(scores > 0)
    if len(positive) > n:
        positive = positive[np.argpartition(-scores[positive], n)[:n]]
    order: list[int] = positive[np.argsort(-scores[positive], kind="stable")].tolist()
    return order


def _named(index: RepositoryIndex, question: AnalysedQuestion) -> list[tuple[str, list[NamedDefinition], float]]:
    """The names of a question with definitions, and the gain of each."""
    found: dict[str, tuple[list[NamedDefinition], float]] = {}
    for name in question.names:
        definitions = index.names.definitions(name)
        if definitions:
            found[name] = definitions, NAMED_AS_WRITTEN
    for name in question.capitalised:
        definitions = [named for named in index.names.definitions(name) if _is_spelled(named, name)]
        if definitions:
            found[name] = definitions, NAMED_AS_WRITTEN
    for n in (3, 2, 1):
        for at in range(len(question.words) - n + 1):
            words = question.words[at : at + n]
            if n == 1 and not _may_be_name(words[0], question):
                continue
            name = "".join(words)
            definitions = [] if len(name) < MIN_NAME_LENGTH else index.names.definitions(name)
            if definitions:
                found.setdefault(name, (definitions, NAMED_IN_WORDS))
    return [(name, definitions, share) for name, (definitions, share) in found.items()]


def _is_spelled(named: NamedDefinition, name: str) -> bool:
    """Whether a definition has the name in this spelling, or is imported under it."""
    return named.definition.name == name or normalised_name(named.definition.name) != normalised_name(name)


def _value_bindings(index: RepositoryIndex, question: AnalysedQuestion) -> Iterator[tuple[str, str, int]]:
    """Value bindings of names of several words of the question, with file and line."""
    for n in (4, 3, 2):
        for at in range(len(question.words) - n + 1):
            for path, name, line in index.names.value_bindings("".join(question.words[at : at + n]))[:MAX_BINDINGS]:
                yield name, path, line


_VALUES = frozenset({"none", "null", "nil", "true", "false", "undefined"})


def _may_be_name(word: str, question: AnalysedQuestion) -> bool:
    concepts = (concept for concept in question.concepts if concept.word.lower() == word)
    return word not in _VALUES and any(concept.weight == 1.0 for concept in concepts)
