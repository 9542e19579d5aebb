"""Open buffers: the texts that an editor holds open, with the facts of their files.

Owns the texts, their versions, recent edits, and the way of an edit into the index. Knows no cursor of a person, no
model and no protocol. A buffer counts instead of the file on disk; one that is too large is followed and not analysed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ...codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded
from ...languages import Language, language_of
from ...llm.disk import read_regular
from ..config import Config
from ..secrets import is_secret_path, is_secret_text
from .access import FileAccess
from .analysis import FILE_LIMIT_S, analyse
from .files import decode
from .folder import Folder
from .folders import Folders
from .recent_edits import RecentEdits
from .text import Cursor, TextChange, TextLines
from .workers import reason_of
from .writer import Writer

log = logging.getLogger("weft")

MAX_OPEN_CHARACTERS = 5_000_000
"""Longer texts that an editor holds open are followed, and neither analysed nor completed in; `index.max_file_bytes`
raises this when it is more."""

MAX_INDEXING_WAIT_S = 0.1
"""A request waits at most this long for edits of other files to be indexed; during a first index they queue."""

RETRY_SLOW_TEXT_AFTER_S = 60.0
"""An unsaved text whose syntax took too long is analysed again after this time: it changes at every key."""

FACTS_FOR_S = 2.0
"""Facts of a file are looked up again after this time: without a watcher nothing says that they changed."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a document beside its text: `root` is its folder ("" for none), `key` its name in the index."""

    folder: Folder | None
    root: str
    key: str
    access: FileAccess
    language: Language
    editor_config: dict[str, str]
    version: int
    valid_until_s: float  # on the monotonic clock


@dataclass
class _Buffer:
    lines: TextLines
    version: int
    language_id: str = ""  # what the editor calls its language
    changed: TextChange | None = None  # since `tree`; None: nothing
    tree: SyntaxTree | None = None  # of an earlier text; the next parse starts from it. Changed on the writer only.
    too_slow_until_s: float = 0.0  # on the monotonic clock: its syntax took too long
    shown: tuple[FileFacts, TextLines] | None = None  # facts and text with which it may be shown to any model

    def replace(self, lines: TextLines, changed: TextChange) -> None:
        self.lines, self.changed = lines, changed if self.changed is None else self.changed.then(changed)


