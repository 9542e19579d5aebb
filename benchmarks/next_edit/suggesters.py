"""What suggests next edits: Weft's workspace, and two baselines that know texts and history alone.

Owns the baselines and the form in which all are asked. Knows no score.

- **weft**: `Workspace.next_edits` over the tree of the parent commit, with the edits in unsaved buffers.
- **weft with a model**: the same with the models of the user's configuration. Not compared by default.
- **next occurrence**: the next three occurrences of the last edited name, as a jump to it offers them: first down the
  file from the cursor, then from its top, then in the other source files by path. The last edited name is the one that
  the hunk substitutes, which is replaced at the occurrence; else the last name in its new tokens, and the occurrence is
  a place without a text.
- **co-changed files**: the three source files that the latest commits before this one changed most often together
  with the edited file. git knows no place in a file.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from ...server.config import Config, load_config
from ...server.next_edit import NextEdit
from ...server.next_edit.values import Situation
from ...server.workspace.process import freeze_garbage_collector
from ...server.workspace.workspace import Workspace
from ..typed.replay import Tree
from .commits import ReplayedCommit, Step
from .facts import HunkFacts, is_name
from .offers import Offer

MARKED = "marked"
"""Part of the kind of offers that a list shows unchecked."""

LIMIT = 20
"""Offers that are requested of Weft."""

N_JUMPS = 3
"""Offers of a baseline: those that the figures read."""

MODEL_SECONDS = 120.0
"""Time limit of one answer of a model: its quality is measured, not this machine."""

N_COMMITS_BEFORE = 2000
"""Commits that are read for co-changed files."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state after a hunk: the hunk, the text of its file, and the position at its end."""

    step: Step
    facts: HunkFacts
    before: str
    text: str
    line: int
    character: int


class Suggester(Protocol):
    """Suggests edits of one commit. It is told of every hunk, and then asked."""

    def edit(self, moment: Moment) -> None:
        """A hunk was made."""

    def offers(self, moment: Moment) -> Sequence[Offer]:
        """What follows, best first."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a suggester may begin with: the clone, the commit, the work folder, and its parent's source files."""

    repository: Path
    commit: ReplayedCommit
    tree: Tree
    folder: Path
    cache_dir: Path
    files: Mapping[str, str]


class WeftSuggester:
    """Weft's workspace with unsaved buffers."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self._workspace = workspace
        self._folder = folder
        self._versions: dict[str, int] = {}

    def edit(self, moment: Moment) -> None:
        path = self._folder / moment.step.path
        if moment.step.path not in self._versions:
            self._versions[moment.step.path] = 0
            path.parent.mkdir(parents=True, exist_ok=True)
            self._workspace.open_buffer(path, moment.before, 0)
        self._versions[moment.step.path] += 1
        self._workspace.edit_buffer(path, moment.text, self._versions[moment.step.path])

    def offers(self, moment: Moment) -> Sequence[Offer]:
        found = self._workspace.next_edits(self._folder / moment.step.path, moment.line, moment.character, limit=LIMIT)
        return [
            Offer(_kind(each), each.path, each.start, each.end, each.new, each.reason, each.confidence)
            for each in found
        ]

    def situation(self, moment: Moment) -> Situation | None:
        path = self._folder / moment.step.path
        return self._workspace.next_edits_of.situation(path, moment.line, moment.character)


class OccurrenceSuggester:
    """The next occurrences of the last edited name."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    def edit(self, moment: Moment) -> None:
        self._files[moment.step.path] = moment.text

    def offers(self, moment: Moment) -> Sequence[Offer]:
        name, new = _last_edited(moment.facts)
        if not name:
            return []
        pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        offers = list[Offer]()
        others = (path for path in sorted(self._files) if path != moment.step.path)
        for path in (moment.step.path, *others):
            if name not in self._files[path]:
                continue
            found = _occurrences(path, self._files[path], pattern, new)
            if path == moment.step.path:
                end = moment.line, moment.character
                first = moment.line - len(moment.step.added) + 1
                outside = [each for each in found if each.start is not None and not first <= each.start[0] <= end[0]]
                found = sorted(outside, key=lambda each: (each.start is not None and each.start < end, each.start))
            offers += found[: N_JUMPS - len(offers)]
            if len(offers) == N_JUMPS:
                break
        return offers


