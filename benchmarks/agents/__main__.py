"""`weft bench agents`: tokens and calls that an agent needs to find what a commit must change.

Owns the command and the run. Tasks are in `tasks`, scripted agents in `loops`.

    weft bench agents --clones DIR --fit               the repositories for fitting, whose clones are in DIR
    weft bench agents --clones DIR --report --write-results
    weft bench agents --folder DIR --write-results     the time of each tool on a folder instead
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...server.config import Config
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, rounded, run_command, say
from ..next_edit.commits import HISTORIES
from ..rows import RowCache, code_digest
from ..tables import markdown, number, percent
from ..typed.chosen import add_history_options, chosen
from ..typed.commits import FOR_FITTING, FOR_REPORTING, TypedHistory, clone_of
from ..typed.replay import Tree as WorkingTree
from . import latency
from .loops import AGENTS, Tree
from .tasks import Task, tasks_of

N_TASKS = 5
N_CALLS = 40

OF_ROWS = ("benchmarks/agents", "benchmarks/next_edit/commits.py", "codegraph", "languages", "retrieval", "server")
NOT_OF_ROWS = frozenset({"__main__.py"})

NOTES = """\
A task is a commit of a pinned repository that changes the header of a definition and other places with its name
(`tasks.py`); the agents look for these places in the tree before the commit. They are scripts without a model
(`loops.py`). Recall is the share of the places that an agent was shown. Tokens are four bytes each and count requests
and answers. "grep with context" is ripgrep in the source files of the language with 5 lines around each hit; its recall
is complete by the choice of the tasks. "grep alone" does not show the function of a line, so it answers less; it is a
lower bound. "impact" lists tests, documents, comments and strings as well."""


LATENCY_NOTES = f"""\
{N_CALLS} definitions, chosen by the hashes of their names; each tool is called for each, `search` with the name and
with the words of the path. Errors are names that need a path. Milliseconds of whole calls with their text, and of the
processors of the process, which count on a loaded machine."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What one agent read for one task."""

    repository: str
    commit: str
    name: str
    agent: str
    n_places: int
    n_found: int
    n_shown: int
    n_tokens: int
    n_calls: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench agents", __doc__, "work", "machine", "write-results")
    add_history_options(parser)
    parser.add_argument("--tasks", type=int, default=N_TASKS, metavar="N", help=f"of each repository ({N_TASKS})")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="time each tool on this folder instead")
    parser.add_argument("--each", action="store_true", help="also print each task")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if options.folder is not None:
        return _latency(options.folder, options.work / "agents-cache")
    parts, plain = [], []
    for purpose in (FOR_FITTING, FOR_REPORTING):
        rows = [
            row
            for history in chosen(options, HISTORIES)
            if history.purpose == purpose
            for row in _rows(options, history)
        ]
        if rows:
            figures = {agent: _figures([row for row in rows if row.agent == agent]) for agent in AGENTS}
            parts += [f"## For {purpose}", _table(figures), _by_repository(rows)]
            parts += [_each(rows)] if options.each else []
            plain.append({"purpose": purpose, "agents": figures})
    half = {None: "", FOR_FITTING: " --fit", FOR_REPORTING: " --report"}[options.purpose]
    repos = f" --repository {' '.join(options.repository)}" if options.repository else ""
    command = f"weft bench agents --clones DIR{half}{repos} --tasks {options.tasks}"
    return Report("agents", "\n\n".join(parts), {"measured": rounded(plain)}, "Tools for agents", "", NOTES, command)


def _rows(options: argparse.Namespace, history: TypedHistory) -> Iterator[TaskRow]:
    """The rows of a history: cached ones, and those that are measured now. Raises NoClone, NoHistory."""
    repository = clone_of(history, options.clones)
    depends_on = code_digest(OF_ROWS, NOT_OF_ROWS), history
    cache = RowCache(options.work / "agents-rows", history.folder_name, depends_on, TaskRow)
    known = list(cache.rows())
    folder = options.work / "agents" / history.folder_name
    tree: WorkingTree | None = None
    for task in tasks_of(repository, history, options.tasks):
        rows = [row for row in known if row.commit == task.commit]
        if not rows:
            tree = tree or WorkingTree(folder, repository)
            tree.go_to(f"{task.commit}^")
            rows = _measured(task, folder, history.extensions, options.work / "agents-cache")
            cache.add(rows)
        yield from rows
    say(history.name)


