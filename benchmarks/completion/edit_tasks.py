"""`python -m weft.benchmarks.completion.edit_tasks`: what it is worth to know what was edited a moment ago.

Owns the settings, the run and the report. The tasks and their histories are in `edit_histories`, RepoEval's figures in
`benchmarks/repoeval/metrics.py`.

    python -m weft.benchmarks.completion.edit_tasks                    Weft's own history
    python -m weft.benchmarks.completion.edit_tasks --repository ../httpx ../flask --model transformers=DIRECTORY

A clone is known by the pinned commit that it holds.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...llm import Cancel, CodeModel, ModelError
from ...server.analysis import analyse
from ...server.completion import Cursor
from ...server.completion.asking import request_for, retrieve_at
from ...server.completion.showing import show
from ...server.completion.stopping import Stopping
from ...server.completion.surroundings import look_around
from ...server.completion.writing import write
from ...server.config import Config
from ...server.model_spelling import SPELLINGS, spelled_model
from ...server.outcome import CANNOT_BE_DONE, UserError
from ...server.recent_edits import RecentEdits
from ...server.settings import index_settings, retrieval_options
from ...server.snapshot import FolderSnapshot
from ...server.text import TextLines
from ..histories import OWN_REPOSITORY, NoHistory, commits_between
from ..repoeval.metrics import mean, paired_interval, score_completion, score_retrieval
from .edit_histories import HISTORIES, EditTask, History, edit_tasks
from .report import machine
from .work import ModelAsked, open_asked

MAX_NEW_TOKENS = 100

SETTINGS = {
    "saved": "the index knows what is on disk, nothing of this commit",
    "unsaved": "it knows the open buffers as well",
    "recent": "and the places edited last come first, as the server has it",
}
AGAINST = "unsaved"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a task in a setting, in percent; NaN where the task does not ask."""

    identifiers: float
    nearest_line: float
    exact_line: float
    exact_match: float
    edit_similarity: float
    unique: bool


COLUMNS: Mapping[str, Callable[[Row], float]] = {
    "identifiers": lambda row: row.identifiers,
    "nearest line": lambda row: row.nearest_line,
    "nearest, unique": lambda row: row.nearest_line if row.unique else math.nan,
    "same line": lambda row: row.exact_line,
    "EM": lambda row: row.exact_match,
    "ES": lambda row: row.edit_similarity,
    "EM unique": lambda row: row.exact_match if row.unique else math.nan,
    "ES unique": lambda row: row.edit_similarity if row.unique else math.nan,
}

