"""Argument tasks: line tasks with the cursor directly behind the opening bracket of a call, up to its closing bracket.

Owns where the cursor is and where the arguments end. RepoEval has none of these.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..repoeval.tasks import SEED, Task

KIND = "arguments"
"""The kind of these tasks in their ids and in committed results."""

_CALL = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*!?\(")
_DEFINITION = re.compile(
    r"(?:^|\s)(?:def|func|function|fn|fun|class|if|for|while|switch|catch|elif|return|and|or|not|in|import)\s*\($"
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def argument_tasks(tasks: Iterable[Task]) -> Iterator[Task]:
    """For each line task with a call that ends on the line: one behind an opening bracket, the same always."""
    for task in tasks:
        line = task.ground_truth_line
        if task.kind != "line" or re.match(r"\s*(?:async )?(?:def|func|function|fn|fun|class)\b", line):
            continue
        columns = {
            found.end(): arguments
            for found in _CALL.finditer(line)
            if not _DEFINITION.search(line[: found.end()])
            and (arguments := arguments_in(line[found.end() :])) is not None
            and re.search(r"\w", arguments)
        }
        if columns:
            repo, _, number = task.task_id.split("/")
            task_id = f"{repo}/{KIND}/{number}"
            column = random.Random(f"{SEED}:{task_id}").choice(sorted(columns))
            yield replace(task, task_id=task_id, kind=KIND, col=column, ground_truth=columns[column])


def arguments_in(text: str) -> str | None:
    """The text up to the bracket that closes the call at its start, with it; None if the line does not close it."""
    opened: list[str] = []
    quote = ""
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[at - 1 : at] != "\\" else quote
        elif sign in "\"'`":
            quote = sign
        elif sign in "([{":
            opened.append(sign)
        elif sign in _PAIRS:
            if not opened:
                return text[: at + 1] if sign == ")" else None
            opened.pop()
    return None
