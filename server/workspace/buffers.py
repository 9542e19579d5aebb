"""Open buffers: editor texts that overlay the files on disk, and their incremental indexing.

Owns the texts, their versions, cached facts of their files, recent edits, and the queue of edits to index. Knows no
model and no protocol. A buffer that is too large is tracked but not analysed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ...codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded
from ...codegraph.syntax import REQUEST_LIMIT_S, forget_tree, prepare_tree
from ...errors import InvalidArgument
from ...languages import Language, language_of
from ...llm.disk import read_regular
from ...llm.workspace_model import tokenise_document
from ...retrieval.static_vectors import shipped_vectors
from ..config import Config
from ..secrets import is_secret_path, is_secret_text
from .access import FileAccess
from .analysis import FILE_LIMIT_S, Analysis, analyse
from .files import decode
from .folder import Folder
from .folders import Folders
from .indexing import Indexing
from .recent_edits import RecentEdits
from .text import Cursor, TextChange, TextLines
from .turns import waiting
from .workers import reason_of
from .writer import Writer

log = logging.getLogger("weft")

INDEX_AFTER_S = 0.6
"""An edited buffer is indexed this long after the last edit: completions in the file use its current text anyway, and a
request in another file indexes the edit at once. With 0.15 s, indexing ran beside the request of every second keystroke
(`weft bench latency`, CPU time in half a minute: 628 instead of 82 ms at 200k lines, 2.0 instead of 0.3 s at 1M)."""

QUIET_PAUSES = 4.0
"""While others type, files at rest are indexed again only after so many times the time that it took before. With 50
typists at a million lines the writer computed without a pause, and each answer waited for it."""

MAX_OPEN_CHARACTERS = 5_000_000
"""Longer open texts are tracked, but neither analysed nor completed in; a larger `index.max_file_bytes` raises this."""

MAX_INDEXING_WAIT_S = 0.1
"""A request waits at most this long for edits of other files to be indexed; during a first index run they queue."""

RETRY_SLOW_TEXT_AFTER_S = 60.0
"""An unsaved text whose parsing exceeded the limit is analysed again after this time."""

FACTS_FOR_S = 2.0
"""Lifetime of cached file facts: without a watcher, changes are not reported."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Metadata of a document: `root` is its folder's path ("" for none), `key` its name in the index."""

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
    language_id: str = ""  # LSP language id
    changed: TextChange | None = None  # since `tree`; None if unchanged
    tree: SyntaxTree | None = None  # of an earlier text, for incremental parsing. Changed on the writer only.
    too_slow_until_s: float = 0.0  # on the monotonic clock: parsing exceeded its limit
    is_indexed: bool = True  # False: another session has another text, so the index has the file on disk
    shown: tuple[FileFacts, TextLines] | None = None  # cached decision: with these, no model is denied the text

    def replace(self, lines: TextLines, changed: TextChange) -> None:
        self.lines, self.changed = lines, changed if self.changed is None else self.changed.then(changed)


@dataclass(frozen=True, slots=True)
class _PendingEdit:
    """The latest edit of a file that the index does not contain yet. `at_s` is on the monotonic clock."""

    session: str
    at_s: float