def _measured(task: Task, folder: Path, extensions: tuple[str, ...], cache: Path) -> list[TaskRow]:
    with _workspace(folder, cache) as workspace:
        workspace.index()
        tree = Tree(workspace, folder, extensions)
        rows = []
        for agent, find in AGENTS.items():
            found = find(task, tree)
            n_found = len(task.places & found.places)
            rows.append(
                TaskRow(
                    task.repository,
                    task.commit,
                    task.name,
                    agent,
                    len(task.places),
                    n_found,
                    len(found.places),
                    found.n_tokens,
                    found.n_calls,
                    found.seconds,
                )
            )
        return rows


def _latency(folder: Path, cache: Path) -> Report:
    """The time of each tool on a folder."""
    with _workspace(folder, cache) as workspace:
        workspace.index()
        timed = latency.figures_of(list(latency.timed_calls(workspace, N_CALLS)))
        n_lines = latency.n_lines(workspace)
    names = ("calls", "errors", "tokens", "ms p50", "ms p95", "cpu ms p50", "cpu ms p95")
    rows = [[tool, *(number(each[name], "{:,.0f}") for name in names)] for tool, each in timed.items()]
    heads = ("tool", "calls", "errors", "tokens a call", "p50 ms", "p95 ms", "p50 CPU ms", "p95 CPU ms")
    text = f"{folder.name}, {n_lines:,} lines.\n\n{markdown(heads, rows)}"
    results = {"measured": rounded({"lines": n_lines, "tools": timed})}
    command = "weft bench agents --folder DIR"
    return Report("agents-latency", text, results, "Time of tools for agents", "", LATENCY_NOTES, command)


def _workspace(folder: Path, cache: Path) -> Workspace:
    return Workspace([folder], Config(cache_dir=str(cache), data_dir=str(cache / "data")))


def _figures(rows: Sequence[TaskRow]) -> dict[str, Any]:
    n_places = sum(row.n_places for row in rows)
    return {
        "tasks": len(rows),
        "places": n_places,
        "recall": sum(row.n_found for row in rows) / n_places,
        "complete": sum(row.n_found == row.n_places for row in rows) / len(rows),
        "shown": sum(row.n_shown for row in rows) / len(rows),
        "tokens": sum(row.n_tokens for row in rows) / len(rows),
        "median tokens": sorted(row.n_tokens for row in rows)[len(rows) // 2],
        "calls": sum(row.n_calls for row in rows) / len(rows),
        "ms": 1e3 * sorted(row.seconds for row in rows)[int(0.95 * (len(rows) - 1))],
    }


def _table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    first = figures["impact"]
    rows = []
    for agent, each in figures.items():
        cells = [number(each["tasks"], "{:.0f}"), number(each["places"], "{:.0f}")]
        cells += [percent(each["recall"]), percent(each["complete"]), number(each["shown"]), number(each["calls"])]
        cells += [number(each["tokens"], "{:,.0f}"), number(each["median tokens"], "{:,.0f}")]
        cells += ["-" if agent == "impact" else percent(1 - first["tokens"] / each["tokens"])]
        cells += [number(each["ms"]) if each["ms"] else "-"]
        rows.append([agent, *cells])
    head = ("agent", "tasks", "places", "recall", "tasks with all places", "places shown", "calls", "tokens a task")
    return markdown((*head, "median", "`impact` reads less by, %", "p95 CPU ms"), rows)


def _by_repository(rows: Sequence[TaskRow]) -> str:
    lines = []
    for repository in dict.fromkeys(row.repository for row in rows):
        of = {agent: _figures([r for r in rows if (r.repository, r.agent) == (repository, agent)]) for agent in AGENTS}
        cells = [number(of["impact"]["tasks"], "{:.0f}"), percent(of["impact"]["recall"])]
        lines.append([repository, *cells, *(number(of[agent]["tokens"], "{:,.0f}") for agent in AGENTS)])
    return markdown(("repository", "tasks", "recall of impact", *(f"tokens, {agent}" for agent in AGENTS)), lines)


def _each(rows: Sequence[TaskRow]) -> str:
    lines = [
        [
            f"{row.repository} {row.commit[:10]} {row.name}",
            row.agent,
            f"{row.n_found} of {row.n_places}",
            str(row.n_shown),
            str(row.n_tokens),
            f"{1e3 * row.seconds:.0f}",
        ]
        for row in rows
    ]
    return markdown(("task", "agent", "found", "shown", "tokens", "CPU ms"), lines)


if __name__ == "__main__":
    raise SystemExit(main())
