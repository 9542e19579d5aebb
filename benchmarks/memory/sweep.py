"""`weft bench memory sweep`: a parameter sweep of FragRel, as in the paper's Tables 4 and 5.

Relation, alpha, w_rel, segment size and budget over the same questions. The figure is the recall of the supporting
facts in the evidence, or the data's own metric with a model. Owns the settings, the loop, the tables and the plots.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice, product
from statistics import fmean
from typing import Literal, get_args

from ...memory import Budget, MeteredModel, StrategyContext
from ...memory.fragrel.relations import ContextRelation, NoRelation, Relation, SemanticRelation
from ...memory.fragrel.strategy import FragRel, FragRelOptions
from ...memory.scoring import SCORERS, Indexer, Scores, SegmentIndex, indexer
from ...memory.values import Segment
from ..command import Report, command_parser, run_command
from ..models import open_chat_model
from ..plots import curves_plot
from ..tables import markdown
from .adapters import ADAPTERS, DataOption, read_samples
from .generators.stories import LENGTHS, stories
from .generators.story_tasks import TASKS
from .metrics import score
from .records import BadData
from .systems import open_remembering
from .values import Sample, recall_of

RelationKind = Literal["none", "semantic", "context"]

TABLE_4_WORDS = (1000, 2000, 4000, 8000, 12000, 20000, 28000)
TABLE_5_VALUES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

Measure = Callable[[FragRel, Sample, Budget], float]


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


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The measured values of a setting, one for each question."""

    setting: SweepSetting
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values) if self.values else 0.0


def table_4(sizes: Sequence[int] = (500, 800), budgets: Sequence[int] = TABLE_4_WORDS) -> list[SweepSetting]:
    """Every relation at every budget, w_rel 0.3 and alpha 0.5."""
    return [SweepSetting(kind, size, budget) for budget, size, kind in product(budgets, sizes, get_args(RelationKind))]


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
    samples: Iterable[Sample],
    measure: Measure,
    context: StrategyContext,
    score: Indexer,
) -> list[SweepRow]:
    """A row for each setting, in order. `measure` receives a strategy that holds the items of the sample."""
    values: list[list[float]] = [[] for _ in settings]
    for sample in samples:
        ready = _cached(score)
        for setting, found in zip(settings, values, strict=True):
            options = FragRelOptions(setting.relation(context), setting.alpha, segment_words=setting.segment_words)
            strategy = FragRel(context, options, ready)
            strategy.remember(sample.items)
            found.append(measure(strategy, sample, Budget(words=setting.budget_words)))
    return [SweepRow(setting, tuple(found)) for setting, found in zip(settings, values, strict=True)]


def _cached(score: Indexer) -> Indexer:
    """An indexer that builds each index and scores each question once, because settings share segments."""
    made: dict[tuple[str, ...], SegmentIndex] = {}

    def build(segments: Sequence[Segment]) -> SegmentIndex:
        key = tuple(segment.key for segment in segments)
        if key not in made:
            index = score(segments)
            made[key] = _CachedIndex(index.segments, cache(index.scores))
        return made[key]

    return build


@dataclass(frozen=True)
class _CachedIndex:
    segments: Sequence[Segment]
    scores: Callable[[str], Scores]


def main(arguments: Sequence[str] | None = None) -> int:
    common = ("limit", "seed", "embeddings", "model", "context", "machine", "html")
    limit = {"default": 50, "help": "questions, at most (50)"}
    parser = command_parser("weft bench memory sweep", __doc__, *common, limit=limit)
    forms = f"a data set, FORM: {', '.join(ADAPTERS)}; default: synthetic stories"
    parser.add_argument("--data", nargs=2, action=DataOption, metavar=("FORM", "FILE"), help=forms)
    parser.add_argument("--task", choices=TASKS, default="qa2", help="of the synthetic stories")
    parser.add_argument("--length", choices=LENGTHS, default="32k", help="of the synthetic stories, in tokens")
    parser.add_argument("--table", choices=("4", "5"), default="4", help="which of the paper's tables to draw")
    parser.add_argument("--alphas", type=float, nargs="+", help="instead of a table: every combination with --w-rels")
    parser.add_argument("--w-rels", type=float, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500], help="words of a segment (500)")
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 2000, 4000, 8000], help="words of evidence")
    parser.add_argument("--score", choices=SCORERS, default="bm25", help="the independent score (bm25)")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    samples, name = _samples(options)
    model = open_chat_model(options.model, options.context)
    if model is None and not (samples := [sample for sample in samples if sample.facts]):
        raise BadData(f"{name} names no supporting facts. Give --model to measure answers instead.")
    embedder, why = open_remembering(options.embeddings)
    context = StrategyContext(None if model is None else MeteredModel(model), embedder)
    measure = evidence_recall if model is None else answer_f1
    rows = sweep(_settings(options), samples, measure, context, indexer(options.score, context))
    what = "Recall of supporting facts" if model is None else f"Answers of {model.info.name} by the data's own metric"
    title = f"{what}: {len(samples)} questions of {name}, {options.score}; {why}"
    text = tables(rows) if context.model is None else f"{tables(rows)}\n\n{context.model.usage.describe()}"
    return Report("memory sweep", text, {"what": title, "results": [*map(_plain, rows)]}, title, plots(rows))


