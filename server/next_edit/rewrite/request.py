"""The region around a cursor and what a model reads beside it: recent edits, related code, diagnostics.

Owns which lines are rewritten and shown. Knows no model and no prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ....llm import PromptFragment
from ....llm.prompting.next_edit.values import RecentChange, RewriteRequest
from ...workspace.recent_edits import Hunk
from ...workspace.text import Cursor, TextLines
from ..edited_files import hunks_with_lines_before
from ..values import EditedFile

LINES_AROUND = 40
"""Lines above the region, and below it, that a prompt may show."""

CONTEXT_LINES = 3
"""Unchanged lines above and below a recent edit, as in a unified diff."""

MAX_CHANGES = 10
MAX_DIAGNOSTICS, MAX_MESSAGE = 10, 200


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What a compiler or a linter says of a line (0-based). `severity` is "error", "warning" or another word."""

    line: int
    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a text, from `first` up to `end`."""

    first: int
    end: int

    def __contains__(self, line: int) -> bool:
        return self.first <= line < self.end


def region_at(lines: TextLines, line: int, n_lines: int) -> Region:
    """At most `n_lines` lines around a line, as many above it as below."""
    return Region(max(0, line - n_lines // 2), min(lines.n_lines, line + (n_lines + 1) // 2))


def rewrite_request(
    cursor: Cursor,
    region: Region,
    edited: Sequence[EditedFile],
    fragments: tuple[PromptFragment, ...] = (),
    diagnostics: Iterable[Diagnostic] = (),
) -> RewriteRequest:
    """The request for a region around a cursor, with the recent edits of all files."""
    lines = cursor.lines
    first_shown = max(0, region.first - LINES_AROUND)
    before_cursor = text_of(lines, region.first, cursor.line) + lines.line(cursor.line)[: cursor.character]
    return RewriteRequest(
        cursor.path,
        cursor.language.name,
        text_of(lines, first_shown, region.first),
        text_of(lines, region.first, region.end),
        text_of(lines, region.end, min(lines.n_lines, region.end + LINES_AROUND)),
        len(before_cursor),
        _original(cursor, region, edited),
        starts_file=first_shown == 0,
        changes=tuple(change for _, change in sorted(_changes(edited), key=lambda each: each[0])[-MAX_CHANGES:]),
        fragments=fragments,
        diagnostics=tuple(_texts(cursor, diagnostics)),
    )


def text_of(lines: TextLines, first: int, end: int) -> str:
    """Lines with "\\n" behind each, but the last one of the text."""
    text = "\n".join(map(lines.line, range(first, end)))
    return f"{text}\n" if first < end < lines.n_lines else text


def _changes(edited: Iterable[EditedFile]) -> Iterator[tuple[float, RecentChange]]:
    """Each recent edit with its time."""
    for file in edited:
        for hunk, line_before in hunks_with_lines_before(file):
            n_above = min(CONTEXT_LINES, hunk.start_line)
            first, end = hunk.start_line - n_above, min(file.now.n_lines, hunk.end_line + CONTEXT_LINES)
            yield (
                hunk.at,
                RecentChange(
                    file.path,
                    line_before - n_above + 1,
                    first + 1,
                    tuple(map(file.now.line, range(first, hunk.start_line))),
                    hunk.before,
                    hunk.after,
                    tuple(map(file.now.line, range(hunk.end_line, end))),
                ),
            )


def _original(cursor: Cursor, region: Region, edited: Iterable[EditedFile]) -> str:
    """The region before the latest edit of its file."""
    file = next((file for file in edited if file.path == cursor.path), None)
    if file is None:
        return text_of(cursor.lines, region.first, region.end)
    hunk = max(file.hunks, key=lambda hunk: hunk.at)
    lines = [cursor.lines.line(number) for number in range(cursor.lines.n_lines)]
    lines[hunk.start_line : hunk.end_line] = hunk.before
    before = TextLines("\n".join(lines))
    return text_of(before, _line_before(hunk, region.first), _line_before(hunk, region.end, is_end=True))


def _line_before(hunk: Hunk, line: int, *, is_end: bool = False) -> int:
    """A line of now in the text before an edit; inside of the edit its begin, or its end."""
    if line <= hunk.start_line:
        return line
    end_before = hunk.start_line + len(hunk.before)
    if line >= hunk.end_line:
        return line - hunk.end_line + end_before
    return end_before if is_end else hunk.start_line


def _texts(cursor: Cursor, diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    """The nearest diagnostics as lines of text, with 1-based line numbers."""
    near = sorted(diagnostics, key=lambda each: abs(each.line - cursor.line))[:MAX_DIAGNOSTICS]
    for each in near:
        message = each.message.partition("\n")[0].strip()[:MAX_MESSAGE]
        yield f"{cursor.path}:{each.line + 1}: {each.severity}: {message}"
