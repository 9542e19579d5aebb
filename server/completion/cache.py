"""What was written before and still holds: the rest of a text that is being typed, and the same place again.

Owns the answers that are kept, with what each of them rests on: the code around its cursor, the fragments that its
prompt showed, who would have answered, and how sure it had to be. Knows no model and no thread of its own.

An answer holds as long as its fragments stand unchanged in the index. Edits of other files that touch none of them
are no reason to ask again, except of the workspace model, which reads all files and takes a millisecond.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...retrieval import RankedFragment
from ...retrieval.fragments import normalise
from ...retrieval.terms import encode
from ..workspace.text import Cursor, TextLines
from .values import Written

BEFORE_CHARACTERS, AFTER_CHARACTERS = 16_384, 4_096
"""How much code around a cursor must be the same: what models read of it, a prompt of 4k tokens. So a look-up takes no
longer in a large file."""

MOST_ANSWERS, MOST_CHARACTERS = 500, 8_000_000
"""What is kept; what was not wanted for the longest time goes first."""

MOST_CHANGES = 256
"""After more changed files than this, all of the index counts as changed: a branch was switched."""


@dataclass(frozen=True, slots=True)
class CursorContext:
    """A cursor, by the code around it."""

    file: tuple[str, str]
    offset: int
    before: str
    after: str
    n_after: int  # characters from the cursor to the end of the file

    @classmethod
    def of(cls, cursor: Cursor) -> CursorContext:
        text, offset = cursor.lines.text, cursor.offset
        before, after = text[max(0, offset - BEFORE_CHARACTERS) : offset], text[offset : offset + AFTER_CHARACTERS]
        return cls(cursor.file, offset, before, after, len(text) - offset)

    def typed_until(self, cursor: Cursor) -> str | None:
        """What was written here since, when that is all that changed around the cursor; line breaks "\\n".

        What an editor closes by itself behind the cursor belongs to what was typed.
        """
        if cursor.file != self.file or cursor.offset < self.offset or not self._starts_as(cursor.lines):
            return None
        typed = cursor.lines.text[self.offset : cursor.offset]
        for closers in ("", _closers_of(typed)):
            if self._goes_on_as(cursor.lines, cursor.offset, closers):
                return normalise(typed)
        return None

    def typed_in(self, lines: TextLines) -> tuple[str, ...]:
        """The same for a text whose cursor nobody knows, so that there may be several; all of the rest is as it was."""
        end = len(lines.text) - self.n_after
        if end < self.offset or not self._starts_as(lines) or not lines.text.startswith(self.after, end):
            return ()
        changed = lines.text[self.offset : end]
        ends = range(len(changed), max(-1, len(changed) - _MOST_CLOSERS - 1), -1)
        return tuple(normalise(changed[:n]) for n in ends if changed[n:] in ("", _closers_of(changed[:n])))

    def _starts_as(self, lines: TextLines) -> bool:
        return lines.text.startswith(self.before, self.offset - len(self.before))

    def _goes_on_as(self, lines: TextLines, offset: int, closers: str) -> bool:
        n_after = len(lines.text) - offset - len(closers)
        is_near_end = min(n_after, self.n_after) <= AFTER_CHARACTERS
        return lines.text.startswith(closers + self.after, offset) and (n_after == self.n_after or not is_near_end)


@dataclass(frozen=True, slots=True)
class Validity:
    """What an answer rests on beside the code around its cursor.

    `least_confidence` is what it had to have to be written at all; what was asked without such a limit may answer
    whoever sets one, not the other way round.
    """

    epoch: int  # of the index, see `Changes`
    answering: str  # the model that would be asked first
    fragments: tuple[RankedFragment, ...] = ()
    least_confidence: float = 0.0
    reads_all: bool = False  # not only the fragments: the workspace model wrote it


@dataclass(frozen=True, slots=True)
class CachedCompletion:
    """What a model wrote at a place. Empty when it had nothing to say, so that it is not asked again.

    `shown` is what became of it there, where that is another text: who takes a part of it goes on typing that one.
    """

    context: CursorContext
    written: Written
    validity: Validity
    single_line: bool
    is_prefetch: bool = False  # nobody had asked
    shown: str = ""

    @property
    def key(self) -> tuple[CursorContext, bool]:
        """What a newer answer replaces. The workspace model's stands beside another model's, that was not shown."""
        return self.context, self.validity.reads_all

    @property
    def n_characters(self) -> int:
        return len(self.context.before) + len(self.context.after) + len(self.written.text) + len(self.shown)

    def rest_at(self, cursor: Cursor) -> Written | None:
        """What is left of it when a part was typed; None when something else was, or all of it."""
        if cursor.offset - self.context.offset > 2 * max(len(self.written.text), len(self.shown)):
            return None  # even if every character were a line break of two
        typed = self.context.typed_until(cursor)
        if typed == "":
            return self.written
        if typed is None:
            return None
        if self.written.text.startswith(typed):
            rest = self.written.after(len(typed))
            return rest if rest.text.strip() else None
        if self.shown.startswith(typed) and (left := self.shown[len(typed) :]).strip():
            # Somebody took a part of it: how sure the model was does not matter any more.
            return replace(self.written, pieces=((left, None),))
        return None


class Changes:
    """When files of one index changed, told from the snapshots that requests bring. Not for several threads at once."""

    def __init__(self) -> None:
        self._texts: Mapping[str, bytes] = {}
        self._epoch = 0
        self._changed: dict[str, int] = {}
        self._all_changed = 0

    def epoch_of(self, texts: Mapping[str, bytes]) -> int:
        """The number of this state of the texts, each of them normalised; it grows with every change."""
        if texts is not self._texts:
            old, self._texts = self._texts, texts
            changed = [path for path, text in texts.items() if old.get(path) is not text]
            changed += [path for path in old if path not in texts]
            self._epoch += 1
            self._changed.update(dict.fromkeys(changed, self._epoch))
            if len(self._changed) > MOST_CHANGES:
                self._changed, self._all_changed = {}, self._epoch
        return self._epoch

    def only_in(self, path: str, since: int) -> bool:
        """Whether no other file changed since an epoch."""
        if since == self._epoch:
            return True
        return since >= self._all_changed and all(at <= since or own == path for own, at in self._changed.items())

    def stands(self, fragment: RankedFragment, since: int) -> bool:
        """Whether a fragment's text is still where it was, or elsewhere in its file."""
        path = fragment.fragment.locations[0].path
        if since >= self._all_changed and self._changed.get(path, 0) <= since:
            return True
        return encode(fragment.fragment.text) in self._texts.get(path, b"")


