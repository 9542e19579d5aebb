"""Tasks "find what must change" from real commits: a changed definition, and the other places that the commit changed.

Owns the choice of the definition and what a place is. Commits are those of `weft bench next-edit`. Knows no tool.

Of a commit the task is the first definition, in the order of its hunks, whose header a hunk changes and whose name is
in the removed lines of other hunks. A place is a file and the innermost definition around such a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...codegraph import Definition, FileGraph, parse_file
from ..next_edit.commits import ReplayedCommit, Step, replayed_commits, steps_of
from ..typed.commits import TypedHistory

LEAST_NAME = 3
"""Letters of a name; shorter ones are found everywhere."""

N_COMMITS = 400
"""Commits of a history that are looked at."""

Place = tuple[str, str]
"""A path, and the qualified name of the definition there; "" at the top level."""


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is defined at `line` (0-based) of `path` before the commit; `places` are to be found."""

    repository: str
    commit: str
    path: str
    line: int
    name: str
    places: frozenset[Place]


def tasks_of(repository: Path, history: TypedHistory, n_tasks: int) -> Iterator[Task]:
    """The first tasks of a history, in the order of the hashes of its commits; one of a commit at most."""
    n_found = 0
    for commit in replayed_commits(repository, history, N_COMMITS):
        task = task_of(history.name, commit)
        if task is not None:
            yield task
            n_found += 1
            if n_found == n_tasks:
                return


def task_of(repository: str, commit: ReplayedCommit) -> Task | None:
    """The task of a commit; None if no changed definition has other changed places."""
    graphs = {edit.path: parse_file(edit.path, edit.before) for edit in commit.edits if edit.before}
    steps = [step for edit in commit.edits if edit.before for step in steps_of(edit)]
    for step in steps:
        for definition in graphs[step.path].definitions:
            if step.old_start <= definition.header_line < step.old_end and len(definition.name) >= LEAST_NAME:
                places = frozenset(_places(definition, step.path, steps, graphs))
                if places:
                    return Task(repository, commit.commit, step.path, definition.header_line, definition.name, places)
    return None


def enclosing(graph: FileGraph, line: int) -> str:
    """The qualified name of the innermost definition around a line; "" at the top level."""
    around = (each for each in graph.definitions if each.start_line <= line < each.end_line)
    innermost = max(around, key=lambda each: (each.start_line, -each.end_line), default=None)
    return "" if innermost is None else innermost.qualified_name


def word(name: str) -> re.Pattern[str]:
    """The name as a whole word."""
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _places(
    definition: Definition, path: str, steps: Sequence[Step], graphs: Mapping[str, FileGraph]
) -> Iterator[Place]:
    """The places outside of the definition whose removed lines have its name."""
    pattern = word(definition.name)
    for step in steps:
        for at, text in enumerate(step.removed, step.old_start):
            is_inside = step.path == path and definition.start_line <= at < definition.end_line
            if not is_inside and pattern.search(text):
                yield step.path, enclosing(graphs[step.path], at)
