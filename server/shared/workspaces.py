"""Reference-counted workspaces: sessions with the same folders and configuration share one.

Owns the handles of each workspace, its opening and closing, single-flight indexing, and messages to all of its
sessions. A process with one session has one handle per workspace. Knows no protocol. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ...llm import Cancel
from ..config import Config
from ..workspace.folder import IndexReport, Progress
from ..workspace.folders import BACKGROUND_NICENESS
from ..workspace.process import freeze_garbage_collector
from ..workspace.turns import Turns
from ..workspace.workspace import Workspace
from .buffers import SharedBuffers

COLLECTED_AFTER_S = 2.0  # by then no running request refers to a closed workspace any more


_numbers = count(1)


@dataclass(frozen=True, slots=True)
class WorkspaceKey:
    """Sessions with equal keys share a workspace.

    The order of the folders does not matter, except for the first: its file configures the workspace, and conversations
    are stored under its name.
    """

    first: Path | None
    folders: frozenset[Path]
    config: Config

    @classmethod
    def of(cls, folders: Sequence[Path], config: Config) -> WorkspaceKey:
        return cls(folders[0] if folders else None, frozenset(folders), config)


class WorkspaceHandle:
    """One session's reference to a workspace. `read_config` returns the configuration that the session has now.

    `session` is a name that no other handle of the process has.
    """

    def __init__(
        self, shared: SharedWorkspace, read_config: Callable[[], Config], notify: Callable[[str], None]
    ) -> None:
        self.workspace = shared.workspace
        self.read_config = read_config
        self.notify = notify
        self.session = f"session {next(_numbers)}"
        self._shared = shared

    @property
    def buffers(self) -> SharedBuffers:
        return self._shared.buffers

    def first_index(self, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Build the index, unless another session of this workspace has done so."""
        return self._shared.indexing.last or self.index(report, cancel)

    def index(self, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Update the index from the disk, or wait for an index run in progress."""
        return self._shared.indexing.run(self.workspace, report, cancel)

    def add_folder(self, folder: Path, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Add and index a folder."""
        done = self.workspace.add_folder(folder, report, cancel)
        freeze_garbage_collector()
        return done


class Workspaces:
    """The open workspaces of a process, and the turns of its requests.

    `separates_sessions`: the sessions are of different people, not windows of one user.
    """

    def __init__(self, *, separates_sessions: bool = False) -> None:
        self.turns = Turns()
        self.later_turns = Turns()  # of work behind these
        self._separates_sessions = separates_sessions
        self._lock = threading.RLock()
        self._open: list[SharedWorkspace] = []

    def __len__(self) -> int:
        return len(self._open)

    def acquire(
        self, folders: Sequence[Path], read_config: Callable[[], Config], notify: Callable[[str], None]
    ) -> WorkspaceHandle:
        """A handle to the workspace of these folders, which is opened if no session has it open.

        `notify` receives a sentence, from any thread, when a model goes down and when it recovers.
        """
        folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        config = read_config()
        with self._lock:
            key = WorkspaceKey.of(folders, config)
            shared = self._find(key)
            if shared is None:
                shared = SharedWorkspace(key, folders, config, separates_sessions=self._separates_sessions)
                shared.workspace.expect_index()
                self._open.append(shared)
            handle = WorkspaceHandle(shared, read_config, notify)
            shared.handles = (*shared.handles, handle)
        return handle

    def release(self, handle: WorkspaceHandle) -> None:
        """Release a handle and close its buffers. The last one closes the workspace."""
        shared = handle._shared
        shared.buffers.remove_session(handle.session)
        shared.workspace.forget_session(handle.session)
        with self._lock:
            shared.handles = tuple(other for other in shared.handles if other is not handle)
            is_last = not shared.handles and shared in self._open
            if is_last:
                self._open.remove(shared)
            are_others_open = bool(self._open)
        if is_last:
            shared.workspace.close()
            if are_others_open:  # otherwise the process exits
                collecting = threading.Timer(COLLECTED_AFTER_S, freeze_garbage_collector)
                collecting.daemon = True
                collecting.start()

    def try_configure(self, handle: WorkspaceHandle) -> bool:
        """Apply the session's configuration to its workspace. False if other sessions of the workspace have a different
        one: then this session must acquire another workspace."""
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
        """Change the folders of a workspace in place. False if other sessions share it, or another workspace has these
        folders: then this session must acquire another workspace."""
        folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        shared = handle._shared
        with self._lock:
            is_only_handle = shared.handles == (handle,)
            # The first folder does not change: conversations are stored under its name.
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
    """A workspace, its handles, and the state that they share."""

    def __init__(self, key: WorkspaceKey, folders: Sequence[Path], config: Config, *, separates_sessions: bool) -> None:
        self.key = key
        self.workspace = workspace = Workspace(folders, config, separates_sessions=separates_sessions)
        self.buffers = SharedBuffers(workspace, separates_sessions=separates_sessions)
        self.indexing = _SingleFlightIndexing()
        self.handles: tuple[WorkspaceHandle, ...] = ()  # replaced whole: models report from their own threads
        workspace.keep_models_ready(self._notify_all)

    def _notify_all(self, message: str) -> None:
        for handle in self.handles:
            handle.notify(message)


class _SingleFlightIndexing:
    """Coalesces concurrent index runs: the first caller indexes, the others wait for its report."""

    def __init__(self) -> None:
        self.last: IndexReport | None = None  # of the last complete run
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
        unsubscribe = cancel.on_cancel(stopped.cancel)  # the cancel button of any window stops the shared run
        try:
            done = self._index(workspace) if running is None else running.result()
        finally:
            unsubscribe()
            with self._lock:
                self._listeners = tuple(other for other in self._listeners if other is not report)
        if running is not None and done.cancelled and not stopped.cancelled:
            return self.run(workspace, report, cancel)  # a pause ended that run; this call came after it
        return done

    def _index(self, workspace: Workspace) -> IndexReport:
        running = self._running
        assert running is not None
        try:
            done = workspace.index(self._report, self._cancel, niceness=BACKGROUND_NICENESS)
            # Once for each run, not for each session: it stops all threads while it looks at the whole index.
            freeze_garbage_collector()
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
