"""A typist model: the keys that make a real edit, with the pauses between them.

Owns the order of the changes, typos, deletions, accepted completions, and the time of each key. A key is an edit of
plain text at an offset; knows no editor protocol, no clock and no server.

The same seed gives the same keys. Random numbers are drawn for each offset of the finished text, so an accepted
completion changes nothing behind it.

The edit is real, line by line. The model adds the order (from the top down, with switches to other files of the
commit), the times, and an editor that indents the line after a line break.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Literal

from ..server.workspace.text import TextLines
from .histories import FileEdit

Kind = Literal["move", "type", "erase", "delete", "over", "accept"]
"""A cursor movement, a character, a backspace, the deletion of a selection, a closing bracket that is already there, an
accepted completion."""


@dataclass(frozen=True, slots=True)
class Key:
    """`text` replaces what is between two offsets, `pause_s` after the key before; `cursor` is the new offset."""

    kind: Kind
    start: int
    end: int
    text: str
    cursor: int
    pause_s: float
    done: int  # length of the finished text behind the key
    closers: str  # brackets right of the cursor that the editor closed

    @property
    def changes_text(self) -> bool:
        return bool(self.text) or self.start != self.end


@dataclass(frozen=True, slots=True)
class TypistProfile:
    """Medians of pauses in seconds, and probabilities.

    The pauses make some 60 words a minute within text, a little more than most people reach (Dhakal et al.,
    "Observations on Typing from 136 Million Keystrokes", CHI 2018: 52), and fewer than 20 with the pauses for thinking.
    """

    letter_s: float = 0.12
    shifted_s: float = 0.19  # capitals and signs
    word_s: float = 0.22  # the first letter of a word
    line_s: float = 0.35  # the first key of a line
    erase_s: float = 0.05  # a backspace that is held down
    notice_s: float = 0.3  # until a typo is noticed
    think_s: float = 1.2  # before a hunk, and before some lines
    switch_s: float = 2.5  # to another file
    spread: float = 0.4  # of the logarithm
    think_at_line: float = 0.3
    mistype: float = 0.02
    switch_file: float = 0.2
    erases_up_to: int = 12  # characters; more are selected and deleted
    closes_brackets: bool = True
    retypes_lines: bool = False  # changed lines are deleted and typed again, not edited in place
    accept_share: float = 0.8  # of completions that are entirely right
    accept_part_share: float = 0.4  # of completions with a right beginning
    min_accepted: int = 3  # characters; shorter completions are ignored


@dataclass(frozen=True, slots=True)
class Change:
    """At `start` of the finished text, `inserted` replaces `removed`."""

    start: int
    removed: str
    inserted: str


class Typist:
    """Types one edit. `text` and `cursor` are the current state; the text before the cursor is final."""

    def __init__(self, edit: FileEdit, seed: int, profile: TypistProfile | None = None) -> None:
        self.edit = edit
        self.text = edit.before
        self.cursor = 0
        self.profile = profile or TypistProfile()
        self._seed = seed
        self._changes = deque(changes_of(edit, retypes_lines=self.profile.retypes_lines))
        self._open = False  # the first of them is in progress
        self._done = 0  # of the finished text
        self._closers = ""  # brackets right of the cursor that the editor closed
        self._mistyped: set[int] = set()
        self._plan: deque[Key] = deque()

    @property
    def n_done(self) -> int:
        """Characters of the finished text up to the cursor."""
        return self._done

    @property
    def position(self) -> tuple[int, int]:
        """Line and character of the cursor, 0-based."""
        return TextLines(self.text).position(self.cursor)

    def plan(self) -> Key | None:
        """The next key; None when the file is as it should be."""
        if not self._plan:
            self._plan.extend(self._next_keys())
        return self._plan[0] if self._plan else None

    def press(self) -> Key:
        """Apply the planned key. Raises IndexError when there is none."""
        self.plan()
        return self._apply(self._plan.popleft())

    def accept(self, start: int, end: int, text: str) -> Key | None:
        """Accept a shown completion, or a part of it; None when the typist continues typing.

        Only text of the finished file is accepted, so the finished text is the same.
        """
        new = self._right_of_cursor(start, end, text)
        if not new:
            return None
        rng = self._rng("take", self._done)
        n_agreeing = self._n_agreeing(new, end)
        if n_agreeing == len(new) >= self.profile.min_accepted and rng.random() < self.profile.accept_share:
            return self._accept(start, end, text)
        # Editors accept word by word, which leaves out the wrong rest.
        n_words = _whole_words(new, n_agreeing) if end == self.cursor else 0
        if n_words >= self.profile.min_accepted and rng.random() < self.profile.accept_part_share:
            return self._accept(start, end, text[: len(text) - len(new) + n_words])
        return None

    def agreeing(self, start: int, end: int, text: str) -> int:
        """The number of leading characters of a completion, right of the cursor, that equal the finished text."""
        return self._n_agreeing(self._right_of_cursor(start, end, text), end)

    def _right_of_cursor(self, start: int, end: int, text: str) -> str:
        """The text that a completion inserts right of the cursor; "" if it changes the left, or no letter is typed."""
        typing = len(self._plan) <= 1 and (key := self.plan()) is not None and key.kind in ("type", "over")
        if not typing or not start <= self.cursor <= end:
            return ""
        n = self.cursor - start
        return text[n:] if text[:n] == self.text[start : self.cursor] else ""

    def _n_agreeing(self, new: str, end: int) -> int:
        """Leading characters of `new` that agree, if it replaces the text from the cursor to `end`."""
        if not new:
            return 0
        change, after = self._changes[0], self.edit.after
        change_end = change.start + len(change.inserted)
        rest = after[self._done : change_end]
        n = common_prefix_length(new, rest)
        # The completion may repeat the text behind the change, if that stays unchanged.
        past = new[len(rest) :] if n == len(rest) else ""
        untouched = self._changes[1].start if len(self._changes) > 1 else len(after)
        n_replaced = max(0, end - self.cursor - len(self._closers))
        stays = past == after[change_end : change_end + n_replaced] and change_end + n_replaced <= untouched
        if n_replaced or past:
            return len(new) if stays and len(past) == n_replaced and n == len(rest) else 0 if n_replaced else n
        return n

    def _accept(self, start: int, end: int, text: str) -> Key:
        change, n_replaced = self._changes[0], end - self.cursor
        done = min(start + len(text), change.start + len(change.inserted))
        self._plan.clear()
        return self._apply(Key("accept", start, end, text, start + len(text), 0.0, done, self._closers[n_replaced:]))

    def _apply(self, key: Key) -> Key:
        self.text = self.text[: key.start] + key.text + self.text[key.end :]
        self.cursor, self._done, self._closers = key.cursor, key.done, key.closers
        return key

    def _next_keys(self) -> Iterator[Key]:
        """The next key, or a few keys that belong together."""
        while self._changes:
            change = self._changes[0]
            if not self._open:
                self._open = True
                return self._go_to(change)
            if self._done < change.start + len(change.inserted):
                return self._insert(change)
            if self._closers:
                # Brackets that the editor closed and the edit does not have.
                end = self.cursor + len(self._closers)
                pause_s = self._pause(self.profile.notice_s)
                return iter([Key("delete", self.cursor, end, "", self.cursor, pause_s, self._done, "")])
            self._changes.popleft()
            self._open = False
        return iter(())

    def _go_to(self, change: Change) -> Iterator[Key]:
        start, end = change.start, change.start + len(change.removed)
        erases = len(change.removed) <= self.profile.erases_up_to and not re.search(r"[\r\n]", change.removed)
        here = end if erases else start
        yield Key("move", here, here, "", here, self._pause(self.profile.think_s), start, "")
        if not change.removed:
            return
        if not erases:
            yield Key("delete", start, end, "", start, self._pause(self.profile.word_s), start, "")
            return
        for at in range(end, start, -1):
            pause_s = self._pause(self.profile.notice_s if at == end else self.profile.erase_s)
            yield Key("erase", at - 1, at, "", at - 1, pause_s, start, "")

    def _insert(self, change: Change) -> Iterator[Key]:
        end = change.start + len(change.inserted)
        unit = _unit_at(self.edit.after, self._done, end)
        rng = self._rng("type", self._done)
        if unit.isalpha() and self._done not in self._mistyped and rng.random() < self.profile.mistype:
            self._mistyped.add(self._done)
            return self._mistype(end, rng)
        return iter([self._type(unit)])

    def _type(self, unit: str) -> Key:
        done, closers = self._done + len(unit), self._closers
        at, pause_s = self.cursor, self._pause_before(unit)
        if closers and unit == closers[0]:
            return Key("over", at, at, "", at + 1, pause_s, done, closers[1:])
        if self._is_closed_at_once(unit):
            closer = _BRACKETS[unit]
            return Key("type", at, at, unit + closer, at + 1, pause_s, done, closer + closers)
        return Key("type", at, at, unit, at + len(unit), pause_s, done, closers)

    def _mistype(self, end: int, rng: Random) -> Iterator[Key]:
        """A wrong letter, perhaps some right ones behind it, and backspaces for all of them."""
        wrong = rng.choice([letter for letter in "etaoinsr" if letter != self.edit.after[self._done].lower()])
        more = re.match(r"\w{0,2}", self.edit.after[self._done + 1 : end])
        typed = wrong + (more.group()[: rng.randint(0, 2)] if more else "")
        at = self.cursor
        for i, letter in enumerate(typed):
            pause_s = self._pause_before(letter)
            yield Key("type", at + i, at + i, letter, at + i + 1, pause_s, self._done, self._closers)
        for i in range(len(typed), 0, -1):
            pause_s = self._pause(self.profile.notice_s if i == len(typed) else self.profile.erase_s)
            yield Key("erase", at + i - 1, at + i, "", at + i - 1, pause_s, self._done, self._closers)

    def _is_closed_at_once(self, unit: str) -> bool:
        if not self.profile.closes_brackets or unit not in _BRACKETS:
            return False
        right = self.text[self.cursor : self.cursor + 1]
        return not right or right.isspace() or right in _BRACKETS.values()

    def _pause_before(self, unit: str) -> float:
        before = self.edit.after[self._done - 1 : self._done]
        if before in ("", "\n", "\r") or unit[0] in "\r\n":
            thinks = self._rng("line", self._done).random() < self.profile.think_at_line
            return self._pause(self.profile.think_s if thinks else self.profile.line_s)
        if unit.isalnum() and not before.isalnum():
            return self._pause(self.profile.word_s)
        return self._pause(self.profile.letter_s if unit.islower() or unit == " " else self.profile.shifted_s)

    def _pause(self, median_s: float) -> float:
        return median_s * math.exp(self._rng("pause", self._done).gauss(0.0, self.profile.spread))

    def _rng(self, purpose: str, place: int) -> Random:
        return Random(f"{self._seed} {self.edit.commit} {self.edit.path} {purpose} {place}")


def changes_of(edit: FileEdit, *, retypes_lines: bool = False) -> list[Change]:
    """The changes from the top, as people make them: lines that stay are not typed again."""
    changes = []
    shift = 0  # of places in the finished text against those before the edit
    offset = _line_offsets(edit.before)
    for hunk in edit.hunks:
        start = offset[hunk.start_line] + shift
        retyped = [(hunk.removed, ""), ("", hunk.text)]
        for removed, inserted in retyped if retypes_lines else _pieces(hunk.removed, hunk.text):
            change = _as_typed(Change(start, removed, inserted), edit.after)
            if change.removed or change.inserted:
                changes.append(change)
            start += len(inserted)
        shift += len(hunk.text) - len(hunk.removed)
    return changes


@dataclass(frozen=True, slots=True)
class CommitReplay:
    """One commit made by hand: its files, in a random order of work."""

    commit: str
    typists: tuple[Typist, ...]

    def keys(self, seed: int) -> Iterator[Typist]:
        """The typist of the next key, again and again. The caller presses the key, or accepts a completion."""
        rng = Random(f"{seed} {self.commit}")
        waiting = deque(self.typists)
        while waiting:
            typist = waiting[0]
            key = typist.plan()
            if key is None:
                waiting.popleft()
                continue
            if key.kind == "move" and len(waiting) > 1 and rng.random() < typist.profile.switch_file:
                waiting.rotate(-1)
                if waiting[0].plan() is None:
                    continue
            yield waiting[0]


def commit_replays(edits: Sequence[FileEdit], seed: int, profile: TypistProfile | None = None) -> list[CommitReplay]:
    """The edits of each commit."""
    return [
        CommitReplay(commit, tuple(Typist(edit, seed, profile) for edit in of_commit))
        for commit, of_commit in groupby(edits, key=lambda edit: edit.commit)
    ]


_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def _line_offsets(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text)), len(text)]


def _pieces(removed: str, inserted: str) -> Iterator[tuple[str, str]]:
    """Both texts in the same pieces: line by line if their numbers of lines are equal."""
    old, new = removed.splitlines(keepends=True), inserted.splitlines(keepends=True)
    yield from zip(old, new, strict=True) if len(old) == len(new) else [(removed, inserted)]


def _as_typed(change: Change, after: str) -> Change:
    """The same change without the common prefix and suffix; a new line begins at the end of the line before."""
    start, removed, inserted = change.start, change.removed, change.inserted
    n = common_prefix_length(removed, inserted)
    if n and removed[n - 1] == "\r":
        n -= 1
    start, removed, inserted = start + n, removed[n:], inserted[n:]
    n = common_prefix_length(removed[::-1], inserted[::-1])
    if n and removed[-n] == "\n":
        n -= 1  # never between the two halves of one line break
    if n:
        removed, inserted = removed[:-n], inserted[:-n]
    line_break = _break_before(inserted, len(inserted))
    if line_break and not removed and _break_before(after, start) == line_break:
        start, inserted = start - len(line_break), line_break + inserted[: -len(line_break)]
    return Change(start, removed, inserted)


def _break_before(text: str, end: int) -> str:
    """The line break that `text` has right before `end`, "" when there is none."""
    match = re.search(r"(?:\r\n|\n|\r)\Z", text[max(0, end - 2) : end])
    return match.group() if match else ""


def common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Of two texts, or of two lists of tokens."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _unit_at(text: str, start: int, end: int) -> str:
    """The text of one key: a character, or a line break with the indentation that the editor adds."""
    match = _UNIT.match(text, start, end)
    assert match is not None
    return match.group()


def n_keys_of(text: str) -> int:
    """Number of keys that type a text."""
    return len(_UNIT.findall(text))


def n_words(text: str) -> int:
    """Number of steps in which a text is accepted word by word."""
    n = 0
    while taken := next_word_length(text):
        text, n = text[taken:], n + 1
    return n


def _whole_words(text: str, n: int) -> int:
    """The most of the first `n` characters that are whole words of `text`."""
    taken = 0
    while (word := next_word_length(text[taken:])) and taken + word <= n:
        taken += word
    return taken


def next_word_length(text: str) -> int:
    """Length of the first word, as an editor accepts a completion word by word; 0 for an empty text.

    A word includes the white space before it, and one opening bracket or dot behind it: `  total(` is one step.
    A line break is one step with the indentation behind it.
    """
    found = _ACCEPTED_WORD.match(text)
    return found.end() if found else 0


_UNIT = re.compile(r"(?:\r\n|\r|\n)[ \t]*|.", re.DOTALL)
_ACCEPTED_WORD = re.compile(r"\r?\n[ \t]*|[ \t]*(?:\w+[.(\[]?|[^\w\s]+|(?=\r?\n)|$|\s)")
