"""Tasks where the code graph knows something at the cursor: mid-line, and behind the opening bracket of a call.

Owns their choice. Half of them are for choosing a form of prompt, the others for reporting.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...server.completion.graph_candidates import graph_candidates
from ..repoeval.tasks import SEED, Task, typed_to_called_name
from .answering import Repository, cursor_of
from .mid_line import mid_line_tasks
from .signature_help import SignatureHelp, signature_help

CALL = "called"
"""The kind of tasks behind a bracket, in their ids."""

HALVES = ("choosing", "reporting")


def call_tasks(tasks: Iterable[Task]) -> Iterator[Task]:
    """For each API task one behind the opening bracket of its call, where the rest of the line is more than signs."""
    for task in tasks:
        named = typed_to_called_name(task, 1 << 10)
        line = task.ground_truth_line
        if named is None or not line.startswith("(", named.col) or not re.search(r"\w", line[named.col :]):
            continue
        repo, _, number = task.task_id.split("/")
        column = named.col + 1
        yield replace(task, task_id=f"{repo}/{CALL}/{number}", kind=CALL, col=column, ground_truth=line[column:])


def graph_line_tasks(repository: Repository, tasks: Iterable[Task], half: str, n_tasks: int) -> list[Task]:
    """At most `n_tasks` of one half, as many of each kind; the same always."""
    drawn = list(tasks)
    repo = drawn[0].repo if drawn else ""
    chosen: list[Task] = []
    for kind in (mid_line_tasks(drawn), call_tasks(drawn)):
        candidates = list(kind)
        random.Random(f"{SEED}:{repo}:graph lines").shuffle(candidates)
        known = [task for task in candidates if any(known_at(repository, task))]
        chosen += known[HALVES.index(half) :: 2][: n_tasks // 2]
    return chosen


def known_at(repository: Repository, task: Task) -> SignatureHelp:
    """Signature help at the cursor of a task."""
    cursor = cursor_of(task, repository.sources[task.path], suffix=False)
    candidates = graph_candidates(repository.snapshot, cursor)
    return SignatureHelp() if candidates is None else signature_help(candidates.facts, cursor.start_of_line)