class CompletionCache:
    """The answers that are kept. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[CursorContext, bool], CachedCompletion] = OrderedDict()
        self._n_characters = 0
        self._changes: dict[str, Changes] = {}  # by folder

    def epoch_of(self, folder: str, texts: Mapping[str, bytes]) -> int:
        """The number of this state of a folder's index, for a `Validity`."""
        with self._lock:
            return self._changes.setdefault(folder, Changes()).epoch_of(texts)

    def only_own_changed(self, cursor: Cursor, since: int) -> bool:
        """Whether nothing but the cursor's file changed in the index since an epoch."""
        with self._lock:
            return self._changes[cursor.folder].only_in(cursor.path, since)

    def keep(self, answer: CachedCompletion) -> None:
        """In the place of what was kept for this very context."""
        with self._lock:
            self._drop(answer.key)
            self._answers[answer.key] = answer
            self._n_characters += answer.n_characters
            while len(self._answers) > MOST_ANSWERS or self._n_characters > MOST_CHARACTERS:
                self._drop(next(iter(self._answers)))

    def find(
        self, cursor: Cursor, now: Validity, least_confidence: float, single_line: bool | None = None
    ) -> tuple[CachedCompletion, Written] | None:
        """An answer that holds at the cursor, and what is left of it there; of several the one that was used last.

        `now` is what an answer would rest on that is made now. `single_line` None takes what there is.
        """
        with self._lock:
            for answer in reversed(self._answers.values()):
                if answer.context.file != cursor.file or (rest := answer.rest_at(cursor)) is None:
                    continue
                validity = answer.validity
                if (
                    validity.answering == now.answering
                    and validity.least_confidence <= least_confidence
                    and single_line in (None, answer.single_line)
                    and self._holds(validity, cursor)
                ):
                    self._answers.move_to_end(answer.key)
                    return answer, rest
        return None

    def forget_all(self) -> None:
        with self._lock:
            self._answers.clear()
            self._n_characters = 0

    def _holds(self, validity: Validity, cursor: Cursor) -> bool:
        changes = self._changes[cursor.folder]
        if validity.reads_all and not changes.only_in(cursor.path, validity.epoch):
            return False
        return all(
            _stands_above(fragment, cursor)
            if fragment.fragment.locations[0].path == cursor.path
            else changes.stands(fragment, validity.epoch)
            for fragment in validity.fragments
        )

    def _drop(self, key: tuple[CursorContext, bool]) -> None:
        answer = self._answers.pop(key, None)
        if answer is not None:
            self._n_characters -= answer.n_characters


_MOST_CLOSERS = 8
_CLOSERS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "`": "`"}


def _closers_of(typed: str) -> str:
    """What closes the brackets and quotes that `typed` opens: what an editor may have put behind the cursor."""
    open_closers: list[str] = []
    for character in typed:
        if open_closers and character == open_closers[-1]:
            open_closers.pop()
        elif character in _CLOSERS:
            open_closers.append(_CLOSERS[character])
    return "".join(reversed(open_closers[-_MOST_CLOSERS:]))


def _stands_above(fragment: RankedFragment, cursor: Cursor) -> bool:
    """Whether a fragment of the cursor's own file is still at its place."""
    text = fragment.fragment.text.replace("\n", cursor.lines.line_break)
    start = fragment.fragment.locations[0].start_line
    return start <= cursor.line and cursor.lines.text.startswith(text, cursor.lines.offset(start, 0))
