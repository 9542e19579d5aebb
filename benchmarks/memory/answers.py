"""`weft bench memory answers`: answer quality and cost of memory strategies on a data set with a model.

    weft bench memory answers --data quality FILE --strategies segment_plus qrmem --model llama.cpp=http://127.0.0.1:8080
    weft bench memory answers --data generic book.jsonl --strategies segment_plus segment_plus:filtered=false \\
        --model openai=URL#NAME --judge openai=URL#OTHER --limit 50 --html answers.html
    weft bench memory answers --data hotpotqa FILE --strategies qrmem --model none      the evidence alone

A strategy remembers the items of a sample and answers its question, each sample by itself. The figures are the data
set's metric, the recall of the gold facts in the evidence, the verdict of a judge where one is named, and calls,
tokens and seconds for each question. `--model extractive-mock` is not a model: it shows the cost of a strategy.
No strategy uses what another one has computed. By default no question does either; with `--store strategy` the
questions of a strategy share one store, as in a workspace.

Owns the run. An interrupted run continues: rows are cached in the work folder.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from ...errors import UserError
from ...llm import CodeModel, ModelError
from ...memory import Cost, MeteredModel, StrategyContext
from ...memory.memorag.beacon.backend import BeaconSettings, open_beacon
from ...memory.strategies import strategy_named
from ...memory.strategy import InProcessCache
from ...memory.usage import UsageTracker, describe_cost
from ...server.models.model_argument import MODEL_SYNTAX
from ..bootstrap import grouped, interval, mean
from ..command import Report, command_parser, run_command, say
from ..models import model_option, shown_name
from ..plots import ranges_plot
from ..rows import RowCache, code_digest
from ..tables import markdown, percent
from .adapters import ADAPTERS, DataOption, read_samples, read_templates, with_templates
from .extractive_mock import NAME as EXTRACTIVE_MOCK
from .judges import Verdict, judge
from .metrics import chinese_by, score
from .parallel import add_parallel_options, in_parallel, open_answering_model, open_parallel_model
from .systems import open_remembering
from .values import Sample, recall_of

_CODE = ("memory", "benchmarks/memory")

Judge = Callable[[Sample, str], Verdict]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer. `figures` are shares; `verdict` is None without a judge, or without a readable verdict."""

    sample: str
    strategy: str
    text: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    verdict: float | None = None
    n_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    notes: Sequence[str] = ()
    error: str = ""


def answered(
    sample: Sample, spelling: str, model: CodeModel | None, context: StrategyContext, judged_by: Judge | None = None
) -> AnswerRow:
    """The row of one sample; a failure is in the row. Results that the cache of the context has cost nothing.

    Raises ValueError for an unknown strategy.
    """
    usage = UsageTracker()
    context = replace(
        context,
        model=None if model is None else MeteredModel(model, usage=usage),
        count_tokens=context.count_tokens if model is None else model.count_tokens,
        memory_model=None if context.memory_model is None else MeteredModel(context.memory_model.model, usage=usage),
    )
    strategy = strategy_named(spelling, context)
    answer, error = None, ""
    try:
        strategy.remember(sample.items)
        answer = strategy.answer(sample.question)
    except ModelError as failed:
        error = str(failed)
    cost = usage.total
    spent = (cost.n_calls, cost.tokens_in, cost.tokens_out, round(cost.seconds, 3))
    if answer is None:
        return AnswerRow(sample.id, spelling, "", {}, None, *spent, error=error)
    figures = score(sample, answer.text) if model is not None or answer.text else {}
    if sample.facts:
        figures["evidence"] = recall_of(sample.facts, answer.recalled.evidence)
    verdict = None if judged_by is None else judged_by(sample, answer.text).value
    return AnswerRow(sample.id, spelling, answer.text, figures, verdict, *spent, notes=answer.notes)


