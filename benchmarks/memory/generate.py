"""`weft bench memory generate`: stories, dialogues, a book or completion tasks as a file, for this or another system.

    weft bench memory generate stories --task qa2 --length 32k --n 25 --out qa2.jsonl
    weft bench memory generate dialogues --topics QUESTIONS.json --n 54 --out dialogues.json
    weft bench memory generate book --out book.jsonl
    weft bench memory generate completions --tree CHECKOUT --out tasks.jsonl

Owns the written forms, which the adapters babilong, mtbench+, generic and repoeval read.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..command import command_parser, run_command
from ..repoeval.sources import read_sources
from ..repoeval.tasks import build_tasks
from .adapters import generic_record
from .generators.book import book
from .generators.dialogues import OWN_TOPICS, dialogues, read_topics
from .generators.stories import LENGTHS, stories
from .generators.story_tasks import TASKS
from .values import Sample


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory generate", __doc__, "seed")
    parser.add_argument("what", choices=("stories", "dialogues", "book", "completions"))
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--n", type=int, default=25, help="records; of completions, of each kind (25)")
    parser.add_argument("--task", choices=TASKS, default="qa1", help="of stories")
    parser.add_argument("--length", choices=LENGTHS, default="4k", help="of stories, in tokens of four bytes")
    parser.add_argument("--topics", type=Path, metavar="FILE", help="seed questions of dialogues, as MemoChat has them")
    parser.add_argument("--people", type=int, default=8, help="of a book")
    parser.add_argument("--tree", type=Path, default=Path(), help="the checkout of completions (this folder)")
    return run_command(parser, _write, arguments)


def _write(options: argparse.Namespace) -> int:
    records = list(_records(options))
    with options.out.open("w", encoding="utf-8", newline="") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    print(f"{len(records)} records in {options.out}.")
    return 0


def _records(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    if options.what == "stories":
        yield from map(_story, stories(options.task, options.length, options.n, options.seed))
    elif options.what == "dialogues":
        topics = read_topics(options.topics) if options.topics else OWN_TOPICS
        yield from dialogues(topics, options.n, options.seed)
    elif options.what == "book":
        yield from map(generic_record, book(options.people, options.seed))
    else:
        yield from completions(options.tree, options.n, options.n)


def _story(sample: Sample) -> dict[str, object]:
    task = sample.dataset.rpartition(" ")[2]
    (item,) = sample.items
    return {
        "input": item.text,
        "question": sample.question.text,
        "target": sample.answers[0],
        "task": task,
        "facts": [[fact.start, fact.end] for fact in sample.facts],
    }


def completions(tree: Path, n_line: int, n_api: int) -> Iterator[dict[str, object]]:
    """RepoEval-style records of a checkout, by the rules of `weft bench retrieval`: the prompt ends at the target."""
    sources, repo = read_sources(tree), tree.resolve().name
    for task in build_tasks(sources, repo, n_line, n_api):
        metadata = {
            "task_id": task.task_id,
            "ground_truth": task.ground_truth,
            "fpath_tuple": [repo, *task.path.split("/")],
            "context_start_lineno": task.context_start_lineno,
            "line_no": task.line,
        }
        yield {"prompt": sources[task.path].text[: task.prefix_end], "metadata": metadata}
