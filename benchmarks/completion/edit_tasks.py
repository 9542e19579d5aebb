"""`python -m weft.benchmarks.completion.edit_tasks`: completion and retrieval with and without recent edits.

Owns the settings, the run and the report. The tasks and their histories are in `edit_histories`, RepoEval's figures in
`benchmarks/repoeval/metrics.py`.

    python -m weft.benchmarks.completion.edit_tasks                    Weft's own history
    python -m weft.benchmarks.completion.edit_tasks --repository ../httpx ../flask --model transformers=DIRECTORY

The pinned commit in a clone identifies its history.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...llm import CodeModel
from ...server.completion import Cursor
from ...server.completion.postprocess import postprocess
from ...server.config import Config
from ...server.config.options import index_settings
from ...server.models.model_argument import MODEL_SYNTAX
from ...server.workspace.analysis import analyse
from ...server.workspace.recent_edits import RecentEdits
from ...server.workspace.snapshot import FolderSnapshot
from ...server.workspace.text import TextLines
from ..bootstrap import bootstrap_interval, differences, mean
from ..command import Report, command_parser, run_command, say
from ..histories import OWN_REPOSITORY, NoHistory, commits_between
from ..models import ModelSpec, model_option, open_spec
from ..repoeval.metrics import score_completion, score_retrieval
from ..tables import bracketed, markdown, number, or_none
from .answering import as_server, loop_at
from .edit_histories import HISTORIES, EditTask, History, edit_tasks

MAX_NEW_TOKENS = 100

SETTINGS = {
    "saved": "the index knows what is on disk, nothing of this commit",
    "unsaved": "it knows the open buffers as well",
    "recent": "and the places edited last come first, as the server has it",
}
AGAINST = "unsaved"


@dataclass(frozen=True, slots=True)
class EditScore:
    """The scores of a task in a setting, in percent; NaN where a metric does not apply."""

    identifiers: float
    nearest_line: float
    exact_line: float
    exact_match: float
    edit_similarity: float
    unique: bool


COLUMNS: Mapping[str, Callable[[EditScore], float]] = {
    "identifiers": lambda row: row.identifiers,
    "nearest line": lambda row: row.nearest_line,
    "nearest, unique": lambda row: row.nearest_line if row.unique else math.nan,
    "same line": lambda row: row.exact_line,
    "EM": lambda row: row.exact_match,
    "ES": lambda row: row.edit_similarity,
    "EM unique": lambda row: row.exact_match if row.unique else math.nan,
    "ES unique": lambda row: row.edit_similarity if row.unique else math.nan,
}

Rows = dict[str, dict[str, list[EditScore]]]
"""By setting and repository, tasks in one order."""


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"type": model_option(), "default": "workspace", "help": MODEL_SYNTAX}
    parser = command_parser(
        "python -m weft.benchmarks.completion.edit_tasks", __doc__, "model", "context", "machine", model=model
    )
    parser.add_argument(
        "--repository", nargs="+", type=Path, default=[OWN_REPOSITORY], metavar="PATH", help="clones, bare ones too"
    )
    parser.add_argument("--tasks", type=int, default=100, metavar="N", help="of each repository (100)")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    rows: Rows = {name: {} for name in SETTINGS}
    model = open_spec(ModelSpec(options.model, options.context))
    for repository in options.repository:
        history = _history_of(repository)
        for done in answered(repository, history, options.tasks, model):
            for name, row in done.items():
                rows[name].setdefault(history.name, []).append(row)
        say(f"{history.name}: {len(rows[AGAINST][history.name])} tasks")
    return Report("edits", report(rows, options.model), {"model": options.model, "settings": summary(rows)})


def report(rows: Rows, model: str) -> str:
    """Markdown: the repositories that weights were chosen on, those that confirm them, and each for itself."""
    parts = [f"Completions by {model}. Brackets: the 95 % interval of the difference to {AGAINST}."]
    chosen = {history.name for history in HISTORIES if history.for_choosing}
    names = list(rows[AGAINST])
    groups = {
        "Development repositories": [name for name in names if name in chosen],
        "Validation repositories": [name for name in names if name not in chosen],
    }
    if all(groups.values()):
        groups["All"] = names
    for title, group in groups.items():
        if group:
            n_tasks = sum(len(rows[AGAINST][name]) for name in group)
            n_unique = sum(row.unique for name in group for row in rows[AGAINST][name])
            parts.append(f"### {title}\n\n{', '.join(group)}: {n_tasks} tasks, {n_unique} with new lines.")
            parts.append(_table({name: {repo: of[repo] for repo in group} for name, of in rows.items()}))
    lines = [
        [repo, str(len(rows[AGAINST][repo])), *(" / ".join(_short(of[repo])) for of in rows.values())] for repo in names
    ]
    parts += ["### By repository: identifiers, EM, ES", markdown(["repository", "tasks", *rows], lines)]
    return "\n\n".join(parts)


def summary(rows: Rows) -> dict[str, dict[str, dict[str, float | None]]]:
    """The means by setting and repository, for machines."""
    return {
        name: {repo: {column: or_none(mean(map(value, of[repo]))) for column, value in COLUMNS.items()} for repo in of}
        for name, of in rows.items()
    }


def _history_of(repository: Path) -> History:
    """The pinned history that a clone holds. Raises NoHistory."""
    for history in HISTORIES:
        try:
            commits_between(repository, f"{history.last_commit}^..{history.last_commit}")
        except NoHistory:
            continue
        return history
    names = ", ".join(history.name for history in HISTORIES)
    raise NoHistory(f"{repository} is not a full clone of {names}. Clone one of them, or run `git fetch` in it.")


def answered(
    repository: Path, history: History, n_tasks: int, model: CodeModel | None
) -> Iterator[dict[str, EditScore]]:
    """The rows of each task by setting."""
    saved = FolderSnapshot.empty(index_settings(Config(), history.name))
    files: Mapping[str, str] = {}
    for commit in edit_tasks(repository, history, n_tasks):
        changed = [path for path, text in commit.files.items() if files.get(path) != text]
        gone = [path for path in files if path not in commit.files]
        saved, files = saved.with_changes((analyse(path, commit.files[path]) for path in changed), gone), commit.files
        for task in commit.tasks:
            unsaved = saved.with_changes(analyse(path, text) for path, text in task.unsaved.items())
            yield {
                "saved": _row(task, saved, RecentEdits(), model),
                "unsaved": _row(task, unsaved, RecentEdits(), model),
                "recent": _row(task, unsaved, task.recent, model),
            }


def _row(edit: EditTask, snapshot: FolderSnapshot, recent: RecentEdits, model: CodeModel | None) -> EditScore:
    """Scores of retrieval and of the completion; `model` None is that of the snapshot. Raises ModelError."""
    task, lines = edit.task, TextLines(f"{edit.prefix}\n{edit.suffix}")
    cursor = Cursor(task.path, lines, *lines.position(len(edit.prefix)), recent_hunks=recent.hunks)
    options = Config().retrieval
    done = as_server(loop_at(snapshot, cursor, model, options, single_line=True, max_new_tokens=MAX_NEW_TOKENS))
    completion = score_completion(task.ground_truth, postprocess(done.written, cursor, single_line=True).text)
    retrieval = score_retrieval(task, [ranked.fragment for ranked in done.fragments])
    return EditScore(
        identifiers=100 * retrieval.identifiers,
        nearest_line=100 * retrieval.similarity,
        exact_line=100 * retrieval.exact,
        exact_match=100 * completion.exact_match,
        edit_similarity=100 * completion.edit_similarity,
        unique=task.unique_in_repo,
    )


def _table(rows: Mapping[str, Mapping[str, Sequence[EditScore]]]) -> str:
    """Means over repositories."""
    lines = []
    for name, of in rows.items():
        cells = []
        for value in COLUMNS.values():
            ours, theirs = ({repo: list(map(value, each)) for repo, each in it.items()} for it in (of, rows[AGAINST]))
            interval = bootstrap_interval(differences(ours, theirs))
            cells.append(number(mean(map(mean, ours.values()))) + (bracketed(interval) if name != AGAINST else ""))
        lines.append([name, *cells])
    return markdown(["setting", *COLUMNS], lines)


def _short(rows: Sequence[EditScore]) -> list[str]:
    return [number(mean(map(COLUMNS[column], rows))) for column in ("identifiers", "EM", "ES")]


if __name__ == "__main__":
    raise SystemExit(main())
