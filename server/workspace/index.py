"""The index of a workspace: folders on disk, with the texts of open buffers in their place. No model, no completion.

Owns the parts of the index and the order of events between them: an edit is seen by every request that follows it. One
writer thread builds snapshots; readers keep theirs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ...llm import Cancel
from ...memory.storage import MemoryStore
from ...retrieval import RepositoryIndex
from ..config import Config
from ..config.options import index_settings, kept_indexes
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
    """Folders under one index each. Thread-safe. `preempt` waits for running requests, for work at low priority.

    `cache` False stores nothing between starts. Raises NotADirectoryError.
    """

    def __init__(
        self, roots: Sequence[Path], config: Config, preempt: Callable[[Cancel, float], None], *, cache: bool
    ) -> None:
        for root in roots:
            if not root.is_dir():
                raise NotADirectoryError(f"{root} is not a folder. Give the folder of a project.")
        self.config = config
        self._listeners: tuple[Callable[[], None], ...] = ()  # replaced whole
        self._lock = threading.Lock()
        self._closed = Cancel()
        self._writer = Writer()
        self._indexing = Indexing(self._closed, self._status_changed)
        self._memories = WorkspaceMemory(roots[0] if cache and roots else None, config)
        store = kept_indexes(config) if cache and config.index.keep_on_disk else None
        self._folders = Folders(roots, config, self._writer, store, preempt=preempt, on_change=self._status_changed)
        self._buffers = OpenBuffers(self._folders, config, self._writer, self._status_changed)

    def index(
        self,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        *,
        niceness: int = 0,
    ) -> IndexReport:
        """Bring the index up to date with the disk, starting from the stored one. Completions work meanwhile.

        The report adds up all folders.
        """
        started = time.perf_counter()
        with self._indexing.run_all():
            reports = [self._index_folder(folder, progress, cancel, niceness) for folder in self._folders]
        report = replace(IndexReport.sum(reports), seconds=time.perf_counter() - started)
        if not report.cancelled:
            self._folders.save()
        return report

    def expect_index(self) -> None:
        """`index` is about to be called: questions wait for it from now on."""
        self._indexing.expect()

    def add_folder(
        self,
        folder: Path,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
    ) -> IndexReport:
        """Index one more folder; it is searched as soon as its first files are in."""
        return self._index_folder(self._folders.add(Path(folder).resolve()), progress, cancel)

    def remove_folder(self, folder: Path) -> None:
        gone = self._folders.remove(Path(folder).resolve())
        if gone is not None:
            self._memories.forget(gone)
        self._status_changed()

    def watch(self, *, is_reported: bool = False) -> None:
        """Follow changes on disk from now on. `is_reported` says that an editor reports them to `files_changed`.

        Changes that no event reports are found by comparisons with the disk, see `reconcile`.
        """
        self._folders.watch(None if is_reported else self.files_changed)

    def files_changed(self, paths: Iterable[Path]) -> None:
        """Files or directories were created, changed or removed on disk. One that cannot be handled costs no other."""
        is_paused = self.is_paused
        for folder, keys in self._folders.files_changed(paths, is_paused=is_paused).items():
            try:
                if not is_paused:
                    self._memories.files_changed(folder, keys)
            except (OSError, ValueError) as error:
                log.warning("Changed documents of %s could not be handled: %s", folder.path, error)

    def reconcile(self) -> None:
        """Compare the index with the disk as soon as that is quiet, in the background, until nothing differs."""
        self._folders.reconcile()

    def flush(self) -> None:
        """Wait until every edit and change reported so far can be retrieved."""
        self._buffers.index_pending()
        self._writer.flush()
        self._folders.flush()
        self._writer.flush()

    @property
    def is_paused(self) -> bool:
        return self._indexing.is_paused

    def indexes(self, folder: Path | str | None = None) -> dict[str, RepositoryIndex]:
        """The newest indexes by folder, of one or of all. Unsaved edits are in them.

        Raises ValueError for a folder that is none of this workspace.
        """
        self._buffers.wait_for_pending()
        return self._folders.indexes(folder)

    def recent_edits(self) -> dict[str, RecentEdits]:
        """What was edited lately, by folder."""
        return self._buffers.recent_edits()

    def path_of(self, folder: str, path: str) -> Path | None:
        """Where the file of a citation or a piece of evidence is; None where that folder is gone."""
        roots = [known.path for known in self._folders if folder in ("", str(known.path))]
        return roots[0] / path if roots else None

    @property
    def memory(self) -> MemoryStore:
        """Stored conversations and documents: the store of the first folder, opened when first needed."""
        return self._memories.store

    def documents(self, folder: Path | str) -> FolderDocuments:
        """The documents of a folder of this workspace. Raises KeyError for another folder."""
        return self._memories.documents(self._folders.known(folder))

    @property
    def skipped(self) -> dict[str, str]:
        """Files that are not indexed although no rule ignores them, with the reason."""
        return {
            str(folder.path / key): skipped_file.reason
            for folder in self._folders
            for key, skipped_file in folder.skipped_files.items()
        }

    def on_status_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener`, from any thread, when `status` may have changed. Returns a function that removes it."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def remove() -> None:
            with self._lock:
                self._listeners = tuple(each for each in self._listeners if each is not listener)

        return remove

    def _configure_index(self, config: Config) -> None:
        """Use another configuration; indexes that it changes are made again."""
        before, self.config = self.config, config
        self._memories.configure(config)
        self._buffers.config = config
        if config.index != before.index or index_settings(config, "") != index_settings(before, ""):
            for folder in self._folders.replace_all(config):
                self._memories.forget(folder)
            self.index()

    def _pause_index(self) -> None:
        self._buffers.is_paused = True
        self._indexing.pause()
        self._folders.pause()
        self._forget_documents()

    def _resume_index(self) -> None:
        self._forget_documents()
        self._buffers.is_paused = False
        self._indexing.resume()
        self._folders.resume()
        self._buffers.index_pending()

    def _close_index(self) -> None:
        """Store the index for the next start."""
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
        """Read a folder: the stored index first, then what is open in an editor, then the disk."""
        with self._indexing.run(cancel) as (report, ended):

            def report_both(at: Progress) -> None:
                report(at)
                if progress is not None:
                    progress(at)

            folder.load()
            self._buffers.index_again(folder)
            done = folder.index(report_both, ended, self._buffers.directories_in(folder), niceness)
        self._folders.indexed(folder)
        return done

    def _forget_documents(self) -> None:
        """The next question reads them anew; what was read of them is stored by content."""
        for folder in self._folders:
            self._memories.forget(folder)

    def _status_changed(self) -> None:
        for listener in self._listeners:
            listener()
