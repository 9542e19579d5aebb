"""Scope and type check of a completion: names that are clearly meant otherwise are replaced, the rest is reported.

Owns the use of `codegraph.name_check` at a cursor. Knows no threshold: whether a text with problems is shown is decided
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codegraph.name_check import NameProblem, name_problems
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor
from .graph_candidates import graph_above


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text after the replacement of names, the names replaced in it, and the problems that are left."""

    text: str
    replaced: tuple[NameProblem, ...] = ()  # with their ranges in the original text
    problems: tuple[NameProblem, ...] = ()  # with their ranges in `text`


def check_names(snapshot: FolderSnapshot, cursor: Cursor, text: str, n_replaced: int = 0) -> CheckedText:
    """The text at the cursor with the names that are clearly meant; it replaces `n_replaced` characters there."""
    problems = _problems(snapshot, cursor, text, n_replaced)
    replaced = tuple(problem for problem in problems if problem.replacement)
    if not replaced:
        return CheckedText(text, (), problems)
    for problem in reversed(replaced):
        text = f"{text[: problem.start]}{problem.replacement}{text[problem.end :]}"
    return CheckedText(text, replaced, _problems(snapshot, cursor, text, n_replaced))


def _problems(snapshot: FolderSnapshot, cursor: Cursor, text: str, n_replaced: int) -> tuple[NameProblem, ...]:
    index, path, language = snapshot.index, snapshot.index_path(cursor.path), cursor.file_language
    if language.scope_rules is None:
        return ()
    above = cursor.lines.text[: cursor.lines.offset(cursor.line, 0)]
    facts = graph_above(path, above, language, index.graph.files.get(path), index.texts.get(path, b""))
    suffix = cursor.suffix[n_replaced:]
    return name_problems(index.graph, path, cursor.prefix, text, suffix, language, facts, index.texts)
