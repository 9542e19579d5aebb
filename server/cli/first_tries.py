"""Chooses what a person can try first in a project: a completion that is shown, and a question that the index answers.

Owns the choice, which takes its examples from the project's own code: an end of a line that Weft writes again once it
is deleted, and a function with callers in several files. Stops at a time limit. Knows no terminal.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from ...languages import language_of
from ...retrieval import RepositoryIndex
from ...retrieval.questions import is_document, is_test
from ..workspace.workspace import Workspace

SEARCH_S = 1.5
"""Time limit of each of the two searches."""
N_FILES = 60
"""Files that are searched, spread over the project."""
N_TRIES = 60
LONGEST_FILE = 100_000
"""Bytes of a file; the text around a cursor in a longer one takes too long to read."""
MIN_ADDED, GOOD_ADDED = 8, 20
"""Characters of a completion: the least, and as many as end the search."""
MIN_NAME = 5
CALLERS = range(2, 13)
"""Calls of a good example."""

_START = re.compile(r"(?<=\w[.(])(?=\w)|(?<== )(?=\w)")
"""Places within a line where its rest may be deleted: behind a dot, an opening bracket, an equals sign."""


@dataclass(frozen=True, slots=True)
class CompletionToTry:
    """The end of a line that Weft writes when it is deleted. 0-based line and character."""

    path: str
    line: int
    character: int
    before: str  # the line up to the cursor
    added: str
    confidence: float


def completion_to_try(workspace: Workspace, folder: Path, index: RepositoryIndex) -> CompletionToTry | None:
    """The longest completion found that is shown while typing and is what the line says; None without one."""
    best: CompletionToTry | None = None
    ends = time.monotonic() + SEARCH_S
    texts = {path: index.texts[path].decode("utf-8") for path in _spread(index)}
    for path, line, character in _cursors(texts):
        if time.monotonic() > ends:
            return best
        found = _completed(workspace, folder, path, texts[path], line, character)
        if found is not None and (best is None or len(found.added) > len(best.added)):
            best = found
            if len(found.added) >= GOOD_ADDED:
                return best
    return best


def question_to_try(index: RepositoryIndex) -> str:
    """A question about a function with a name of its own and callers in several files; "" without one."""
    ends = time.monotonic() + SEARCH_S
    fallback = ""
    for path in _spread(index):
        for definition in index.graph.files[path].definitions:
            if time.monotonic() > ends:
                return fallback
            name = definition.qualified_name
            if len(definition.name) < MIN_NAME or definition.name.startswith("_"):
                continue
            fallback = fallback or f"Where is {name} defined?"
            if len(index.graph.calling_files(path, name)) < 2:
                continue
            if len(index.graph.callers(path, name)) in CALLERS:
                return f"What calls {name}?"
    return fallback


def without_rest(text: str, line: int, character: int) -> str:
    """A text without the rest of one line."""
    lines = text.split("\n")
    return "\n".join([*lines[:line], lines[line][:character], *lines[line + 1 :]])


def _spread(index: RepositoryIndex) -> Iterator[str]:
    """Files of code that are no tests, spread evenly over the sorted paths; all others if there is none."""
    code = [path for path in sorted(index.texts) if language_of(path).grammar is not None and not is_document(path)]
    paths = [path for path in code if not is_test(path)] or code
    step = max(1, len(paths) // N_FILES)
    for path in paths[step // 2 :: step][:N_FILES]:
        if len(index.texts[path]) <= LONGEST_FILE:
            yield path


def _cursors(texts: Mapping[str, str]) -> list[tuple[str, int, int]]:
    """Places as path, line and character where at least `MIN_ADDED` characters follow, the likeliest first.

    In two repositories a completion is shown and right at every second place behind a dot in a line that occurs again,
    and at every eighth in one that does not.
    """
    n_times = Counter(line.strip() for text in texts.values() for line in text.split("\n"))
    places = []
    for path, text in texts.items():
        for number, line in enumerate(text.split("\n")):
            for start in _START.finditer(line) if line.isascii() else ():
                if len(line) - start.start() >= MIN_ADDED:
                    order = n_times[line.strip()] == 1, line[start.start() - 1] != "."
                    places.append((order, (path, number, start.start())))
    places.sort(key=itemgetter(0))  # stable: places of one kind stay in the order of the files
    n_best = sum(order == places[0][0] for order, _ in places)
    step = max(1, n_best // N_TRIES)
    return [place for _, place in (*places[:n_best:step], *places[n_best:])][:N_TRIES]


def _completed(
    workspace: Workspace, folder: Path, path: str, text: str, line: int, character: int
) -> CompletionToTry | None:
    whole = text.split("\n")[line]
    completion = workspace.complete(folder / path, line, character, text=without_rest(text, line, character))
    added = completion.text.rstrip()
    is_right = completion.start == (line, character) and whole.startswith(added, character)
    if len(added) < MIN_ADDED or not is_right:
        return None
    return CompletionToTry(path, line, character, whole[:character], added, completion.confidence or 0.0)
