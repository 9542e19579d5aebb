"""FragRel under many settings: the same questions for each relation, alpha, w_rel, segment size and budget.

Owns the settings of the paper's Tables 4 and 5 and the loop. What is measured is a function of the caller; knows no
metric, no model and no drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Literal, Protocol, TypeVar

from ..scoring import Indexer, Scores, SegmentIndex
from ..strategy import Kit
from ..values import Budget, Item, Segment
from .relations import ContextRelation, NoRelation, Relation, SemanticRelation
from .strategy import FragRel, FragRelOptions

Kind = Literal["none", "semantic", "context"]
KINDS: tuple[Kind, ...] = ("none", "semantic", "context")

TABLE_4_WORDS = (1000, 2000, 4000, 8000, 12000, 20000, 28000)
TABLE_5_VALUES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Setting:
    """`w_rel` counts for the context relation alone, and without a relation neither does `alpha`."""

    kind: Kind
    segment_words: int = 500
    budget_words: int = 4000
    w_rel: float = 0.3
    alpha: float = 0.5

    def relation(self, kit: Kit) -> Relation:
        if self.kind == "context":
            return ContextRelation(self.w_rel)
        return SemanticRelation(kit.embedder) if self.kind == "semantic" else NoRelation()


class Case(Protocol):
    """What is remembered; the question and what answers it are the caller's."""

    @property
    def items(self) -> Sequence[Item]: ...


AnyCase = TypeVar("AnyCase", bound=Case)


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured for a setting, one value a case."""

    setting: Setting
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values) if self.values else 0.0


def table_4(
    sizes: Sequence[int] = (500, 800), budgets: Sequence[int] = TABLE_4_WORDS, kinds: Sequence[Kind] = KINDS
) -> list[Setting]:
    """Every relation at every budget, w_rel 0.3 and alpha 0.5."""
    return [Setting(kind, size, budget) for budget, size, kind in product(budgets, sizes, kinds)]


def table_5(budget_words: int, segment_words: int, values: Sequence[float] = TABLE_5_VALUES) -> list[Setting]:
    """No relation, alpha at w_rel 0.1, w_rel at alpha 0.5: which of the two is swept tell the others' values."""
    alphas = [Setting("context", segment_words, budget_words, 0.1, alpha) for alpha in values]
    w_rels = [Setting("context", segment_words, budget_words, w_rel, 0.5) for w_rel in values]
    return list(dict.fromkeys([Setting("none", segment_words, budget_words), *alphas, *w_rels]))


def grid(
    alphas: Sequence[float], w_rels: Sequence[float], sizes: Sequence[int], budgets: Sequence[int]
) -> list[Setting]:
    """The context relation at every combination."""
    return [
        Setting("context", size, budget, w_rel, alpha)
        for size, budget, w_rel, alpha in product(sizes, budgets, w_rels, alphas)
    ]


def sweep(
    settings: Sequence[Setting],
    cases: Iterable[AnyCase],
    measure: Callable[[FragRel, AnyCase, Budget], float],
    kit: Kit,
    score: Indexer,
) -> list[Row]:
    """A row a setting, in their order. `measure` gets a strategy that has remembered the case."""
    values: list[list[float]] = [[] for _ in settings]
    for case in cases:
        ready = _Ready(score)
        for setting, found in zip(settings, values, strict=True):
            options = FragRelOptions(setting.relation(kit), setting.alpha, segment_words=setting.segment_words)
            strategy = FragRel(kit, options, ready)
            strategy.remember(case.items)
            found.append(measure(strategy, case, Budget(words=setting.budget_words)))
    return [Row(setting, tuple(found)) for setting, found in zip(settings, values, strict=True)]


class _Ready:
    """An indexer that makes the same segments ready once: settings differ in what comes after."""

    def __init__(self, score: Indexer) -> None:
        self._score = score
        self._made: dict[tuple[str, ...], SegmentIndex] = {}

    def __call__(self, segments: Sequence[Segment]) -> SegmentIndex:
        key = tuple(segment.key for segment in segments)
        if key not in self._made:
            self._made[key] = _Once(self._score(segments))
        return self._made[key]


class _Once:
    """An index that scores the same question once."""

    def __init__(self, index: SegmentIndex) -> None:
        self.segments = index.segments
        self._index = index
        self._scores: dict[str, Scores] = {}

    def scores(self, question: str) -> Scores:
        if question not in self._scores:
            self._scores[question] = self._index.scores(question)
        return self._scores[question]
