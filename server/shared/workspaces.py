"""The workspaces of a process, each shared by all sessions that want the same: these folders, configured like this.

Owns who has a handle in which workspace, when one is shared and closed, and what all who handle it are told. One
session in one process has the only handle in its workspace. Knows no protocol. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from ...llm import Cancel
from ..config import Config
from ..workspace.folder import IndexReport, Progress
from ..workspace.folders import BACKGROUND_NICENESS
from ..workspace.process import freeze_garbage_collector
from ..workspace.workspace import Workspace
from .buffers import SharedBuffers

COLLECTED_AFTER_S = 2.0
"""By then nobody holds a workspace any more that was closed."""


@dataclass(frozen=True, slots=True)
class WorkspaceKey:
    """What two sessions must agree on to handle a workspace.

    The first folder counts by itself: its file configures the workspace, and what was said is kept under its name.
    """

    first: Path | None
    folders: frozenset[Path]
    config: Config

    @classmethod
    def of(cls, folders: Sequence[Path], config: Config) -> WorkspaceKey:
        return cls(folders[0] if folders else None, frozenset(folders), config)


class WorkspaceHandle:
    """One session's part in a workspace. `read_config` says how that session wants it configured, now."""

    def __init__(
        self, shared: SharedWorkspace, read_config: Callable[[], Config], notify: Callable[[str], None]
    ) -> None:
        self.workspace = shared.workspace
        self.read_config = read_config
        self.notify = notify
        self._shared = shared

    @property
    def buffers(self) -> SharedBuffers:
        return self._shared.buffers

    def first_index(self, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Make the index, if nobody has done so for this workspace already."""
        return self._shared.indexing.last or self.index(report, cancel)

    def index(self, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Bring the index up to date with the disk, or wait for whoever does that already."""
        return self._shared.indexing.run(self.workspace, report, cancel)


class Workspaces:
    """Those that are open."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: list[SharedWorkspace] = []

    def __len__(self) -> int:
        return len(self._open)

    def acquire(
        self, folders: Sequence[Path], read_config: Callable[[], Config], notify: Callable[[str], None]
    ) -> WorkspaceHandle:
        """A handle in the workspace of these folders, which is shared if nobody has it open.

        `tell` gets a sentence, from any thread, when a model goes down and when it is back.
        """
        folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        config = read_config()
        with self._lock:
            key = WorkspaceKey.of(folders, config)
            shared = self._find(key)
            if shared is None:
                shared = SharedWorkspace(key, Workspace(folders, config))
                shared.workspace.expect_index()
                self._open.append(shared)
            handle = WorkspaceHandle(shared, read_config, notify)
            shared.handles = (*shared.handles, handle)
        return handle

    def release(self, handle: WorkspaceHandle) -> None:
        """Give a handle back; its texts are closed. The last one closes the workspace."""
        shared = handle._shared
        shared.buffers.remove_window(handle)
        with self._lock:
            shared.handles = tuple(other for other in shared.handles if other is not handle)
            is_last = not shared.handles and shared in self._open
            if is_last:
                self._open.remove(shared)
            are_others_open = bool(self._open)
        if is_last:
            shared.workspace.close()
            if are_others_open:  # else the process ends
                collecting = threading.Timer(COLLECTED_AFTER_S, freeze_garbage_collector)
                collecting.daemon = True
                collecting.start()

    def try_configure(self, handle: WorkspaceHandle) -> bool:
        """Whether the workspace is configured as its session wants it, after it was brought to what all who handle it
        want. False when they want different things: then this one's session must join another."""
        shared = handle._shared
        config = handle.read_config()
        with self._lock:
            if config == shared.key.config:
                return True
            if any(other.read_config() != config for other in shared.handles if other is not handle):
                return False
            if not self._rekey(shared, WorkspaceKey(shared.key.first, shared.key.folders, config)):
                return False
        shared.workspace.configure(config)
        return True

    def try_change_folders(self, handle: WorkspaceHandle, folders: Sequence[Path]) -> bool:
        """Whether the session may change the folders of its workspace, to these, in place: nobody else handles it, and
        there is no other workspace of these folders."""
        folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        shared = handle._shared
        with self._lock:
            is_only_handle = shared.handles == (handle,)
            # Its first folder stays what it was: its memory stands there.
            first = shared.key.first
            key = WorkspaceKey(first, frozenset(folders), shared.key.config)
            return is_only_handle and first in key.folders and self._rekey(shared, key)

    def _find(self, key: WorkspaceKey) -> SharedWorkspace | None:
        return next((shared for shared in self._open if shared.key == key), None)

    def _rekey(self, shared: SharedWorkspace, key: WorkspaceKey) -> bool:
        if self._find(key) not in (None, shared):
            return False
        shared.key = key
        return True


class SharedWorkspace:
    """A workspace, who handles it, and what they handle beside it."""

    def __init__(self, key: WorkspaceKey, workspace: Workspace) -> None:
        self.key = key
        self.workspace = workspace
        self.buffers = SharedBuffers(workspace)
        self.indexing = _SingleFlightIndexing()
        self.handles: tuple[
            WorkspaceHandle, ...
        ] = ()  # replaced whole: models tell their news from threads of their own
        workspace.keep_models_ready(self._notify_all)

    def _notify_all(self, news: str) -> None:
        for handle in self.handles:
            handle.notify(news)


class _SingleFlightIndexing:
    """The first who asks indexes; who asks meanwhile follows that, and has its report."""

    def __init__(self) -> None:
        self.last: IndexReport | None = None  # of the last that went through
        self._lock = threading.Lock()
        self._running: Future[IndexReport] | None = None
        self._cancel = Cancel()
        self._listeners: tuple[Callable[[Progress], None], ...] = ()

    def run(self, workspace: Workspace, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        with self._lock:
            self._listeners = (*self._listeners, report)
            running = self._running
            if running is None:
                self._running, self._cancel = Future(), Cancel()
            stopped = self._cancel
        forget = cancel.on_cancel(stopped.cancel)  # one window's button stops the indexing that all see
        try:
            done = self._index(workspace) if running is None else running.result()
        finally:
            forget()
            with self._lock:
                self._listeners = tuple(other for other in self._listeners if other is not report)
        if running is not None and done.cancelled and not stopped.cancelled:
            return self.run(workspace, report, cancel)  # a pause ended what was running; this came after the pause
        return done

    def _index(self, workspace: Workspace) -> IndexReport:
        running = self._running
        assert running is not None
        try:
            done = workspace.index(self._report, self._cancel, niceness=BACKGROUND_NICENESS)
        except BaseException as error:
            self._running = None
            running.set_exception(error)
            raise
        self.last = None if done.cancelled else done
        self._running = None
        running.set_result(done)
        return done

    def _report(self, progress: Progress) -> None:
        for listener in self._listeners:
            listener(progress)
