"""`weft bench memory dialogues`: recall of the turns that the last question of a dialogue is about.

    weft bench memory dialogues                               generated dialogues, on topics of our own
    weft bench memory dialogues --topics QUESTIONS.json       generated from MemoChat's seed questions
    weft bench memory dialogues --data mtbenchplus.json       MTBench+ itself
    weft bench memory dialogues --data mtbenchplus.json --model BACKEND=WHERE --judge BACKEND=WHERE

Each chat memory reads a dialogue turn by turn, and then recalls evidence. The figure is the recall of the turns of the
last question's topics among the best 1, 2, 4 and 8, without those that are still in the window. Without a model the
bot's turns are those of the file, which are empty in MTBench+. With one it writes them and answers the last question,
see `replies`.

Owns the measurement. Chat memories are in `memory/fragrel`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from ...memory import Budget, Embedder, HashingEmbedder, MeteredModel, StrategyContext
from ...memory.fragrel.chat import PAPER
from ...memory.fragrel.presets import CHAT, RETURNING_CHAT, ChatSettings, chat_with
from ...memory.fragrel.relations import NoRelation
from ...memory.scoring import indexer
from ...server.models.model_argument import MODEL_SYNTAX
from ..bootstrap import difference, grouped, interval, mean
from ..command import Report, command_parser, run_command, say
from ..models import model_option, shown_name
from ..plots import curves_plot
from ..rows import RowCache, code_digest
from ..tables import markdown, percent, signed, with_interval
from . import replies
from .adapters import dialogue_sample
from .extractive_mock import NAME as EXTRACTIVE_MOCK
from .generators.dialogues import OWN_TOPICS, Topic, dialogues, read_topics
from .judges import judge
from .parallel import open_answering_model
from .records import BadData, Record, read_records
from .systems import open_remembering
from .values import Fact, Sample, recall_of

DEPTHS = (1, 2, 4, 8)

MEMORIES: dict[str, ChatSettings] = {
    "none": replace(CHAT, memory=replace(CHAT.memory, relation=NoRelation())),
    "B 0.8": CHAT,
    "returning": RETURNING_CHAT,
}
"""No relation; the paper's context relation; our preset for prompts that come back to an older topic."""

SCORES = ("bm25", "hashing", "dense", "hybrid")

_CODE = ("memory", "benchmarks/memory/replies.py", "benchmarks/memory/judges.py")


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
        if facts := facts_not_shown(sample):
            chat = chat_with(context, MEMORIES[memory], memory, score=scorer, source=sample.items[0].source)
            chat.remember(sample.items)
            found = [chat.recall(sample.question, Budget(n=depth)) for depth in DEPTHS]
            # A short conversation is shown whole, without a search and its trace.
            if found[0].trace:
                recalls = tuple(recall_of(facts, each.evidence) for each in found)
                rows.append(TurnRecall(score, memory, str(sample.details["type"]), recalls))
    return rows


def facts_not_shown(sample: Sample) -> list[Fact]:
    """The facts of a document; of a dialogue without the turns that the context window still shows."""
    n_older = len(sample.items) - PAPER.n_recent
    return [fact for fact in sample.facts if fact.turn is None or fact.turn < n_older]


def generated(n: int, topics: Sequence[Topic] = OWN_TOPICS, seed: int = 0) -> list[Sample]:
    """Dialogues as the adapter of MTBench+ reads them."""
    return _as_samples(_generated_records(n, topics, seed))


def _generated_records(n: int, topics: Sequence[Topic], seed: int) -> list[Record]:
    return [Record(f"dialogue {number}", record) for number, record in enumerate(dialogues(topics, n, seed))]