def evidence_recall(strategy: FragRel, sample: Sample, budget: Budget) -> float:
    """The share of the facts in the evidence, in percent."""
    return 100 * recall_of(sample.facts, strategy.recall(sample.question, budget).evidence)


def answer_f1(strategy: FragRel, sample: Sample, budget: Budget) -> float:
    """The sample's own metric of the answer, in percent: F1 for stories. Raises ModelError."""
    figures = score(sample, strategy.answer(sample.question, budget).text)
    return 100 * next(iter(figures.values()))


def tables(rows: Sequence[SweepRow]) -> str:
    """Markdown: Table 4 where budgets or relations differ, Table 5 where alpha or w_rel do."""
    parts = [_table_4(rows)] if len({row.setting.kind for row in rows}) > 1 or len(_budgets(rows)) > 1 else []
    for size in dict.fromkeys((row.setting.budget_words, row.setting.segment_words) for row in rows):
        parts += [_table_5(rows, *size, "alpha"), _table_5(rows, *size, "w_rel")]
    return "\n\n".join(filter(None, parts))


def _table_4(rows: Sequence[SweepRow]) -> str:
    """A row a budget, a column for each size of segments and relation; the first setting of a kind counts."""
    cells: dict[tuple[int, int, str], float] = {}
    for row in rows:
        setting = row.setting
        cells.setdefault((setting.budget_words, setting.segment_words, setting.kind), row.mean)
    columns = list(dict.fromkeys((size, kind) for _, size, kind in cells))
    lines = [[f"{budget:,}", *(_cell(cells.get((budget, *column))) for column in columns)] for budget in _budgets(rows)]
    return markdown(["words", *(f"C{size} {kind}" for size, kind in columns)], lines)


def _table_5(rows: Sequence[SweepRow], budget: int, size: int, swept: str) -> str:
    """One line for each value of the other parameter; empty when nothing is swept."""
    mine = [row for row in rows if (row.setting.budget_words, row.setting.segment_words) == (budget, size)]
    context = [row for row in mine if row.setting.kind == "context"]
    other = "w_rel" if swept == "alpha" else "alpha"
    values = sorted({getattr(row.setting, swept) for row in context})
    plain = next((row.mean for row in mine if row.setting.kind == "none"), None)
    lines = []
    for fixed in sorted({getattr(row.setting, other) for row in context}):
        found = {getattr(row.setting, swept): row.mean for row in context if getattr(row.setting, other) == fixed}
        if len(found) > 2:
            lines.append([f"{other} {fixed:g}", _cell(plain), *(_cell(found.get(value)) for value in values)])
    head = [f"{budget:,} words, C{size}", "none", *(f"{swept} {value:g}" for value in values)]
    return markdown(head, lines) if lines else ""


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _budgets(rows: Sequence[SweepRow]) -> list[int]:
    return sorted({row.setting.budget_words for row in rows})


def _plain(row: SweepRow) -> dict[str, object]:
    figures = asdict(row.setting)
    return {"relation": figures.pop("kind"), **figures, "mean": round(row.mean, 2), "n": len(row.values)}


def _settings(options: argparse.Namespace) -> list[SweepSetting]:
    if options.alphas or options.w_rels:
        swept = grid(options.alphas or [0.5], options.w_rels or [0.3], options.sizes, options.budgets)
        plain = [SweepSetting("none", size, budget) for size in options.sizes for budget in options.budgets]
        return [*plain, *swept]
    if options.table == "5":
        return [setting for budget in options.budgets for size in options.sizes for setting in table_5(budget, size)]
    return table_4(options.sizes, options.budgets)


def _samples(options: argparse.Namespace) -> tuple[list[Sample], str]:
    if options.data:
        form, path = options.data
        return list(islice(read_samples(form, path), options.limit)), f"{form} ({path.name})"
    name = f"synthetic stories, {options.task} at {options.length}"
    return list(stories(options.task, options.length, options.limit, options.seed)), name


def plots(rows: Sequence[SweepRow]) -> str:
    """HTML with a plot for each setting of which a curve has at least two values."""
    context = [row for row in rows if row.setting.kind == "context"]
    drawn = [
        ("words of evidence", _curves(rows, "C{0.segment_words} {0.kind}", "budget_words")),
        ("alpha", _curves(context, "{0.budget_words:,} C{0.segment_words}, w_rel {0.w_rel:g}", "alpha")),
        ("w_rel", _curves(context, "{0.budget_words:,} C{0.segment_words}, alpha {0.alpha:g}", "w_rel")),
    ]
    return "".join(f"<h2>Over {name}</h2>{curves_plot(curves, name)}" for name, curves in drawn if curves)


def _curves(rows: Sequence[SweepRow], name: str, swept: str) -> dict[str, list[tuple[float, float]]]:
    """The mean by one parameter, a curve for each name; `name` is a pattern for a setting."""
    curves: dict[str, dict[float, float]] = {}
    for row in rows:
        curves.setdefault(name.format(row.setting), {}).setdefault(float(getattr(row.setting, swept)), row.mean)
    return {name: list(points.items()) for name, points in curves.items() if len(points) > 1}
