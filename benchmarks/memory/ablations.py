"""`weft bench memory ablations`: what the parts of QRMeM and SEGMENT+ are worth, on the same questions.

    weft bench memory ablations --data hotpotqa FILE --model openai=URL#NAME --parallel 16 --limit 50
    weft bench memory ablations --data quality FILE --model transformers=DIRECTORY --parallel 64 --device cuda
    weft bench memory ablations --data hotpotqa FILE --rows first.jsonl second.jsonl          the tables of earlier runs
    weft bench memory ablations --data hotpotqa FILE --rows first.jsonl --pairwise      also of runs that time has cut

The full systems are as their papers print them (docs/papers.md); an ablation changes the settings in its line. Every
setting answers a question before the next question begins, so a run that ends with `--seconds` is a sample of complete
questions. With many answers at once the slow settings of a question may be missing at the end: `--pairwise` compares
each setting with the system as printed on the questions that both have answered.

Each answer begins with an empty store. Equal requests of a question get the same response, also sampled ones, and count
for each setting that makes them.

Owns the list of ablations and their tables. `answers` makes the rows. Without `--seconds` an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...llm.protocol import Cancel, CodeModel, TimeLimit
from ...memory import StrategyContext
from ...server.models.model_argument import MODEL_SYNTAX
from ..bootstrap import Strata, difference, grouped, interval, mean
from ..command import Report, command_parser, run_command, say
from ..models import model_option, shown_name
from ..rows import add_rows, read_rows
from ..tables import markdown, percent, signed, with_interval
from .adapters import ADAPTERS, DataOption, read_samples
from .answers import AnswerRow, answered
from .extractive_mock import NAME as EXTRACTIVE_MOCK
from .parallel import SharedResponses, add_parallel_options, in_parallel, open_parallel_model
from .systems import open_remembering
from .values import Sample


@dataclass(frozen=True, slots=True)
class System:
    """A system as printed, and its ablations: what each one is called, and its name with settings."""

    title: str
    full: str
    ablations: Mapping[str, str]

    @property
    def settings(self) -> dict[str, str]:
        return {"as printed": self.full, **self.ablations}


BOUNDED = ",update_segments=3,most_fusions=24"
"""QRMeM's defaults that bound its cost: three segments for each generated question, at most 24 fused pairs."""


def qrmem(is_bounded: bool = False) -> System:
    """The paper's tables 1 and 3, and its figure of the updates (papers' spec 3.2 and 3.4)."""
    preset = "as_printed" + (BOUNDED if is_bounded else "")
    full = f"qrmem:{preset}"
    return System(
        "QRMeM, bounded" if is_bounded else "QRMeM",
        full,
        {
            "without graph update": f"{full},graph_update=false",
            "without open entities": f"{full},open_entity=false",
            "without reflection": f"{full},reflection=false",
            "without navigation": f"{full},navigate=false",
            **{f"{n} update{'s' * (n > 1)} instead of 5": f"{full},max_updates={n}" for n in (1, 2, 3, 4)},
            "entity trial": f"qrmem trial:{preset}",
            "graph expansion": f"qrmem expansion:{preset}",
        },
    )


def segment_plus(form: str) -> System:
    """The paper's ablations and sizes (papers' spec 5). For BABILong the system shows the evidence alone."""
    full = "segment_plus:as_printed"
    parts = {"evidence alone": f"{full},evidence_only=true", "reasoning alone": f"{full},reasoning_only=true"}
    if form == "babilong":
        parts = {"evidence and reasoning": full, "reasoning alone": parts["reasoning alone"]}
        full = f"{full},evidence_only=true"
    return System(
        "SEGMENT+",
        full,
        {
            "without filter (No Label)": f"{full},filtered=false",
            "free notes (No Structure)": f"{full},structured=false",
            "free notes without filter (Normal)": f"{full},structured=false,filtered=false",
            **parts,
            "evidence merged by the model": f"{full},merge_evidence=llm",
            **{f"segments of {n:,} tokens": f"{full},segment_tokens={n}" for n in (500, 1000, 2000, 4000)},
        },
    )


BASE_LINES = {"BM25, top 3": "top_3", "whole text, cut in the middle": "full_middle"}

FIGURES = {"hotpotqa": ("f1", "em_contains"), "quality": ("accuracy",), "babilong": ("babilong", "babilong_older")}
"""The figures of a data set that are shown; the first one decides. Of others those that the rows have."""


def systems_of(form: str, names: Sequence[str], is_bounded: bool = False) -> list[System]:
    known = {"qrmem": qrmem(is_bounded), "segment_plus": segment_plus(form)}
    return [known[name] for name in names]


def spellings_of(systems: Sequence[System]) -> list[str]:
    """Every setting once, base lines first because they are the cheapest."""
    return list(dict.fromkeys([*BASE_LINES.values(), *(each for of in systems for each in of.settings.values())]))


