"""Tasks "find what must change" from real commits: a changed definition, and other places that the commit changed.

Owns the choice of the definition and what a place is. Commits are those of `weft bench next-edit`. Knows no tool.

Of a commit the task is the first definition outside of tests, in the order of its hunks, whose header a hunk changes
and that has places. A place is a file and the innermost definition around a changed line. There are two kinds:

- **with the name**: the removed lines of other hunks have the name of the definition.
  In some of them it has another meaning: in the changed lines it is a parameter or a local variable of the definition
  around, or a word of a comment or a string. They count as places, and recall is given without them, too.
- **without the name**: other definitions that do not have the name at all, and whose hunk changes a name that the hunk
  of the header changes too, such as a parameter that is passed on or a type that overrides share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ...codegraph import Definition, FileGraph, parse_file
from ...codegraph.symbol_table import is_class
from ...retrieval.questions import is_test
from ...server.symbols.occurrences import is_in_macro, is_name_at, is_parsed
from ...server.symbols.part_trees import Part, tree_of
from ..histories import FileEdit
from ..next_edit.commits import ReplayedCommit, Step, replayed_commits, steps_of
from ..next_edit.facts import FileFacts
from ..typed.commits import TypedHistory

LEAST_NAME = 3
"""Letters of a name; shorter ones are found everywhere."""

N_COMMITS = 100
"""Commits of a history that are looked at."""

Place = tuple[str, str]
"""A path, and the qualified name of the definition there; "" at the top level."""


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is defined at `line` (0-based) of `path` before the commit; places of both kinds are to be found."""

    repository: str
    commit: str
    path: str
    line: int
    name: str
    places: frozenset[Place]
    nameless: frozenset[Place] = frozenset()
    unrelated: frozenset[Place] = frozenset()  # places in which the name has another meaning


def tasks_of(repository: Path, history: TypedHistory, n_tasks: int) -> Iterator[Task]:
    """The first tasks of a history with places of each kind, in the order of its commits; one of a commit at most."""
    n_named = n_nameless = 0
    for commit in replayed_commits(repository, history, N_COMMITS):
        task = task_of(history.name, commit)
        if task is None:
            continue
        is_wanted = (task.places and n_named < n_tasks) or (task.nameless and n_nameless < n_tasks)
        if is_wanted:
            n_named += bool(task.places)
            n_nameless += bool(task.nameless)
            yield task
        if n_named >= n_tasks and n_nameless >= n_tasks:
            return


def task_of(repository: str, commit: ReplayedCommit) -> Task | None:
    """The task of a commit; None if no changed definition has other changed places."""
    before = _Before.of(commit)
    for step in before.steps:
        if is_test(step.path):
            continue
        for definition in before.graphs[step.path].definitions:
            if step.old_start <= definition.header_line < step.old_end and len(definition.name) >= LEAST_NAME:
                places = frozenset(before.places_with_name(definition, step.path))
                nameless = frozenset(before.places_without_name(definition, step))
                if places or nameless:
                    found = step.path, definition.header_line, definition.name
                    unrelated = places - frozenset(before.uses(definition, step.path))
                    return Task(repository, commit.commit, *found, places, nameless, unrelated)
    return None


def definition_around(graph: FileGraph, line: int) -> Definition | None:
    """The innermost definition around a line (0-based)."""
    around = (each for each in graph.definitions if each.start_line <= line < each.end_line)
    return max(around, key=lambda each: (each.start_line, -each.end_line), default=None)


def enclosing(graph: FileGraph, line: int) -> str:
    """The qualified name of the innermost definition around a line; "" at the top level."""
    innermost = definition_around(graph, line)
    return "" if innermost is None else innermost.qualified_name


def word(name: str) -> re.Pattern[str]:
    """The name as a whole word."""
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


