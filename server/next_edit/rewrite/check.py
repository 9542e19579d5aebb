"""Which edits of a rewrite may be offered: none that undoes, breaks the syntax, or names what does not exist.

Owns this check; the rules for names are those of completions. Knows no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from ...completion.name_check import check_names
from ...workspace.recent_edits import Hunk
from ...workspace.snapshot import FolderSnapshot
from ...workspace.text import Cursor, TextLines
from ..parsed import parsed
from .minimal_edits import TextEdit, apply_edits, kept_lines

MIN_KEPT = 0.5
"""Of the lines of a region, those that an answer keeps at least: a next edit is small. Not tuned."""

_Replacement = tuple[int, tuple[str, ...], tuple[str, ...]]
"""The first line, the lines there, and those that replace them."""

_NAME = re.compile(r"[^\W\d]\w*")


def is_usable(region: str, original: str, rewritten: str) -> bool:
    """Whether a rewritten region is a next edit at all: not the same text, no undo, no other text."""
    is_same = list(map(str.rstrip, rewritten.split("\n"))) == list(map(str.rstrip, region.split("\n")))
    is_undo = rewritten == original and region != original
    is_emptied = bool(region.strip()) and not rewritten.strip()
    return not (is_same or is_undo or is_emptied) and kept_lines(region, rewritten) >= MIN_KEPT


def fitting(
    snapshot: FolderSnapshot, cursor: Cursor, edits: Sequence[TextEdit], hunks: Sequence[Hunk]
) -> list[TextEdit]:
    """The edits of the cursor's text that may be made together, in order; empty if they break its syntax.

    `hunks` are the recent edits of the file. Offsets are those of the text with "\\n" line breaks, which `cursor` must
    have.
    """
    undone = {undo for hunk in hunks for undo in _undos(hunk)}
    edits = [edit for edit in edits if _lines_of(cursor.lines, edit) not in undone]
    left = _without_unknown_names(snapshot, cursor, edits)
    if len(left) < len(edits):  # the names of the others may be those that were left out
        left = left if _without_unknown_names(snapshot, cursor, left) == left else []
    return [] if left and _breaks_syntax(cursor, left) else left


def _without_unknown_names(snapshot: FolderSnapshot, cursor: Cursor, edits: Sequence[TextEdit]) -> list[TextEdit]:
    lines = TextLines(apply_edits(cursor.lines.text, edits))
    left, shift = [], 0
    for edit in edits:
        line, character = lines.position(edit.start + shift)
        shift += len(edit.new) - len(edit.old)
        here = replace(cursor, lines=lines, line=line, character=character)
        known = set(_NAME.findall(edit.old))
        checked = check_names(snapshot, here, edit.new, len(edit.new))
        if not any(problem.name not in known for problem in (*checked.replaced, *checked.problems)):
            left.append(edit)
    return left


def _undos(hunk: Hunk) -> Iterator[_Replacement]:
    """The replacements that undo a part of a recent edit."""
    matcher = SequenceMatcher(None, hunk.after, hunk.before, autojunk=False)
    for tag, start, end, at, until in matcher.get_opcodes():
        if tag != "equal":
            yield hunk.start_line + start, hunk.after[start:end], hunk.before[at:until]


def _lines_of(lines: TextLines, edit: TextEdit) -> _Replacement:
    """An edit as a replacement of whole lines."""
    (first, character), (last, end) = lines.position(edit.start), lines.position(edit.end)
    old = tuple(map(lines.line, range(first, last + 1)))
    new = tuple(f"{old[0][:character]}{edit.new}{old[-1][end:]}".split("\n"))
    if character == end == 0 and new[-1] == old[-1]:  # the last line only ends the range
        return first, old[:-1], new[:-1]
    return first, old, new


def _breaks_syntax(cursor: Cursor, edits: Sequence[TextEdit]) -> bool:
    """Whether a text that its grammar reads is one that it does not read after the edits."""
    language, text = cursor.file_language.name, cursor.lines.text
    before = parsed(cursor.path, text, language)
    if before is None or before.tree.has_errors:
        return False
    after = parsed(cursor.path, apply_edits(text, edits), language)
    return after is None or after.tree.has_errors
