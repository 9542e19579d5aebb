"""`weft bench agents`: tokens and calls that an agent needs to find what a commit must change.

Owns the command and the run. Tasks are in `tasks`, scripted agents in `loops`.

    weft bench agents --clones DIR --fit               the repositories for fitting, whose clones are in DIR
    weft bench agents --clones DIR --report --write-results
    weft bench agents --folder DIR --write-results     the time of each tool on a folder instead
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...server.config import Config
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, rounded, run_command, say
from ..rows import RowCache, code_digest
from ..tables import markdown, number
from ..typed.chosen import add_history_options, chosen
from ..typed.commits import FOR_FITTING, FOR_REPORTING, TypedHistory, clone_of
from ..typed.replay import Tree as WorkingTree
from . import latency, tables
from .histories import HISTORIES, language_of
from .loops import AGENTS, Tree
from .tables import TaskRow
from .tasks import Task, tasks_of

N_TASKS = 2
N_CALLS = 40
DATA = "data"

OF_ROWS = ("benchmarks/agents", "benchmarks/next_edit/commits.py", "codegraph", "languages", "retrieval", "server")
NOT_OF_ROWS = frozenset({"__main__.py", "tables.py", "latency.py"})

NOTES = """\
A task is a commit of a pinned repository that changes the header of a definition and other places (`tasks.py`); the
agents look for these places in the tree before the commit. They are scripts without a model (`loops.py`), and all read
the same code around a place; grep is told for nothing where definitions begin and end. Tokens are four bytes each and
count requests, lists, and in the second table code. Recall is the share of the places that an agent listed, or read. By
the choice of the tasks grep lists all places with the name. Of two agents the one with more places, or with as many and
fewer tokens, has the better task.

"Uses" are the places in whose changed lines the name is neither a parameter or a local variable of the definition
around nor only a word of a comment or a string; grammars and bindings of single files tell this, no name is resolved.

"grep" prints lines without their functions, so an agent could not say what must change before it reads; on small tasks
it prints less than `impact`, whose request names a file and whose answer has callers of callers, tests that reach the
definition through them, and the definitions beside it. Places that `impact` lists and does not read are lines where the
name means another symbol. "impact, all lines" reads these too, in files of all languages and of data, which grep leaves
out. The first call on an index reads the names of all files once, which the CPU time of "impact" includes.

Places without the name are other definitions that change the same names as the header; most have no call that leads to
it. On the repositories for fitting (`--fit --tasks 4`: 241 places of 79 tasks) half of them are in the file of the
definition. Relations, with the share that they find and the places found for 100 tokens, which decided what `impact`
lists: the 6 nearest definitions of the file 24 %, 1.8 (listed); the 4 nearest 21 %, 2.2; the 8 nearest 28 %, 1.6. Of 6,
putting those that share a parameter's name first 23 %, 1.7; those that share half of the words of the name 24 %, 1.7;
members of the same class 22 %, 1.6: none is better than the distance. The section takes some 50 tokens of each answer,
which shows in the medians above and in tasks with few places, where grep prints less. Not listed, on 172 of these
places of 12 repositories: all members of the class 20 %, 0.4; functions with the same parameters 5 %, 1.4; functions of
the file that share a parameter 12 %, 0.7; callees 3 %, 0.6; callees that share a parameter 2 %, 1.2; callees of its
callers in the file 4 %, 0.8; types that the header names 1 %, 1.1; classes with the same base 1 %, 0.1; members of a
changed class none."""


LATENCY_NOTES = f"""\
{N_CALLS} definitions, chosen by the hashes of their names; each tool is called for each, `search` with the name and
with the words of the path. Errors are names that need a path. Milliseconds of whole calls with their text, and of the
processors of the process, which count on a loaded machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench agents", __doc__, "work", "machine", "write-results")
    add_history_options(parser)
    parser.add_argument(
        "--tasks", type=int, default=N_TASKS, metavar="N", help=f"of each kind and repository ({N_TASKS})"
    )
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
            parts += [f"## For {purpose}", *tables.parts_of(rows)]
            parts += [tables.each_task(rows)] if options.each else []
            plain.append({"purpose": purpose, **tables.figures_of(rows)})
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
            rows = _measured(task, folder, history, options.work / "agents-cache")
            cache.add(rows)
        yield from rows
    say(history.name)


def _measured(task: Task, folder: Path, history: TypedHistory, cache: Path) -> list[TaskRow]:
    with _workspace(folder, cache) as workspace:
        workspace.index()
        tree = Tree(workspace, folder, history.extensions)
        return [TaskRow.of(task, language_of(history), agent, find(task, tree)) for agent, find in AGENTS.items()]


def _latency(folder: Path, cache: Path) -> Report:
    """The time of each tool on a folder."""
    shutil.rmtree(cache / DATA, ignore_errors=True)  # notes of an earlier run
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
    return Workspace([folder], Config(cache_dir=str(cache), data_dir=str(cache / DATA)))


if __name__ == "__main__":
    raise SystemExit(main())
