"""`weft bench memory answers`: what strategies answer on a data set with a model of yours, and what that costs.

    weft bench memory answers --data quality FILE --strategies segment_plus qrmem --model llama.cpp=http://127.0.0.1:8080
    weft bench memory answers --data generic book.jsonl --strategies segment_plus segment_plus:filtered=false \\
        --model openai=URL#NAME --judge openai=URL#OTHER --limit 50 --html answers.html
    weft bench memory answers --data hotpotqa FILE --strategies qrmem --model none      the evidence alone

A strategy remembers the items of a sample and answers its question, each sample by itself. Figures are those of the
data set's metric, the share of the gold facts in the evidence, a judge's verdict where one is named, and calls,
tokens and seconds for each question. `--model form-filler` is no model: it shows what a strategy costs.

Owns the course of a run. One that was interrupted goes on where it was: rows are kept in the work folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from ...llm import CodeModel, ModelError
from ...memory import Accountant, Cost, Kit
from ...memory.embedding import KINDS, EmbedderSettings, open_embedder
from ...memory.ledger import Ledger, in_words
from ...memory.memorag.beacon.backend import BeaconSettings, open_beacon
from ...server.model_spelling import SPELLINGS, spelled_model
from ...server.outcome import CANNOT_BE_DONE, INTERRUPTED
from ..completion.report import shown_name
from ..completion.work import ModelAsked, open_asked
from ..plots import ranges_plot
from ..repoeval.run import DEFAULT_WORK
from ..rows import add_rows, code_digest, read_rows
from .adapters import ADAPTERS, BadData, read_samples
from .form_filler import NAME as FORM_FILLER
from .form_filler import FormFiller
from .judges import Verdict, judge
from .metrics import chinese_by, score
from .report import interval, markdown, percent, say
from .spelling import spelled_strategy
from .systems import RememberingEmbedder
from .values import Sample, recall_of

_CODE = ("memory", "benchmarks/memory")

Judge = Callable[[Sample, str], Verdict]


@dataclass(frozen=True, slots=True)
class Row:
    """One answer. `figures` are shares; `verdict` is None where no judge was asked or none could be read."""

    sample: str
    strategy: str
    text: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    verdict: float | None = None
    n_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    error: str = ""


def answered(sample: Sample, spelling: str, model: CodeModel | None, kit: Kit, judged_by: Judge | None = None) -> Row:
    """The row of one sample. What fails is in the row. Raises ValueError for a strategy that there is not."""
    ledger = Ledger()
    kit = replace(
        kit,
        accountant=None if model is None else Accountant(model, ledger=ledger),
        count_tokens=kit.count_tokens if model is None else model.count_tokens,
        reader=None if kit.reader is None else Accountant(kit.reader.model, ledger=ledger),
    )
    strategy = spelled_strategy(spelling, kit)
    answer, error = None, ""
    try:
        strategy.remember(sample.items)
        answer = strategy.answer(sample.question)
    except ModelError as failed:
        error = str(failed)
    cost = ledger.total
    spent = (cost.n_calls, cost.tokens_in, cost.tokens_out, round(cost.seconds, 3))
    if answer is None:
        return Row(sample.id, spelling, "", {}, None, *spent, error=error)
    figures = score(sample, answer.text) if model is not None or answer.text else {}
    if sample.facts:
        figures["evidence"] = recall_of(sample.facts, answer.recalled.evidence)
    verdict = None if judged_by is None else judged_by(sample, answer.text).value
    return Row(sample.id, spelling, answer.text, figures, verdict, *spent, notes=answer.notes)


def table(rows: Sequence[Row], is_judged: bool) -> str:
    """A line for each strategy. Means are over the samples that were answered; costs are for each question."""
    figures = list(dict.fromkeys(name for row in rows for name in row.figures))
    judged = ["judge", "no verdict"] if is_judged else []
    head = ("strategy", "answered", *figures, *judged, *_COSTS)
    lines = []
    for strategy in dict.fromkeys(row.strategy for row in rows):
        of = [row for row in rows if row.strategy == strategy]
        done = [row for row in of if not row.error]
        cells = [strategy, f"{len(done)} of {len(of)}"]
        cells += [percent(_mean([row.figures[name] for row in done if name in row.figures])) for name in figures]
        if is_judged:
            verdicts = [row.verdict for row in done if row.verdict is not None]
            cells += [percent(_mean(verdicts)), str(len(done) - len(verdicts))]
        cells += [f"{_mean([value(row) for row in of]):,.1f}" for value in _COSTS.values()]
        lines.append(cells)
    return markdown(head, lines)


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """The same for machines: for each strategy the means over what was answered, and over all of what it cost."""
    found: dict[str, object] = {}
    for strategy in dict.fromkeys(row.strategy for row in rows):
        of = [row for row in rows if row.strategy == strategy]
        done = [row for row in of if not row.error]
        verdicts = [row.verdict for row in done if row.verdict is not None]
        names = dict.fromkeys(name for row in done for name in row.figures)
        found[strategy] = {
            "questions": len(of),
            "answered": len(done),
            **{name: round(_mean([row.figures[name] for row in done if name in row.figures]), 4) for name in names},
            **({"judge": round(_mean(verdicts), 4), "verdicts": len(verdicts)} if verdicts else {}),
            **{name: round(_mean([value(row) for row in of]), 2) for name, value in _COSTS.items()},
        }
    return found


_COSTS: dict[str, Callable[[Row], float]] = {
    "calls": lambda row: row.n_calls,
    "tokens in": lambda row: row.tokens_in,
    "tokens out": lambda row: row.tokens_out,
    "seconds": lambda row: row.seconds,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse_arguments(arguments)
    form, path = options.data
    try:
        samples = read_samples(form, path)
        samples = samples[:: max(1, len(samples) // options.limit)][: options.limit] if options.limit else samples
        rows = list(_rows(options, samples))
    except (BadData, ModelError, ValueError) as error:
        print(error, file=sys.stderr)
        return CANNOT_BE_DONE
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on from here.", file=sys.stderr)
        return INTERRUPTED
    model = "no model" if options.model == "none" else shown_name(options.model)
    judged = f", judged by {shown_name(options.judge)}" if options.judge else ""
    chinese = f"; Chinese cut by {chinese_by()}" if any(name in row.figures for row in rows for name in _ZH) else ""
    title = f"Answers on {path.name} ({form}): {len(samples)} questions, {model}{judged}{chinese}"
    text, plot = table(rows, bool(options.judge)), _plot(rows)
    say("answers", title, text, summary(rows), machine=options.machine, html=options.html, plots=plot)
    for reason in list(dict.fromkeys(row.error for row in rows if row.error))[:5]:
        print(f"Not answered: {reason}", file=sys.stderr)
    return 0


_ZH = ("f1_zh", "rouge_l_zh")


def _plot(rows: Sequence[Row]) -> str:
    """The first figure that there is, for each strategy."""
    first = next((name for row in rows for name in row.figures), None)
    found: dict[str, list[float]] = {}
    for row in rows:
        if first is not None and first in row.figures:
            found.setdefault(row.strategy, []).append(100 * row.figures[first])
    if not found:
        return ""
    ranges = {strategy: interval({"all": values}) for strategy, values in found.items()}
    return f"<h2>{first}, with 95 % intervals</h2>{ranges_plot(ranges)}"


def _rows(options: argparse.Namespace, samples: Sequence[Sample]) -> Iterator[Row]:
    kept_at = options.work / "memory" / "answers.jsonl"
    settings = [
        code_digest(_CODE),
        sha256(options.data[1].read_bytes()).hexdigest()[:12],
        options.model,
        options.context,
        options.judge or "",
        options.embeddings,
        *options.reader,
    ]
    kept = {
        (row["row"]["strategy"], row["row"]["sample"]): Row(**{**row["row"], "notes": tuple(row["row"]["notes"])})
        for row in read_rows(kept_at)
        if row.get("settings") == settings and not row["row"]["error"]
    }
    model = None if options.model == "none" else _opened(options.model, options.context)
    judged_by = None
    if options.judge:
        judged_by = partial(judge, Accountant(_opened(options.judge, options.context), "judge"))
    reader = open_beacon(BeaconSettings(*options.reader)) if options.reader else None
    kit = Kit(
        embedder=RememberingEmbedder(open_embedder(EmbedderSettings(options.embeddings))[0]),
        reader=None if reader is None else Accountant(reader),
    )
    for spelling in options.strategies:
        lacking = [sample for sample in samples if (spelling, sample.id) not in kept]
        if lacking and model is not None:
            _say_cost(spelling, lacking, model, kit)
        for number, sample in enumerate(samples, 1):
            row = kept.get((spelling, sample.id))
            if row is None:
                row = answered(sample, spelling, model, kit, judged_by)
                add_rows(kept_at, [json.dumps({"settings": settings, "row": asdict(row)}, ensure_ascii=False)])
                print(f"{spelling}: {number} of {len(samples)}", file=sys.stderr, flush=True)
            yield row


def _say_cost(spelling: str, lacking: Sequence[Sample], model: CodeModel, kit: Kit) -> None:
    """What is to come, before it is paid for: the first sample's estimate for all of them."""
    strategy = spelled_strategy(spelling, replace(kit, accountant=Accountant(model), count_tokens=model.count_tokens))
    try:
        strategy.remember(lacking[0].items)
        each = strategy.estimate(lacking[0].question)
    except ModelError as error:
        print(f"{spelling}: {error}", file=sys.stderr)
        return
    total = sum([each] * len(lacking), Cost())
    print(f"{spelling}: at most about {in_words(total)} for {len(lacking)} questions", file=sys.stderr, flush=True)