class CoChangedSuggester:
    """The files that were changed together with the edited one before."""

    def __init__(self, changes: Sequence[AbstractSet[str]]) -> None:
        self._changes = changes

    def edit(self, moment: Moment) -> None:
        """History does not change while a commit is written."""

    def offers(self, moment: Moment) -> Sequence[Offer]:
        together = Counter[str]()
        for paths in self._changes:
            if moment.step.path in paths:
                together.update(paths)
        del together[moment.step.path]
        ranked = sorted(together.items(), key=lambda each: (-each[1], each[0]))
        return [Offer("co-changed", path) for path, _ in ranked[:N_JUMPS]]


def weft(opening: Opening) -> AbstractContextManager[WeftSuggester]:
    return _weft(opening, Config())


def weft_with_a_model(opening: Opening) -> AbstractContextManager[Suggester]:
    return _weft(opening, config_with_models())


def config_with_models() -> Config:
    """The defaults with the user's models and settings of next edits, and time for each answer."""
    user, _ = load_config()
    return Config(model=user.model, next_edits=replace(user.next_edits, max_seconds=MODEL_SECONDS))


@contextmanager
def _weft(opening: Opening, config: Config) -> Iterator[WeftSuggester]:
    opening.tree.go_to(f"{opening.commit.commit}^")
    config = replace(config, cache_dir=str(opening.cache_dir))
    with closing(Workspace([opening.folder], config)) as workspace:
        workspace.index()
        freeze_garbage_collector()  # as the server does after an index run
        yield WeftSuggester(workspace, opening.folder)


@contextmanager
def next_occurrence(opening: Opening) -> Iterator[Suggester]:
    yield OccurrenceSuggester(opening.files)


@contextmanager
def co_changed(opening: Opening) -> Iterator[Suggester]:
    changes = _changes_before(opening.repository, opening.commit.commit)
    yield CoChangedSuggester([paths & opening.files.keys() for paths in changes])


WITH_MODEL = "weft with a model"

SYSTEMS: Mapping[str, Callable[[Opening], AbstractContextManager[Suggester]]] = {
    "weft": weft,
    "next occurrence": next_occurrence,
    "co-changed files": co_changed,
    WITH_MODEL: weft_with_a_model,
}
"""What can be compared, by name."""

WITHOUT_MODEL = [name for name in SYSTEMS if name != WITH_MODEL]
"""What is compared by default."""


def _kind(edit: NextEdit) -> str:
    return f"{edit.kind}, {MARKED}" if edit.is_marked else edit.kind


def _last_edited(facts: HunkFacts) -> tuple[str, str | None]:
    """The last name that a hunk edits, and what becomes of its occurrences; None if that is not known."""
    for old, new in reversed(facts.edits):
        if len(old) == len(new):
            for a, b in reversed(list(zip(old, new, strict=True))):
                if a != b and is_name(a) and is_name(b):
                    return a, b
        for token in reversed(new):
            if is_name(token):
                return token, None
    return "", None


def _occurrences(path: str, text: str, pattern: re.Pattern[str], new: str | None) -> list[Offer]:
    found = []
    for number, line in enumerate(text.split("\n")):
        for match in pattern.finditer(line):
            found.append(Offer("occurrence", path, (number, match.start()), (number, match.end()), new))
    return found


@lru_cache(maxsize=4)
def _changes_before(repository: Path, commit: str) -> tuple[frozenset[str], ...]:
    """The paths that each of the latest commits before a commit changed."""
    options = ("--no-merges", "--no-renames", "--name-only", "-z", "--format=%x01")
    command = ["git", "-C", str(repository), "log", f"-{N_COMMITS_BEFORE}", *options, f"{commit}^"]
    log = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "surrogateescape")
    return tuple(frozenset(filter(None, part.replace("\n", "").split("\0"))) for part in log.split("\x01") if part)
