"""Workspace index: folders on disk, overlaid with open buffers. Snapshot isolation with one writer thread.

Owns the parts of the index and the order of events between them: every request sees the edits before it. Knows no
model and no completion.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...llm import Cancel
from ...memory.storage import MemoryStore
from ...retrieval import RepositoryIndex
from ..config import Config
from ..config.options import index_settings, kept_analyses, kept_indexes
from .buffers import OpenBuffers
from .documents import FolderDocuments
from .folder import Folder, IndexReport, Progress
from .folders import Folders
from .indexing import Indexing
from .memory import WorkspaceMemory
from .recent_edits import RecentEdits
from .writer import Writer

log = logging.getLogger("weft")


class WorkspaceIndex:
    """One index for each folder. Thread-safe. `preempt` makes low-priority work wait for running requests.

    `cache` False writes nothing to disk. Raises NotADirectoryError.
    """

    def __init__(
        self, roots: Sequence[Path], config: Config, preempt: Callable[[Cancel, float], None], *, cache: bool
    ) -> None:
        for root in roots:
            if not root.is_dir():
                raise NotADirectoryError(f"{root} is not a folder. Give a project's folder.")
        self.config = config
        self._listeners: tuple[Callable[[], None], ...] = ()  # replaced whole
        self._lock = threading.Lock()
        self._closed = Cancel()
        self._writer = Writer()
        self._indexing = Indexing(self._closed, self._status_changed)
        self._memories = WorkspaceMemory(roots[0] if cache and roots else None, config)
        is_kept = cache and config.index.keep_on_disk
        analyses = kept_analyses(config) if is_kept else None
        self.base = None if analyses is None else analyses.base
        """The export that the index begins from; None without one."""
        self._folders = Folders(
            roots,
            config,
            self._writer,
            kept_indexes(config) if is_kept else None,
            preempt=preempt,
            on_change=self._status_changed,
            analyses=analyses,
            cache=cache,
        )
        self._buffers = OpenBuffers(self._folders, config, self._writer, self._indexing, self._status_changed)

    def index(
        self,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        *,
        niceness: int = 0,
    ) -> IndexReport:
        """Update the index from the disk, starting from the cached one. Completions work meanwhile.

        The report is the sum over all folders.
        """
        started = time.perf_counter()
        with self._indexing.run_all():
            reports = [self._index_folder(folder, progress, cancel, niceness) for folder in self._folders.with_lone]
        report = replace(IndexReport.sum(reports), seconds=time.perf_counter() - started)
        if not report.cancelled:
            self._folders.save()
            self._folders.map_saved()
        return report

    def expect_index(self) -> None:
        """Announce a call of `index`: questions wait for it from now on."""
        self._indexing.expect()

    def add_folder(
        self,
        folder: Path,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
    ) -> IndexReport:
        """Add and index a folder; retrieval covers it from its first snapshot on."""
        return self._index_folder(self._folders.add(Path(folder).resolve()), progress, cancel)

    def remove_folder(self, folder: Path) -> None:
        removed = self._folders.remove(Path(folder).resolve())
        if removed is not None:
            self._memories.close_documents(removed)
        self._status_changed()

    def add_file(self, path: Path) -> None:
        """Let `index` cover a file and the files that it imports, outside all folders or in a limited folder."""
        self._folders.add_seed(Path(path))

    @property
    def open_questions(self) -> Mapping[Path, str]:
        """Folders that are indexed only after a yes, each with the reason as the end of a sentence.

        Until `answer_folder`, only open files and the files that they import are indexed.
        """
        return self._folders.open_questions

    @property
    def limited_folders(self) -> Mapping[Path, str]:
        """Folders of which only open files and their imports are indexed, with the reason, also after a no."""
        return self._folders.limited

    def answer_folder(self, folder: Path, *, is_allowed: bool) -> None:
        """Remember whether a folder of `limited_folders` may be indexed. After a yes, call `add_folder`."""
        self._folders.answer(folder, is_allowed=is_allowed)
        if is_allowed:
            for known in self._folders:
                if known.path == folder:
                    self._memories.close_documents(known)  # they are read with the next question

    def watch(self, *, is_reported: bool = False) -> None:
        """Follow changes on disk from now on. With `is_reported`, an editor reports them to `files_changed`.

        Reconciliation finds changes that no event reports, see `reconcile`.
        """
        self._folders.watch(None if is_reported else self.files_changed)

    def files_changed(self, paths: Iterable[Path]) -> None:
        """Read files or directories again that were created, changed or removed on disk.

        A path that cannot be handled does not affect the others.
        """
        is_paused = self.is_paused
        for folder, keys in self._folders.files_changed(paths, is_paused=is_paused).items():
            try:
                if not is_paused:
                    self._memories.files_changed(folder, keys)
            except (OSError, ValueError) as error:
                log.warning("Changed documents of %s could not be handled: %s", folder.path, error)

    def read_changes(self, within_s: float, index_within_s: float) -> None:
        """Index the files that differ from the disk now, which no event may have reported yet.

        Those are read that are found within the first time; the second one limits the wait for their calls.
        """
        if self.is_paused:
            return
        differing = {folder: folder.differing(within_s) for folder in self._folders if folder.is_indexed}
        self.files_changed([folder.path / key for folder, keys in differing.items() for key in keys])
        for folder, keys in differing.items():
            if keys:
                with suppress(FutureTimeout):
                    self._writer.submit(folder.settle_here).result(index_within_s)

    def reconcile(self) -> None:
        """Compare the index with the disk in the background, once the disk is quiet, until nothing differs."""
        self._folders.reconcile()

    def index_edits(self) -> None:
        """Wait until all edits reported so far can be retrieved."""
        last = self._buffers.index_pending()
        if last is not None:
            last.result()

    def flush(self) -> None:
        """Wait until all edits and changes reported so far are indexed, with what follows from them for other files."""
        self._buffers.index_pending()
        self._writer.flush()
        self._folders.flush()
        self._writer.flush()

    @property
    def is_paused(self) -> bool:
        return self._indexing.is_paused

    def indexes(self, folder: Path | str | None = None) -> dict[str, RepositoryIndex]:
        """The newest indexes by folder, of one or of all, with unsaved edits.

        Raises ValueError if `folder` is not a folder of this workspace.
        """
        self._buffers.wait_until_settled()
        return self._folders.indexes(folder)

    def recent_edits(self) -> dict[str, RecentEdits]:
        """Recent edits by folder."""
        return self._buffers.recent_edits()

    def path_of(self, folder: str, path: str) -> Path | None:
        """The file of a citation or an evidence item; None if its folder was removed."""
        roots = [known.path for known in self._folders.with_lone if folder in ("", str(known.path))]
        return roots[0] / path if roots else None

    @property
    def memory(self) -> MemoryStore:
        """Stored conversations and documents: the first folder's store, opened on first use."""
        return self._memories.store

    def documents(self, folder: Path | str) -> FolderDocuments:
        """The documents of a folder. Raises KeyError if the workspace does not contain it."""
        return self._memories.documents(self._folders.known(folder))

    @property
    def skipped(self) -> dict[str, str]:
        """Files that are not indexed although no ignore rule matches them, with the reason."""
        return {
            str(folder.path / key): skipped_file.reason
            for folder in self._folders
            for key, skipped_file in folder.skipped_files.items()
        }

    def exclusion_reason(self, path: Path) -> str:
        """Why a file of a folder is not indexed, in a word or two; "" if it may be."""
        folder, key = self._folders.locate(path)
        if folder is None:
            return ""
        skipped = folder.skipped_files.get(key)
        return folder.exclusion_reason(key) or ("" if skipped is None else skipped.reason)

    def on_status_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener`, from any thread, when `status` may have changed. Returns a function that removes it."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def remove() -> None:
            with self._lock:
                self._listeners = tuple(each for each in self._listeners if each is not listener)

        return remove

    def _configure_index(self, config: Config) -> None:
        """Use another configuration; rebuilds indexes that it changes."""
        before, self.config = self.config, config
        self._memories.configure(config)
        self._buffers.config = config
        if config.index != before.index or index_settings(config, "") != index_settings(before, ""):
            for folder in self._folders.replace_all(config):
                self._memories.close_documents(folder)
            self.index()

    def _pause_index(self) -> None:
        self._indexing.pause()
        self._folders.pause()
        self._close_documents()

    def _resume_index(self) -> None:
        self._close_documents()
        self._indexing.resume()
        self._folders.resume()
        self._buffers.index_pending()

    def _close_index(self) -> None:
        """Stop all background work and save the index to the cache."""
        self._folders.stop()
        self._memories.close()
        self._writer.close()
        self._folders.save()

    def _index_folder(
        self,
        folder: Folder,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        niceness: int = 0,
    ) -> IndexReport:
        """Index a folder: from the cache, then open buffers, then the disk."""
        with self._indexing.run(cancel) as (report, ended):

            def report_both(at: Progress) -> None:
                report(at)
                if progress is not None:
                    progress(at)

            folder.load()
            folder.verify_loaded(ended)
            self._buffers.index_again(folder)
            done = folder.index(report_both, ended, self._buffers.directories_in(folder), niceness)
        self._folders.indexed(folder)
        self._folder_indexed()
        return done

    def _folder_indexed(self) -> None:
        """Called after each index run of a folder."""

    def _close_documents(self) -> None:
        """Drop extracted documents; the next question reads them again, unchanged ones from the store."""
        for folder in self._folders:
            self._memories.close_documents(folder)

    def _status_changed(self) -> None:
        for listener in self._listeners:
            listener()
