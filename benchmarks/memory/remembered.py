"""`weft bench memory remembered`: what later questions about a document cost, in one process and across processes.

    weft bench memory remembered docs/*.md --model extractive-mock --context 2048
    weft bench memory remembered guide.md --model transformers=DIRECTORY --strategies memorag summary

Each strategy gets an empty store and three processes: the first asks two questions, the second a third one, and the
third asks it again after one line was inserted in the middle of the last text. The store is the one of a workspace.

Owns the table. `--model extractive-mock` is not a model: it shows the cost of a strategy.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ...errors import UserError
from ...llm import ModelError
from ...memory import Cost, Item, MeteredModel, Question, StrategyContext
from ...memory.storage import MemoryStore
from ...memory.strategies import READING_PURPOSES, STRATEGIES, strategy_named
from ..command import Report, command_parser, run_command, say
from ..models import model_option, shown_name
from ..tables import markdown
from .extractive_mock import NAME as EXTRACTIVE_MOCK
from .parallel import open_answering_model

QUESTIONS = ("What is described first, and what last?", "Why is this needed?", "Which limits are there, and where?")
REMEMBERING = ("qrmem shared", "qrmem", "memorag", "segment_plus", "summary")
INSERTED = "One line is new here.\n"

Row = tuple[str, str, Cost]
"""Strategy, question, and the cost of its answer."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory remembered", __doc__, "context", "machine")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="texts")
    parser.add_argument("--model", type=model_option(EXTRACTIVE_MOCK), default=EXTRACTIVE_MOCK)
    parser.add_argument("--strategies", nargs="+", choices=tuple(STRATEGIES), default=REMEMBERING, metavar="NAME")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    items = [Item(str(path), path.read_text(encoding="utf-8", errors="replace")) for path in options.files]
    rows = list[Row]()
    for name in options.strategies:
        say(name)
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "memory.db"
            once = (options.model, options.context, name, store)
            for at, (questions, texts) in enumerate(
                ((QUESTIONS[:2], items), (QUESTIONS[2:], items), (QUESTIONS[2:], changed(items))), 1
            ):
                costs = _in_new_process((*once, questions, texts))
                labels = [f"process {at}, question {n}" for n in range(1, len(questions) + 1)]
                label_of_change = ", one line more" if texts is not items else ""
                rows += [(name, f"{each}{label_of_change}", cost) for each, cost in zip(labels, costs, strict=True)]
    header = ("strategy", "", "calls", "from the store", "tokens in", "tokens out", "seconds")
    cells = [
        (name, of, str(c.n_calls), str(c.n_cached), f"{c.tokens_in:,}", f"{c.tokens_out:,}", f"{c.seconds:.1f}")
        for name, of, c in rows
    ]
    results = {
        "model": shown_name(options.model),
        "context": options.context,
        "rows": [[name, of, c.n_calls, c.n_cached, c.tokens_in, c.tokens_out] for name, of, c in rows],
    }
    return Report("memory remembered", markdown(header, cells), results)


def changed(items: Sequence[Item]) -> list[Item]:
    """The items with one line more in the middle of the last one."""
    *rest, last = items
    lines = last.text.splitlines(keepends=True)
    lines.insert(len(lines) // 2, INSERTED)
    return [*rest, Item(last.source, "".join(lines))]


Task = tuple[str, int, str, Path, Sequence[str], Sequence[Item]]


def _in_new_process(task: Task) -> list[Cost]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(answer_costs, task)


def answer_costs(
    model: str, context_tokens: int, name: str, store: Path, questions: Sequence[str], items: Sequence[Item]
) -> list[Cost]:
    """The cost of the answer to each question, in order, of one strategy with a store on disk."""
    opened = open_answering_model(model, context_tokens)
    if opened is None:
        raise UserError("A strategy reads with a model. Give --model.")
    with closing(MemoryStore(store)) as memory, closing(opened):
        metered = MeteredModel(opened, cache=memory.cache, cached_purposes=READING_PURPOSES)
        strategy = strategy_named(name, StrategyContext(metered, cache=memory.cache))
        strategy.remember(items)
        costs = list[Cost]()
        for question in questions:
            before = metered.usage.total
            try:
                strategy.answer(Question(question))
            except ModelError as error:
                say(f"{name}: {error}")
            costs.append(metered.usage.total - before)
        return costs
