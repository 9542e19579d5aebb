"""Parameter sweep of FragRel: relation, alpha, w_rel, segment size and budget over the same questions.

Owns the settings of the paper's Tables 4 and 5 and the loop. The caller supplies the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Literal, Protocol, TypeVar

from ...memory.fragrel.relations import ContextRelation, NoRelation, Relation, SemanticRelation
from ...memory.fragrel.strategy import FragRel, FragRelOptions
from ...memory.scoring import Indexer, Scores, SegmentIndex
from ...memory.strategy import StrategyContext
from ...memory.values import Budget, Item, Segment

RelationKind = Literal["none", "semantic", "context"]
RELATION_KINDS: tuple[RelationKind, ...] = ("none", "semantic", "context")

TABLE_4_WORDS = (1000, 2000, 4000, 8000, 12000, 20000, 28000)
TABLE_5_VALUES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class SweepSetting:
    """Only the context relation uses `w_rel`; without a relation `alpha` is unused too."""

    kind: RelationKind
    segment_words: int = 500
    budget_words: int = 4000
    w_rel: float = 0.3
    alpha: float = 0.5

    def relation(self, context: StrategyContext) -> Relation:
        if self.kind == "context":
            return ContextRelation(self.w_rel)
        return SemanticRelation(context.embedder) if self.kind == "semantic" else NoRelation()


class SweepCase(Protocol):
    """The items of a case; the caller knows its question and answer."""

    @property
    def items(self) -> Sequence[Item]: ...


AnySweepCase = TypeVar("AnySweepCase", bound=SweepCase)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The measured values of a setting, one for each case."""

    setting: SweepSetting
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values) if self.values else 0.0


def table_4(
    sizes: Sequence[int] = (500, 800),
    budgets: Sequence[int] = TABLE_4_WORDS,
    kinds: Sequence[RelationKind] = RELATION_KINDS,
) -> list[SweepSetting]:
    """Every relation at every budget, w_rel 0.3 and alpha 0.5."""
    return [SweepSetting(kind, size, budget) for budget, size, kind in product(budgets, sizes, kinds)]


def table_5(budget_words: int, segment_words: int, values: Sequence[float] = TABLE_5_VALUES) -> list[SweepSetting]:
    """No relation, a sweep of alpha at w_rel 0.1, and a sweep of w_rel at alpha 0.5."""
    alphas = [SweepSetting("context", segment_words, budget_words, 0.1, alpha) for alpha in values]
    w_rels = [SweepSetting("context", segment_words, budget_words, w_rel, 0.5) for w_rel in values]
    return list(dict.fromkeys([SweepSetting("none", segment_words, budget_words), *alphas, *w_rels]))


def grid(
    alphas: Sequence[float], w_rels: Sequence[float], sizes: Sequence[int], budgets: Sequence[int]
) -> list[SweepSetting]:
    """The context relation at every combination."""
    return [
        SweepSetting("context", size, budget, w_rel, alpha)
        for size, budget, w_rel, alpha in product(sizes, budgets, w_rels, alphas)
    ]


def sweep(
    settings: Sequence[SweepSetting],
    cases: Iterable[AnySweepCase],
    measure: Callable[[FragRel, AnySweepCase, Budget], float],
    context: StrategyContext,
    score: Indexer,
) -> list[SweepRow]:
    """A row for each setting, in order. `measure` receives a strategy that holds the items of the case."""
    values: list[list[float]] = [[] for _ in settings]
    for case in cases:
        ready = _CachedIndexer(score)
        for setting, found in zip(settings, values, strict=True):
            options = FragRelOptions(setting.relation(context), setting.alpha, segment_words=setting.segment_words)
            strategy = FragRel(context, options, ready)
            strategy.remember(case.items)
            found.append(measure(strategy, case, Budget(words=setting.budget_words)))
    return [SweepRow(setting, tuple(found)) for setting, found in zip(settings, values, strict=True)]


class _CachedIndexer:
    """An indexer that builds each index once, because settings share segments."""

    def __init__(self, score: Indexer) -> None:
        self._score = score
        self._made: dict[tuple[str, ...], SegmentIndex] = {}

    def __call__(self, segments: Sequence[Segment]) -> SegmentIndex:
        key = tuple(segment.key for segment in segments)
        if key not in self._made:
            self._made[key] = _CachedScores(self._score(segments))
        return self._made[key]


class _CachedScores:
    """An index that scores each question once."""

    def __init__(self, index: SegmentIndex) -> None:
        self.segments = index.segments
        self._index = index
        self._scores: dict[str, Scores] = {}

    def scores(self, question: str) -> Scores:
        if question not in self._scores:
            self._scores[question] = self._index.scores(question)
        return self._scores[question]