@dataclass
class OpenBuffers:
    """The open texts of one workspace. Thread-safe. `on_change` hears of texts that cannot be analysed any more."""

    folders: Folders
    config: Config
    writer: Writer
    on_change: Callable[[], None]
    is_paused: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _buffers: dict[Path, _Buffer] = field(default_factory=dict)
    _too_large: set[Path] = field(default_factory=set)
    _recent: dict[str, RecentEdits] = field(default_factory=dict)  # by folder
    _pending: set[Path] = field(default_factory=set)  # edited, and not yet handed to the writer
    _facts: dict[Path, FileFacts] = field(default_factory=dict)

    # What an editor reports.

    def open(self, path: Path, text: TextLines, version: int = 0, language_id: str | None = None) -> bool:
        """Use this text instead of the file on disk. False for one that is too large.

        `language_id` is what the editor calls the language of the text; None keeps what it said before.
        """
        if self._exclude_if_too_large(path, text.text):
            return False
        if language_id is None:
            language_id = self.language_id(path)
        with self._lock:
            self._buffers[path] = _Buffer(text, version, language_id)
        facts = self._new_facts(path)
        with self._lock:
            recent = self._recent.get(facts.root, RecentEdits())
            self._recent[facts.root] = recent.with_text(facts.key, text.text)
            self._pending.add(path)
        return True

    def edit(
        self, path: Path, lines: TextLines, version: int = 0, changed: TextChange | None = None
    ) -> TextChange | None:
        """A buffer's whole new text, and which range of it is new, None where that is not known.

        Returns that range; None for a text that is too large. Cheap: the index follows on the writer thread.
        """
        if self._exclude_if_too_large(path, lines.text):
            return None
        facts = self.facts(path)
        is_withheld = bool(facts.access.withheld(lines.text))
        shown = None if is_withheld else (facts, lines)
        with self._lock:
            buffer = self._buffers.setdefault(path, _Buffer(lines, version))
            before = buffer.lines
            if changed is None or not _fits(changed, before.text, lines.text):
                changed = TextChange.between(before.text, lines.text)
            if not is_withheld:
                recent = self._recent.get(facts.root, RecentEdits())
                self._recent[facts.root] = recent.with_change(facts.key, before, lines, changed, time.monotonic())
            buffer.replace(lines, changed)
            buffer.version, buffer.shown = version, shown
            self._pending.add(path)
        return changed

    def close(self, path: Path) -> None:
        """Use the file on disk again."""
        with self._lock:
            self._buffers.pop(path, None)
            self._facts.pop(path, None)
            self._too_large.discard(path)
            self._pending.add(path)

    # What requests need.

    def facts(self, path: Path) -> FileFacts:
        """The facts of a document, open or not, looked up when they may have changed."""
        known = self._facts.get(path)
        if known is None or known.version != self.folders.version or time.monotonic() > known.valid_until_s:
            known = self._new_facts(path)
        return known

    def lines(self, path: Path) -> TextLines:
        """The text of a document, open or on disk. Raises OSError, and ValueError for a file that is no text."""
        buffer = self._buffers.get(path)
        return _text_on_disk(path) if buffer is None else buffer.lines

    def open_lines(self, path: Path) -> TextLines | None:
        buffer = self._buffers.get(path)
        return None if buffer is None else buffer.lines

    def located(self, cursor: Cursor, facts: FileFacts) -> Cursor:
        """A cursor of the LSP layer or of a script, with its place in the index and the edits around it."""
        line, character = cursor.lines.clamp(cursor.line, cursor.character)
        recent = self._recent.get(facts.root) if self.config.completion.recent_edits else None
        hunks = () if recent is None else recent.hunks
        return Cursor(facts.key, cursor.lines, line, character, facts.root, hunks, self.language_id(Path(cursor.path)))

    def language_id(self, path: Path) -> str:
        """What the editor calls the language of a document; "" for one that is not open."""
        buffer = self._buffers.get(path)
        return "" if buffer is None else buffer.language_id

    def withheld(
        self, path: Path, lines: TextLines | None = None, *, is_invoked: bool = False, uses_server: bool = False
    ) -> str:
        """Why no model is shown this document, "" when one may be. `lines` None takes the open text."""
        if path in self._too_large or (lines is not None and self._is_too_large(lines.text)):
            return f"{path.name} has more than {self._max_characters / 1e6:g} million characters"
        facts, buffer = self.facts(path), self._buffers.get(path)
        if buffer is not None:
            lines = lines or buffer.lines
            if buffer.shown is not None and buffer.shown[0] is facts and buffer.shown[1] is lines:
                return ""
        text = None if lines is None else lines.text
        return facts.access.withheld(text, is_invoked=is_invoked, uses_server=uses_server)

    def withheld_reasons(self) -> tuple[str, ...]:
        """Of the open documents that are shown to no model."""
        paths = [*self._buffers, *self._too_large]
        return tuple(dict.fromkeys(reason for path in paths if (reason := self.withheld(path))))

    def recent_edits(self) -> dict[str, RecentEdits]:
        """What was edited lately, by folder."""
        with self._lock:
            return dict(self._recent)

    def directories_in(self, folder: Folder) -> set[str]:
        """Directories of open documents."""
        keys = (folder.key(path) for path in list(self._buffers))
        return {os.path.dirname(key) for key in keys if key is not None}

    # The way into the index.

    def index_again(self, folder: Folder) -> None:
        """Bring all open documents of a folder into its index once more."""
        with self._lock:
            self._pending |= {path for path in self._buffers if folder.key(path) is not None}
        self.index_pending()

    def index_pending(self, but: Path | None = None) -> Future[None] | None:
        """Hand waiting edits to the writer; None without any, and while paused. `but` is the document typed in."""
        if self.is_paused:
            return None
        with self._lock:
            pending = self._pending - {but}
            self._pending -= pending
        last = None
        for path in pending:
            last = self.writer.submit(partial(self._index, path))
        return last

    def wait_for_pending(self, but: Path | None = None) -> None:
        """Have waiting edits indexed, and wait a little for that."""
        last = self.index_pending(but)
        if last is not None:
            with suppress(FutureTimeoutError, CancelledError):
                last.result(timeout=MAX_INDEXING_WAIT_S)

    def _index(self, path: Path) -> None:
        """On the writer: put an open text in the place of the file on disk, or take it away."""
        with self._lock:
            buffer = self._buffers.get(path)
        folder, key = self.folders.locate(path)
        if folder is None or is_secret_path(key):
            return
        if buffer is None:
            folder.drop_overlay(key)
            return
        with self._lock:
            lines, changed = buffer.lines, buffer.changed
        text = lines.text
        if not folder.includes(key) or len(text) > self.config.index.max_file_bytes or is_secret_text(text):
            return
        folder.mark_open(key)
        language = language_of(key, buffer.language_id)
        if folder.has_indexed(key, text, language.name) or buffer.too_slow_until_s > time.monotonic():
            return
        limit = CpuTimeLimit(FILE_LIMIT_S)
        try:
            if buffer.tree is None:
                tree = SyntaxTree.parse(key, text, limit, language=language)
            else:
                tree = buffer.tree.edited(text, limit, None if changed is None else changed.ends)
            with self._lock:
                buffer.tree = tree
                buffer.changed = None if buffer.lines is lines else TextChange.between(text, buffer.lines.text)
            folder.overlay(analyse(key, text, graph=tree.file_graph(limit)))
        except Exception as error:
            if isinstance(error, TimeLimitExceeded):
                buffer.too_slow_until_s = time.monotonic() + RETRY_SLOW_TEXT_AFTER_S
            log.warning("%s is left out of the index: %s", path, error)
            folder.fail_overlay(key, reason_of(error))
            self.on_change()

    # Helpers.

    def _new_facts(self, path: Path) -> FileFacts:
        version = self.folders.version
        folder, key = self.folders.locate_document(path)
        root = "" if folder is None else str(folder.path)
        is_inside = folder is not None and not Path(key).is_absolute()
        facts = FileFacts(
            folder,
            root,
            key,
            FileAccess.of(path, self.folders),
            language_of(path.name, self.language_id(path)),
            dict(self.folders.editor_config(root, key)) if is_inside else {},
            version,
            time.monotonic() + FACTS_FOR_S,
        )
        with self._lock:
            if path in self._buffers:
                self._facts[path] = facts
        return facts

    @property
    def _max_characters(self) -> int:
        return max(MAX_OPEN_CHARACTERS, self.config.index.max_file_bytes)

    def _is_too_large(self, text: str) -> bool:
        return len(text) > self._max_characters

    def _exclude_if_too_large(self, path: Path, text: str) -> bool:
        """Whether an open text is too large to be analysed; then the index has the file as it is on disk."""
        is_too_large = self._is_too_large(text)
        if is_too_large == (path in self._too_large):
            return is_too_large
        with self._lock:
            if is_too_large:
                self._too_large.add(path)
                self._buffers.pop(path, None)
                self._facts.pop(path, None)
                self._pending.add(path)
            else:
                self._too_large.discard(path)
        self.on_change()
        return is_too_large


def _fits(changed: TextChange, before: str, after: str) -> bool:
    """Whether a change can lead from one text to the other; a range of another text mostly cannot."""
    grown = changed.end_after - changed.end_before
    return 0 <= changed.start <= changed.end_before <= len(before) and len(before) + grown == len(after)


def _text_on_disk(path: Path) -> TextLines:
    decoded = decode(read_regular(path))
    if decoded is None:
        raise ValueError(f"{path} is no text file. Complete in a source file.")
    return TextLines(decoded[0])
