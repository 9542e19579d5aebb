"""BABILong: `input`, `question` and `target` a line. The task stands in `task`, or in the file's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ....memory import Item, Question
from ..metrics import TASK_LABELS
from ..values import Sample
from .checked import read_records


def babilong(path: Path) -> Iterator[Sample]:
    in_name = re.search(r"qa\d+", path.as_posix())
    for number, record in enumerate(read_records(path)):
        task = record.text("task", in_name.group() if in_name else "")
        if task not in TASK_LABELS:
            record.fail("task", f"one of {', '.join(TASK_LABELS)}, here or in the file's name")
        name = f"{task}/{number}"
        yield Sample(
            name,
            f"babilong {task}",
            (Item(f"story {name}", record.text("input")),),
            Question(record.text("question").strip(), task="short"),
            (record.text("target").strip(),),
            metric="babilong",
            details={"labels": TASK_LABELS[task]},
        )
