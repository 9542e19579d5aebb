"""`weft bench memory sweep`: FragRel's parameters, row by row as in the paper's Tables 4 and 5, on your data.

    weft bench memory sweep --length 32k                        Table 4 on synthetic stories: budgets, sizes, relations
    weft bench memory sweep --length 32k --table 5              alpha at w_rel 0.1, and w_rel at alpha 0.5
    weft bench memory sweep --data mtbench+ mtbenchplus.json    the same for turns of dialogues, w_rel 0.8
    weft bench memory sweep --alphas 0.2 0.5 --w-rels 0.3 0.8   every combination

The figure is the recall of the supporting facts in the evidence, or the data's own metric with a model, with 95 %
intervals. `difference` is paired, to the same budget and size without a relation. Where the paper has the same row its
F1 on NarrativeQA stands beside it: another measure of other texts, so only the order of its rows can be compared. For
code, `weft bench retrieval --strategies bm25 fragrel:alpha=0.2 ...` is the same sweep.

Owns the settings, the loop, the table and the plots.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain, islice, product
from statistics import fmean
from typing import Literal, get_args

from ...memory import Budget, MeteredModel, StrategyContext
from ...memory.fragrel.chat import PAPER
from ...memory.fragrel.presets import CHAT, ChatSettings, chat_with
from ...memory.fragrel.relations import ContextRelation, NoRelation, Relation, SemanticRelation
from ...memory.fragrel.strategy import FragRel, FragRelOptions
from ...memory.scoring import SCORERS, Indexer, Scores, SegmentIndex, indexer
from ...memory.strategy import Strategy
from ...memory.values import Segment
from ..bootstrap import difference, interval
from ..command import Report, command_parser, run_command
from ..models import open_chat_model
from ..plots import curves_plot
from ..tables import markdown, signed, with_interval
from .adapters import ADAPTERS, DataOption, read_samples
from .dialogues import facts_not_shown
from .generators.stories import LENGTHS, stories
from .generators.story_tasks import TASKS
from .metrics import score
from .records import BadData
from .systems import open_remembering
from .values import Sample, recall_of

RelationKind = Literal["none", "semantic", "context"]

TABLE_4_WORDS = (1000, 2000, 4000, 8000, 12000, 20000, 28000)
TABLE_4_SIZES = (500, 800)
TABLE_5_VALUES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TABLE_5_BLOCKS = ((7500, 500), (12000, 800), (20000, 800))  # words of evidence, and of a segment
TURNS = (1, 2, 4, 8)  # budgets of dialogues

_PAPER_4: Mapping[tuple[int, str], Sequence[float]] = {
    (500, "none"): (18.81, 20.47, 22.32, 27.44, 28.20, 26.71, 27.51),
    (500, "semantic"): (18.32, 20.21, 22.90, 26.21, 27.56, 27.08, 28.05),
    (500, "context"): (19.71, 20.63, 24.43, 28.07, 29.55, 28.79, 30.41),
    (800, "none"): (0.0, 0.0, 26.06, 27.38, 25.78, 26.99, 27.28),
    (800, "context"): (0.0, 0.0, 26.26, 28.48, 27.57, 27.93, 29.43),
}
"""Table 4 of FragRel for ChatGLM3-6B-32k, by words of `TABLE_4_WORDS`; 0 where it has no row."""

_PAPER_5: Mapping[tuple[int, int], tuple[float, Sequence[float], Sequence[float]]] = {
    (7500, 500): (
        25.01,
        (26.45, 27.73, 27.57, 26.82, 26.15, 24.42, 23.99, 25.20, 24.43),
        (26.15, 25.81, 26.75, 26.52, 26.67, 26.78, 26.38, 25.24, 25.34),
    ),
    (12000, 800): (
        25.78,
        (27.35, 27.32, 28.22, 27.43, 27.25, 27.00, 27.40, 27.04, 26.35),
        (27.25, 26.83, 28.83, 28.85, 29.90, 28.48, 27.57, 27.15, 27.63),
    ),
    (20000, 800): (
        26.99,
        (26.39, 27.66, 28.24, 29.46, 30.05, 28.80, 26.86, 28.19, 27.62),
        (30.05, 29.46, 29.30, 28.30, 27.90, 28.41, 27.71, 27.60, 27.93),
    ),
}
"""Table 5: without a relation, by alpha and by w_rel of `TABLE_5_VALUES`."""

Measure = Callable[[Strategy, Sample, Budget], float]


@dataclass(frozen=True, slots=True)
class SweepSetting:
    """Only the context relation uses `w_rel`; without a relation `alpha` is unused too.

    The budget is in words, and in turns for dialogues, whose segments are turns.
    """

    kind: RelationKind
    segment_words: int = 500
    budget: int = 4000
    w_rel: float = 0.3
    alpha: float = 0.5

    def relation(self, context: StrategyContext) -> Relation:
        if self.kind == "context":
            return ContextRelation(self.w_rel)
        return SemanticRelation(context.embedder) if self.kind == "semantic" else NoRelation()

    def strategy(self, sample: Sample, context: StrategyContext, score: Indexer) -> Strategy:
        """FragRel that holds the items of a sample; for a dialogue the paper's chat, with this relation."""
        options = FragRelOptions(self.relation(context), self.alpha, segment_words=self.segment_words)
        strategy: Strategy = FragRel(context, options, score)
        if is_dialogue(sample):
            settings = ChatSettings(replace(options, order="time"), PAPER)
            strategy = chat_with(context, settings, "chat fragrel", score=score, source=sample.items[0].source)
        strategy.remember(sample.items)
        return strategy


