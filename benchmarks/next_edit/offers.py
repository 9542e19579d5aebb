"""Offers of next edits, and their comparison with the later hunks of a commit.

Owns the texts while hunks are applied, and when an offer is at the place of a hunk and writes its text. Knows no
suggestion.

An offer is at a hunk when its lines are within two lines of the hunk's, in the file as it is now. It has the exact text
when the lines that it removes are among those that the hunk removes, and the lines that it writes are among those that
the hunk writes, one after the other. An offer that changes nothing is at no hunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .commits import ReplayedCommit, Step, steps_of

NEAR_LINES = 2

At = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Offer:
    """Replacement of a range (0-based line and character) of a file by `new`.

    `new` None: a place without a text. `start` and `end` None: a file without a place.
    """

    kind: str
    path: str
    start: At | None = None
    end: At | None = None
    new: str | None = ""
    reason: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Judged:
    """An offer, the later hunk that it is at (None: none), whether it writes the hunk's text, and its lines."""

    offer: Offer
    hunk: Step | None
    is_exact: bool
    removed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


class Texts:
    """The texts of the files of a commit while its hunks are applied, in any order; `read` has the other files."""

    def __init__(self, commit: ReplayedCommit, read: Callable[[str], str | None]) -> None:
        self._lines = {edit.path: edit.before.split("\n") for edit in (*commit.edits, *commit.beside)}
        self._applied: dict[str, list[Step]] = {edit.path: [] for edit in commit.edits}
        self._read = read
        self._beside = [step for edit in commit.beside for step in steps_of(edit)]

    def lines(self, path: str) -> list[str] | None:
        """The lines of a file now; None for a file that cannot be read."""
        if path not in self._lines:
            text = self._read(path)
            if text is None:
                return None
            self._lines[path] = text.split("\n")
        return self._lines[path]

    def text(self, path: str) -> str:
        return "\n".join(self.lines(path) or ())

    def start_of(self, step: Step) -> int:
        """The first line of a hunk in its file now."""
        above = (each for each in self._applied.get(step.path, ()) if each.old_start < step.old_start)
        return step.old_start + sum(len(each.added) - len(each.removed) for each in above)

    def apply(self, step: Step) -> At:
        """Make a hunk; returns the position at its end."""
        start = self.start_of(step)
        lines = self._lines[step.path]
        lines[start : start + len(step.removed)] = step.added
        self._applied[step.path].append(step)
        last = max(0, min(start + len(step.added) - 1, len(lines) - 1)) if step.added else min(start, len(lines) - 1)
        return last, len(lines[last]) if step.added else 0

    def judge(self, offer: Offer, later: Sequence[Step]) -> Judged:
        """Compare an offer with the hunks that are to come, and with those of files beside the sources."""
        if offer.start is None or offer.end is None or (lines := self.lines(offer.path)) is None:
            return Judged(offer, None, False)
        removed, written, first = changed_lines(lines, offer)
        if not removed and not written:
            return Judged(offer, None, False)
        near = list[tuple[bool, int, Step]]()
        for step in (*later, *self._beside):
            if step.path == offer.path:
                distance = self._distance(first, first + len(removed), step)
                if distance <= NEAR_LINES:
                    near.append((offer.new is None or not _writes(removed, written, step), distance, step))
        if not near:
            return Judged(offer, None, False, removed, written)
        is_wrong, _, step = min(near, key=lambda each: each[:2])
        return Judged(offer, step, not is_wrong, removed, written)

    def _distance(self, first: int, end: int, step: Step) -> int:
        """Lines between a range and a hunk, 0 when they touch."""
        start = self.start_of(step)
        last_of_hunk, last = max(start, start + len(step.removed) - 1), max(first, end - 1)
        return max(0, start - last, first - last_of_hunk)


def changed_lines(lines: Sequence[str], offer: Offer) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The lines that an offer removes and writes, without those that stay, and the number of the first."""
    if offer.start is None or offer.end is None or offer.end[0] >= len(lines):
        return (), (), 0
    (first, from_character), (last, to_character) = offer.start, offer.end
    removed = list(lines[first : last + 1])
    if offer.new is None:
        return tuple(removed), (), first
    written = f"{removed[0][:from_character]}{offer.new}{removed[-1][to_character:]}".split("\n")
    while removed and written and removed[0] == written[0]:
        removed, written, first = removed[1:], written[1:], first + 1
    while removed and written and removed[-1] == written[-1]:
        removed, written = removed[:-1], written[:-1]
    return tuple(removed), tuple(written), first


def _writes(removed: Sequence[str], written: Sequence[str], step: Step) -> bool:
    if not any(line.strip() for line in (*removed, *written)):
        return False
    if removed and not written and len(step.added) >= len(step.removed):
        return False  # the hunk replaces lines, and the offer deletes them
    return _has_run(step.removed, removed) and _has_run(step.added, written)


def _has_run(lines: Sequence[str], run: Sequence[str]) -> bool:
    return any(tuple(lines[at : at + len(run)]) == tuple(run) for at in range(len(lines) - len(run) + 1))
