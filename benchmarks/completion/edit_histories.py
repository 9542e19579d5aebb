"""Completion tasks from git histories: a line that a commit added, after its other edits, none of them saved.

Owns the pinned histories and the rules by which lines are drawn. Knows no retrieval, no model and no score.

A commit is replayed hunk by hunk, file by file: code, then tests; each file from the top. This order is an assumption,
since a history does not hold it. A hunk's removed lines go first, then its lines are typed. A task is a line of such a
hunk: the cursor is at the place of the line, the commit's edits before it are done, those behind it are not. The rules
for lines are those of RepoEval's line tasks (`benchmarks/repoeval/tasks.py`), and two more: the hunk is not the first
of its commit, and the line resembles no removed line of its hunk, which an editor would change in place.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...retrieval.fragments import normalise
from ...server.workspace.recent_edits import RecentEdits
from ..histories import FileEdit, commits_between, edits_of, files_at, hunks_between
from ..repoeval.sources import parse_source
from ..repoeval.task_languages import PYTHON
from ..repoeval.tasks import SEED, Task, make_task, target_lines
from ..similarity import best_similarity

MAX_HUNKS, MAX_LINES = 40, 400
"""Commits above these sizes are made by tools, or over days."""

TASKS_PER_COMMIT = 3
SECONDS_PER_EDIT = 10.0
IN_PLACE = 0.5
"""A line with this similarity to a removed line is a change of it."""


@dataclass(frozen=True, slots=True)
class History:
    """A repository on GitHub, the commit to begin at, going back, and whether weights may be chosen on it."""

    name: str
    last_commit: str
    for_choosing: bool


HISTORIES = (
    History("encode/httpx", "ae1b9f66238f75ced3ced5e4485408435de10768", for_choosing=True),
    History("pallets/flask", "2ac89889f4cc330eabd50f295dcef02828522c69", for_choosing=True),
    History("Textualize/rich", "42899d8a0a96b121a514516f4be9db44ff7aeaf3", for_choosing=True),
    History("python-poetry/poetry", "f46702336862f30050d5c641d5ed6f7568ded793", for_choosing=True),
    History("python-attrs/attrs", "c1dc5dcba16ed827aa6dcad896b41a3afedb4e32", for_choosing=False),
    History("simonw/sqlite-utils", "56dd09702fdb9e899f577ffd51693c1f2176cb08", for_choosing=False),
    History("scrapy/scrapy", "11079cb1c85b9e75a39a7269943c69d1a975d485", for_choosing=False),
    History("weft", "1f92ea6805ca0b19dabbae890b43fd69997af1d6", for_choosing=False),
)
"""Half of them to choose weights, half to confirm them."""


@dataclass(frozen=True, slots=True)
class EditTask:
    """A line to complete. `suffix` is the text behind the line break of the missing line."""

    task: Task
    prefix: str
    suffix: str
    unsaved: Mapping[str, str]  # the texts of files that were edited in this commit so far, by path
    recent: RecentEdits


@dataclass(frozen=True, slots=True)
class CommitTasks:
    """The tasks of one commit, and the files they begin with: those of its parent."""

    commit: str
    files: Mapping[str, str]
    tasks: tuple[EditTask, ...]


def edit_tasks(repository: Path, history: History, n_tasks: int) -> Iterator[CommitTasks]:
    """The last commits of a history that give tasks, `n_tasks` in all, the newest first. Always the same ones.

    Raises NoHistory.
    """
    repo = history.name.rpartition("/")[2]
    targets: set[str] = set()
    _, *commits = commits_between(repository, history.last_commit)  # the first one has nothing before it
    for commit in reversed(commits):
        if len(targets) == n_tasks:
            return
        edits = [edit for edit in edits_of(repository, [commit]) if _is_source(edit.path)]
        if not _typed_by_hand(edits):
            continue
        files = {path: normalise(text) for path, text in files_at(repository, f"{commit}^") if _is_source(path)}
        rng = random.Random(f"{SEED}:{repo}:{commit}")
        by_target = {_target(task): task for task in tasks_of(repo, commit, edits, files, rng)}
        found = [task for target, task in by_target.items() if target not in targets]
        drawn = rng.sample(found, min(len(found), TASKS_PER_COMMIT, n_tasks - len(targets)))
        targets.update(map(_target, drawn))
        if drawn:
            yield CommitTasks(commit, files, tuple(drawn))


def tasks_of(
    repo: str, commit: str, edits: Iterable[FileEdit], files: Mapping[str, str], rng: random.Random
) -> Iterator[EditTask]:
    """One line of every hunk but the first that has a fitting one; `files` are those of the commit's parent."""
    replay = _Replay(files)
    for edit in edits:
        before, after = normalise(edit.before), normalise(edit.after)
        source = parse_source(edit.path, after, "")
        fitting = frozenset(target_lines(source))
        old, new, n_more = before.split("\n"), after.split("\n"), 0
        for hunk in hunks_between(before, after):
            removed, rest = old[hunk.start_line : hunk.end_line], old[hunk.end_line :]
            start = hunk.start_line + n_more
            end = start + len(hunk.text.removesuffix("\n").split("\n")) * bool(hunk.text)
            n_more = end - hunk.end_line
            replay.write(edit.path, new[:start] + rest, removed=removed)
            lines = [line for line in range(start, end) if line in fitting and not _resembles(new[line], removed)]
            if lines and replay.n_hunks:
                line = rng.choice(lines)
                replay.write(edit.path, [*new[:line], "", *rest], added=new[start:line])
                n_standing = replay.standing + Counter([new[line].strip()])
                task = make_task(f"{repo}/edit/{commit[:10]}-{replay.n_hunks}", source, line, new[line], n_standing)
                prefix, suffix = "\n".join([*new[:line], ""]), "\n".join(rest)
                yield EditTask(task, prefix, suffix, dict(replay.unsaved), replay.recent)
                start = line
            replay.write(edit.path, new[:end] + rest, added=new[start:end])
            replay.n_hunks += 1


