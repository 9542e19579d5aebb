"""Completion cache: typed-through suffixes and repeated positions.

Owns the cached completions and the conditions under which each is valid: the code around the cursor, the fragments in
the prompt, the model, and the confidence threshold. Knows no model and no thread of its own.

An entry is valid while its fragments are unchanged in the index. An edit of another file that changes none of them
does not invalidate it. The workspace model is the exception: it reads all files, and takes a millisecond.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...retrieval import Location, RankedFragment
from ...retrieval.fragments import normalise
from ...retrieval.terms import encode
from ..workspace.text import Cursor, FileOfSession, TextLines
from .values import Written

BEFORE_CHARACTERS, AFTER_CHARACTERS = 16_384, 4_096
"""The code around a cursor that must be equal: about as much as a prompt of 4k tokens holds. With this limit the time
of a lookup does not depend on the size of the file."""

MAX_ENTRIES, MAX_CHARACTERS = 500, 8_000_000
"""Capacity of the cache; the least recently used entry is evicted first."""

MAX_CHANGES = 256
"""With more changed files than this, the whole index counts as changed, as after a switch of branches."""


@dataclass(frozen=True, slots=True)
class CursorContext:
    """A cursor, identified by its file, its offset and the code around it."""

    file: FileOfSession
    offset: int
    before: str
    after: str
    n_after: int  # characters from the cursor to the end of the file
    n_selected: int = field(default=0, compare=False)  # as of `Cursor`

    @property
    def session(self) -> str:
        return self.file[2]

    @classmethod
    def of(cls, cursor: Cursor) -> CursorContext:
        text, offset = cursor.lines.text, cursor.offset
        before, after = text[max(0, offset - BEFORE_CHARACTERS) : offset], text[offset : offset + AFTER_CHARACTERS]
        return cls(cursor.file, offset, before, after, len(text) - offset, cursor.n_selected)

    def typed_until(self, cursor: Cursor) -> str | None:
        """The text typed here since, if nothing else around the cursor changed, else None; line breaks "\\n".

        Closing brackets and quotes that an editor inserted after the cursor are accepted.
        """
        if cursor.file != self.file or cursor.offset < self.offset or not self._starts_as(cursor.lines):
            return None
        typed = cursor.lines.text[self.offset : cursor.offset]
        for closers in ("", _closers_of(typed)):
            if self._continues_as(cursor.lines, cursor.offset, closers):
                return normalise(typed)
        return None

    def typed_in(self, lines: TextLines) -> tuple[str, ...]:
        """`typed_until` for a text with an unknown cursor: all candidates, provided that the rest is unchanged.

        A text in which a part of the selected item is typed counts as one with the item.
        """
        end = len(lines.text) - self.n_after
        n_untyped = self.offset - end
        if 0 < n_untyped <= self.n_selected:
            before = self.before[: len(self.before) - n_untyped]
            is_beginning = lines.text.startswith(before, end - len(before)) and lines.text.startswith(self.after, end)
            return ("",) if is_beginning else ()
        if end < self.offset or not self._starts_as(lines) or not lines.text.startswith(self.after, end):
            return ()
        changed = lines.text[self.offset : end]
        ends = range(len(changed), max(-1, len(changed) - _MAX_CLOSERS - 1), -1)
        return tuple(normalise(changed[:n]) for n in ends if changed[n:] in ("", _closers_of(changed[:n])))

    def _starts_as(self, lines: TextLines) -> bool:
        return lines.text.startswith(self.before, self.offset - len(self.before))

    def _continues_as(self, lines: TextLines, offset: int, closers: str) -> bool:
        n_after = len(lines.text) - offset - len(closers)
        is_near_end = min(n_after, self.n_after) <= AFTER_CHARACTERS
        return lines.text.startswith(closers + self.after, offset) and (n_after == self.n_after or not is_near_end)


@dataclass(frozen=True, slots=True)
class Validity:
    """The conditions under which a completion is valid, besides the code around its cursor.

    `min_confidence` is the threshold of generation. A completion generated without a threshold serves requests with
    one, not the other way round.
    """

    epoch: int  # of the index, see `IndexChanges`
    model: str  # the first available model
    fragments: tuple[RankedFragment, ...] = ()
    min_confidence: float = 0.0
    reads_all: bool = False  # depends on all files: from the workspace model


@dataclass(frozen=True, slots=True)
class CachedCompletion:
    """The text that a model generated at a cursor. An empty text is cached too, which saves a repeated request.

    `displayed` is the text after repair, where it differs: after partial acceptance the user continues that text.
    """

    context: CursorContext
    written: Written
    validity: Validity
    single_line: bool
    is_prefetch: bool = False  # generated before any request for this cursor
    displayed: str = ""
    is_hidden: bool = False  # then valid at its position only: the next key may make another text more likely

    @property
    def key(self) -> tuple[CursorContext, bool]:
        """Entries with equal keys replace each other; those of the workspace model replace only their own kind."""
        return self.context, self.validity.reads_all

    @property
    def n_characters(self) -> int:
        return len(self.context.before) + len(self.context.after) + len(self.written.text) + len(self.displayed)

    def remainder_at(self, cursor: Cursor) -> Written | None:
        """The part that is not typed yet; None if the typed text differs from it, or nothing is left."""
        if cursor.offset - self.context.offset > 2 * max(len(self.written.text), len(self.displayed)):
            return None  # even if every character is a two-character line break
        typed = self.context.typed_until(cursor)
        if typed == "":
            return self.written
        if typed is None or self.is_hidden:
            return None
        if self.written.text.startswith(typed):
            rest = self.written.after(len(typed))
            return rest if rest.text.strip() else None
        if self.displayed.startswith(typed) and (remainder := self.displayed[len(typed) :]).strip():
            # The user accepted a part of it, so the confidence of the model no longer applies.
            return replace(self.written, pieces=((remainder, None),), confidence=None)
        return None


class IndexChanges:
    """Change epochs of the files of one index, derived from the snapshots of requests. Not thread-safe."""

    def __init__(self) -> None:
        self._texts: Mapping[str, bytes] = {}
        self._epoch = 0
        self._changed: dict[str, int] = {}
        self._all_changed = 0

    def epoch_of(self, texts: Mapping[str, bytes]) -> int:
        """The epoch of these normalised texts; it increases with every change."""
        if texts is not self._texts:
            old, self._texts = self._texts, texts
            changed = [path for path, text in texts.items() if old.get(path) is not text]
            changed += [path for path in old if path not in texts]
            self._epoch += 1
            self._changed.update(dict.fromkeys(changed, self._epoch))
            if len(self._changed) > MAX_CHANGES:
                self._changed, self._all_changed = {}, self._epoch
        return self._epoch

    def others_unchanged(self, path: str, since: int) -> bool:
        """Whether no file but `path` changed since an epoch."""
        if since == self._epoch:
            return True
        return since >= self._all_changed and all(at <= since or own == path for own, at in self._changed.items())

    def is_unchanged(self, location: Location, text: str, since: int) -> bool:
        """Whether the file of a part of a fragment still contains its text, at any line."""
        if since >= self._all_changed and self._changed.get(location.path, 0) <= since:
            return True
        return encode(text) in self._texts.get(location.path, b"")


class CompletionCache:
    """An LRU cache of completions. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[CursorContext, bool], CachedCompletion] = OrderedDict()
        self._of_file: dict[FileOfSession, OrderedDict[tuple[CursorContext, bool], CachedCompletion]] = {}
        self._n_characters = 0
        self._changes: dict[str, IndexChanges] = {}  # by folder

    def epoch_of(self, folder: str, texts: Mapping[str, bytes]) -> int:
        """The epoch of a folder's index, for a `Validity`."""
        with self._lock:
            return self._changes.setdefault(folder, IndexChanges()).epoch_of(texts)

    def others_unchanged(self, cursor: Cursor, since: int) -> bool:
        """Whether no file but the cursor's changed in the index since an epoch."""
        with self._lock:
            return self._changes[cursor.folder].others_unchanged(cursor.path, since)

    def put(self, entry: CachedCompletion) -> None:
        """Add an entry; it replaces the one with the same key."""
        with self._lock:
            self._drop(entry.key)
            self._entries[entry.key] = entry
            self._of_file.setdefault(entry.context.file, OrderedDict())[entry.key] = entry
            self._n_characters += entry.n_characters
            while len(self._entries) > MAX_ENTRIES or self._n_characters > MAX_CHARACTERS:
                self._drop(next(iter(self._entries)))

    def find(
        self, cursor: Cursor, now: Validity, min_confidence: float, single_line: bool | None = None
    ) -> tuple[CachedCompletion, Written] | None:
        """The most recently used entry that is valid at the cursor, with its untyped remainder.

        `now` is the validity of a completion generated now. `single_line` None accepts any length.
        """
        offset = cursor.offset
        with self._lock:
            entries = self._of_file.get(cursor.file, OrderedDict())
            for entry in reversed(entries.values()):
                if entry.context.offset > offset or (rest := entry.remainder_at(cursor)) is None:
                    continue
                validity = entry.validity
                if (
                    validity.model == now.model
                    and validity.min_confidence <= min_confidence
                    and single_line in (None, entry.single_line)
                    and self._is_valid(validity, cursor)
                ):
                    self._entries.move_to_end(entry.key)
                    entries.move_to_end(entry.key)
                    return entry, rest
        return None

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._of_file.clear()
            self._n_characters = 0

    def _is_valid(self, validity: Validity, cursor: Cursor) -> bool:
        changes = self._changes[cursor.folder]
        if validity.reads_all and not changes.others_unchanged(cursor.path, validity.epoch):
            return False
        return all(
            _is_unchanged_above(location, text, cursor)
            if location.path == cursor.path
            else changes.is_unchanged(location, text, validity.epoch)
            for ranked in validity.fragments
            for location, text in ranked.fragment.parts()
        )

    def _drop(self, key: tuple[CursorContext, bool]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._n_characters -= entry.n_characters
            entries = self._of_file[entry.context.file]
            del entries[key]
            if not entries:
                del self._of_file[entry.context.file]


_MAX_CLOSERS = 8
_CLOSERS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "`": "`"}


def _closers_of(typed: str) -> str:
    """The closers of the brackets and quotes that `typed` opens; an editor may have inserted them after the cursor."""
    open_closers: list[str] = []
    for character in typed:
        if open_closers and character == open_closers[-1]:
            open_closers.pop()
        elif character in _CLOSERS:
            open_closers.append(_CLOSERS[character])
    return "".join(reversed(open_closers[-_MAX_CLOSERS:]))


def _is_unchanged_above(location: Location, text: str, cursor: Cursor) -> bool:
    """Whether a part of a fragment of the cursor's file is unchanged on its lines above the cursor."""
    text = text.replace("\n", cursor.lines.line_break)
    start = location.start_line
    return start <= cursor.line and cursor.lines.text.startswith(text, cursor.lines.offset(start, 0))
