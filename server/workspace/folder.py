"""Incremental index of one workspace folder: snapshot, updates from disk and buffers, and the persistent cache.

Owns the snapshot, the skipped files, and which files are open in an editor. Readers take `snapshot`, which never
changes; updates run on the writer. Knows no request and no model but the workspace model.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from ...codegraph import FileGraph
from ...codegraph.file_graph import Import
from ...codegraph.graph import garbage_collection_paused
from ...codegraph.modules import manifest_style
from ...errors import ControlFlow
from ...llm import Cancel
from ...llm.workspace_model.token_model import fitted_token_model
from ...retrieval.fragments import normalise
from ...retrieval.terms import decode, encode
from ..base.base import Base
from ..config import Config
from ..config.options import index_settings
from .analysis import Analysis, analyse
from .analysis_run import AnalysisRun
from .analysis_store import AnalysisStore
from .disk_check import DiskCheck
from .files import NOT_UTF_8, RULES_TOO_LARGE, ExcludedFile, FoundFile, Membership, Reason
from .imported_files import ImportedFiles
from .index_builder import BuilderFailed, BuildRequest, SavedIndex, build_in_process
from .index_file import DamagedFile
from .known_content import KnownContent
from .process import return_free_memory
from .reconcile import ComparisonResult
from .snapshot import FolderSnapshot
from .store import FileRecord, Store, StoredIndex
from .workers import RACY_NS, BatchResult, analyse_here, is_racy, reason_of
from .writer import Writer, WriterClosed

log = logging.getLogger("weft")

BUILDER_BYTES = 2_000_000
"""An index of less source than this is built in this process. From here on another process costs nothing more: at 2 MB
both ways take 2.2 s of processor time, of which this process takes 0.1 s with a builder and 0.7 s without."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an index run: `done` of `total` files of one folder."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Result of an index run. `skipped` counts files by reason; `warm` is true if a cached index was used."""

    n_files: int
    n_lines: int
    n_fragments: int
    n_reused: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    warm: bool = False
    cancelled: bool = False

    @classmethod
    def sum(cls, reports: Sequence[IndexReport]) -> IndexReport:
        """One report for several folders."""
        skipped: Counter[str] = Counter()
        for report in reports:
            skipped.update(report.skipped)
        return cls(
            sum(r.n_files for r in reports),
            sum(r.n_lines for r in reports),
            sum(r.n_fragments for r in reports),
            sum(r.n_reused for r in reports),
            dict(skipped),
            sum(r.seconds for r in reports),
            bool(reports) and all(r.warm for r in reports),
            any(r.cancelled for r in reports),
        )


MIN_SWITCHED_FILES = 100
"""Fewer changed files than this are always merged into the index."""

SWITCHED_SHARE = 20
"""An earlier index is looked for if one file in this many has changed: merging a file takes 20 times as long as loading
one, measured at 1.2 million lines."""

MAX_REPORTED_FILES = 50
"""More reported files than this trigger a reconciliation instead of single updates."""

MAX_UNSETTLED_EDITS = 32
"""After so many edits without a pause of the writer, the next one waits until all is resolved and merged: each adds a
segment, which every query searches."""

FILES_BETWEEN_PAUSES = 100
"""A comparison yields to running requests after this many files: about 2 ms of work."""


class SkippedFile(NamedTuple):
    """Why a file is not indexed, with its stamp: a file with another stamp is read again."""

    reason: str
    has_failed: bool  # its analysis raised, hung or crashed, or its name is not UTF-8; False if a rule excludes it
    stamp: tuple[int, ...] | None  # None: read again at every comparison


@dataclass(frozen=True, slots=True)
class _Difference:
    """Differences between disk and index, by name, size, times and inode."""

    found: list[FoundFile]  # all files that belong
    todo: list[FoundFile]
    removed: list[str]


class FolderObserver(Protocol):
    """Receives the changes of a folder's snapshot, on the writer, and sets its `view`."""

    def changed(self, folder: Folder, changed: Sequence[Analysis], removed: Sequence[str]) -> None: ...

    def loaded(self, folder: Folder) -> None:
        """The snapshot was replaced by the cached one."""
        ...


class _TooManyFiles(ControlFlow):
    """The folder has more files than may be indexed without a question."""


