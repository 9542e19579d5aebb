"""Recent edits as hunks: a bounded edit history across files, saved or not.

Owns the merging of keystrokes into hunks, and their eviction. Knows no editor protocol, no index and no prompt.

A hunk is the net change of a region: its lines before the first edit, and its lines now. So keystrokes in a region
merge, an undo removes its hunk, and the hunks of a file transform its text before the first edit into its current text,
unless some were evicted. `RecentEdits` is an immutable value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..secrets import is_secret_path
from .text import TextChange, TextLines

# Limits, not tuned: a prompt contains the latest few hunks, and longer ones were not typed.
MAX_HUNKS = 32
MAX_HUNK_LINES, MAX_HUNK_CHARACTERS = 60, 6000
MAX_PASTED_LINES, MAX_PASTED_CHARACTERS, MAX_REPLACED_LINES = 600, 60_000, 8
"""Limits of code that was pasted or deleted at once. It replaces few lines: long texts are not compared."""
MAX_AGE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Hunk:
    """Replacement of the lines `before` by `after`, which start at `start_line` (0-based) of `path`. No line breaks.

    `at` is the time of the last edit of the hunk, in seconds of a monotonic clock.
    """

    path: str
    start_line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    at: float

    @property
    def end_line(self) -> int:
        """The line after the last of `after`."""
        return self.start_line + len(self.after)


@dataclass(frozen=True, slots=True)
class RecentEdits:
    """Hunks, most recently edited first. `has_pasted`: with those of code that was pasted or deleted at once."""

    hunks: tuple[Hunk, ...] = ()
    has_pasted: bool = False

    def with_edit(self, path: str, before: str, after: str, at: float) -> RecentEdits:
        """`with_change` for two plain texts."""
        return self.with_change(path, TextLines(before), TextLines(after), TextChange.between(before, after), at)

    def with_change(
        self, path: str, before: TextLines, after: TextLines, changed: TextChange, at: float
    ) -> RecentEdits:
        """The history after one change of a file. Files that may contain secrets are never recorded.

        A change that is too long for a hunk is not recorded: it was not typed.
        """
        if is_secret_path(path):
            return self
        change = _change(path, before, after, changed, at)
        if not (change.before or change.after):
            return self
        hunks = [hunk for hunk in self.hunks if at - hunk.at <= MAX_AGE_S]
        touched = sorted(
            (hunk for hunk in hunks if _touches(hunk, change)), key=lambda hunk: (hunk.start_line, hunk.end_line)
        )
        merged = _merged(touched, change)
        if self._is_too_long(merged):
            merged = change  # the earlier hunk is complete; start a new one
        new = () if self._is_too_long(merged) or not (merged.before or merged.after) else (merged,)
        others = (_moved(hunk, change) for hunk in hunks if hunk not in touched)
        return replace(self, hunks=(*new, *others)[:MAX_HUNKS])

    def with_text(self, path: str, text: str) -> RecentEdits:
        """The history after a file was opened, without its hunks that do not match the text."""
        if not any(hunk.path == path for hunk in self.hunks):
            return self
        lines = TextLines(text)
        all_lines = [lines.line(number) for number in range(lines.n_lines)]
        hunks = tuple(hunk for hunk in self.hunks if hunk.path != path or matches_text(hunk, all_lines))
        return replace(self, hunks=hunks)

    def _is_too_long(self, hunk: Hunk) -> bool:
        lines = (*hunk.before, *hunk.after)
        n_lines, n_characters = len(lines), sum(map(len, lines))
        if n_lines <= MAX_HUNK_LINES and n_characters <= MAX_HUNK_CHARACTERS:
            return False
        is_pasted = min(len(hunk.before), len(hunk.after)) <= MAX_REPLACED_LINES
        fits = n_lines <= MAX_PASTED_LINES and n_characters <= MAX_PASTED_CHARACTERS
        return not (self.has_pasted and is_pasted and fits)


def matches_text(hunk: Hunk, lines: Sequence[str]) -> bool:
    """Whether a text with these lines contains the hunk's new lines at its position."""
    return hunk.start_line <= len(lines) and tuple(lines[hunk.start_line : hunk.end_line]) == hunk.after


def _change(path: str, before: TextLines, after: TextLines, changed: TextChange, at: float) -> Hunk:
    """An edit as a minimal range of whole lines; empty if no line changed."""
    # From the preceding character: a two-character line break may start there.
    start = max(0, changed.start - 1)
    first = before.position(start)[0]
    return _trimmed(
        Hunk(path, first, _lines(before, first, changed.end_before), _lines(after, first, changed.end_after), at)
    )


def _lines(lines: TextLines, first: int, end: int) -> tuple[str, ...]:
    """The lines from `first` to the one that contains the offset `end`."""
    return tuple(lines.line(number) for number in range(first, lines.position(end)[0] + 1))


def _touches(hunk: Hunk, change: Hunk) -> bool:
    """Whether an edit changes lines of a hunk or adjacent lines."""
    end_line = change.start_line + len(change.before)
    return hunk.path == change.path and hunk.start_line <= end_line and change.start_line <= hunk.end_line


def _merged(hunks: Sequence[Hunk], change: Hunk) -> Hunk:
    """Hunks, in order of lines, and an edit that touches all of them as one."""
    if not hunks:
        return change
    first, last = hunks[0], hunks[-1]
    start, end = change.start_line, change.start_line + len(change.before)
    before: list[str] = []
    at_line = min(start, first.start_line)
    for hunk in hunks:  # lines between hunks were unchanged before the edit
        before += change.before[max(0, at_line - start) : max(0, hunk.start_line - start)]
        before += hunk.before
        at_line = hunk.end_line
    before += change.before[max(0, at_line - start) :]
    above = first.after[: max(0, start - first.start_line)]
    below = last.after[max(0, end - last.start_line) :]
    merged = (*above, *change.after, *below)
    return _trimmed(Hunk(change.path, min(start, first.start_line), tuple(before), merged, change.at))


def _trimmed(hunk: Hunk) -> Hunk:
    """The hunk without unchanged lines at both ends."""
    before, after = hunk.before, hunk.after
    shorter = min(len(before), len(after))
    n_above = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    n_below = next((n for n in range(shorter - n_above) if before[-1 - n] != after[-1 - n]), shorter - n_above)
    return replace(
        hunk,
        start_line=hunk.start_line + n_above,
        before=before[n_above : len(before) - n_below],
        after=after[n_above : len(after) - n_below],
    )


def _moved(hunk: Hunk, change: Hunk) -> Hunk:
    """A hunk that an edit did not touch, at its new line."""
    if hunk.path != change.path or hunk.start_line < change.start_line:
        return hunk
    return replace(hunk, start_line=hunk.start_line + len(change.after) - len(change.before))
