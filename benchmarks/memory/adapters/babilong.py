"""BABILong: `input`, `question` and `target` on each line. The task is in `task`, or in the name of the file.

Generated stories also have `facts`: pairs of character offsets in the input, the end exclusive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ....memory import Item, Question
from ..metrics import TASK_LABELS
from ..values import Fact, Sample
from .checked import Record, read_records


def babilong(path: Path) -> Iterator[Sample]:
    in_name = re.search(r"qa\d+", path.as_posix())
    for number, record in enumerate(read_records(path)):
        task = record.text("task", in_name.group() if in_name else "")
        if task not in TASK_LABELS:
            record.fail("task", f"one of {', '.join(TASK_LABELS)}, here or in the file's name")
        name = f"{task}/{number}"
        item = Item(f"story {name}", record.text("input"))
        yield Sample(
            name,
            f"babilong {task}",
            (item,),
            Question(record.text("question").strip(), task="short"),
            (record.text("target").strip(),),
            _facts(record, item),
            metric="babilong",
            details={"labels": TASK_LABELS[task]},
        )


def _facts(record: Record, item: Item) -> tuple[Fact, ...]:
    given = record.fields.get("facts", [])
    if isinstance(given, list) and all(_is_span(each, len(item.text)) for each in given):
        return tuple(Fact(item.source, start, end) for start, end in given)
    record.fail("facts", "pairs of places in the input")


def _is_span(value: object, n_characters: int) -> bool:
    match value:
        case [int() as start, int() as end]:
            return 0 <= start < end <= n_characters
    return False
