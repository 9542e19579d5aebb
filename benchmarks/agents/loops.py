"""Scripted agents that look for the places of a task and read their code: with Weft's `impact`, and with grep.

Owns what each reads and counts. Knows no commit. No model takes part: each agent follows a fixed rule, and tokens are
four bytes each.

An agent first lists places, then reads the code of those that it keeps. The code of a place is the same for all agents:
the definition around it, or `WINDOW` lines around each of its lines where the definition is long or there is none. Grep
is told for nothing where definitions begin and end.

- **impact**: calls `impact` with its defaults for the definition and follows the cursor to the end. It reads what the
  answer calls a use, a test, a match by name, or a line in a file that was not read; not documents, callers of callers,
  comments, and lines where the name means another symbol.
- **impact, first page**: the same without following the cursor.
- **impact, all lines**: the first one, but it also reads comments, and lines where the name means another symbol.
- **grep with context**: `rg -n -w -C 5 NAME` in the source files of the language, as its output has it: the path once a
  file, a number before each line. It reads nothing more: the context is the code that it has.
- **grep**: the same without context. Nothing tells the lines apart, so it reads all but those in the definition itself.
- **grep, then its functions**: as the one before, then the same command for the name of each definition around a hit
  outside of tests, at most `MOST_SEARCHED`: what an agent does to find callers of callers. It lists, and reads nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ...codegraph import FileGraph, parse_file
from ...errors import InvalidArgument
from ...memory.strategy import estimate_tokens
from ...retrieval.questions import is_test
from ...server.agents.impact import OTHERS, OVERRIDDEN
from ...server.agents.navigation import BY_NAME, TESTS, TEXT, UNREAD
from ...server.agents.tools import answer_text, call_tool
from ...server.agents.values import Answer
from ...server.workspace.workspace import Workspace
from .tasks import Place, Task, definition_around, enclosing, word

CONTEXT = 5
WINDOW = 10
LONGEST_READ = 60
"""Lines of a definition that is read as a whole."""

LONGEST_LINE = 200
MOST_SEARCHED = 10

LIKELY = frozenset({"Uses", OVERRIDDEN, TESTS, BY_NAME, UNREAD})
"""The sections of an answer whose places the agent reads."""

WITH_THE_NAME = LIKELY | {TEXT, OTHERS}

Line = tuple[str, int]
"""A path and a 0-based line."""


@dataclass(frozen=True, slots=True)
class Found:
    """What an agent listed and read. `seconds` of processor time of the first call; 0.0 for grep."""

    places: frozenset[Place]
    read: frozenset[Place]
    n_tokens: int  # of requests and lists
    n_read_tokens: int  # of code
    n_calls: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Tree:
    """The repository before a commit: its workspace, and its files on disk, whether they are indexed or not."""

    workspace: Workspace
    root: Path
    extensions: tuple[str, ...]
    _texts: dict[str, str] = field(default_factory=dict)
    _graphs: dict[str, FileGraph] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in names if not name.startswith(".")]
            for name in files:
                if name.endswith(self.extensions):
                    path = Path(folder, name)
                    self._texts[path.relative_to(self.root).as_posix()] = path.read_text("utf-8", "replace")

    def lines(self, path: str) -> list[str]:
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text("utf-8", "replace")
        return self._texts[path].split("\n")

    def graph(self, path: str) -> FileGraph:
        if path not in self._graphs:
            files = next(iter(self.workspace.indexes().values())).graph.files
            self._graphs[path] = files.get(path) or parse_file(path, self._texts[path])
        return self._graphs[path]

    def hits(self, name: str) -> Iterator[Line]:
        """The lines of source files with the name, as a word."""
        pattern = word(name)
        for path, text in self._texts.items():
            if path.endswith(self.extensions) and name in text:
                for number, line in enumerate(self.lines(path)):
                    if name in line and pattern.search(line):
                        yield path, number

    def places(self, lines: Iterable[Line]) -> frozenset[Place]:
        return frozenset((path, enclosing(self.graph(path), line)) for path, line in lines)

    def is_inside(self, line: Line, task: Task) -> bool:
        """Whether a line is in the definition of the task, which the agent has before it."""
        definition = definition_around(self.graph(task.path), task.line)
        return (
            line[0] == task.path and definition is not None and definition.start_line <= line[1] < definition.end_line
        )

    def n_code_tokens(self, hits: Iterable[Line]) -> int:
        """The tokens of the code around lines: whole definitions, or windows."""
        wanted: dict[str, set[int]] = {}
        for path, line in hits:
            n_lines = len(self.lines(path))
            around = definition_around(self.graph(path), line)
            is_whole = around is not None and around.end_line - around.start_line <= LONGEST_READ
            shown = range(max(0, line - WINDOW), min(n_lines, line + WINDOW + 1))
            if around is not None and is_whole:
                shown = range(around.start_line, min(n_lines, around.end_line))
            wanted.setdefault(path, set()).update(shown)
        return sum(estimate_tokens(_shown(path, self.lines(path), lines)) for path, lines in wanted.items())


def with_impact(task: Task, tree: Tree, *, all_pages: bool = True, all_lines: bool = False) -> Found:
    """What `impact` lists with its defaults, and the code of the likely places, or of all."""
    request = {"symbol": task.name, "path": task.path, "line": task.line + 1}
    n_tokens, seconds = estimate_tokens(json.dumps(request)), time.process_time()
    try:
        pages = [call_tool(tree.workspace, "impact", request)]
    except InvalidArgument as error:
        grep = with_grep(task, tree)
        n_tokens += estimate_tokens(str(error)) + grep.n_tokens
        return Found(grep.places, grep.read, n_tokens, grep.n_read_tokens, grep.n_calls + 1)
    seconds = time.process_time() - seconds
    while pages[-1].cursor and all_pages:
        following = {**request, "cursor": pages[-1].cursor}
        n_tokens += estimate_tokens(json.dumps(following))
        pages.append(call_tool(tree.workspace, "impact", following))
    n_tokens += sum(estimate_tokens(answer_text(tree.workspace, shown)) for shown in pages)
    listed = list(_listed(pages))
    kept = [line for section, line in listed if section in LIKELY or (all_lines and line[0].endswith(tree.extensions))]
    places = tree.places(line for _, line in listed)
    return Found(places, tree.places(kept), n_tokens, tree.n_code_tokens(kept), len(pages), seconds)


def with_grep(task: Task, tree: Tree, context: int = 0) -> Found:
    """The lines with the word, with so many lines of context, or without context and then their code."""
    hits = list(tree.hits(task.name))
    places = tree.places(hits)
    n_tokens = _n_grep_tokens(task.name, hits, tree, context)
    if context:
        return Found(places, frozenset(), n_tokens, 0, 1)
    kept = [line for line in hits if not tree.is_inside(line, task)]
    return Found(places, tree.places(kept), n_tokens, tree.n_code_tokens(kept), 1)


def with_grep_of_functions(task: Task, tree: Tree) -> Found:
    """The lines with the word, then those with the names of the functions around them."""
    hits = list(tree.hits(task.name))
    n_tokens = _n_grep_tokens(task.name, hits, tree, 0)
    around = (definition_around(tree.graph(path), line) for path, line in hits if not is_test(path))
    names = [name for name in dict.fromkeys(each.name for each in around if each is not None) if name != task.name]
    for name in names[:MOST_SEARCHED]:
        more = list(tree.hits(name))
        n_tokens += _n_grep_tokens(name, more, tree, 0)
        hits += more
    return Found(tree.places(hits), frozenset(), n_tokens, 0, 1 + len(names[:MOST_SEARCHED]))


IMPACT, GREP, GREP_WITH_CONTEXT, GREP_OF_FUNCTIONS = "impact", "grep", "grep with context", "grep, then its functions"

AGENTS: Mapping[str, Callable[[Task, Tree], Found]] = {
    IMPACT: with_impact,
    "impact, first page": lambda task, tree: with_impact(task, tree, all_pages=False),
    "impact, all lines": lambda task, tree: with_impact(task, tree, all_lines=True),
    GREP_WITH_CONTEXT: lambda task, tree: with_grep(task, tree, CONTEXT),
    GREP: with_grep,
    GREP_OF_FUNCTIONS: with_grep_of_functions,
}


def _listed(pages: Iterable[Answer]) -> Iterator[tuple[str, Line]]:
    for shown in pages:
        for entry in shown.entries:
            for line in entry.lines:
                yield entry.section, (entry.path, line - 1)


def _n_grep_tokens(name: str, hits: Iterable[Line], tree: Tree, context: int) -> int:
    """The tokens of the command, and of its output."""
    by_file: dict[str, set[int]] = {}
    for path, line in hits:
        by_file.setdefault(path, set()).add(line)
    n_tokens = estimate_tokens(f"rg -n -w -C {context} {name} -g '*{tree.extensions[0]}'")
    for path, marked in by_file.items():
        lines = tree.lines(path)
        numbers = {at for hit in marked for at in range(max(0, hit - context), min(len(lines), hit + context + 1))}
        n_tokens += estimate_tokens(_shown(path, lines, numbers, marked))
    return n_tokens


def _shown(path: str, lines: Sequence[str], numbers: Iterable[int], marked: Iterable[int] = ()) -> str:
    """Lines of a file as ripgrep and tools that read files print them: the path, and a number before each line."""
    hits, shown = set(marked), [path]
    for before, at in pairwise([-2, *sorted(numbers)]):
        if before >= 0 and at > before + 1:
            shown.append("--")
        shown.append(f"{at + 1}{':' if at in hits else '-'}{lines[at][:LONGEST_LINE]}")
    return "\n".join(shown)
