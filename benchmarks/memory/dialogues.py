"""`weft bench memory dialogues`: recall of the turns that the last question of a dialogue is about.

    weft bench memory dialogues                               generated dialogues, on topics of our own
    weft bench memory dialogues --topics QUESTIONS.json       generated from MemoChat's seed questions
    weft bench memory dialogues --data mtbenchplus.json       MTBench+ itself

Each chat memory reads a dialogue turn by turn, and then recalls evidence. The figure is the recall of the turns of the
last question's topics among the best 1, 2, 4 and 8, without those that are still in the window. There is no model:
the bot's turns are those of the file, which are empty in MTBench+.

Owns the measurement. Chat memories are in `memory/fragrel`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...memory import Budget, Embedder, HashingEmbedder, StrategyContext
from ...memory.fragrel.chat import PAPER, ChatMemory
from ...memory.fragrel.presets import chat_memory, mem_retrieval, returning_chat
from ...memory.scoring import indexer
from ..bootstrap import difference, grouped, interval, mean
from ..command import Report, command_parser, run_command
from ..plots import curves_plot
from ..tables import markdown, percent, signed, with_interval
from .adapters import dialogue_sample, read_samples
from .generators.dialogues import OWN_TOPICS, Topic, dialogues, read_topics
from .records import BadData, Record
from .systems import open_remembering
from .values import Sample, recall_of

DEPTHS = (1, 2, 4, 8)

MEMORIES: dict[str, Callable[..., ChatMemory]] = {
    "none": mem_retrieval,
    "B 0.8": chat_memory,
    "returning": returning_chat,
}
"""No relation; the paper's context relation; our preset for prompts that come back to an older topic."""

SCORES = ("bm25", "hashing", "dense", "hybrid")


@dataclass(frozen=True, slots=True)
class TurnRecall:
    score: str
    memory: str
    kind: str  # of the last question
    recalls: tuple[float, ...]  # at `DEPTHS`


def measure(samples: Sequence[Sample], score: str, memory: str, embedder: Embedder) -> list[TurnRecall]:
    """A row for each dialogue that asks for a turn which is not shown any more. Raises ModelError."""
    context = StrategyContext(embedder=HashingEmbedder() if score == "hashing" else embedder)
    scorer = indexer("dense" if score == "hashing" else score, context)
    rows = []
    for sample in samples:
        source, n_shown = sample.items[0].source, PAPER.n_recent
        facts = [fact for fact in sample.facts if fact.turn is not None and fact.turn < len(sample.items) - n_shown]
        if facts:
            chat = MEMORIES[memory](context, score=scorer, source=source)
            chat.remember(sample.items)
            found = [chat.recall(sample.question, Budget(n=depth)) for depth in DEPTHS]
            # A short conversation is shown whole, without a search and its trace.
            if found[0].trace:
                recalls = tuple(recall_of(facts, each.evidence) for each in found)
                rows.append(TurnRecall(score, memory, str(sample.details["type"]), recalls))
    return rows


def generated(n: int, topics: Sequence[Topic] = OWN_TOPICS, seed: int = 0) -> list[Sample]:
    """Dialogues as the adapter of MTBench+ reads them."""
    records = enumerate(dialogues(topics, n, seed))
    return [dialogue_sample(Record(f"dialogue {number}", record), number) for number, record in records]


def table(rows: Sequence[TurnRecall]) -> str:
    """A line for each score and memory: the mean at each depth; at the last one also the difference to the first
    memory with the same score, and the means by kind of question."""
    kinds, last, of = sorted({row.kind for row in rows}), len(DEPTHS) - 1, _by_memory(rows)
    first = {score: memory for score, memory in reversed(of)}
    head = ("score", "relation", *(f"best {depth}" for depth in DEPTHS), f"difference, {DEPTHS[-1]}")
    lines = []
    for (score, memory), mine in of.items():
        at = [with_interval(interval(_strata(mine, place))) for place in range(len(DEPTHS))]
        theirs, by_kind = _strata(of[score, first[score]], last), _strata(mine, last)
        apart = "" if memory == first[score] else signed(difference(by_kind, theirs))
        lines.append([score, memory, *at, apart, *(percent(mean(by_kind[kind])) for kind in kinds)])
    return markdown((*head, *(f"{kind}, {DEPTHS[-1]}" for kind in kinds)), lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory dialogues", __doc__, "seed", "machine", "html")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="FILE", help="a file of MTBench+")
    where.add_argument("--topics", type=Path, metavar="FILE", help="seed questions, as MemoChat has them")
    parser.add_argument("--n", type=int, default=54, help="number of generated dialogues (54)")
    parser.add_argument("--scores", nargs="+", choices=SCORES, default=list(SCORES))
    parser.add_argument("--memories", nargs="+", choices=MEMORIES, default=list(MEMORIES))
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    samples, name = _samples(options)
    embedder, why = open_remembering("auto")
    asked = [(score, memory) for score in options.scores for memory in options.memories]
    rows = [row for score, memory in asked for row in measure(samples, score, memory, embedder)]
    if not rows:
        raise BadData("No dialogue asks for a turn that is no longer shown. Give longer dialogues.")
    n_asked = len(rows) // len(asked)
    title = f"Recall of the turns that a last question is about: {n_asked} of {len(samples)} dialogues of {name}; {why}"
    curves, figures = {}, {}
    for pair, of in _by_memory(rows).items():
        means = [interval(_strata(of, place))[1] for place in range(len(DEPTHS))]
        curves[", ".join(pair)] = [(depth, 100 * value) for depth, value in zip(DEPTHS, means, strict=True)]
        figures[", ".join(pair)] = [round(value, 4) for value in means]
    plot = curves_plot(curves, "turns shown")
    return Report("memory dialogues", table(rows), {"what": title, "results": figures}, title, plot)


def _samples(options: argparse.Namespace) -> tuple[list[Sample], str]:
    if options.data:
        return read_samples("mtbench+", options.data), options.data.name
    topics = read_topics(options.topics) if options.topics else OWN_TOPICS
    name = f"generated dialogues on {len(topics)} topics of {options.topics.name if options.topics else 'our own'}"
    return generated(options.n, topics, options.seed), name


def _by_memory(rows: Sequence[TurnRecall]) -> dict[tuple[str, str], list[TurnRecall]]:
    """The rows of each score and memory, in their order."""
    found: dict[tuple[str, str], list[TurnRecall]] = {}
    for row in rows:
        found.setdefault((row.score, row.memory), []).append(row)
    return found


def _strata(rows: Sequence[TurnRecall], place: int) -> dict[str, list[float]]:
    """By kind of question: each counts the same, as in the paper's average."""
    return grouped(rows, lambda row: row.kind, lambda row: row.recalls[place])
