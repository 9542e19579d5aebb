"""Mid-line tasks: line tasks with the cursor behind some piece of their line, where most completions are requested.

Owns where the cursor is. RepoEval has none of these; its tasks start at the beginning of their line.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..repoeval.tasks import PIECE, SEED, Task

KIND = "begun"
"""The kind of these tasks in their ids and in committed results."""


def mid_line_tasks(tasks: Iterable[Task]) -> Iterator[Task]:
    """For each line task one behind some piece of its line, the same always, so that more than signs is left to write.

    What closes a line is not shown on its own, however sure: it takes longer to read than to type.
    """
    for task in tasks:
        line = task.ground_truth_line
        ends = [found.end() for found in PIECE.finditer(line) if re.search(r"\w", line[found.end() :])]
        if task.kind == "line" and ends:
            repo, _, number = task.task_id.split("/")
            task_id = f"{repo}/{KIND}/{number}"
            column = random.Random(f"{SEED}:{task_id}").choice(ends)
            yield replace(task, task_id=task_id, kind=KIND, col=column, ground_truth=task.ground_truth[column:])
