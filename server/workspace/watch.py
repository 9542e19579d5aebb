"""File watcher: reports changed paths in debounced batches, by the operating system's events (watchdog).

Owns the watchdog observer, the batching of bursts (a branch switch, a formatter), and the detection of lost events.
Knows no index: it reports absolute paths.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from watchdog import events
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

log = logging.getLogger("weft")

# watchdog 7 warns when a watched folder is moved, with all watched paths: 60 KB.
warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)

DEBOUNCE_S = 0.1
"""A batch is reported this long after its first event."""

OVERFLOW_EVENTS = 4000
"""With more events than this without a second of quiet, some may be lost: Linux queues 16,384 by default, other
systems less. watchdog does not report overflows, and before 7.1 it did not watch folders whose creation was lost."""

QUIET_S = 1.0

_EVENT_TYPES = [
    getattr(events, name)
    for name in (
        *("FileCreatedEvent", "FileModifiedEvent", "FileMovedEvent", "FileDeletedEvent", "FileClosedEvent"),
        *("DirCreatedEvent", "DirMovedEvent", "DirDeletedEvent", "FileAttribEvent", "DirAttribEvent"),
    )
    if hasattr(events, name)
]
"""All events but reads, which an indexer and every search produce in masses."""


class Watcher:
    """Watches folders until closed. Calls its callables from its own threads.

    `on_change(paths)` receives changes. `on_loss()` is called if events may have been lost, or could not be handled: at
    most once for each batch.
    """

    def __init__(self, on_change: Callable[[set[Path]], None], on_loss: Callable[[], None]) -> None:
        self._on_change = on_change
        self._on_loss = on_loss
        self._lock = threading.Lock()
        self._changed_paths: set[Path] = set()
        self._n_events = 0  # without a second of quiet
        self._last_event_s = 0.0
        self._timer: threading.Timer | None = None
        self._is_closed = False
        self._observer = Observer()
        self._observer.daemon = True
        self._watches: dict[Path, tuple[object, int]] = {}  # with the inode of the folder
        self._refused: set[Path] = set()
        self._observer.start()

    def add(self, folder: Path) -> bool:
        """Watch a folder recursively; False if the system cannot, with a log message the first time."""
        try:
            inode = os.stat(folder).st_ino
            watch = self._observer.schedule(
                _Handler(folder, self._record), str(folder), recursive=True, event_filter=_EVENT_TYPES
            )
        except OSError as error:
            if folder not in self._refused:
                self._refused.add(folder)
                log.warning(
                    "%s cannot be watched for changes (%s); it is polled every few seconds instead. On Linux, raise "
                    "fs.inotify.max_user_watches.",
                    folder,
                    error,
                )
            return False
        self._watches[folder] = (watch, inode)
        return True

    def remove(self, folder: Path) -> None:
        watch, _ = self._watches.pop(folder, (None, 0))
        if watch is not None:
            with suppress(KeyError, OSError):  # the folder may be removed, and its watch with it
                self._observer.unschedule(watch)  # type: ignore[arg-type]

    def renew(self, folder: Path) -> bool:
        """Watch a folder again, as `add`; changes during the call are not reported."""
        self.remove(folder)
        return self.add(folder)

    def watches(self, folder: Path) -> bool:
        """Whether this folder is watched, by inode: not an earlier one at the same path."""
        with suppress(OSError):
            return folder in self._watches and self._watches[folder][1] == os.stat(folder).st_ino
        return False

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
        self._observer.stop()
        self._observer.join(timeout=5)

    def _record(self, path: Path) -> None:
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._last_event_s > QUIET_S:
                self._n_events = 0
            self._last_event_s = now_s
            self._n_events += 1
            self._changed_paths.add(path)
            if self._timer is None and not self._is_closed:
                self._timer = threading.Timer(DEBOUNCE_S, self._report)
                self._timer.daemon = True
                self._timer.start()

    def _report(self) -> None:
        with self._lock:
            paths, self._changed_paths, self._timer = self._changed_paths, set(), None
            may_be_lost = self._n_events > OVERFLOW_EVENTS
        try:
            self._on_change(paths)
        except Exception as error:
            log.error("Changes on disk could not be handled: %s. Comparing with the disk.", error)
            may_be_lost = True
        if may_be_lost:
            self._on_loss()


class _Handler(FileSystemEventHandler):
    """Reports the paths of events below `folder` as it was named: macOS reports those of its real path."""

    def __init__(self, folder: Path, record: Callable[[Path], None]) -> None:
        self._folder, self._real = folder, Path(os.path.realpath(folder))
        self._record = record

    def on_any_event(self, event: FileSystemEvent) -> None:
        for name in (event.src_path, event.dest_path):
            if name:
                path = Path(os.fsdecode(name))
                if self._real != self._folder and path.is_relative_to(self._real):
                    path = self._folder / path.relative_to(self._real)
                self._record(path)