def _as_samples(records: Sequence[Record]) -> list[Sample]:
    return [dialogue_sample(record, number) for number, record in enumerate(records)]


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
    common = ("work", "seed", "limit", "model", "context", "machine", "html")
    context = {"default": 8192, "help": "tokens of the whole dialogue and a reply (8192); other memories have 2,048"}
    model = {"type": model_option("none", EXTRACTIVE_MOCK), "help": f"writes the replies: {MODEL_SYNTAX} (none)"}
    parser = command_parser("weft bench memory dialogues", __doc__, *common, context=context, model=model)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="FILE", help="a file of MTBench+")
    where.add_argument("--topics", type=Path, metavar="FILE", help="seed questions, as MemoChat has them")
    parser.add_argument("--n", type=int, default=54, help="number of generated dialogues (54)")
    parser.add_argument("--scores", nargs="+", choices=SCORES, help="all of them; with a model one (dense)")
    known = (*MEMORIES, replies.WHOLE)
    parser.add_argument("--memories", nargs="+", choices=known, help="all of them; the whole dialogue needs a model")
    judge_type = model_option(EXTRACTIVE_MOCK)
    parser.add_argument(
        "--judge", type=judge_type, metavar="BACKEND[=WHERE]", help="with --model: rates the replies from 1 to 100"
    )
    parser.add_argument("--reply-tokens", type=int, default=512, metavar="N", help="of a reply, at most (512)")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    records, name = _records(options)
    embedder, why = open_remembering("auto")
    if options.model != "none":
        return _measure_replies(options, records, name, embedder)
    samples = _as_samples(records)
    wanted = [memory for memory in options.memories or MEMORIES if memory in MEMORIES]
    asked = [(score, memory) for score in options.scores or SCORES for memory in wanted]
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


def _measure_replies(options: argparse.Namespace, records: Sequence[Record], name: str, embedder: Embedder) -> Report:
    _as_samples(records)  # a wrong file is an error before the model writes
    score = (options.scores or ["dense"])[0]
    settings = replies.memories(MEMORIES, options.context)
    rows = list(_replies(options, records, name, settings, score, embedder))
    judged = f", judged by {shown_name(options.judge)}" if options.judge else ""
    title = (
        f"Replies to the last question: {len({row.dialogue for row in rows})} dialogues of {name}, "
        f"{shown_name(options.model)}, turns by {score}{judged}"
    )
    results = {"what": title, "results": replies.summary(rows)}
    return Report("memory replies", replies.table(rows, bool(options.judge)), results, title)


def _replies(
    options: argparse.Namespace,
    records: Sequence[Record],
    name: str,
    settings: dict[str, ChatSettings],
    score: str,
    embedder: Embedder,
) -> Iterator[replies.Reply]:
    model = open_answering_model(options.model, options.context)
    assert model is not None
    metered, folder = MeteredModel(model), options.work / "memory"
    of_turns = [name, shown_name(options.model), options.reply_tokens, options.seed, options.n]
    turns = folder / f"dialogues-with-turns-{sha256(repr(of_turns).encode()).hexdigest()[:12]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    say(f"The dialogues with the bot's turns are in {turns}.")
    of_rows = [code_digest(_CODE), turns.name, options.model, options.context, options.judge or "", score]
    cache = RowCache(folder, "replies", of_rows, replies.Reply)
    cached = {(row.dialogue, row.memory): row for row in cache.rows()}
    judging = open_answering_model(options.judge or "none", options.context)
    judged_by = None if judging is None else partial(judge, MeteredModel(judging, "judge"))
    context = StrategyContext(metered, HashingEmbedder() if score == "hashing" else embedder)
    how = "dense" if score == "hashing" else score
    for number, record in enumerate(replies.filled(records, metered, options.reply_tokens, turns), 1):
        sample = dialogue_sample(record, number)
        for memory in options.memories or settings:
            row = cached.get((sample.id, memory))
            if row is None:
                row = replies.reply(sample, memory, settings[memory], context, how, options.reply_tokens, judged_by)
                cache.add([row])
            yield row
        say(f"{number} of {len(records)} dialogues")


def _records(options: argparse.Namespace) -> tuple[list[Record], str]:
    """The dialogues, spread over the file where there is a limit, and their name in the title."""
    if options.data:
        records, name = list(read_records(options.data)), options.data.name
    else:
        topics = read_topics(options.topics) if options.topics else OWN_TOPICS
        records = _generated_records(options.n, topics, options.seed)
        name = f"generated dialogues on {len(topics)} topics of {options.topics.name if options.topics else 'our own'}"
    return (records[:: max(1, len(records) // options.limit)][: options.limit] if options.limit else records), name


def _by_memory(rows: Sequence[TurnRecall]) -> dict[tuple[str, str], list[TurnRecall]]:
    """The rows of each score and memory, in their order."""
    return grouped(rows, lambda row: (row.score, row.memory), lambda row: row)


def _strata(rows: Sequence[TurnRecall], place: int) -> dict[str, list[float]]:
    """By kind of question: each counts the same, as in the paper's average."""
    return grouped(rows, lambda row: row.kind, lambda row: row.recalls[place])
