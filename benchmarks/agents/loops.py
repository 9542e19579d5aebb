"""Scripted agents that look for the places of a task: one with Weft's `impact`, two with grep.

Owns what each reads and counts. Knows no commit. No model takes part: each agent follows a fixed rule, and tokens are
four bytes each.

- **impact**: calls `impact` with depth 1 and `others`, and follows its cursor to the end. Around places
  that match by name alone or that were not read it reads the lines, as the third agent does.
- **impact, resolved**: the same without `others`: lines where the name means another symbol are not shown.
- **grep with context**: `rg -n -w -C 5 NAME` in the source files of the language, as its output has it: the path once a
  file, a number before each line.
- **grep alone**: the same without context. It does not show in which function a line is, so an agent could not say what
  must change; it is a lower bound.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ...errors import InvalidArgument
from ...memory.strategy import estimate_tokens
from ...retrieval import RepositoryIndex
from ...server.agents.folders import Folder, Folders
from ...server.agents.impact import impact_of
from ...server.agents.navigation import BY_NAME, UNREAD
from ...server.agents.targets import find_target
from ...server.agents.tools import TOOLS
from ...server.agents.values import Answer, as_text, page
from ...server.workspace.workspace import Workspace
from .tasks import Place, Task, enclosing, word

CONTEXT = 5
LONGEST_LINE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """What an agent found and read."""

    places: frozenset[Place]
    n_tokens: int
    n_calls: int
    seconds: float = 0.0  # of processor time in the tools, per call


@dataclass(frozen=True, slots=True)
class Tree:
    """The repository before a commit: its workspace, whose index has the texts."""

    workspace: Workspace
    root: Path
    extensions: tuple[str, ...]

    @property
    def index(self) -> RepositoryIndex:
        return next(iter(self.workspace.indexes().values()))

    def sources(self) -> Iterator[tuple[str, list[str]]]:
        """The source files, with their lines."""
        for path, text in self.index.texts.items():
            if path.endswith(self.extensions):
                yield path, text.decode("utf-8", "replace").split("\n")


def with_impact(task: Task, tree: Tree, *, with_others: bool) -> Found:
    """The places that `impact` gives, page by page."""
    index = tree.index
    folders = Folders((Folder(tree.root, index),), tree.workspace)
    request = json.dumps(
        {"symbol": task.name, "path": task.path, "line": task.line + 1, "depth": 1, "others": with_others}
    )
    started = time.process_time()
    try:
        target = find_target(folders, task.name, task.path, task.line + 1)
        answer = impact_of(target, 1, with_others=with_others)
    except InvalidArgument as error:
        other = with_grep(task, tree, CONTEXT)
        tokens = estimate_tokens(request) + estimate_tokens(str(error)) + other.n_tokens
        return Found(other.places, tokens, other.n_calls + 1)
    seconds = time.process_time() - started
    n_tokens, n_calls = 0, 0
    for shown in _pages(answer):
        n_tokens += estimate_tokens(request) + estimate_tokens(as_text(shown))
        n_calls += 1
    places = {
        (entry.path, enclosing(index.graph.files[entry.path], line - 1))
        for entry in answer.entries
        for line in entry.lines
    }
    unsure: dict[str, list[int]] = {}
    for entry in answer.entries:
        if entry.section in (BY_NAME, UNREAD):
            unsure.setdefault(entry.path, []).extend(line - 1 for line in entry.lines)
    for path, lines in unsure.items():
        text = index.texts[path].decode("utf-8", "replace").split("\n")
        n_tokens += estimate_tokens(_shown(path, text, sorted(lines), CONTEXT))
        n_calls += 1
    return Found(frozenset(places), n_tokens, n_calls, seconds)


def with_grep(task: Task, tree: Tree, context: int) -> Found:
    """The places with the word, and the tokens of its lines with so many lines of context."""
    pattern = word(task.name)
    places, n_tokens = set[Place](), estimate_tokens(f"rg -n -w -C {context} {task.name} -g '*{tree.extensions[0]}'")
    for path, lines in tree.sources():
        hits = [number for number, line in enumerate(lines) if task.name in line and pattern.search(line)]
        if hits:
            n_tokens += estimate_tokens(_shown(path, lines, hits, context))
            places |= {(path, enclosing(tree.index.graph.files[path], number)) for number in hits}
    return Found(frozenset(places), n_tokens, 1)


AGENTS: Mapping[str, Callable[[Task, Tree], Found]] = {
    "impact": lambda task, tree: with_impact(task, tree, with_others=True),
    "impact, resolved": lambda task, tree: with_impact(task, tree, with_others=False),
    "grep with context": lambda task, tree: with_grep(task, tree, CONTEXT),
    "grep alone": lambda task, tree: with_grep(task, tree, 0),
}


def _pages(answer: Answer) -> Iterator[Answer]:
    shown = page(answer, "", TOOLS["impact"].limit)
    yield shown
    while shown.cursor:
        shown = page(answer, shown.cursor, TOOLS["impact"].limit)
        yield shown


def _shown(path: str, lines: Sequence[str], hits: Sequence[int], context: int) -> str:
    """The output of ripgrep for a file: its path, lines around hits once each, "--" between groups."""
    numbers = sorted({at for hit in hits for at in range(max(0, hit - context), min(len(lines), hit + context + 1))})
    marked = set(hits)
    shown = [path]
    for before, at in pairwise([-2, *numbers]):
        if before >= 0 and at > before + 1:
            shown.append("--")
        shown.append(f"{at + 1}{':' if at in marked else '-'}{lines[at][:LONGEST_LINE]}")
    return "\n".join(shown)