@dataclass
class OpenBuffers:
    """The open texts of one workspace. Thread-safe. `on_change` is called when a text can no longer be analysed."""

    folders: Folders
    config: Config
    writer: Writer
    indexing: Indexing
    on_change: Callable[[], None]
    separates_sessions: bool = False  # sessions are of different people, who do not see each other's recent edits
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _buffers: dict[Path, _Buffer] = field(default_factory=dict)
    _too_large: set[Path] = field(default_factory=set)
    _recent: dict[tuple[str, str], RecentEdits] = field(default_factory=dict)  # by folder and by whose edits they are
    # The same with long hunks: for next edits.
    _pasted: dict[tuple[str, str], RecentEdits] = field(default_factory=dict)
    _pending: dict[Path, _PendingEdit] = field(default_factory=dict)  # edited, not yet queued on the writer
    _queued: dict[Path, None] = field(default_factory=dict)  # for the writer, which takes all of them at once
    _next_quiet_s: float = 0.0  # on the monotonic clock, see QUIET_PAUSES
    _facts: dict[Path, FileFacts] = field(default_factory=dict)

    # Editor events.

    def open(
        self,
        path: Path,
        text: TextLines,
        version: int = 0,
        language_id: str | None = None,
        *,
        session: str = "",
        is_indexed: bool = True,
    ) -> bool:
        """Use this text of a session instead of the file on disk. False if it is too large.

        `language_id` is the LSP language id; None keeps the previous one. `is_indexed` False: not in the index.
        """
        if self._exclude_if_too_large(path, text.text):
            return False
        if language_id is None:
            language_id = self.language_id(path)
        with self._lock:
            self._buffers[path] = _Buffer(text, version, language_id, is_indexed=is_indexed)
        self.folders.open_lone_file(path)
        facts = self._new_facts(path)
        with self._lock:
            whose = facts.root, self._whose(session)
            self._recent[whose] = self._recent.get(whose, RecentEdits()).with_text(facts.key, text.text)
            pasted = self._pasted.get(whose, RecentEdits(has_pasted=True))
            self._pasted[whose] = pasted.with_text(facts.key, text.text)
            self._pending[path] = _PendingEdit(session, time.monotonic())
        return True

    def edit(
        self,
        path: Path,
        lines: TextLines,
        version: int = 0,
        changed: TextChange | None = None,
        *,
        session: str = "",
        is_indexed: bool = True,
    ) -> TextChange | None:
        """Set a buffer's whole new text. `changed` is the changed range; None computes it.

        Returns the changed range; None if the text is too large. Cheap: the writer thread updates the index later.
        Where several sessions type, there may be no pause in all their typing, so each edit also queues the files that
        were not edited for `INDEX_AFTER_S`.
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
            now_s = time.monotonic()
            if not is_withheld:
                whose = facts.root, self._whose(session)
                recent = self._recent.get(whose, RecentEdits())
                self._recent[whose] = recent.with_change(facts.key, before, lines, changed, now_s)
                pasted = self._pasted.get(whose, RecentEdits(has_pasted=True))
                self._pasted[whose] = pasted.with_change(facts.key, before, lines, changed, now_s)
            buffer.replace(lines, changed)
            buffer.version, buffer.shown, buffer.is_indexed = version, shown, is_indexed
            self._pending[path] = _PendingEdit(session, now_s)
        self._index_quiet(now_s)
        return changed

    def close(self, path: Path) -> None:
        """Use the file on disk again."""
        with self._lock:
            self._buffers.pop(path, None)
            self._facts.pop(path, None)
            self._too_large.discard(path)
            self._pending[path] = _PendingEdit("", 0.0)
        self.folders.close_lone_file(path)

    # Reads.

    @property
    def is_paused(self) -> bool:
        return self.indexing.is_paused

    def facts(self, path: Path) -> FileFacts:
        """Metadata of a document, open or not. Cached until it may have changed."""
        known = self._facts.get(path)
        if known is None or known.version != self.folders.version or time.monotonic() > known.valid_until_s:
            known = self._new_facts(path)
        return known

    def lines(self, path: Path) -> TextLines:
        """The text of a document, open or on disk. Raises OSError, and ValueError for a binary file."""
        buffer = self._buffers.get(path)
        return _text_on_disk(path) if buffer is None else buffer.lines

    def open_lines(self, path: Path) -> TextLines | None:
        buffer = self._buffers.get(path)
        return None if buffer is None else buffer.lines

    def open_tree(self, path: Path) -> SyntaxTree | None:
        """The syntax tree of an open text, or of an earlier version of it; None before its first analysis."""
        buffer = self._buffers.get(path)
        return None if buffer is None else buffer.tree

    def located(self, cursor: Cursor, facts: FileFacts) -> Cursor:
        """A cursor with its folder, its key in the index, recent edits and language id."""
        line, character = cursor.lines.clamp(cursor.line, cursor.character)
        whose = facts.root, self._whose(cursor.session)
        recent = self._recent.get(whose) if self.config.completion.recent_edits else None
        return Cursor(
            facts.key,
            cursor.lines,
            line,
            character,
            facts.root,
            () if recent is None else recent.hunks,
            self.language_id(Path(cursor.path)),
            session=cursor.session,
        )

    def language_id(self, path: Path) -> str:
        """The LSP language id of a document; "" if it is not open."""
        buffer = self._buffers.get(path)
        return "" if buffer is None else buffer.language_id

    def withheld(
        self, path: Path, lines: TextLines | None = None, *, is_invoked: bool = False, uses_server: bool = False
    ) -> str:
        """Why this document is withheld from models; "" if it is not. `lines` None uses the open text."""
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
        """The reasons of the open documents that are withheld from models, without duplicates."""
        paths = [*self._buffers, *self._too_large]
        return tuple(dict.fromkeys(reason for path in paths if (reason := self.withheld(path))))

    def recent_edits(self, session: str = "") -> dict[str, RecentEdits]:
        """Recent edits of a session by folder."""
        with self._lock:
            return {root: recent for (root, whose), recent in self._recent.items() if whose == self._whose(session)}

    def edits_with_pasted(self, session: str, root: str) -> RecentEdits:
        """Recent edits of a session in a folder, pasted and generated code among them."""
        with self._lock:
            return self._pasted.get((root, self._whose(session)), RecentEdits(has_pasted=True))

    def forget_session(self, session: str) -> None:
        """Drop the recent edits of a session that has ended, unless sessions share theirs."""
        with self._lock:
            if whose := self._whose(session):
                self._recent = {key: recent for key, recent in self._recent.items() if key[1] != whose}
                self._pasted = {key: recent for key, recent in self._pasted.items() if key[1] != whose}

    def directories_in(self, folder: Folder) -> set[str]:
        """Directories of the folder's open documents."""
        keys = (folder.key(path) for path in list(self._buffers))
        return {os.path.dirname(key) for key in keys if key is not None}

    # Indexing.

    def index_again(self, folder: Folder) -> None:
        """Index all open documents of a folder again."""
        with self._lock:
            known = [path for path in self._buffers if folder.key(path) is not None]
            self._pending |= {path: _PendingEdit("", 0.0) for path in known if path not in self._pending}
        self.index_pending()

    def index_pending(self, but: Collection[Path] = (), session: str | None = None) -> Future[None] | None:
        """Queue pending edits on the writer, of one session or of all, except those of `but`.

        None if there are none, or while paused.
        """
        return self._queue(lambda path, edit: path not in but and (session is None or edit.session in (session, "")))

    def wait_for_pending(self, but: Collection[Path] = (), session: str | None = None) -> None:
        """Queue pending edits as `index_pending`, and wait up to MAX_INDEXING_WAIT_S for their indexing.

        A completion waits for the edits of its own session alone: with 50 sessions there are always others.
        """
        last = self.index_pending(but, session)
        if last is not None:
            with waiting(), suppress(FutureTimeoutError, CancelledError):
                last.result(timeout=MAX_INDEXING_WAIT_S)

    def wait_until_settled(self) -> None:
        """As `wait_for_pending` for all edits, and as long again for what follows from them for other files."""
        self.wait_for_pending()
        for folder in self.folders.with_lone:
            if not folder.snapshot.is_settled and not self.is_paused:
                with waiting(), suppress(FutureTimeoutError, CancelledError):
                    self.writer.submit(folder.settle_here).result(timeout=MAX_INDEXING_WAIT_S)

    def wait_until_indexed(self, within_s: float) -> None:
        """Queue all pending edits, and wait at most so long for them and for those that were queued before."""
        self.index_pending()
        if self._buffers:
            with waiting(), suppress(FutureTimeoutError, CancelledError):
                self.writer.submit(lambda: None).result(timeout=within_s)

    def _index_quiet(self, now_s: float) -> None:
        """Queue the files that were not edited for `INDEX_AFTER_S`."""
        if len(self._pending) > 1 and now_s >= self._next_quiet_s:
            self._queue(lambda path, edit: edit.at_s <= now_s - INDEX_AFTER_S)

    def _queue(self, is_chosen: Callable[[Path, _PendingEdit], bool]) -> Future[None] | None:
        """Queue chosen pending edits on the writer. None if there are none, or while paused."""
        if self.is_paused:
            return None
        with self._lock:
            chosen = [path for path, edit in self._pending.items() if is_chosen(path, edit)]
            for path in chosen:
                del self._pending[path]
            self._queued |= dict.fromkeys(chosen)
        return self.writer.submit(self._index_queued) if chosen else None

    def _index_queued(self) -> None:
        """On the writer: index all queued files, with one snapshot for those of a folder.

        What is queued while the writer is busy is indexed together, so more typists cost less for each.
        """
        with self._lock:
            paths, self._queued = self._queued, {}
        began_s = time.monotonic()
        overlays: dict[Folder, list[Analysis]] = {}
        for path in paths:
            try:
                found = self._index(path)
            except Exception:
                log.exception("The edits of %s could not be indexed.", path)
                continue
            if found is not None:
                overlays.setdefault(found[0], []).append(found[1])
        for folder, analyses in overlays.items():
            self._overlay(folder, analyses)
            self.folders.follow_imports(folder)
        if paths:
            ended_s = time.monotonic()
            self._next_quiet_s = ended_s + QUIET_PAUSES * (ended_s - began_s)

    def _overlay(self, folder: Folder, analyses: list[Analysis]) -> None:
        """On the writer: overlay files of a folder. One that cannot be merged is left out of the index alone."""
        try:
            folder.overlay(analyses)
        except Exception as error:
            if len(analyses) > 1:
                for analysis in analyses:
                    self._overlay(folder, [analysis])
                return
            self._failed(folder, analyses[0].path, error)

    def _failed(self, folder: Folder, key: str, error: Exception) -> None:
        log.warning("%s is not indexed: %s", folder.path / key, error)
        folder.fail_overlay(key, reason_of(error))
        self.on_change()

    def _index(self, path: Path) -> tuple[Folder, Analysis] | None:
        """On the writer: the overlay of a file with its open text, for its folder; without one, remove the overlay."""
        with self._lock:
            buffer = self._buffers.get(path)
        folder, key = self.folders.locate(path)
        if folder is None or is_secret_path(key):
            return None
        if buffer is None or not buffer.is_indexed:
            if buffer is None:
                forget_tree(key)
            if buffer is None or folder.is_open(key):
                folder.drop_overlay(key)
            self.folders.follow_imports(folder)
            return None
        text = buffer.lines.text
        if folder.exclusion_reason(key) or len(text) > self.config.index.max_file_bytes or is_secret_text(text):
            return None
        folder.mark_open(key)
        language = language_of(key, buffer.language_id)
        if folder.has_indexed(key, text, language.name):
            self._prepare_edits(folder, key, buffer, language)
        elif buffer.too_slow_until_s <= time.monotonic():
            analysis = self._analysed(folder, key, buffer, language)
            if analysis is not None:
                return folder, analysis
        self.folders.follow_imports(folder)
        return None

    def _prepare_edits(self, folder: Folder, key: str, buffer: _Buffer, language: Language) -> None:
        """On the writer: prepare what the first edit of an open text needs; the index has this text."""
        snapshot = folder.snapshot
        snapshot.index.graph.symbols(key)
        snapshot.model.look_up(tokenise_document(key, buffer.lines.text))
        shipped_vectors()
        self.writer.submit_later(lambda: folder.prepare_edits(key))
        if buffer.tree is None:
            with self._lock:
                lines = buffer.lines
            try:
                limit = CpuTimeLimit(REQUEST_LIMIT_S, samples=False)  # the text is known to parse in time
                tree = SyntaxTree.parse(key, lines.text, limit, language=language)
            except TimeLimitExceeded:
                return
            self._keep_tree(buffer, tree, lines)
        checks_names = self.config.completion.check_names
        if buffer.tree is not None and checks_names and language.scope_rules is not None and language.embedded is None:
            prepare_tree(buffer.tree)

    def _keep_tree(self, buffer: _Buffer, tree: SyntaxTree, lines: TextLines) -> None:
        """Keep the tree of a buffer, which is that of `lines`."""
        with self._lock:
            buffer.tree = tree
            buffer.changed = None if buffer.lines is lines else TextChange.between(lines.text, buffer.lines.text)

    def _analysed(self, folder: Folder, key: str, buffer: _Buffer, language: Language) -> Analysis | None:
        """The analysis of an open text; None, and the file is left out of the index, if it fails."""
        with self._lock:
            lines, changed = buffer.lines, buffer.changed
        text = lines.text
        limit = CpuTimeLimit(FILE_LIMIT_S)
        try:
            if buffer.tree is None:
                tree = SyntaxTree.parse(key, text, limit, language=language)
            else:
                tree = buffer.tree.edited(text, limit, None if changed is None else changed.ends)
            self._keep_tree(buffer, tree, lines)
            return analyse(key, text, graph=tree.file_graph(limit))
        except Exception as error:
            if isinstance(error, TimeLimitExceeded):
                buffer.too_slow_until_s = time.monotonic() + RETRY_SLOW_TEXT_AFTER_S
            self._failed(folder, key, error)
            return None

    # Helpers.

    def _whose(self, session: str) -> str:
        """Whose recent edits the edits of a session belong to: its own, or the one user's of all windows."""
        return session if self.separates_sessions else ""

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
        """Whether an open text is too large to analyse; then the index has the file on disk instead."""
        is_too_large = self._is_too_large(text)
        if is_too_large == (path in self._too_large):
            return is_too_large
        with self._lock:
            if is_too_large:
                self._too_large.add(path)
                self._buffers.pop(path, None)
                self._facts.pop(path, None)
                self._pending[path] = _PendingEdit("", 0.0)
            else:
                self._too_large.discard(path)
        self.on_change()
        return is_too_large


def _fits(changed: TextChange, before: str, after: str) -> bool:
    """Whether a changed range is consistent with the lengths of both texts."""
    grown = changed.end_after - changed.end_before
    return 0 <= changed.start <= changed.end_before <= len(before) and len(before) + grown == len(after)


def _text_on_disk(path: Path) -> TextLines:
    decoded = decode(read_regular(path))
    if decoded is None:
        raise InvalidArgument(f"{path} is not a text file. Choose a source file.")
    return TextLines(decoded[0])
