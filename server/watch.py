"""Tell which files changed on disk, in batches, without asking an editor.

Owns the watchdog observer and the short wait that gathers a burst (a branch switch, a formatter) into one call.
Knows no index: it hands over absolute paths.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

log = logging.getLogger("weft")

GATHER_S = 0.1
"""A batch is handed over this long after its first event."""

_READS = {"opened", "closed_no_write"}


class Watcher:
    """Watches folders until closed. `on_change(paths)` is called from a thread of the watcher's own."""

    def __init__(self, on_change: Callable[[set[Path]], None]) -> None:
        self._on_change = on_change
        self._lock = threading.Lock()
        self._gathered: set[Path] = set()
        self._timer: threading.Timer | None = None
        self._observer = Observer()
        self._observer.daemon = True
        self._watches: dict[Path, object] = {}
        self._observer.start()

    def add(self, folder: Path) -> bool:
        """Watch a folder and what is below it; False, with a line in the log, when the system refuses."""
        try:
            self._watches[folder] = self._observer.schedule(_Handler(self._note), str(folder), recursive=True)
        except OSError as error:
            log.warning(
                "changes on disk below %s are not seen (%s). On Linux, raise fs.inotify.max_user_watches.",
                folder,
                error,
            )
            return False
        return True

    def remove(self, folder: Path) -> None:
        watch = self._watches.pop(folder, None)
        if watch is not None:
            self._observer.unschedule(watch)  # type: ignore[arg-type]

    def close(self) -> None:
        self._observer.stop()
        self._observer.join(timeout=5)
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()

    def _note(self, path: Path) -> None:
        with self._lock:
            self._gathered.add(path)
            if self._timer is None:
                self._timer = threading.Timer(GATHER_S, self._hand_over)
                self._timer.daemon = True
                self._timer.start()

    def _hand_over(self) -> None:
        with self._lock:
            paths, self._gathered, self._timer = self._gathered, set(), None
        self._on_change(paths)


class _Handler(FileSystemEventHandler):
    def __init__(self, note: Callable[[Path], None]) -> None:
        self._note = note

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in _READS or (event.is_directory and event.event_type == "modified"):
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._note(Path(str(path)))