def summary(rows: Sequence[AnswerRow]) -> dict[str, dict[str, float]]:
    """For machines: for each strategy the means over the answered questions, and the cost of a question."""
    return {
        strategy: {name: round(value, 2 if name in _COSTS else 4) for name, value in of.items()}
        for strategy, of in _means(rows).items()
    }


def _means(rows: Sequence[AnswerRow]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for strategy in dict.fromkeys(row.strategy for row in rows):
        of = [row for row in rows if row.strategy == strategy]
        done = [row for row in of if not row.error]
        verdicts = [row.verdict for row in done if row.verdict is not None]
        names = dict.fromkeys(name for row in done for name in row.figures)
        found[strategy] = {
            "questions": len(of),
            "answered": len(done),
            **{name: mean(row.figures.get(name, math.nan) for row in done) for name in names},
            **({"judge": mean(verdicts), "verdicts": len(verdicts)} if verdicts else {}),
            **{name: mean(map(value, of)) for name, value in _COSTS.items()},
        }
    return found


def table(rows: Sequence[AnswerRow], is_judged: bool) -> str:
    """A line for each strategy."""
    figures = [*dict.fromkeys(name for row in rows for name in row.figures), *(["judge"] if is_judged else [])]
    head = ("strategy", "answered", *figures, *(["no verdict"] if is_judged else []), *_COSTS)
    lines = []
    for strategy, of in _means(rows).items():
        cells = [strategy, f"{of['answered']} of {of['questions']}", *(percent(of.get(name)) for name in figures)]
        if is_judged:
            cells.append(str(of["answered"] - of.get("verdicts", 0)))
        lines.append([*cells, *(f"{of[name]:,.1f}" for name in _COSTS)])
    return markdown(head, lines)


_COSTS: dict[str, Callable[[AnswerRow], float]] = {
    "calls": lambda row: row.n_calls,
    "tokens in": lambda row: row.tokens_in,
    "tokens out": lambda row: row.tokens_out,
    "seconds": lambda row: row.seconds,
}


def main(arguments: Sequence[str] | None = None) -> int:
    common = ("work", "limit", "model", "context", "embeddings", "machine", "html")
    others = ("none", EXTRACTIVE_MOCK)
    model = {"type": model_option(*others), "help": f"{', '.join(others)}, {MODEL_SYNTAX}"}
    parser = command_parser("weft bench memory answers", __doc__, *common, model=model)
    forms = f"FORM: {', '.join(ADAPTERS)}"
    parser.add_argument("--data", nargs=2, required=True, action=DataOption, metavar=("FORM", "FILE"), help=forms)
    parser.add_argument("--strategies", nargs="+", required=True, metavar="NAME", help="NAME or NAME:setting=value,...")
    parser.add_argument(
        "--reader",
        nargs="+",
        default=[],
        metavar=("MODEL", "WEIGHTS"),
        help="for memorag: a base model, its beacon weights, and a fixed ratio",
    )
    parser.add_argument(
        "--store",
        choices=("question", "strategy"),
        default="question",
        help="an empty store of extractions for each question, or one for all questions of a strategy (question)",
    )
    parser.add_argument(
        "--templates", type=Path, metavar="FILE", help="final prompts by data set: LongBench's dataset2prompt.json"
    )
    parser.add_argument(
        "--judge", type=model_option(EXTRACTIVE_MOCK), metavar="BACKEND[=WHERE]", help="a model that scores the answers"
    )
    add_parallel_options(parser)
    given = sys.argv[1:] if arguments is None else arguments
    return run_command(parser, partial(_measure, command=shlex.join([*parser.prog.split(), *given])), arguments)


def _measure(options: argparse.Namespace, command: str) -> Report:
    form, path = options.data
    if len(options.reader) > 3:
        raise UserError("`--reader` takes a model, its weights and a ratio. Give all three.")
    samples = read_samples(form, path)
    if options.templates:
        samples = with_templates(samples, read_templates(options.templates))
    samples = samples[:: max(1, len(samples) // options.limit)][: options.limit] if options.limit else samples
    try:
        rows = list(_rows(options, samples))
    except ValueError as error:  # an unknown strategy or setting
        raise UserError(str(error)) from error
    model = "no model" if options.model == "none" else shown_name(options.model)
    judged = f", judged by {shown_name(options.judge)}" if options.judge else ""
    chinese = f"; Chinese cut by {chinese_by()}" if any(name in row.figures for row in rows for name in _ZH) else ""
    title = f"Answers on {path.name} ({form}): {len(samples)} questions, {model}{judged}{chinese}"
    for reason in list(dict.fromkeys(row.error for row in rows if row.error))[:5]:
        say(f"Not answered: {reason}")
    results = {"what": title, "results": summary(rows)}
    text = f"    {command}\n\n{table(rows, bool(options.judge))}"
    return Report("memory answers", text, results, title, _plot(rows))


_ZH = ("f1_zh", "rouge_l_zh")


def _plot(rows: Sequence[AnswerRow]) -> str:
    """A plot of the first figure for each strategy."""
    first = next((name for row in rows for name in row.figures), None)
    if first is None:
        return ""
    found = (row for row in rows if first in row.figures)
    by_strategy = grouped(found, lambda row: row.strategy, lambda row: 100 * row.figures[first])
    ranges = {strategy: interval({"all": values}) for strategy, values in by_strategy.items()}
    return f"<h2>{first}, with 95 % intervals</h2>{ranges_plot(ranges)}"


def _rows(options: argparse.Namespace, samples: Sequence[Sample]) -> Iterator[AnswerRow]:
    settings = [
        code_digest(_CODE),
        sha256(options.data[1].read_bytes()).hexdigest()[:12],
        options.model,
        options.context,
        options.judge or "",
        options.embeddings,
        options.store,
        options.parallel > 1,
        "" if options.templates is None else sha256(options.templates.read_bytes()).hexdigest()[:12],
        *options.reader,
    ]
    cache = RowCache(options.work / "memory", "answers", settings, AnswerRow)
    cached = {(row.strategy, row.sample): row for row in cache.rows() if not row.error}
    model = open_parallel_model(options)
    judging = open_answering_model(options.judge or "none", options.context)
    judged_by = None if judging is None else partial(judge, MeteredModel(judging, "judge"))
    reader = open_beacon(BeaconSettings(*options.reader)) if options.reader else None
    context = StrategyContext(
        embedder=open_remembering(options.embeddings)[0], memory_model=None if reader is None else MeteredModel(reader)
    )
    for spelling in options.strategies:
        context = replace(context, cache=InProcessCache())
        missing = [sample for sample in samples if (spelling, sample.id) not in cached]
        if missing and model is not None:
            _announce_cost(spelling, missing, model, context)

        def row_of(sample: Sample, spelling: str = spelling, context: StrategyContext = context) -> AnswerRow:
            if options.store == "question":
                context = replace(context, cache=InProcessCache())
            return answered(sample, spelling, model, context, judged_by)

        for number, row in enumerate(in_parallel(row_of, missing, options.parallel), 1):
            cache.add([row])
            cached[spelling, row.sample] = row
            say(f"{spelling}: {number} of {len(missing)}")
        yield from (cached[spelling, sample.id] for sample in samples)


def _announce_cost(spelling: str, missing: Sequence[Sample], model: CodeModel, context: StrategyContext) -> None:
    """Print an upper bound of the cost before the run: the estimate of the first sample, for all samples."""
    strategy = strategy_named(spelling, replace(context, model=MeteredModel(model), count_tokens=model.count_tokens))
    try:
        strategy.remember(missing[0].items)
        each = strategy.estimate(missing[0].question)
    except ModelError as error:
        say(f"{spelling}: {error}")
        return
    total = sum([each] * len(missing), Cost())
    say(f"{spelling}: at most about {describe_cost(total)} for {len(missing)} questions")