@dataclass(frozen=True, slots=True)
class SweepRow:
    """The measured shares of a setting, one for each question, by task of a story or kind of last question."""

    setting: SweepSetting
    strata: Mapping[str, Sequence[float]]

    @property
    def mean(self) -> float:
        return fmean(map(fmean, self.strata.values())) if self.strata else 0.0


def is_dialogue(sample: Sample) -> bool:
    return sample.items[0].kind == "turn"


def table_4(
    sizes: Sequence[int] = TABLE_4_SIZES, budgets: Sequence[int] = TABLE_4_WORDS, w_rel: float = 0.3
) -> list[SweepSetting]:
    """Every relation at every budget, alpha 0.5."""
    every = product(budgets, sizes, get_args(RelationKind))
    return [SweepSetting(kind, size, budget, w_rel) for budget, size, kind in every]


def table_5(budget: int, segment_words: int, values: Sequence[float] = TABLE_5_VALUES) -> list[SweepSetting]:
    """No relation, a sweep of alpha at w_rel 0.1, and a sweep of w_rel at alpha 0.5."""
    alphas = [SweepSetting("context", segment_words, budget, 0.1, alpha) for alpha in values]
    w_rels = [SweepSetting("context", segment_words, budget, w_rel, 0.5) for w_rel in values]
    return list(dict.fromkeys([SweepSetting("none", segment_words, budget), *alphas, *w_rels]))


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
    values: list[dict[str, list[float]]] = [{} for _ in settings]
    for sample in samples:
        ready, stratum = _cached(score), str(sample.details.get("type", sample.dataset))
        for setting, found in zip(settings, values, strict=True):
            budget = Budget(n=setting.budget) if is_dialogue(sample) else Budget(words=setting.budget)
            value = measure(setting.strategy(sample, context, ready), sample, budget)
            found.setdefault(stratum, []).append(value)
    return [SweepRow(setting, found) for setting, found in zip(settings, values, strict=True)]


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
    parser.add_argument("--task", nargs="+", choices=TASKS, default=["qa2"], help="of the synthetic stories (qa2)")
    parser.add_argument("--length", choices=LENGTHS, default="32k", help="of the synthetic stories, in tokens")
    parser.add_argument("--table", choices=("4", "5"), default="4", help="which of the paper's tables to draw")
    parser.add_argument("--alphas", type=float, nargs="+", help="instead of a table: every combination with --w-rels")
    parser.add_argument("--w-rels", type=float, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", help="words of a segment (the table's); a turn is a segment")
    parser.add_argument("--budgets", type=int, nargs="+", help="words of evidence, or turns (the table's)")
    parser.add_argument("--score", choices=SCORERS, default="bm25", help="the independent score (bm25)")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    samples, name = _samples(options)
    model = open_chat_model(options.model, options.context)
    if model is None and not (samples := [sample for sample in samples if facts_not_shown(sample)]):
        raise BadData(f"{name} names no supporting facts. Give --model to measure answers instead.")
    embedder, why = open_remembering(options.embeddings)
    context = StrategyContext(None if model is None else MeteredModel(model), embedder)
    measure = evidence_recall if model is None else answer_f1
    rows = sweep(
        _settings(options, is_dialogue(samples[0])), samples, measure, context, indexer(options.score, context)
    )
    what = "Recall of supporting facts" if model is None else f"Answers of {model.info.name} by the data's own metric"
    title = f"{what}: {len(samples)} questions of {name}, {options.score}; {why}"
    text = table(rows) if context.model is None else f"{table(rows)}\n\n{context.model.usage.describe()}"
    return Report("memory sweep", text, {"what": title, "results": [*map(_plain, rows)]}, title, plots(rows))


def evidence_recall(strategy: Strategy, sample: Sample, budget: Budget) -> float:
    """The share of the facts in the evidence, without those that a window shows anyway."""
    return recall_of(facts_not_shown(sample), strategy.recall(sample.question, budget).evidence)


def answer_f1(strategy: Strategy, sample: Sample, budget: Budget) -> float:
    """The sample's own metric of the answer: F1 for stories. Raises ModelError."""
    figures = score(sample, strategy.answer(sample.question, budget).text)
    return next(iter(figures.values()))


def table(rows: Sequence[SweepRow]) -> str:
    """A line for each setting, as the paper has it: with its F1 where it has the same row."""
    plain = {(row.setting.budget, row.setting.segment_words): row for row in rows if row.setting.kind == "none"}
    papers = [_paper(row.setting, rows) for row in rows]
    lines = []
    for row, paper in zip(rows, papers, strict=True):
        setting = row.setting
        parameters = ["", ""]
        if setting.kind != "none":
            parameters = [f"{setting.alpha:g}", f"{setting.w_rel:g}" if setting.kind == "context" else ""]
        without = plain.get((setting.budget, setting.segment_words))
        apart = "" if without is None or without is row else signed(difference(row.strata, without.strata))
        cells = [f"{setting.budget:,}", f"C{setting.segment_words}", setting.kind, *parameters]
        lines.append([*cells, with_interval(interval(row.strata)), apart, *([paper] if any(papers) else [])])
    head = ["evidence", "segments", "relation", "alpha", "w_rel", "recall", "difference"]
    return markdown([*head, *(["paper's F1"] if any(papers) else [])], lines)


def _paper(setting: SweepSetting, rows: Sequence[SweepRow]) -> str:
    """The F1 of the paper's row with the same setting: of Table 4 where relations are compared, else of Table 5."""
    is_table_4 = any(row.setting.kind == "semantic" for row in rows)
    if is_table_4 and setting.budget in TABLE_4_WORDS and setting.w_rel == 0.3:
        of = _PAPER_4.get((setting.segment_words, setting.kind), ())
        found = of[TABLE_4_WORDS.index(setting.budget)] if of else 0.0
        return f"{found:.2f}" if found else ""
    if not is_table_4 and (block := _PAPER_5.get((setting.budget, setting.segment_words))):
        none, alphas, w_rels = block
        if setting.kind == "none":
            return f"{none:.2f}"
        if setting.w_rel == 0.1 and setting.alpha in TABLE_5_VALUES:
            return f"{alphas[TABLE_5_VALUES.index(setting.alpha)]:.2f}"
        if setting.alpha == 0.5 and setting.w_rel in TABLE_5_VALUES:
            return f"{w_rels[TABLE_5_VALUES.index(setting.w_rel)]:.2f}"
    return ""


def _plain(row: SweepRow) -> dict[str, object]:
    figures = asdict(row.setting)
    low, middle, high = (round(100 * value, 2) for value in interval(row.strata))
    n = sum(map(len, row.strata.values()))
    return {"relation": figures.pop("kind"), **figures, "mean": middle, "low": low, "high": high, "n": n}


def _settings(options: argparse.Namespace, are_turns: bool) -> list[SweepSetting]:
    sizes, budgets = options.sizes, options.budgets
    if are_turns:
        sizes, budgets = [1], budgets or (list(TURNS) if options.table == "4" else [TURNS[-1]])
    if options.alphas or options.w_rels:
        sizes, budgets = sizes or TABLE_4_SIZES[:1], budgets or TABLE_4_WORDS[:4]
        swept = grid(options.alphas or [0.5], options.w_rels or [0.3], sizes, budgets)
        return [*(SweepSetting("none", size, budget) for size in sizes for budget in budgets), *swept]
    if options.table == "5":
        blocks = product(budgets, sizes) if sizes and budgets else TABLE_5_BLOCKS
        return [setting for budget, size in blocks for setting in table_5(budget, size)]
    w_rel = CHAT.memory.relation.w_rel if are_turns and isinstance(CHAT.memory.relation, ContextRelation) else 0.3
    return table_4(sizes or TABLE_4_SIZES, budgets or TABLE_4_WORDS, w_rel)


def _samples(options: argparse.Namespace) -> tuple[list[Sample], str]:
    if options.data:
        form, path = options.data
        return list(islice(read_samples(form, path), options.limit)), f"{form} ({path.name})"
    name = f"synthetic stories, {', '.join(options.task)} at {options.length}"
    each = -(-options.limit // len(options.task))
    made = [stories(task, options.length, each, options.seed) for task in options.task]
    return list(chain.from_iterable(made)), name


def plots(rows: Sequence[SweepRow]) -> str:
    """HTML with a plot for each setting of which a curve has at least two values."""
    context = [row for row in rows if row.setting.kind == "context"]
    drawn = [
        ("evidence", _curves(rows, "C{0.segment_words} {0.kind}", "budget")),
        ("alpha", _curves(context, "{0.budget:,} C{0.segment_words}, w_rel {0.w_rel:g}", "alpha")),
        ("w_rel", _curves(context, "{0.budget:,} C{0.segment_words}, alpha {0.alpha:g}", "w_rel")),
    ]
    return "".join(f"<h2>Over {name}</h2>{curves_plot(curves, name)}" for name, curves in drawn if curves)


def _curves(rows: Sequence[SweepRow], name: str, swept: str) -> dict[str, list[tuple[float, float]]]:
    """The mean in percent by one parameter, a curve for each name; `name` is a pattern for a setting."""
    curves: dict[str, dict[float, float]] = {}
    for row in rows:
        value = float(getattr(row.setting, swept))
        curves.setdefault(name.format(row.setting), {}).setdefault(value, 100 * row.mean)
    return {name: list(points.items()) for name, points in curves.items() if len(points) > 1}