def measured(
    samples: Sequence[Sample],
    spellings: Sequence[str],
    model: CodeModel,
    context: StrategyContext,
    n_parallel: int,
    until: Cancel,
) -> Iterator[AnswerRow]:
    """The rows of the samples, as they are ready. After `until` no answer begins, and unfinished ones are left out."""
    shared = {sample.id: SharedResponses(model, until) for sample in samples}
    left = {sample.id: len(spellings) for sample in samples}

    def row_of(task: tuple[Sample, str]) -> AnswerRow:
        sample, spelling = task
        own = StrategyContext(embedder=context.embedder)
        return answered(sample, spelling, shared[sample.id].for_task(), own)

    for row in in_parallel(row_of, product(samples, spellings), n_parallel, until):
        left[row.sample] -= 1
        if not left[row.sample]:
            del shared[row.sample]  # the responses of a long text take much memory
        if not until.cancelled or not row.error:
            yield row


def complete(rows: Sequence[AnswerRow], spellings: Sequence[str]) -> list[AnswerRow]:
    """The last row of each setting, for those questions that every setting has answered."""
    last = _last(rows)
    names = [name for name in dict.fromkeys(row.sample for row in rows)]
    whole = [name for name in names if all((name, spelling) in last for spelling in spellings)]
    return [last[name, spelling] for name in whole for spelling in spellings]


def answered_pairs(rows: Sequence[AnswerRow], spelling: str, full: str) -> tuple[list[AnswerRow], list[AnswerRow]]:
    """The last rows of a setting and of the full system, for those questions that both have answered, in one order."""
    last = _last(rows)
    names = [name for name, of in last if of == spelling and (name, full) in last]
    return [last[name, spelling] for name in names], [last[name, full] for name in names]


def table(rows: Sequence[AnswerRow], system: System, figures: Sequence[str], strata: Mapping[str, str]) -> str:
    """A line for each setting: the first figure and its difference to the system as printed, each with its interval.

    A setting is compared on the questions that the system as printed has answered, too: `questions` are their number,
    and `same` is the number of those with the same text as an answer. `strata` are the groups of the samples, as tasks
    are: each group weighs the same.
    """
    if all(row.strategy != system.full for row in rows):
        return "No question has an answer of the system as printed."
    shown = {**system.settings, **BASE_LINES}
    evidence = ("evidence",) if any("evidence" in row.figures for row in rows) else ()
    first, *others = figures
    head = ("setting", "questions", first, "difference", "same", *others, *evidence, "calls", "tokens in", "tokens out")
    lines = []
    for title, spelling in shown.items():
        of, full = answered_pairs(rows, spelling, system.full)
        if not of:
            lines.append([title, "0", *["-"] * (len(head) - 2)])
            continue
        values = _values(of, first, strata)
        is_full = spelling == system.full
        changed = "" if is_full else signed(difference(values, _values(full, first, strata)))
        same = "" if is_full else f"{_n_same(of, full)}"
        means = [percent(interval(_values(of, name, strata))[1]) for name in (*others, *evidence)]
        costs = [f"{mean(each):,.1f}" for each in _costs(of).values()]
        lines.append([title, f"{len(of)}", with_interval(interval(values)), changed, same, *means, *costs])
    return markdown(head, lines)


def summary(
    rows: Sequence[AnswerRow], system: System, figures: Sequence[str], strata: Mapping[str, str]
) -> dict[str, dict[str, object]]:
    """For machines: the same by setting, and the share of answers that report a replaced response.

    A setting without a question in common with the system as printed is left out.
    """
    found: dict[str, dict[str, object]] = {}
    for spelling in (*system.settings.values(), *BASE_LINES.values()):
        of, full = answered_pairs(rows, spelling, system.full)
        if not of:
            continue
        by_figure = {name: _values(of, name, strata) for name in figures}
        changed = difference(by_figure[figures[0]], _values(full, figures[0], strata))
        found[spelling] = {
            "questions": len(of),
            **{name: [round(value, 4) for value in interval(values)] for name, values in by_figure.items()},
            "difference": [round(value, 4) for value in changed],
            "same": _n_same(of, full),
            "evidence": round(mean(row.figures["evidence"] for row in of if "evidence" in row.figures), 4)
            if any("evidence" in row.figures for row in of)
            else None,
            **{name: round(mean(values), 2) for name, values in _costs(of).items()},
            "with notes": round(mean(float(bool(row.notes)) for row in of), 4),
        }
    return found


def _last(rows: Sequence[AnswerRow]) -> dict[tuple[str, str], AnswerRow]:
    """The last answer of each question and setting."""
    return {(row.sample, row.strategy): row for row in rows if not row.error}


def _n_same(of: Sequence[AnswerRow], full: Sequence[AnswerRow]) -> int:
    return sum(row.text == other.text for row, other in zip(of, full, strict=True))


def _values(of: Sequence[AnswerRow], figure: str, strata: Mapping[str, str]) -> Strata:
    return grouped(of, lambda row: strata[row.sample], lambda row: row.figures.get(figure, 0.0))