class Folder:
    """The index of one folder. All methods may be called from any thread.

    `limit_reason` is why only open files and the files that they import are indexed, as the end of a sentence; "" for
    the whole folder. A first index run that finds more than `max_files` files sets it; 0 is no limit.
    """

    def __init__(
        self,
        path: Path,
        config: Config,
        writer: Writer,
        store: Store | None,
        observer: FolderObserver | None = None,
        *,
        analyses: AnalysisStore | None = None,
        limit_reason: str = "",
        max_files: int = 0,
    ) -> None:
        self.path = path
        self.limit_reason = limit_reason
        self.max_files = max_files
        # Files to index with their imports beside the open ones; replaced whole.
        self.seeds: frozenset[str] = frozenset()
        self._followed: dict[str, Sequence[Import]] = {}  # imports of open files that the last closure followed
        self._closure: frozenset[str] = frozenset()  # the files of the last closure
        self._observer = observer
        self.is_indexed = False  # an index run is complete
        self._skipped: dict[str, SkippedFile] = {}  # changed and replaced on the writer only
        self._disk_check = DiskCheck(os.fspath(path))
        self._left_out: tuple[ExcludedFile, ...] = ()  # by the last walk, by their names and sizes
        self._reported: set[str] | None = None  # files reported as changed during the current run; None without a run
        self._closed = Cancel()
        self._config = config
        self._writer = writer
        self._store = store
        self._contents = KnownContent(path, config.index, analyses)
        self._membership = Membership(path, config.index)
        self._open: set[str] = set()  # files open in an editor; used on the writer only
        self._logged_problems: set[str] = set()  # of manifests
        # While the snapshot is not settled: the last one that was, and what has changed since; used on the writer only.
        self._settled: FolderSnapshot | None = None
        self._unsettled: dict[str, Analysis | None] = {}
        self._n_unsettled = 0  # edits
        self._dirty = False
        self._read: Mapping[FoundFile, FileRecord] = {}  # files that this run has read; used on its thread only
        self._saved: FolderSnapshot | None = None  # the snapshot, if it equals the one on disk
        self._n_merged = 0  # files that were merged into the snapshot since it was loaded
        self._is_warm = False
        # Of a loaded index, until `verify_loaded` has read all of it.
        self._verify: Callable[[Callable[[], bool]], bool] | None = None
        self._indexing = threading.Lock()
        # Replaced whole on the writer; readers continue with the one that they took.
        self.snapshot = FolderSnapshot.empty(index_settings(config, name=path.name))
        fitted_token_model()  # read from disk now, not by the first completion
        # For requests in the folder: `snapshot`, or one with the files of other folders too.
        self.view: FolderSnapshot = self.snapshot

    @property
    def skipped_files(self) -> dict[str, SkippedFile]:
        """Files that are not indexed although no ignore rule matches them; names that are not UTF-8 are escaped."""
        indexed = self.snapshot.index.texts  # a file may be smaller now
        left_out = {
            _shown(path): SkippedFile(reason, reason == NOT_UTF_8, None)
            for path, reason in self._left_out
            if path not in indexed
        }
        rules = {path: SkippedFile(RULES_TOO_LARGE, True, None) for path in dict(self._membership.unusable_rules)}
        return {**dict(self._skipped), **left_out, **rules}

    def close(self) -> None:
        """Cancel running index runs and comparisons, for good."""
        self._closed.cancel()

    def key(self, path: Path) -> str | None:
        """The index's name for a path below this folder, None for one outside."""
        try:
            return path.relative_to(self.path).as_posix()
        except ValueError:
            return None

    def exclusion_reason(self, key: str) -> Reason | None:
        """Why a file of this name is not indexed, by its name and the rules; None if it is."""
        return self._membership.exclusion_reason(key)

    def index(
        self,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        first: Iterable[str] = (),
        niceness: int = 0,
    ) -> IndexReport:
        """Update the snapshot from the disk; readers can use the partial index meanwhile.

        `first` are directories to index first: those with open files. Concurrent calls run one after another.
        """
        with self._indexing, self._recording_reports(), self._storing_analyses():
            report = self._index(progress, cancel, first, niceness)
            self.settle()
            return report

    def reconcile(
        self,
        cancel: Cancel,
        preempt: Callable[[], None] = lambda: None,
        begin: Callable[[], None] = lambda: None,
        niceness: int = 0,
    ) -> ComparisonResult:
        """Compare the index with the disk, by stat and then by content, and index the differences.

        `preempt` is called every few milliseconds, `begin` before files are read that differ.
        """
        with self._indexing, self._recording_reports(), self._storing_analyses():
            unsubscribe = self._closed.on_cancel(cancel.cancel)
            try:
                started_s = time.thread_time()
                difference = self._compare(cancel, preempt)
                compare_s = time.thread_time() - started_s
                is_switch = self._is_switch(difference)
                if is_switch:
                    difference = self._from_earlier_index(difference, cancel, preempt)
                if cancel.cancelled or not (difference.todo or difference.removed):
                    return ComparisonResult(compare_s=compare_s)
                if difference.removed or not all(map(self._is_read_to_be_sure, difference.todo)):
                    begin()
                before, skipped_files = self.snapshot, len(self._skipped)
                self._index_difference(difference, cancel, niceness, lambda n_done: None)
                self._follow_imports(difference, cancel, niceness)
                self.settle()
                changed = before.index is not self.snapshot.index or skipped_files != len(self._skipped)
                # Racy files are read again once their time stamps are old enough to be compared.
                racy = any(is_racy(file) for file in difference.todo)
                if is_switch and changed:
                    self.save()  # the next switch may come back to it
                return ComparisonResult(int(changed), RACY_NS / 1e9 if racy else None, compare_s)
            finally:
                unsubscribe()

    def _is_read_to_be_sure(self, file: FoundFile) -> bool:
        """Whether a file is read again only because its time says nothing: it was racy when it was indexed."""
        record = self.snapshot.records.get(file.path)
        return record is not None and (record.size, record.mtime_ns, record.identity) == (file.size, 0, file.identity)

    def load(self) -> bool:
        """Load the cached index if nothing is indexed yet, without reading its arrays.

        The caller then calls `verify_loaded`, and indexes open buffers again.
        """
        if self.snapshot.records or self._store is None or self.limit_reason:
            return False
        found = self._store.load_unverified(self.path)
        snapshot = None if found is None else self._snapshot_of(found.stored)
        if found is None or snapshot is None:
            return False
        self._verify = found.verify
        self._writer.run(lambda: self._load(snapshot))
        self._saved = snapshot
        self._log_problems(snapshot.index.graph.files.values())
        self._is_warm = True
        return True

    def verify_loaded(self, cancel: Cancel) -> None:
        """Read the loaded index, which answers requests meanwhile. A damaged one is replaced by an empty one."""
        if self._verify is None or self._store is None:
            return
        try:
            if self._verify(lambda: cancel.cancelled):
                self._verify = None
        except DamagedFile as error:
            self._verify, self._is_warm = None, False
            self._store.discard(self.path, error)
            empty = FolderSnapshot.empty(self.snapshot.index.settings)
            self._writer.run(lambda: self._load(empty))

    def _index(
        self, progress: Callable[[Progress], None] | None, cancel: Cancel | None, first: Iterable[str], niceness: int
    ) -> IndexReport:
        started = time.perf_counter()
        cancel = cancel or Cancel()
        unsubscribe = self._closed.on_cancel(cancel.cancel)
        report = progress or (lambda _: None)
        try:
            difference = self._compare(cancel)
            if self._is_switch(difference):
                difference = self._from_earlier_index(difference, cancel)
            hot = set(first)
            if hot:
                for files in (difference.found, difference.todo):
                    files.sort(key=lambda file: os.path.dirname(file.path) not in hot)
            n_found = len(difference.found)
            n_reused = n_found - len(difference.todo)
            report(Progress(n_reused, n_found))
            self._index_difference(
                difference, cancel, niceness, lambda n_done: report(Progress(n_reused + n_done, n_found))
            )
            self._follow_imports(difference, cancel, niceness)
        finally:
            unsubscribe()
        self.is_indexed = self.is_indexed or not cancel.cancelled
        skipped = Counter(skipped_file.reason for skipped_file in self.skipped_files.values())
        snapshot = self.snapshot
        return IndexReport(
            n_files=snapshot.index.n_files,
            n_lines=snapshot.index.n_lines,
            n_fragments=snapshot.index.n_fragments,
            n_reused=n_reused,
            skipped=dict(skipped),
            seconds=time.perf_counter() - started,
            warm=self._is_warm,
            cancelled=cancel.cancelled,
        )

    def changed_on_disk(self, keys: Iterable[str], on_change: Callable[[bool], None]) -> None:
        """Read these files again. `on_change` is called, on any thread, if files of this folder changed: with True if a
        comparison with the disk is needed to find all changes (directories, ignore rules, errors, too many files)."""
        try:
            keys = self._without_ignored(keys)
        except OSError as error:
            log.warning("Changes in %s could not be handled: %s. Comparing with the disk.", self.path, error)
            on_change(True)
            return
        if not keys:
            return
        if len(keys) > MAX_REPORTED_FILES:
            on_change(True)
            return
        reported = self._reported
        if reported is not None:
            reported.update(keys)
        # Read on the writer, so that publication follows the order of reading.
        self._writer.submit(lambda: on_change(self._read_again(keys)))

    def differing(self, within_s: float) -> list[str]:
        """Files that differ from the disk by their metadata, as far as they are found in time."""
        return self._disk_check.changed(self.snapshot.records, self._open, within_s)

    def _read_again(self, keys: Iterable[str]) -> bool:
        """On the writer: read these files again. Returns whether a comparison with the disk is needed."""
        found: list[FoundFile] = []
        removed: list[str] = []
        needs_comparison = False
        for key in keys:
            try:
                needs_comparison |= self._membership.changes_rules(key)
                file = self._membership.find(key)
            except (OSError, ValueError) as error:
                log.warning("A change of %s could not be handled: %s. Comparing with the disk.", key, error)
                needs_comparison = True
                continue
            if isinstance(file, FoundFile) and (not self.limit_reason or key in self._closure):
                found.append(file)
            else:
                removed.append(key)
        needs_comparison |= self._are_folders([key for key in keys if key not in self.snapshot.records])
        todo = [file for file in found if self._needs_reading(file)]
        try:
            for result in self._run({}).results(todo, Cancel(), partial(map, analyse_here)):
                self._merge_results(result, stamps=_stamps(todo))
            self._remove(removed)
        except Exception as error:
            log.error("Changes in %s could not be indexed: %s. Comparing with the disk.", self.path, error)
            return True
        return needs_comparison

    def mark_open(self, key: str) -> None:
        """Mark a file as open: its buffer overlays the disk. On the writer."""
        self._open.add(key)

    def is_open(self, key: str) -> bool:
        """Whether the buffer of a file overlays the disk. On the writer."""
        return key in self._open

    def prepare_edits(self, key: str) -> None:
        """On the writer: look up which modules take names from a file by star imports; the first time takes longest."""
        self.snapshot.index.graph.star_users(key)

    @property
    def has_new_imports(self) -> bool:
        """Whether open files have imports that the index does not follow yet. On the writer."""
        return bool(self.limit_reason) and self._followed != self._open_imports()

    def mark_closed(self, key: str) -> None:
        """The file is open in no editor any more; the next comparison drops it. On the writer."""
        self._open.discard(key)

    def has_indexed(self, key: str, text: str, language: str) -> bool:
        """Whether the index has exactly this text of a file, analysed as this language."""
        index = self.snapshot.index
        return index.texts.get(key) == encode(normalise(text)) and index.graph.files[key].language == language

    def overlay(self, analyses: Sequence[Analysis]) -> None:
        """Overlay files with unsaved texts. On the writer."""
        for analysis in analyses:
            self._skipped.pop(analysis.path, None)
        self._change(analyses)

    def fail_overlay(self, key: str, reason: str) -> None:
        """Remove a file whose unsaved text cannot be analysed from the index. On the writer."""
        self._skipped[key] = SkippedFile(reason, True, None)
        self._change(removed=[key])

    def drop_overlay(self, key: str) -> None:
        """Remove an overlay and read the file on disk again. On the writer."""
        self._open.discard(key)
        self._skipped.pop(key, None)
        self._read_again([key])

    def save(self) -> None:
        """Save the index to the cache if it has changed since it was loaded or saved."""
        self._contents.flush()
        if self._store is not None and self._dirty and not self.limit_reason and self._verify is None:
            with suppress(WriterClosed):  # the writer is closed: then what edits left is done for the saved index alone
                self.settle()
            self._dirty = False
            snapshot = self.snapshot
            is_saved = self._store.save(self.path, (snapshot.index, snapshot.model), list(snapshot.records.values()))
            self._saved = snapshot if is_saved else None

    def map_saved(self) -> None:
        """Replace the snapshot by the saved index, which takes little private memory, if many files were merged."""
        if self._is_many(self._n_merged):
            self._map_again()

    def reduce_memory(self) -> None:
        """Save the index if the one on disk is another, and map it: what was merged, read and memoised is dropped."""
        if self._store is None or self.limit_reason or not self.snapshot.records:
            return
        if self._saved is not self.snapshot:
            self._dirty = True
            self.save()
        self._map_again()

    def _map_again(self) -> None:
        """Replace the snapshot by the one on disk, if they are equal."""
        if self._store is None or self._saved is not self.snapshot:
            return
        snapshot = self._snapshot_of(self._store.load(self.path))
        if snapshot is not None:
            self._writer.run(lambda: self._replace_saved(snapshot))
            return_free_memory()

    def _replace_saved(self, snapshot: FolderSnapshot) -> None:
        """On the writer: publish an equal snapshot if this one is still the saved one."""
        if self._saved is self.snapshot:
            self._load(snapshot)
            self._saved, self._n_merged = snapshot, 0

    def _snapshot_of(self, stored: StoredIndex | None) -> FolderSnapshot | None:
        """The snapshot of a stored index; None for one with other settings."""
        if stored is None:
            return None
        index, model = stored.state
        if index.settings != self.snapshot.index.settings:
            log.info("A cached index of %s was built with other settings and is not used.", self.path)
            return None
        return FolderSnapshot(index, model, {record.path: record for record in stored.files})

    def _are_folders(self, keys: list[str]) -> bool:
        """Whether one of these paths is, or was, a folder with files that belong to the index."""
        inside = tuple(f"{key}/" for key in keys)
        if inside and any(path.startswith(inside) for path in self.snapshot.records):
            return True
        return any(
            (self.path / key).is_dir() and self._membership.exclusion_reason(f"{key}/any") != "ignored" for key in keys
        )

    def _without_ignored(self, keys: Iterable[str]) -> list[str]:
        """Drop paths in ignored folders, such as build output, where many files change."""
        by_folder: dict[str, list[str]] = {}
        for key in dict.fromkeys(keys):
            by_folder.setdefault(key.rpartition("/")[0], []).append(key)
        return [
            key
            for folder, inside in by_folder.items()
            if not folder or self._membership.exclusion_reason(f"{folder}/any") != "ignored"
            for key in inside
        ]

    @contextmanager
    def _recording_reports(self) -> Iterator[None]:
        """Record files reported as changed during a run: its results for them are discarded."""
        self._reported = set()
        try:
            yield
        finally:
            self._reported = None

    @contextmanager
    def _storing_analyses(self) -> Iterator[None]:
        """Write new analyses of a run at its end."""
        try:
            yield
        finally:
            self._read = {}
            self._contents.flush()

    def _compare(self, cancel: Cancel, preempt: Callable[[], None] = lambda: None) -> _Difference:
        """Walk the folder, or follow the imports of open files, with freshly read rules."""
        try:
            return self._compare_found(cancel, preempt)
        except _TooManyFiles:
            self.limit_reason = f"has more than {self.max_files:,} files"
            return self._compare_found(cancel, preempt)

    def _compare_found(self, cancel: Cancel, preempt: Callable[[], None]) -> _Difference:
        left_out: list[ExcludedFile] = []
        membership = Membership(self.path, self._config.index)
        is_limited = bool(self.limit_reason)
        max_files = 0 if is_limited or self.is_indexed or self._is_warm else self.max_files
        found: list[FoundFile] = []
        todo: list[FoundFile] = []
        for file in self._imported(membership) if is_limited else membership.walk(cancel, left_out.append):
            found.append(file)
            if max_files and len(found) > max_files:
                raise _TooManyFiles
            if file.path not in self._open and self._needs_reading(file):
                todo.append(file)
            if not len(found) % FILES_BETWEEN_PAUSES:
                preempt()
        if cancel.cancelled:  # an incomplete walk cannot detect removed files
            return _Difference(found, todo, [])
        self._membership, self._left_out = membership, tuple(left_out)
        names = {file.path for file in found}
        # A cached index may contain unsaved texts, which have no file record.
        known = (*self.snapshot.index.texts, *dict(self._skipped))
        return _Difference(found, todo, [path for path in known if path not in names and path not in self._open])

    def _is_switch(self, difference: _Difference) -> bool:
        """Whether so many files may have changed that loading an earlier index may be faster."""
        return bool(self.snapshot.records) and self._is_many(len(difference.todo) + len(difference.removed))

    def _is_many(self, n_files: int) -> bool:
        return n_files >= MIN_SWITCHED_FILES and SWITCHED_SHARE * n_files >= len(self.snapshot.records)

    def _from_earlier_index(
        self, difference: _Difference, cancel: Cancel, preempt: Callable[[], None] = lambda: None
    ) -> _Difference:
        """The difference, after a step to an earlier index if most of these files are as they were in it."""
        if self._store is None or self.limit_reason or cancel.cancelled:
            return difference
        records = self.snapshot.records
        self._read = self._contents.read(difference.todo, cancel)
        read = {file.path: record.hash for file, record in self._read.items()}
        changed = {path for path, content in read.items() if path not in records or records[path].hash != content}
        n_changed = len(changed) + len(difference.removed)
        if n_changed < MIN_SWITCHED_FILES or cancel.cancelled:
            return difference
        self._store.keep_earlier(self.path)
        contents = {path: record.hash for path, record in records.items()} | read
        for path in difference.removed:
            contents.pop(path, None)
        earlier = self._store.closest_earlier(self.path, contents, n_changed // 2)
        snapshot = None if earlier is None else self._snapshot_of(self._store.load_earlier(earlier))
        if snapshot is None:
            return difference
        self._writer.run(lambda: self._load(self._with_files_of_this(snapshot, self._open)))
        self._dirty = True
        return self._compare(cancel, preempt)

    def _with_files_of_this(self, snapshot: FolderSnapshot, paths: Set[str]) -> FolderSnapshot:
        """On the writer: another snapshot with some files as they are in this one."""
        index = self.snapshot.index
        overlays = []
        for path in paths & index.texts.keys():
            analysis = analyse(path, decode(index.texts[path]), graph=index.graph.files[path])
            overlays.append(replace(analysis, record=self.snapshot.records.get(path)))
        return snapshot.with_changes(overlays, paths - index.texts.keys())

    def _imported(self, membership: Membership) -> Iterator[FoundFile]:
        """The open files and the files that they import, as far as indexed facts tell."""
        graphs = self.snapshot.index.graph.files
        self._followed = self._open_imports()
        imports = ImportedFiles(
            os.fspath(membership.folder), self.path.name, lambda path: membership.exclusion_reason(path) is not None
        )
        paths = imports.closure({*self._open, *self.seeds}, graphs)
        self._closure = frozenset(paths)
        for path in paths:
            file = membership.find(path)
            if isinstance(file, FoundFile):
                yield file

    def _follow_imports(self, done: _Difference, cancel: Cancel, niceness: int) -> None:
        """Index the imports of the files just indexed, until no new ones are found."""
        known: set[str] = set()
        while self.limit_reason and not cancel.cancelled and not known.issuperset(file.path for file in done.todo):
            known.update(file.path for file in done.todo)
            done = self._compare(cancel)
            self._index_difference(done, cancel, niceness, lambda n_done: None)

    def _open_imports(self) -> dict[str, Sequence[Import]]:
        graphs = self.snapshot.index.graph.files
        return {key: graphs[key].imports for key in sorted(self._open) if key in graphs}

    def _index_difference(
        self, difference: _Difference, cancel: Cancel, niceness: int, report: Callable[[int], None]
    ) -> None:
        """Read and publish the differences; `report` is called with the number of files done."""
        if self._is_for_builder(difference):
            if self._index_in_builder(difference, cancel, niceness, report):
                return
            difference = replace(difference, todo=[file for file in difference.todo if self._needs_reading(file)])
        if difference.removed and not cancel.cancelled:
            self._writer.run(lambda: self._remove(self._not_reported(difference.removed)))
        with garbage_collection_paused():
            run = self._run(self._read, self._contents.base)
            for group in run.groups(difference.todo, cancel, niceness, report):
                self._publish(list(group.results), difference.todo)

    def _run(self, read: Mapping[FoundFile, FileRecord], base: Base | None = None) -> AnalysisRun:
        contents = None if self.limit_reason else self._contents
        return AnalysisRun(self.path, self._config.index, self.snapshot.records, contents, read, base)

    def _is_for_builder(self, difference: _Difference) -> bool:
        """Whether most files are new or changed: then another process builds the whole index."""
        if self._store is None or self.limit_reason:
            return False
        records = self.snapshot.records
        changed = difference.todo
        if records:  # the contents are known where so many files differ, see `_from_earlier_index`
            read = ((file, self._read[file].hash) for file in changed if file in self._read)
            changed = [file for file, content in read if file.path not in records or records[file.path].hash != content]
        return 2 * len(changed) > len(difference.found) and sum(file.size for file in changed) >= BUILDER_BYTES

    def _index_in_builder(
        self, difference: _Difference, cancel: Cancel, niceness: int, report: Callable[[int], None]
    ) -> bool:
        """Let another process build and save the index, and map it. False if it has failed."""
        assert self._store is not None
        is_first, n_other = not self.snapshot.records, len(difference.found) - len(difference.todo)
        request = BuildRequest(
            self.path, self._config, self._store, tuple(difference.found), saves_early=is_first, niceness=niceness
        )
        try:
            for message in build_in_process(request, cancel):
                if isinstance(message, int):
                    report(max(0, message - n_other))
                else:
                    self._map_built(message, self._store, difference.found)
        except BuilderFailed as error:
            log.warning("Another process could not build the index of %s: %s. Building it here.", self.path, error)
            return False
        return True

    def _map_built(self, saved: SavedIndex, store: Store, found: Iterable[FoundFile]) -> None:
        """Publish a snapshot that a builder has saved. Raises BuilderFailed."""
        snapshot = self._snapshot_of(store.load_at(saved.path))
        if snapshot is None:
            raise BuilderFailed("its index cannot be read")
        if saved.is_last and not store.adopt(self.path, saved.path):
            raise BuilderFailed("its index could not be saved")
        stamps = _stamps(found)
        self._writer.run(lambda: self._publish_built(snapshot, saved, stamps))

    def _publish_built(
        self, snapshot: FolderSnapshot, saved: SavedIndex, stamps: Mapping[str, tuple[int, ...] | None]
    ) -> None:
        """On the writer: publish a built snapshot, but for files that are open or were reported since it began."""
        own = {*self._open, *(self._reported or ())}
        self._skipped = {
            path: why
            for path, why in self._skipped.items()
            if path in own or (path in stamps and path not in snapshot.records)
        }
        self._note_left_out([saved.left_out], own, stamps)
        if saved.is_last and self._contents.base is not None:
            self._contents.base.join(saved.n_from_base, saved.base_notices)
        self._log_problems(snapshot.index.graph.files.values())
        self._load(self._with_files_of_this(snapshot, own))
        # The saved index differs from this one in files that the next start compares anyway.
        self._dirty = not saved.is_last
        self._saved, self._n_merged = snapshot if saved.is_last else None, 0

    def _needs_reading(self, file: FoundFile) -> bool:
        """Whether a file may have changed since it was last read."""
        skipped_file = self._skipped.get(file.path)
        if skipped_file is not None:
            return skipped_file.stamp != _stamp(file)
        record = self.snapshot.records.get(file.path)
        return record is None or _stamp(record) != _stamp(file)

    def _not_reported(self, keys: Iterable[str]) -> list[str]:
        reported = self._reported or ()
        return [key for key in keys if key not in reported]

    def _publish(self, results: list[BatchResult], todo: Iterable[FoundFile]) -> None:
        """Publish results of a run, except for files reported as changed since it began: those are read again."""
        if results:
            stamps = _stamps(todo)
            self._writer.run(lambda: self._merge_results(*results, stamps=stamps, but=self._reported or ()))

    def _merge_results(
        self,
        *results: BatchResult,
        stamps: Mapping[str, tuple[int, ...] | None],
        but: Collection[str] = (),
    ) -> None:
        """On the writer: merge batch results into the snapshot, except for open files and those in `but`.

        `stamps` are the files' stamps from the walk.
        """
        passed = {*but, *self._open}
        analyses = [a for result in results for a in result.analyses if a.path not in passed]
        records = self.snapshot.records
        touched = [
            record
            for result in results
            for record in result.unchanged
            if record.path not in passed and record.path in records and records[record.path].hash == record.hash
        ]
        if touched:
            self.snapshot, self._dirty = self.snapshot.with_records(touched), True
        for analysis in analyses:
            self._skipped.pop(analysis.path, None)
        self._log_problems(analysis.graph for analysis in analyses)
        self._change(analyses, self._note_left_out(results, passed, stamps))

    def _note_left_out(
        self, results: Iterable[BatchResult], but: Collection[str], stamps: Mapping[str, tuple[int, ...] | None]
    ) -> list[str]:
        """On the writer: record why files are not indexed, but for some; returns these files."""
        left_out = {
            path: SkippedFile(reason, path in result.failed, stamps.get(path))
            for result in results
            for path, reason in (*result.skipped.items(), *result.failed.items())
            if path not in but
        }
        # Removed files are not reported as skipped.
        self._skipped.update({path: why for path, why in left_out.items() if why.reason != "missing"})
        return list(left_out)

    def _log_problems(self, files: Iterable[FileGraph]) -> None:
        """Log each problem of a manifest once; half-typed code is normal and is not logged."""
        problems = dict.fromkeys(
            each for file in files if file.problems and manifest_style(file.path) for each in file.problems
        )
        for problem in problems.keys() - self._logged_problems:
            log.warning("%s", problem)
        self._logged_problems |= problems.keys()

    def _remove(self, keys: Iterable[str]) -> None:
        """On the writer: remove files from the index, except open ones."""
        removed = [key for key in keys if key not in self._open]
        for key in removed:
            self._skipped.pop(key, None)
        self._change(removed=removed)

    def settle(self) -> None:
        """Resolve and merge all that edits left. Waits for the jobs of the writer before."""
        if not self.snapshot.is_settled:
            self._writer.run(self.settle_here)

    def settle_here(self) -> None:
        """On the writer: resolve and merge all that edits left."""
        self._settle_until(lambda: False)

    def _change(self, changed: Sequence[Analysis] = (), removed: Sequence[str] = ()) -> None:
        """On the writer: publish the next snapshot. After an edit the rest is done when no other job waits."""
        before = self.snapshot
        is_large = len(changed) + len(removed) > MAX_REPORTED_FILES
        snapshot = before.with_changes(changed, removed, settles=is_large or self._n_unsettled >= MAX_UNSETTLED_EDITS)
        if snapshot is before:
            return
        if not snapshot.is_settled:
            if before.is_settled:
                self._settled, self._unsettled, self._n_unsettled = before, {}, 0
                self._writer.submit_later(self._settle_some)
            self._n_unsettled += 1
            self._unsettled |= {**dict.fromkeys(removed), **{analysis.path: analysis for analysis in changed}}
        self._publish_next(snapshot, changed, removed)

    def _publish_next(
        self, snapshot: FolderSnapshot, changed: Sequence[Analysis] = (), removed: Sequence[str] = ()
    ) -> None:
        """On the writer: publish a snapshot with these differences."""
        self.snapshot, self._dirty = snapshot, True
        self._saved, self._n_merged = None, self._n_merged + len(changed)
        if snapshot.is_settled:
            self._settled, self._unsettled, self._n_unsettled = None, {}, 0
        if self._observer is None:
            self.view = snapshot
        else:
            self._observer.changed(self, changed, removed)

    def _settle_some(self) -> None:
        """On the writer: resolve and merge what edits left, until another job waits."""
        self._settle_until(lambda: self._writer.has_waiting)
        if not self.snapshot.is_settled:
            self._writer.submit_later(self._settle_some)

    def _settle_until(self, is_over: Callable[[], bool]) -> None:
        try:
            snapshot = self.snapshot.settled(is_over)
        except Exception as error:
            log.warning("The calls of edited files in %s could not be resolved: %s", self.path, error)
            self._settle_each()
        else:
            if snapshot is not self.snapshot:
                self._publish_next(snapshot)

    def _settle_each(self) -> None:
        """On the writer: apply the changes again one by one. A file that cannot be merged is left out of the index."""
        edits = self._unsettled
        if self._settled is not None:
            self._publish_next(self._settled)
        for key, analysis in edits.items():
            changed, removed = ([], [key]) if analysis is None else ([analysis], [])
            try:
                snapshot = self.snapshot.with_changes(changed, removed)
            except Exception as error:
                self._skipped[key] = SkippedFile(reason_of(error), True, None)
                changed, removed = [], [key]
                snapshot = self.snapshot.with_changes((), removed)
            self._publish_next(snapshot, changed, removed)

    def _load(self, snapshot: FolderSnapshot) -> None:
        """On the writer: publish the cached snapshot."""
        self.snapshot = snapshot
        self._settled, self._unsettled, self._n_unsettled = None, {}, 0
        if self._observer is None:
            self.view = snapshot
        else:
            self._observer.loaded(self)


def _stamp(file: FoundFile | FileRecord) -> tuple[int, ...]:
    """Size, modification time and identity: equal for an unchanged file."""
    return file.size, file.mtime_ns, file.identity


def _stamps(files: Iterable[FoundFile]) -> dict[str, tuple[int, ...] | None]:
    return {file.path: None if is_racy(file) else _stamp(file) for file in files}


def _shown(path: str) -> str:
    """A path with bytes that are not UTF-8 escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
