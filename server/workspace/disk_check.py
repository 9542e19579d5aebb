"""Files of a folder that differ from the index, found by their metadata alone: before a watcher reports them.

Events of the operating system arrive up to a second late, and an agent asks right after it has edited a file. Owns the
order in which files are looked at, and the times of directories. Reads no file and knows no rules.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from .files import identity_of
from .store import FileRecord

MAX_NEW_FILES = 1_000
"""Files of a new directory that are found."""


class DiskCheck:
    """Compares the records of an index with the disk. Thread-safe."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._next = 0  # the file with which the next check begins, where the last one had no time for all
        self._times: dict[str, int] = {}  # of directories, at the last check

    def changed(self, records: Mapping[str, FileRecord], but: Collection[str], within_s: float) -> list[str]:
        """Files that were changed, removed or created since they were indexed, as far as they are found in time.

        New ones are found in directories that an earlier check has seen. Files in `but` are left out.
        """
        with self._lock:
            until_s = time.monotonic() + within_s
            found = dict.fromkeys(self._new(records))
            paths = list(records)
            at = self._next if self._next < len(paths) else 0
            self._next = 0
            for number, path in enumerate((*paths[at:], *paths[:at])):
                if number % 100 == 0 and time.monotonic() > until_s:
                    self._next = (at + number) % len(paths)
                    break
                if self._stamp(path) != (records[path].size, records[path].mtime_ns, records[path].identity):
                    found[path] = None
            return [path for path in found if path not in but]

    def _stamp(self, path: str) -> tuple[int, int, int] | None:
        try:
            status = os.lstat(f"{self._folder}/{path}")
        except (OSError, ValueError):
            return None
        return status.st_size, status.st_mtime_ns, identity_of(status)

    def _new(self, records: Mapping[str, FileRecord]) -> Iterator[str]:
        """The files that came into directories with indexed files, and those of new directories there."""
        for directory in {path.rpartition("/")[0] for path in records} | {""}:
            with suppress(OSError):
                time_ns = os.stat(f"{self._folder}/{directory}").st_mtime_ns
                before = self._times.get(directory)
                self._times[directory] = time_ns
                if before is not None and before != time_ns:
                    yield from self._entered(directory, before, records)

    def _entered(self, directory: str, since_ns: int, records: Mapping[str, FileRecord]) -> Iterator[str]:
        for entry in os.scandir(f"{self._folder}/{directory}"):
            path = f"{directory}/{entry.name}" if directory else entry.name
            if path in records or entry.stat(follow_symlinks=False).st_ctime_ns < since_ns:
                continue
            if entry.is_file(follow_symlinks=False):
                yield path
            elif entry.is_dir(follow_symlinks=False) and path not in self._times:
                yield from self._below(path)

    def _below(self, directory: str) -> Iterator[str]:
        n_files = 0
        for root, _, names in os.walk(f"{self._folder}/{directory}"):
            for name in names:
                yield os.path.relpath(os.path.join(root, name), self._folder).replace(os.sep, "/")
            n_files += len(names)
            if n_files > MAX_NEW_FILES:
                return