@dataclass(frozen=True, slots=True)
class _Before:
    """The files of a commit before it, their graphs, and the hunks with the names that each changes."""

    edits: Mapping[str, FileEdit]
    lines: Mapping[str, Sequence[str]]
    graphs: Mapping[str, FileGraph]
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, commit: ReplayedCommit) -> _Before:
        edits = [edit for edit in commit.edits if edit.before]
        return cls(
            {edit.path: edit for edit in edits},
            {edit.path: edit.before.split("\n") for edit in edits},
            {edit.path: parse_file(edit.path, edit.before) for edit in edits},
            tuple(step for edit in edits for step in steps_of(edit)),
        )

    def places_with_name(self, definition: Definition, path: str) -> Iterator[Place]:
        """The places outside of the definition and of the comment above it whose removed lines have its name."""
        for other_path, line, _ in self._words(definition, path):
            yield other_path, enclosing(self.graphs[other_path], line)

    def uses(self, definition: Definition, path: str) -> Iterator[Place]:
        """Of these places those where the name is in code, and neither a parameter nor a local variable."""
        for other_path, line, column in self._words(definition, path):
            is_use = self._is_code(other_path, line, column) and not self._is_local(
                other_path, line, column, definition
            )
            if is_use:
                yield other_path, enclosing(self.graphs[other_path], line)

    def _words(self, definition: Definition, path: str) -> Iterator[tuple[str, int, int]]:
        """The path, line and column of each removed name of the definition outside of it and of the comment above."""
        pattern = word(definition.name)
        above = self._comment_above(definition, path)
        for step in self.steps:
            for at, text in enumerate(step.removed, step.old_start):
                if not (_is_inside(definition, path, step.path, at) or (step.path == path and at in above)):
                    for found in pattern.finditer(text):
                        yield step.path, at, found.start()

    def _is_code(self, path: str, line: int, column: int) -> bool:
        """Whether the word at a place is a name of code or in a macro, as far as a grammar reads the file."""
        lines, graph = self.lines[path], self.graphs[path]
        if not is_parsed(graph):
            return True
        source = self.edits[path].before.encode("utf-8", "surrogatepass")
        start = sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in lines[:line])
        start += len(lines[line][:column].encode("utf-8", "surrogatepass"))
        found = _NAME.match(source, start)
        end = found.end() if found is not None else start
        root = tree_of(graph.language, source, Part(0, len(source), 0, graph.n_lines))
        return is_name_at(root, start, end) or is_in_macro(root, start, end)

    def _is_local(self, path: str, line: int, column: int, definition: Definition) -> bool:
        """Whether a name without a receiver is bound in a function around its line."""
        graph = self.graphs[path]
        if _MEMBER.search(self.lines[path][line][:column]):
            return False
        return any(
            each.name == definition.name
            and each.scope >= 0
            and not is_class(graph.definitions[each.scope])
            and graph.definitions[each.scope].start_line <= line < graph.definitions[each.scope].end_line
            for each in graph.bindings
        )

    def places_without_name(self, definition: Definition, header: Step) -> Iterator[Place]:
        """The definitions without the name whose hunk changes a name that the hunk of the header changes too."""
        pattern = word(definition.name)
        changed = self._changed_names(header) - {definition.name}
        for step in self.steps:
            if changed.isdisjoint(self._changed_names(step)):
                continue
            for around in self._changed_definitions(step):
                text = "\n".join(self.lines[step.path][around.start_line : around.end_line])
                is_own = _is_inside(definition, header.path, step.path, around.start_line)
                if not is_own and not pattern.search(text):
                    yield step.path, around.qualified_name

    def _comment_above(self, definition: Definition, path: str) -> range:
        """The lines of the comment that ends directly above a definition."""
        start = definition.start_line
        while start and _COMMENT.match(self.lines[path][start - 1]):
            start -= 1
        return range(start, definition.start_line)

    def _changed_names(self, step: Step) -> frozenset[str]:
        facts = _facts_of(self.edits[step.path]).of_hunk(step.old_start, step.removed, step.new_start, step.added)
        return frozenset(name for name in facts.changed_names if len(name) >= LEAST_NAME)

    def _changed_definitions(self, step: Step) -> Iterator[Definition]:
        """The definitions around the removed lines, or around the point where lines are added."""
        graph = self.graphs[step.path]
        for at in range(step.old_start, step.old_end) if step.removed else (step.old_start,):
            around = definition_around(graph, at)
            if around is not None and (step.removed or around.start_line < at):
                yield around


@lru_cache(maxsize=64)
def _facts_of(edit: FileEdit) -> FileFacts:
    return FileFacts.of(edit.path, edit.before, edit.after)


def _is_inside(definition: Definition, path: str, other_path: str, line: int) -> bool:
    return other_path == path and definition.start_line <= line < definition.end_line


_MEMBER = re.compile(r"(\.|::|->)\s*$")
_NAME = re.compile(rb"[\w$]+")
_COMMENT = re.compile(r"\s*(//|#|/?\*)")