def _opened(spelling: str, context_tokens: int) -> CodeModel:
    """Raises ModelError."""
    if spelling == FORM_FILLER:
        return FormFiller(context_tokens)
    model = open_asked(ModelAsked(spelling, context_tokens))
    if model is None:
        raise ModelError(f"{spelling} answers no questions. Give another of {SPELLINGS}.")
    return model


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weft bench memory answers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs=2, required=True, metavar=("FORM", "FILE"), help=f"FORM: {', '.join(ADAPTERS)}")
    parser.add_argument("--strategies", nargs="+", required=True, metavar="NAME", help="NAME or NAME:setting=value,...")
    parser.add_argument("--model", default="none", metavar="BACKEND[=WHERE]", help=f"none, {FORM_FILLER}, {SPELLINGS}")
    parser.add_argument(
        "--reader",
        nargs="+",
        default=[],
        metavar=("MODEL", "WEIGHTS"),
        help="of memorag: a base model, its beacon weights, and the ratio where it is not to be chosen",
    )
    parser.add_argument("--judge", metavar="BACKEND[=WHERE]", help="a model that scores the answers")
    parser.add_argument("--context", type=int, default=4096, metavar="TOKENS", help="of prompt and answer (4096)")
    parser.add_argument("--limit", type=int, metavar="N", help="samples, spread over the file")
    parser.add_argument("--embeddings", choices=KINDS[:-2], default="auto")
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder where rows are kept")
    parser.add_argument("--machine", default="", metavar="WORDS", help="what this machine is, for the results")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page with plots")
    options = parser.parse_args(arguments)
    if options.data[0] not in ADAPTERS:
        parser.error(f"--data {options.data[0]}: give one of {', '.join(ADAPTERS)}")
    if len(options.reader) > 3:
        parser.error("--reader takes a model, its weights and a ratio")
    options.data = (options.data[0], Path(options.data[1]))
    for spelling in {options.model, options.judge or "none"} - {"none", FORM_FILLER}:
        if spelled_model(spelling) is None:
            parser.error(f"{spelling} is no model. Give {FORM_FILLER}, {SPELLINGS}.")
    return options
