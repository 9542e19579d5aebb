"""`weft bench memory stories`: recall of the facts of BABILong-style stories in up to 128k tokens of prose.

    weft bench memory stories                                          every system that needs no model, qa1 to qa5
    weft bench memory stories --systems bm25 --lengths 0k 4k --n 5

The stories are synthetic, made by the rules of `generators/`, and not the official BABILong. Segments are sentences,
or as many whole sentences as `--words` hold. Every system has the same budget of tokens, counted as four bytes each; a
fact counts when one shown segment holds all of it.

Owns the measurement. An interrupted run continues: rows are cached in the work folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...memory import Budget, Embedder, Evidence
from ...memory.budgets import fit_evidence
from ...memory.scoring import best
from ...memory.splitters import by_words
from ...memory.strategy import estimate_tokens
from ..bootstrap import difference, grouped, interval, mean
from ..command import Report, command_parser, run_command, say
from ..plots import curves_plot
from ..rows import RowCache, code_digest
from ..tables import markdown, percent, signed, with_interval
from .generators.stories import LENGTHS, stories
from .generators.story_tasks import TASKS
from .systems import SYSTEMS, open_remembering, system
from .values import Sample, recall_of

MOST_SEGMENTS = 400
"""Of the best that are looked at: sentences of five tokens would fill a budget of 2,000."""

_CODE = ("memory", "benchmarks/memory/generators", "benchmarks/memory/systems.py", "benchmarks/memory/stories.py")


@dataclass(frozen=True, slots=True)
class StoryRecall:
    """How much of one question's facts a system found within a budget."""

    system: str
    tokens: int
    task: str
    length: str
    sample: str
    recall: float


def measure(
    samples: Iterable[Sample], names: Sequence[str], embedder: Embedder, words: int, budgets: Sequence[int]
) -> list[StoryRecall]:
    """A row for each sample, system and budget. Raises ModelError where the embedder does."""
    rows = []
    for sample in samples:
        segments = [piece for item in sample.items for piece in by_words(words)(item)]
        task, length, _ = sample.id.split("/")
        for name in names:
            found = best(system(name, embedder)(segments), sample.question.text, MOST_SEGMENTS)
            pieces = [Evidence(segment, score) for segment, score in found]
            for tokens in budgets:
                shown = fit_evidence(pieces, Budget(tokens=tokens), estimate_tokens)
                rows.append(StoryRecall(name, tokens, task, length, sample.id, recall_of(sample.facts, shown)))
    return rows


def tables(rows: Sequence[StoryRecall], names: Sequence[str]) -> str:
    """By length; what each relation adds to the score below it; and by task over all lengths."""
    lengths = [length for length in LENGTHS if any(row.length == length for row in rows)]
    by_length = [
        [length, *(with_interval(interval(_strata(rows, name, length))) for name in names)] for length in lengths
    ]
    text = markdown(("tokens", *names), by_length)
    below = {name: name.partition(" + ")[0] for name in names if " + " in name and name.partition(" + ")[0] in names}
    if below:
        added = []
        for length in lengths:
            strata = {name: _strata(rows, name, length) for name in names}
            added.append([length, *(signed(difference(strata[name], strata[score])) for name, score in below.items())])
        text += f"\n\nGain of the relation.\n\n{markdown(('tokens', *below), added)}"
    by_task = []
    for task in TASKS:
        for length in ("all", *lengths):
            of = [row for row in rows if row.task == task and length in (row.length, "all")]
            if of:
                cells = [percent(mean([row.recall for row in of if row.system == name])) for name in names]
                by_task.append([f"{task} {length}", *cells])
    return f"{text}\n\n{markdown(('task and tokens', *names), by_task)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory stories", __doc__, "work", "seed", "embeddings", "machine", "html")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS[:6]), metavar="SYSTEM")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--lengths", nargs="+", choices=LENGTHS, default=list(LENGTHS))
    parser.add_argument("--n", type=int, default=25, help="stories of each task and length (25)")
    parser.add_argument("--words", type=int, default=1, help="words of a segment of whole sentences; 1: one sentence")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1000, 200], help="budgets of evidence")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    embedder, why = open_remembering(options.embeddings)
    rows = list(_rows(options, embedder))
    size = "one sentence" if options.words == 1 else f"{options.words} words"
    title = (
        f"Recall of supporting facts in synthetic, BABILong-style stories: {options.n} of each task and length, "
        f"segments of {size}; {why}"
    )
    texts, plots, figures = list[str](), list[str](), dict[str, object]()
    for tokens in options.tokens:
        of = [row for row in rows if row.tokens == tokens]
        texts.append(f"Evidence of {tokens} tokens.\n\n{tables(of, options.systems)}")
        plots.append(f"<h2>Evidence of {tokens} tokens</h2>{_plot(of, options)}")
        figures[str(tokens)] = {
            length: {
                name: [round(value, 4) for value in interval(_strata(of, name, length))] for name in options.systems
            }
            for length in options.lengths
        }
    results = {"what": title, "results": figures}
    return Report("memory stories", "\n\n".join(texts), results, title, "".join(plots))


def _plot(rows: Sequence[StoryRecall], options: argparse.Namespace) -> str:
    curves = {
        name: [(place, 100 * interval(_strata(rows, name, length))[1]) for place, length in enumerate(options.lengths)]
        for name in options.systems
    }
    return curves_plot(curves, "tokens of the story", dict(enumerate(options.lengths)))


def _rows(options: argparse.Namespace, embedder: Embedder) -> Iterator[StoryRecall]:
    for length in options.lengths:
        for task in options.tasks:
            settings = [code_digest(_CODE), embedder.name, options.words, options.tokens, options.n, options.seed]
            cache = RowCache(options.work / "memory", f"stories-{task}-{length}", settings, StoryRecall)
            cached = cache.rows()
            yield from (row for row in cached if row.system in options.systems)
            missing = [name for name in options.systems if name not in {row.system for row in cached}]
            if missing:
                samples = stories(task, length, options.n, options.seed)
                made = measure(samples, missing, embedder, options.words, options.tokens)
                cache.add(made)
                yield from made
            say(f"{task} {length}")


def _strata(rows: Sequence[StoryRecall], name: str, length: str) -> Mapping[str, list[float]]:
    """By task: each counts the same."""
    of = (row for row in rows if (row.system, row.length) == (name, length))
    return grouped(of, lambda row: row.task, lambda row: row.recall)