def _is_source(path: str) -> bool:
    *folders, name = path.split("/")
    hidden = any(folder.startswith(".") or folder.lstrip("_") in PYTHON.skipped_folders for folder in folders)
    return name.endswith(".py") and not hidden and PYTHON.skipped_files.search(name) is None


def _typed_by_hand(edits: Sequence[FileEdit]) -> bool:
    hunks = [hunk for edit in edits for hunk in edit.hunks]
    n_lines = sum(hunk.removed.count("\n") + hunk.text.count("\n") for hunk in hunks)
    return 1 < len(hunks) <= MAX_HUNKS and n_lines <= MAX_LINES


def _target(task: EditTask) -> str:
    return task.task.ground_truth_line.strip()


def _resembles(line: str, removed: Iterable[str]) -> bool:
    return best_similarity(line.strip(), (other.strip() for other in removed)) >= IN_PLACE


class _Replay:
    """The buffers while a commit is typed, the lines of the repository, and the edits so far."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._second = 0.0
        self.unsaved: dict[str, str] = {}
        self.standing = Counter(line.strip() for text in files.values() for line in text.split("\n"))
        self.recent = RecentEdits()
        self.n_hunks = 0

    def write(self, path: str, lines: Sequence[str], removed: Iterable[str] = (), added: Iterable[str] = ()) -> None:
        """The file has these lines now; some of them were removed or added."""
        before, after = self.unsaved.get(path, self._files.get(path, "")), "\n".join(lines)
        self._second += SECONDS_PER_EDIT
        self.recent = self.recent.with_edit(path, before, after, self._second)
        self.unsaved[path] = after
        self.standing.subtract(line.strip() for line in removed)
        self.standing.update(line.strip() for line in added)
