"""Commits for next edits: pinned histories, the choice of commits, their hunks, and the order of the replay.

Owns the split into repositories for fitting and for reporting, the rules of choice and the order. Knows no suggestion.

A commit is chosen when it has 2 to 30 hunks in source files; merges, vendored and generated files do not count. The
hash of a commit's name decides which of them are taken. A history does not hold the order of work, so it is assumed:
files in the order of `histories.edits_of` (code, then tests), but a file that changes or adds definitions before those
that use them; each file from the top to the bottom, hunks of import lines alone last. `reverse` is the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

from ...retrieval.fragments import normalise
from ..histories import FileEdit, Hunk, commits_between, edits_of, hunks_between
from ..typed.commits import FOR_FITTING, FOR_REPORTING, TypedHistory, is_source
from ..typed.commits import HISTORIES as TYPED_HISTORIES
from .facts import FileFacts, HunkFacts

Order = Literal["forward", "reverse"]

LEAST_HUNKS, MOST_HUNKS = 2, 30
MOST_LINES = 400
"""Removed and added lines of a commit. Larger commits are made by tools, or over days."""

LONGEST_BESIDE = 3000
"""Lines of a document or data file beside the sources; longer ones are lock files and the like."""

LATEST = 1000
"""Commits are taken from so many latest ones of a history."""

_TYPESCRIPT, _GO = (".ts", ".tsx"), (".go",)
_FROM_TYPED = {
    *("encode/httpx", "pallets/flask", "Textualize/rich", "honojs/hono", "trpc/trpc", "vitejs/vite"),
    *("gin-gonic/gin", "cli/cli", "gitleaks/gitleaks"),
    *("python-attrs/attrs", "simonw/sqlite-utils", "scrapy/scrapy", "TanStack/query", "excalidraw/excalidraw"),
    *("caddyserver/caddy", "charmbracelet/bubbletea"),
}

HISTORIES = (
    *(history for history in TYPED_HISTORIES if history.name in _FROM_TYPED),
    TypedHistory("typeorm/typeorm", "281bfba42a5813b106bcf5ba79bc7f7251bd1e73", _TYPESCRIPT, FOR_REPORTING),
    TypedHistory("gohugoio/hugo", "7b5199fdeff7d7682e9f979f468d55bc7b67b934", _GO, FOR_REPORTING),
)
"""Three repositories of each language for fitting, three for reporting; the pins are those of `weft bench typed`."""

PURPOSES = (FOR_FITTING, FOR_REPORTING)


@dataclass(frozen=True, slots=True)
class Step:
    """One hunk: lines `old_start` to `old_end` of the text before the commit become `added`. 0-based, half-open."""

    path: str
    old_start: int
    removed: tuple[str, ...]
    new_start: int
    added: tuple[str, ...]

    @property
    def old_end(self) -> int:
        return self.old_start + len(self.removed)

    @property
    def new_end(self) -> int:
        return self.new_start + len(self.added)


@dataclass(frozen=True, slots=True)
class ReplayedCommit:
    """A commit: its edits of source files, and its edits of other text files, which are not replayed."""

    commit: str
    edits: tuple[FileEdit, ...]
    beside: tuple[FileEdit, ...] = ()

    def steps(self, order: Order) -> tuple[tuple[Step, ...], tuple[HunkFacts, ...]]:
        """The hunks in the order of the replay, and the facts of each."""
        pairs = _pairs(self) if order == "forward" else _pairs(self)[::-1]
        return tuple(step for step, _ in pairs), tuple(facts for _, facts in pairs)


@lru_cache(maxsize=64)
def replayed_commits(repository: Path, history: TypedHistory, n_commits: int) -> tuple[ReplayedCommit, ...]:
    """At most so many commits of a history, chosen by hash, oldest first. Raises NoHistory."""
    _, *commits = commits_between(repository, history.last_commit)  # the first one has nothing before it
    latest = commits[-LATEST:]
    chosen = list[ReplayedCommit]()
    for commit in sorted(latest, key=lambda name: sha256(f"next-edit:{name}".encode()).hexdigest()):
        if len(chosen) == n_commits:
            break
        if (found := _replayed(repository, commit, history.extensions)) is not None:
            chosen.append(found)
    place = {commit: number for number, commit in enumerate(latest)}
    return tuple(sorted(chosen, key=lambda each: place[each.commit]))


def steps_of(edit: FileEdit) -> list[Step]:
    """The hunks of a file from the top."""
    old, new = edit.before.split("\n"), edit.after.split("\n")
    n_above = _n_common(old, new)
    n_below = _n_common(old[n_above:][::-1], new[n_above:][::-1])
    # Equal lines at both ends are left out: the comparison is slow for long files.
    hunks = hunks_between(_joined(old[n_above : len(old) - n_below]), _joined(new[n_above : len(new) - n_below]))
    steps, n_more = [], 0
    for hunk in hunks:
        step = _step(edit.path, hunk, n_above, n_more)
        n_more += len(step.added) - len(step.removed)
        steps.append(step)
    return steps


def is_edited_by_hand(path: str, text: str, extensions: tuple[str, ...]) -> bool:
    """Whether a file is source code, neither vendored nor generated."""
    head = "\n".join(text.split("\n", 10)[:10])
    return is_source(path, extensions) and not _GENERATED_PATH.search(path) and not _GENERATED_TEXT.search(head)


_GENERATED_PATH = re.compile(r"(\.pb|_pb2|_pb|[._]gen(erated)?|_string)\.\w+$|(^|/)(_*generated_*|snapshots?)/")
_GENERATED_TEXT = re.compile(r"code generated|@generated|do not edit|auto-?generated", re.IGNORECASE)


def _replayed(repository: Path, commit: str, extensions: tuple[str, ...]) -> ReplayedCommit | None:
    """The commit, if it is one to replay."""
    source, beside = list[FileEdit](), list[FileEdit]()
    for edit in edits_of(repository, [commit]):
        edit = replace(edit, before=normalise(edit.before), after=normalise(edit.after))
        if edit.before == edit.after:
            continue
        if is_edited_by_hand(edit.path, edit.after, extensions):
            source.append(edit)
        elif edit.before.count("\n") + edit.after.count("\n") <= 2 * LONGEST_BESIDE:
            beside.append(edit)
    if not source or sum(abs(edit.after.count("\n") - edit.before.count("\n")) for edit in source) > MOST_LINES:
        return None
    steps = [step for edit in source for step in steps_of(edit)]
    n_lines = sum(len(step.removed) + len(step.added) for step in steps)
    if not LEAST_HUNKS <= len(steps) <= MOST_HUNKS or n_lines > MOST_LINES:
        return None
    return ReplayedCommit(commit, tuple(source), tuple(beside))


def _step(path: str, hunk: Hunk, n_above: int, n_more: int) -> Step:
    start = n_above + hunk.start_line
    return Step(path, start, _split(hunk.removed), start + n_more, _split(hunk.text))


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


def _n_common(one: Sequence[str], other: Sequence[str]) -> int:
    shorter = min(len(one), len(other))
    return next((n for n in range(shorter) if one[n] != other[n]), shorter)


_File = list[tuple[Step, HunkFacts]]


@lru_cache(maxsize=1024)
def _pairs(commit: ReplayedCommit) -> _File:
    """The hunks of a commit in order, with their facts."""
    files = []
    for edit in commit.edits:
        facts = FileFacts.of(edit.path, edit.before, edit.after)
        steps = steps_of(edit)
        hunks = [facts.of_hunk(step.old_start, step.removed, step.new_start, step.added) for step in steps]
        files.append(sorted(zip(steps, hunks, strict=True), key=lambda each: each[1].is_import_only))
    return [pair for file in _definitions_first(files) for pair in file]


def _definitions_first(files: Sequence[_File]) -> Iterator[_File]:
    """The files in their order, but those that define names before those that use them, where there is no circle."""
    left = list(files)
    while left:
        free = [file for file in left if not any(_precedes(other, file) for other in left if other is not file)]
        taken = free[0] if free else left[0]
        left = [file for file in left if file is not taken]
        yield taken


def _precedes(one: _File, other: _File) -> bool:
    return _defines_for(one, other) and not _defines_for(other, one)


def _defines_for(one: _File, other: _File) -> bool:
    defined = {name for _, facts in one for name in facts.defined}
    return any(not defined.isdisjoint(facts.changed_names) for _, facts in other)