def _costs(rows: Sequence[AnswerRow]) -> dict[str, list[float]]:
    return {
        "calls": [row.n_calls for row in rows],
        "tokens in": [row.tokens_in for row in rows],
        "tokens out": [row.tokens_out for row in rows],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"type": model_option("none", EXTRACTIVE_MOCK), "help": f"none, {EXTRACTIVE_MOCK}, {MODEL_SYNTAX}"}
    common = ("limit", "model", "context", "embeddings", "machine")
    changed: dict[str, dict[str, Any]] = {
        "model": model,
        "embeddings": {"default": "hashing", "help": "hashing, auto or bundled (hashing)"},
    }
    parser = command_parser("weft bench memory ablations", __doc__, *common, **changed)
    forms = f"FORM: {', '.join(ADAPTERS)}"
    parser.add_argument("--data", nargs=2, required=True, action=DataOption, metavar=("FORM", "FILE"), help=forms)
    parser.add_argument(
        "--systems", nargs="+", choices=("qrmem", "segment_plus"), default=["qrmem", "segment_plus"], metavar="NAME"
    )
    bounded = f"QRMeM as printed but with{BOUNDED.replace(',', ' ')}: for long texts"
    parser.add_argument("--bounded", action="store_true", help=bounded)
    parser.add_argument("--seconds", type=float, default=0.0, help="of the whole run; 0: until all is answered")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th question from the I-th on (1/1)")
    rows = "rows of the answers: appended to the first file, and read from all of them before"
    parser.add_argument("--rows", type=Path, nargs="+", default=[], metavar="FILE", help=rows)
    pairwise = "compare each setting on the questions that it and the system as printed have answered"
    parser.add_argument("--pairwise", action="store_true", help=pairwise)
    add_parallel_options(parser)
    given = sys.argv[1:] if arguments is None else arguments
    return run_command(parser, partial(_measure, command=shlex.join([*parser.prog.split(), *given])), arguments)


def _measure(options: argparse.Namespace, command: str) -> Report:
    form, path = options.data
    every = read_samples(form, path)
    every = every[:: max(1, len(every) // options.limit)][: options.limit] if options.limit else every
    systems = systems_of(form, options.systems, options.bounded)
    spellings = spellings_of(systems)
    rows = [AnswerRow(**row) for file in options.rows for row in read_rows(file)]
    if options.model != "none":
        done = {(row.sample, row.strategy) for row in complete(rows, spellings)}
        samples = [sample for sample in _part(every, options.part) if (sample.id, spellings[0]) not in done]
        for row in _new_rows(options, samples, spellings):
            rows.append(row)
            if options.rows:
                add_rows(options.rows[0], [json.dumps(asdict(row), ensure_ascii=False)])
    for reason in list(dict.fromkeys(row.error for row in rows if row.error))[:5]:
        say(f"Not answered: {reason}")
    whole = [row for row in rows if not row.error] if options.pairwise else complete(rows, spellings)
    strata = {sample.id: sample.dataset for sample in every}
    whole = [row for row in whole if row.sample in strata]
    if not whole:
        raise UserError(_NO_ROWS if options.pairwise else _NO_QUESTION)
    names = FIGURES.get(form) or tuple(
        dict.fromkeys(name for row in whole for name in row.figures if name != "evidence")
    )
    n = len({row.sample for row in whole})
    in_pairs = ", compared in pairs" if options.pairwise else ""
    title = f"Ablations on {path.name} ({form}): {n} of {len(every)} questions{in_pairs}, {_model_name(options.model)}"
    texts = [f"{system.title}\n\n{table(whole, system, names, strata)}" for system in systems]
    results = {
        "what": title,
        "questions": sorted({row.sample for row in whole}),
        "results": {system.title: summary(whole, system, names, strata) for system in systems},
    }
    return Report("memory ablations", "\n\n".join([f"    {command}", *texts]), results, title)


_NO_ROWS = "There is no answer. Name a model and more `--seconds`, or `--rows`."
_NO_QUESTION = (
    "No question has an answer for every setting. Name a model and more `--seconds`, or `--rows`, "
    "or compare the settings that have answers with `--pairwise`."
)


def _model_name(spelling: str) -> str:
    return "rows of earlier runs" if spelling == "none" else shown_name(spelling)


def _part(samples: Sequence[Sample], spelling: str) -> list[Sample]:
    """Every N-th sample from the I-th on, for "I/N"."""
    try:
        first, n = map(int, spelling.split("/"))
    except ValueError:
        first = n = 0
    if not 1 <= first <= n:
        raise UserError(f"`--part {spelling}` is no part. Write I/N with I from 1 to N.")
    return list(samples[first - 1 :: n])


def _new_rows(options: argparse.Namespace, samples: Sequence[Sample], spellings: Sequence[str]) -> Iterator[AnswerRow]:
    model = open_parallel_model(options)
    assert model is not None
    context = StrategyContext(embedder=open_remembering(options.embeddings)[0])
    total, begun = len(samples) * len(spellings), Cancel()
    with TimeLimit(begun, options.seconds or _UNLIMITED_S) as until:
        for number, row in enumerate(measured(samples, spellings, model, context, options.parallel, until), 1):
            if number % len(spellings) == 0:
                say(f"{number} of {total} answers")
            yield row


_UNLIMITED_S = 1e6