Rows = dict[str, dict[str, list[Row]]]
"""By setting and repository, tasks in one order."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse_arguments(arguments)
    rows: Rows = {name: {} for name in SETTINGS}
    try:
        model = open_asked(ModelAsked(options.model, options.context))
        for repository in options.repository:
            history = _history_of(repository)
            for done in answered(repository, history, options.tasks, model):
                for name, row in done.items():
                    rows[name].setdefault(history.name, []).append(row)
            print(f"{history.name}: {len(rows[AGAINST][history.name])} tasks", file=sys.stderr, flush=True)
    except (ModelError, UserError) as error:
        print(error, file=sys.stderr)
        return CANNOT_BE_DONE
    print(report(rows, options.model))
    print(json.dumps({**machine(), "benchmark": "edits", "model": options.model, "settings": summary(rows)}))
    return 0


def report(rows: Rows, model: str) -> str:
    """Markdown: the repositories that weights were chosen on, those that confirm them, and each for itself."""
    parts = [f"Completions by {model}. In brackets the 95 % interval of the difference to {AGAINST}."]
    chosen = {history.name for history in HISTORIES if history.for_choosing}
    names = list(rows[AGAINST])
    groups = {
        "Repositories to choose on": [name for name in names if name in chosen],
        "Repositories to confirm on": [name for name in names if name not in chosen],
    }
    if all(groups.values()):
        groups["All"] = names
    for title, group in groups.items():
        if group:
            n_tasks = sum(len(rows[AGAINST][name]) for name in group)
            n_unique = sum(row.unique for name in group for row in rows[AGAINST][name])
            parts.append(f"### {title}\n\n{', '.join(group)}: {n_tasks} tasks, {n_unique} of lines that stand nowhere.")
            parts.append(_table({name: {repo: of[repo] for repo in group} for name, of in rows.items()}))
    parts.append("### By repository: identifiers, EM, ES")
    head = ["repository", "tasks", *rows]
    lines = [
        [repo, str(len(rows[AGAINST][repo])), *(" / ".join(_short(of[repo])) for of in rows.values())] for repo in names
    ]
    parts.append(_layout([head, *lines]))
    return "\n\n".join(parts)


def summary(rows: Rows) -> dict[str, dict[str, dict[str, float | None]]]:
    """The means by setting and repository, for machines."""
    return {
        name: {repo: {column: _or_none(_mean(value, of[repo])) for column, value in COLUMNS.items()} for repo in of}
        for name, of in rows.items()
    }


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m weft.benchmarks.completion.edit_tasks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--repository", nargs="+", type=Path, default=[OWN_REPOSITORY], metavar="PATH", help="clones, bare ones too"
    )
    parser.add_argument("--tasks", type=int, default=100, metavar="N", help="of each repository (100)")
    parser.add_argument("--model", default="workspace", metavar="BACKEND[=WHERE]", help=SPELLINGS)
    parser.add_argument("--context", type=int, default=4096, metavar="TOKENS", help="of prompt and answer (4096)")
    options = parser.parse_args(arguments)
    if spelled_model(options.model) is None:
        parser.error(f"--model {options.model} is no model. Give {SPELLINGS}.")
    return options


def _history_of(repository: Path) -> History:
    """The pinned history that a clone holds. Raises NoHistory."""
    for history in HISTORIES:
        try:
            commits_between(repository, f"{history.last_commit}^..{history.last_commit}")
        except NoHistory:
            continue
        return history
    names = ", ".join(history.name for history in HISTORIES)
    raise NoHistory(f"{repository} is no full clone of {names}. Clone one of them, or run `git fetch` in it.")


def answered(repository: Path, history: History, n_tasks: int, model: CodeModel | None) -> Iterator[dict[str, Row]]:
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


def _row(edit: EditTask, snapshot: FolderSnapshot, recent: RecentEdits, model: CodeModel | None) -> Row:
    """What retrieval finds and a model writes; `model` None is the snapshot's own. Raises ModelError."""
    task, config, cancel = edit.task, Config(), Cancel()
    asked: CodeModel = snapshot.model.with_threshold(0.0) if model is None else model
    lines = TextLines(f"{edit.prefix}\n{edit.suffix}")
    cursor = Cursor(task.path, lines, *lines.position(len(edit.prefix)), recent=recent)
    found = retrieve_at(snapshot, cursor, retrieval_options(config))
    request = request_for(
        snapshot,
        cursor,
        config,
        found.fragments,
        asked,
        single_line=True,
        max_new_tokens=MAX_NEW_TOKENS,
        cancel=cancel,
    )
    # Models keep the order of blocks that the last prompt for a file had; here no task may depend on another.
    request = replace(request, in_score_order=True)
    written = write(asked, request, Stopping(cursor, look_around(cursor), single_line=True), cancel)
    completion = score_completion(task.ground_truth, show(written, cursor, single_line=True).text)
    retrieval = score_retrieval(task, [ranked.fragment for ranked in found.fragments])
    return Row(
        identifiers=100 * retrieval.identifiers,
        nearest_line=100 * retrieval.similarity,
        exact_line=100 * retrieval.exact,
        exact_match=100 * completion.exact_match,
        edit_similarity=100 * completion.edit_similarity,
        unique=task.unique_in_repo,
    )


def _table(rows: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """Means over repositories."""
    against = {column: _values(value, rows[AGAINST]) for column, value in COLUMNS.items()}
    lines = [["setting", *COLUMNS]]
    for name, of in rows.items():
        cells = []
        for column, value in COLUMNS.items():
            values = _values(value, of)
            cell = f"{mean(map(mean, values.values())):.1f}"
            if name != AGAINST:
                cell += " [{:+.1f}, {:+.1f}]".format(*paired_interval(values, against[column]))
            cells.append(cell)
        lines.append([name, *cells])
    return _layout(lines)


def _values(value: Callable[[Row], float], of: Mapping[str, Sequence[Row]]) -> dict[str, list[float]]:
    return {repo: [value(row) for row in rows] for repo, rows in of.items()}


def _mean(value: Callable[[Row], float], rows: Iterable[Row]) -> float:
    return mean(map(value, rows))


def _short(rows: Sequence[Row]) -> list[str]:
    return [f"{_mean(COLUMNS[column], rows):.1f}" for column in ("identifiers", "EM", "ES")]


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 2)


def _layout(lines: Sequence[Sequence[str]]) -> str:
    rule = ["---"] * len(lines[0])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (lines[0], rule, *lines[1:]))


if __name__ == "__main__":
    raise SystemExit(main())
