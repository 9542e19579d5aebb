"""`python -m weft.benchmarks.repoeval.folders TREE TASKS FOLDER FOLDER…`: one repository opened as several folders.

Each API task looks for the called definition among ten fragments: in a workspace of the whole tree, of its folders
without `index.cross_folders`, and with it. TASKS are JSON lines of `weft bench retrieval --write-tasks`; those outside
of the folders are left out. "elsewhere" is the calls of a definition in another folder.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...retrieval import Query, RetrievalOptions, retrieve, with_paths
from ...server.config import Config, IndexOptions
from ...server.workspace.snapshot import FolderSnapshot
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, run_command
from ..tables import markdown
from .metrics import score_retrieval
from .tasks import CalledDefinition, Task


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.repoeval.folders", __doc__, "machine")
    parser.add_argument("tree", type=Path)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("folders", nargs="+", help="relative to the tree")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    tree = options.tree.resolve()
    folder_of = _folder_of(options.folders)
    tasks = [task for task in _api_tasks(options.tasks) if folder_of(task.path) is not None]
    rows = {
        "the whole tree": _row(tree, ["."], tasks, folder_of, cross_folders=True),
        "folders, each alone": _row(tree, options.folders, tasks, folder_of, cross_folders=False),
        "folders, jointly": _row(tree, options.folders, tasks, folder_of, cross_folders=True),
    }
    text = markdown(
        ["workspace", *next(iter(rows.values()))], [[name, *map(str, row.values())] for name, row in rows.items()]
    )
    return Report("folders", f"{len(tasks)} API tasks of {tree.name}.\n\n{text}", {"tasks": len(tasks), "rows": rows})


def _folder_of(folders: Sequence[str]) -> Callable[[str], str | None]:
    return lambda path: next((folder for folder in folders if path.startswith(f"{folder}/")), None)


def _api_tasks(path: Path) -> Iterable[Task]:
    for line in path.read_text().splitlines():
        task = json.loads(line)
        if task["kind"] == "api":
            api = task.pop("api")
            unseen = tuple(task.pop("gt_ids_unseen"))
            yield Task(**task, gt_ids_unseen=unseen, api=CalledDefinition.of_record(api))


def _row(
    tree: Path,
    folders: Sequence[str],
    tasks: Sequence[Task],
    folder_of: Callable[[str], str | None],
    *,
    cross_folders: bool,
) -> dict[str, Any]:
    config = Config(index=IndexOptions(cross_folders=cross_folders))
    found: dict[Task, float] = {}
    query_ms = []
    with Workspace([tree / folder for folder in folders], config, cache=False) as workspace:
        workspace.index()
        workspace.flush()
        for task in tasks:
            file = tree / task.path
            folder, key = workspace._folders.locate(file)
            assert folder is not None
            view, root = folder.view, folder.path
            prefix = file.read_text().replace("\r\n", "\n")[: task.prefix_end]
            query = Query(view.index_path(key), prefix, task.context_start_lineno)
            began = time.thread_time()
            result = view.shown(retrieve(view.index, query, RetrievalOptions()))
            query_ms.append(1e3 * (time.thread_time() - began))
            in_tree = with_paths(result, partial(_path_in_tree, tree, view, root))
            found[task] = score_retrieval(task, [ranked.fragment for ranked in in_tree.fragments]).definition
    elsewhere = [hit for task, hit in found.items() if task.api and folder_of(task.api.path) != folder_of(task.path)]
    return {
        "called definition %": round(100 * statistics.mean(found.values()), 1),
        f"elsewhere % ({len(elsewhere)})": round(100 * statistics.mean(elsewhere or [0.0]), 1),
        **{
            f"from {name} %": round(100 * statistics.mean(hits or [0.0]), 1)
            for name in dict.fromkeys(folder_of(task.path) for task in tasks)
            for hits in [[hit for task, hit in found.items() if folder_of(task.path) == name]]
        },
        "ms p50": round(statistics.median(query_ms), 1),
    }


def _path_in_tree(tree: Path, view: FolderSnapshot, root: Path, path: str) -> str:
    return (view.other_file(path) or root / path).relative_to(tree).as_posix()


if __name__ == "__main__":
    raise SystemExit(main())
