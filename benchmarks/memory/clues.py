"""`weft bench memory clues`: does a clue of MemoRAG's memory find more than the question alone?

    weft bench memory clues --data hotpotqa FILE --model transformers=DIRECTORY
    weft bench memory clues --tasks qa2 qa3 --length 4k --model transformers=DIRECTORY --segment-tokens 128
    weft bench memory clues --data hotpotqa FILE --model transformers=BASE --reader BASE WEIGHTS 4      a beacon memory

The memory of each question's text writes spans, surrogate questions and a draft answer once. Then BM25 and vectors
search with the question alone and with each kind of clue beside it. Two figures for each: the recall of the
supporting facts among `--tokens` tokens of the best segments, the same for all; and among everything that MemoRAG's
rule shows, three segments for each clue, with the number of its segments.

Owns the measurement. An interrupted run continues: clues are cached in the work folder. Clues are made by
`memory/memorag`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain

from ...errors import UserError
from ...memory import Budget, Embedder, MeteredModel, StrategyContext
from ...memory.budgets import fit_evidence
from ...memory.memorag import MemoRAG, MemoRAGSettings
from ...memory.memorag.beacon.backend import BeaconSettings, open_beacon
from ...memory.memorag.clues import Clue, ClueKind, each_once, search
from ...memory.memorag.text import memorized_text
from ...memory.scoring import indexer
from ...memory.strategy import estimate_tokens
from ...server.models.model_argument import MODEL_SYNTAX
from ..bootstrap import difference, grouped, interval, mean
from ..command import Report, command_parser, run_command, say
from ..models import model_option, shown_name
from ..rows import RowCache, code_digest
from ..tables import markdown, percent, signed, with_interval
from .adapters import ADAPTERS, DataOption, read_samples
from .extractive_mock import NAME as EXTRACTIVE_MOCK
from .generators.stories import LENGTHS, stories
from .generators.story_tasks import TASKS
from .parallel import open_answering_model
from .records import BadData
from .systems import open_remembering
from .values import Sample, recall_of

KINDS: tuple[ClueKind, ...] = ("draft", "span", "surrogate")

QUERIES: dict[str, tuple[ClueKind, ...]] = {
    "question": ("question",),
    "question and draft answer": ("draft", "question"),
    "question and spans": ("span", "question"),
    "question and surrogates": ("surrogate", "question"),
    "question and all clues": ("draft", "span", "surrogate", "question"),
    "all clues without the question": ("draft", "span", "surrogate"),
}
"""What is searched for. The published code always adds the question to the clues (papers' spec 4.4); the paper's
formula searches for the clues alone."""

SCORES = ("bm25", "dense")

MOST_RANKED = 50
"""Segments that a clue ranks; those below do not fit the budget."""

_CODE = ("memory", "benchmarks/memory/extractive_mock.py")


@dataclass(frozen=True, slots=True)
class CluesRow:
    """What the memory wrote for one question; `clues` are pairs of kind and text."""

    sample: str
    clues: Sequence[Sequence[str]]
    n_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ClueRecall:
    """The recall of one question's facts for one query and score."""

    score: str
    query: str
    stratum: str  # task of a story
    within: float  # among the tokens of the budget
    by_rule: float  # among all that MemoRAG's rule shows
    n_shown: float  # by that rule


def clues_of(sample: Sample, context: StrategyContext, settings: MemoRAGSettings) -> CluesRow:
    """The clues of every kind, by MemoRAG itself. Raises ModelError."""
    model = context.memory_model or context.model
    assert model is not None
    before = model.usage.total
    strategy = MemoRAG(context, replace(settings, draft=True, score="bm25"))
    strategy.remember(sample.items)
    trace = strategy.recall(sample.question, Budget(n=1)).trace
    strategy.reset()
    said = next(step.detail for step in trace if step.name == "clues")
    clues = [(kind, text) for kind in KINDS for text in said.get(kind, ())]
    cost = model.usage.total - before
    return CluesRow(sample.id, clues, cost.n_calls, cost.tokens_in, cost.tokens_out, round(cost.seconds, 2))


def measure(
    samples: Sequence[Sample],
    clues: Mapping[str, CluesRow],
    scores: Sequence[str],
    embedder: Embedder,
    segment_tokens: int,
    tokens: int,
) -> Iterator[ClueRecall]:
    """A row for each question, score and query. Raises ModelError where the embedder does."""
    context, n_each = StrategyContext(embedder=embedder), MemoRAGSettings().hits_per_clue
    for sample in samples:
        segments = memorized_text(sample.items, segment_tokens, estimate_tokens).segments
        own = [Clue("question", sample.question.text)]
        given = [Clue(kind, text) for kind, text in clues[sample.id].clues]  # type: ignore[arg-type]
        for score in scores:
            index = indexer(score, context)(segments)
            for name, kinds in QUERIES.items():
                # A question without clues of these kinds is searched by itself, as MemoRAG does.
                asked = each_once([clue for clue in (*given, *own) if clue.kind in kinds]) or own
                ranked = search(index, asked, MOST_RANKED)
                within = fit_evidence(ranked, Budget(tokens=tokens), estimate_tokens)
                shown = search(index, asked, n_each)
                yield ClueRecall(
                    score,
                    name,
                    sample.dataset,
                    recall_of(sample.facts, within),
                    recall_of(sample.facts, shown),
                    len(shown),
                )


def table(rows: Sequence[ClueRecall]) -> str:
    """A line for each score and query, with paired differences to the question alone."""
    head = ("score", "search for", "recall", "difference", "recall by MemoRAG's rule", "difference", "segments")
    lines, first = [], next(iter(QUERIES))
    for (score, query), of in _by_query(rows).items():
        alone, cells = _by_query(rows)[score, first], [score, query]
        for figure in ("within", "by_rule"):
            mine, theirs = _strata(of, figure), _strata(alone, figure)
            cells += [with_interval(interval(mine)), "" if query == first else signed(difference(mine, theirs))]
        lines.append([*cells, f"{mean(row.n_shown for row in of):.1f}"])
    return markdown(head, lines)


def about_clues(samples: Sequence[Sample], clues: Mapping[str, CluesRow]) -> str:
    """Markdown: how many clues of each kind there are, and how many of them are text of the sample."""
    lines = []
    for kind in KINDS:
        of = [[text for of_kind, text in clues[sample.id].clues if of_kind == kind] for sample in samples]
        literal = [_is_in(text, sample) for sample, texts in zip(samples, of, strict=True) for text in texts]
        cells = [kind, f"{mean(map(len, of)):.1f}", percent(mean(float(bool(texts)) for texts in of))]
        lines.append([*cells, percent(mean(map(float, literal)))])
    rows = [clues[sample.id] for sample in samples]
    costs = (mean(row.tokens_in for row in rows), mean(row.tokens_out for row in rows))
    cost = "A question costs {:,.0f} tokens in and {:,.0f} out.".format(*costs)
    return (
        f"{markdown(('clue', 'for each question', 'questions with one', 'word for word in the text'), lines)}\n\n{cost}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"type": model_option(EXTRACTIVE_MOCK), "default": EXTRACTIVE_MOCK}
    model["help"] = f"has the memory: {EXTRACTIVE_MOCK}, which is no model (default), or {MODEL_SYNTAX}"
    common = ("work", "seed", "limit", "model", "context", "embeddings", "machine", "html")
    parser = command_parser("weft bench memory clues", __doc__, *common, model=model)
    forms = f"a data set with supporting facts, FORM: {', '.join(ADAPTERS)}; default: synthetic stories"
    parser.add_argument("--data", nargs=2, action=DataOption, metavar=("FORM", "FILE"), help=forms)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=["qa1", "qa2", "qa3"], help="of the stories")
    parser.add_argument("--length", choices=LENGTHS, default="4k", help="of the stories, in tokens of four bytes (4k)")
    parser.add_argument("--n", type=int, default=25, help="stories of each task (25)")
    parser.add_argument("--scores", nargs="+", choices=SCORES, default=list(SCORES))
    parser.add_argument("--segment-tokens", type=int, default=512, help="of a segment that is searched (512)")
    parser.add_argument("--tokens", type=int, default=500, help="budget of evidence that is the same for all (500)")
    parser.add_argument("--backend", default="", help="the kind of memory: kv, lite, api_full or api_gist (by model)")
    parser.add_argument(
        "--reader", nargs="+", default=[], metavar=("MODEL", "WEIGHTS"), help="a beacon memory, with a fixed ratio"
    )
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    if len(options.reader) > 3:
        raise UserError("`--reader` takes a model, its weights and a ratio. Give all three.")
    samples, name = _samples(options)
    clues = dict(_clues(options, samples))
    embedder, why = open_remembering(options.embeddings)
    sizes = (options.segment_tokens, options.tokens)
    rows = list(measure(samples, clues, options.scores, embedder, *sizes))
    memory = f"a beacon memory of {shown_name(options.reader[0])}" if options.reader else shown_name(options.model)
    title = (
        f"Recall of supporting facts with MemoRAG's clues: {len(samples)} questions of {name}, {memory}, segments of "
        f"{options.segment_tokens} tokens, {options.tokens} shown; {why}"
    )
    figures = {
        f"{score}, {query}": [round(value, 4) for value in interval(_strata(of, "within"))]
        for (score, query), of in _by_query(rows).items()
    }
    text = f"{table(rows)}\n\n{about_clues(samples, clues)}"
    return Report("memory clues", text, {"what": title, "results": figures}, title)


def _samples(options: argparse.Namespace) -> tuple[list[Sample], str]:
    if options.data:
        form, path = options.data
        samples, name = [sample for sample in read_samples(form, path) if sample.facts], f"{form} ({path.name})"
        if not samples:
            raise BadData(f"No question of {path} names the facts that answer it. Give data with supporting facts.")
    else:
        made = (stories(task, options.length, options.n, options.seed) for task in options.tasks)
        samples, name = list(chain.from_iterable(zip(*made, strict=True))), f"synthetic stories of {options.length}"
    return samples[: options.limit], name


def _clues(options: argparse.Namespace, samples: Sequence[Sample]) -> Iterator[tuple[str, CluesRow]]:
    settings = MemoRAGSettings(backend=options.backend)
    data = sha256(options.data[1].read_bytes()).hexdigest()[:12] if options.data else (options.length, options.seed)
    depends = [code_digest(_CODE), options.model, options.context, *options.reader, settings, data]
    cache = RowCache(options.work / "memory", "clues", depends, CluesRow)
    cached = {row.sample: row for row in cache.rows()}
    context: StrategyContext | None = None
    for number, sample in enumerate(samples, 1):
        if sample.id not in cached:
            context = context or _context(options)
            cached[sample.id] = clues_of(sample, context, settings)
            cache.add([cached[sample.id]])
            say(f"{number} of {len(samples)} questions")
        yield sample.id, cached[sample.id]


def _context(options: argparse.Namespace) -> StrategyContext:
    model = open_answering_model(options.model, options.context)
    assert model is not None
    reader = open_beacon(BeaconSettings(*options.reader)) if options.reader else None
    return StrategyContext(MeteredModel(model), memory_model=None if reader is None else MeteredModel(reader))


def _is_in(text: str, sample: Sample) -> bool:
    wanted = " ".join(text.casefold().split())
    return any(wanted in " ".join(item.text.casefold().split()) for item in sample.items)


def _by_query(rows: Sequence[ClueRecall]) -> dict[tuple[str, str], list[ClueRecall]]:
    return grouped(rows, lambda row: (row.score, row.query), lambda row: row)


def _strata(rows: Sequence[ClueRecall], figure: str) -> Mapping[str, list[float]]:
    """By data set or task of a story: each counts the same."""
    return grouped(rows, lambda row: row.stratum, lambda row: float(getattr(row, figure)))
