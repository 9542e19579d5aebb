"""The workspaces of a process, each shared by all sessions that want the same: these folders, configured like this.

Owns who has a share in which workspace, when one is opened and closed, and what all who share it are told. One
session in one process has the only share in its workspace. Knows no protocol. Thread-safe.
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
from .texts import SharedTexts

COLLECTED_AFTER_S = 2.0
"""By then nobody holds a workspace any more that was closed."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What two sessions must agree on to share a workspace.

    The first folder counts by itself: its file configures the workspace, and what was said is kept under its name.
    """

    first: Path | None
    folders: frozenset[Path]
    config: Config

    @classmethod
    def of(cls, folders: Sequence[Path], config: Config) -> _Wanted:
        return cls(folders[0] if folders else None, frozenset(folders), config)


class Share:
    """One session's part in a workspace. `read_config` says how that session wants it configured, now."""

    def __init__(self, opened: _Opened, read_config: Callable[[], Config], tell: Callable[[str], None]) -> None:
        self.workspace = opened.workspace
        self.read_config = read_config
        self.tell = tell
        self._opened = opened

    @property
    def texts(self) -> SharedTexts:
        return self._opened.texts

    def first_index(self, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Make the index, if nobody has done so for this workspace already."""
        return self._opened.indexing.last or self.index(report, cancel)

    def index(self, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        """Bring the index up to date with the disk, or wait for whoever does that already."""
        return self._opened.indexing.run(self.workspace, report, cancel)


class Workspaces:
    """Those that are open."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._opened: list[_Opened] = []

    def __len__(self) -> int:
        return len(self._opened)

    def join(self, folders: Sequence[Path], read_config: Callable[[], Config], tell: Callable[[str], None]) -> Share:
        """A share in the workspace of these folders, which is opened if nobody has it open.

        `tell` gets a sentence, from any thread, when a model goes down and when it is back.
        """
        folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        config = read_config()
        with self._lock:
            wanted = _Wanted.of(folders, config)
            opened = self._find(wanted)
            if opened is None:
                opened = _Opened(wanted, Workspace(folders, config))
                opened.workspace.expect_index()
                self._opened.append(opened)
            share = Share(opened, read_config, tell)
            opened.shares = (*opened.shares, share)
        return share

    def leave(self, share: Share) -> None:
        """Give a share back; its texts are closed. The last one closes the workspace."""
        opened = share._opened
        opened.texts.leave(share)
        with self._lock:
            opened.shares = tuple(other for other in opened.shares if other is not share)
            is_last = not opened.shares and opened in self._opened
            if is_last:
                self._opened.remove(opened)
            are_others_open = bool(self._opened)
        if is_last:
            opened.workspace.close()
            if are_others_open:  # else the process ends
                collecting = threading.Timer(COLLECTED_AFTER_S, freeze_garbage_collector)
                collecting.daemon = True
                collecting.start()

    def reconfigured(self, share: Share) -> bool:
        """Whether the workspace is configured as its session wants it, after it was brought to what all who share it
        want. False when they want different things: then this one's session must join another."""
        opened = share._opened
        config = share.read_config()
        with self._lock:
            if config == opened.wanted.config:
                return True
            if any(other.read_config() != config for other in opened.shares if other is not share):
                return False
            if not self._rename(opened, _Wanted(opened.wanted.first, opened.wanted.folders, config)):
                return False
        opened.workspace.configure(config)
        return True

    def took_folders(self, share: Share, folders: Sequence[Path]) -> bool:
        """Whether the session may change the folders of its workspace, to these, in place: nobody else shares it, and
        there is no other workspace of these folders."""
        folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        opened = share._opened
        with self._lock:
            is_alone = opened.shares == (share,)
            # Its first folder stays what it was: its memory stands there.
            first = opened.wanted.first
            wanted = _Wanted(first, frozenset(folders), opened.wanted.config)
            return is_alone and first in wanted.folders and self._rename(opened, wanted)

    def _find(self, wanted: _Wanted) -> _Opened | None:
        return next((opened for opened in self._opened if opened.wanted == wanted), None)

    def _rename(self, opened: _Opened, wanted: _Wanted) -> bool:
        if self._find(wanted) not in (None, opened):
            return False
        opened.wanted = wanted
        return True


class _Opened:
    """A workspace, who shares it, and what they share beside it."""

    def __init__(self, wanted: _Wanted, workspace: Workspace) -> None:
        self.wanted = wanted
        self.workspace = workspace
        self.texts = SharedTexts(workspace)
        self.indexing = _Indexing()
        self.shares: tuple[Share, ...] = ()  # replaced whole: models tell their news from threads of their own
        workspace.keep_models_ready(self._tell_all)

    def _tell_all(self, news: str) -> None:
        for share in self.shares:
            share.tell(news)


class _Indexing:
    """The first who asks indexes; who asks meanwhile follows that, and has its report."""

    def __init__(self) -> None:
        self.last: IndexReport | None = None  # of the last that went through
        self._lock = threading.Lock()
        self._running: Future[IndexReport] | None = None
        self._cancel = Cancel()
        self._followers: tuple[Callable[[Progress], None], ...] = ()

    def run(self, workspace: Workspace, report: Callable[[Progress], None], cancel: Cancel) -> IndexReport:
        with self._lock:
            self._followers = (*self._followers, report)
            followed = self._running
            if followed is None:
                self._running, self._cancel = Future(), Cancel()
            stopped = self._cancel
        forget = cancel.on_cancel(stopped.cancel)  # one window's button stops the indexing that all see
        try:
            done = self._index(workspace) if followed is None else followed.result()
        finally:
            forget()
            with self._lock:
                self._followers = tuple(other for other in self._followers if other is not report)
        if followed is not None and done.cancelled and not stopped.cancelled:
            return self.run(workspace, report, cancel)  # a pause ended what was followed; this came after the pause
        return done

    def _index(self, workspace: Workspace) -> IndexReport:
        running = self._running
        assert running is not None
        try:
            done = workspace.index(self._tell, self._cancel, niceness=BACKGROUND_NICENESS)
        except BaseException as error:
            self._running = None
            running.set_exception(error)
            raise
        self.last = None if done.cancelled else done
        self._running = None
        running.set_result(done)
        return done

    def _tell(self, progress: Progress) -> None:
        for follower in self._followers:
            follower(progress)
