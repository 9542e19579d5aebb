"""Content-addressed store of file analyses: a text that was analysed before is not analysed again.

The store is a folder of parts (`part.py`) in Weft's folder in the user's cache, for all workspaces, windows and servers
of a user. So a branch that is checked out again, an undone change, a renamed file and another clone of a repository
cost no analysis. Each process writes parts of its own and never changes one: readers need no lock, and a damaged part
costs its damaged rows.

Owns the folder, its size limit, and the analyses that are not written yet. Knows no workspace and no file on disk.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...llm.disk import regular_descriptor
from ...llm.private_files import private_folder
from ..base.base import Base
from .analysis import Analysis
from .part import PART_SUFFIX, Part, Row, UnusablePart, decoded, encoded, map_part, write_part
from .store import check_owner

PART_BYTES = 16_000_000
"""Size at which a part is written: the analyses of about 4 MB of source."""

MAX_SMALL_PARTS = 16
"""More parts of less than a quarter of PART_BYTES are joined."""

TOUCH_S = 3600
"""The time of last use of a part is written at most this often."""

_log = logging.getLogger(__name__)


class AnalysisStore:
    """The stored analyses of one user. Thread-safe.

    `analysis_version` is the version of the analysis: parts of another one are not read. A failure to write or read
    costs the stored analyses alone. `base` has analyses of other builders; they are never stored here.
    """

    def __init__(self, directory: Path, analysis_version: str, limit_bytes: int, base: Base | None = None) -> None:
        self.directory = directory
        self.analysis_version = analysis_version
        self.base = base
        self.limit_bytes = limit_bytes
        self._lock = threading.RLock()
        self._parts: dict[str, Part] = {}  # by file name, the newest first
        self._unusable: set[str] = set()  # names of parts of other versions and damaged ones
        self._pending: dict[bytes, Row] = {}
        self._n_pending_bytes = 0
        self._n_added_bytes = 0  # since the last `refresh`

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be found."""
        return not self._parts and not self._pending

    def refresh(self) -> None:
        """Map the parts that other processes have written; forget those that they have removed."""
        with self._lock:
            self._n_added_bytes = 0
            found = [path.name for path, _ in sorted(self._files(), key=lambda item: -item[1].st_mtime)]
            self._unusable &= set(found)
            parts = {name: self._parts.get(name) or self._open(name) for name in found if name not in self._unusable}
            self._parts = {name: part for name, part in parts.items() if part is not None}

    def find(self, key: bytes, path: str) -> Analysis | None:
        """The analysis of a file at `path` with this `content_key`, without a record; None for an unknown one."""
        row = self.row(key)
        if row is None:
            return None
        try:
            return decoded(row, path)
        except (ValueError, TypeError) as error:  # right in its checksum, but written by another Weft
            _log.warning("A stored analysis is not used: %s", error)
            return None

    def add(self, key: bytes, analysis: Analysis) -> None:
        """Store an analysis. It is written with others; `flush` writes the last ones."""
        self.add_row(key, encoded(analysis))

    def add_row(self, key: bytes, row: Row) -> None:
        """The same for an analysis in columns."""
        with self._lock:
            if key in self._pending or self._n_added_bytes >= self.limit_bytes:
                return
            self._pending[key] = row
            n_bytes = sum(array.nbytes for array in row.values())
            self._n_pending_bytes += n_bytes
            self._n_added_bytes += n_bytes
            if self._n_pending_bytes >= PART_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write what was added, join small parts, and remove the least recently used ones beyond the limit."""
        with self._lock:
            if not self._pending:
                return
            rows, self._pending, self._n_pending_bytes = self._pending, {}, 0
            try:
                self._write(rows)
                self._join_small_parts()
                self._prune()
            except OSError as error:
                _log.warning("Analyses could not be stored in %s: %s", self.directory, error)

    def row(self, key: bytes) -> Row | None:
        """The columns of an analysis; None for an unknown one."""
        with self._lock:
            pending = self._pending.get(key)
            parts = [] if pending is not None else [item for item in self._parts.items() if key in item[1]]
        for name, part in parts:
            row = part.row(key)
            if row is not None:
                self._touch(name)
                return row
            _log.warning("A damaged analysis in %s is not used; the file is analysed again.", self.directory / name)
        return pending

    def _write(self, rows: dict[bytes, Row]) -> None:
        private_folder(self.directory, is_ours=True)
        name = write_part(self.directory, self.analysis_version, rows)
        part = self._open(name)
        if part is not None:
            self._parts.pop(name, None)  # it may be the one that was damaged
            self._parts = {name: part, **self._parts}

    def _open(self, name: str) -> Part | None:
        try:
            with open(regular_descriptor(self.directory / name), "rb", buffering=0) as file:
                check_owner(file)
                return map_part(file, name, self.analysis_version)
        except FileNotFoundError:
            return None
        except (OSError, UnusablePart) as error:
            self._unusable.add(name)
            _log.info("The stored analyses of %s are not used: %s", name, error)
            return None

    def _join_small_parts(self) -> None:
        small = [path for path, status in self._files() if path.name in self._parts and 4 * status.st_size < PART_BYTES]
        if len(small) <= MAX_SMALL_PARTS:
            return
        parts = [self._parts.pop(path.name) for path in small]
        rows = {key: row for part in parts for key in part.keys if (row := part.row(key)) is not None}
        self._write(rows)
        for path in small:
            if path.name not in self._parts:  # the part of a single damaged row keeps its name
                with suppress(OSError):
                    path.unlink()

    def _prune(self) -> None:
        total = 0
        for path, status in sorted(self._files(), key=lambda item: -item[1].st_mtime):
            total += status.st_size
            if total > self.limit_bytes:
                self._parts.pop(path.name, None)
                with suppress(OSError):
                    path.unlink()

    def _touch(self, name: str) -> None:
        """Mark a part as recently used."""
        path = self.directory / name
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - TOUCH_S:
                os.utime(path)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        with suppress(OSError):
            for entry in os.scandir(self.directory):
                if entry.name.endswith(PART_SUFFIX):
                    with suppress(OSError):
                        yield Path(entry.path), entry.stat(follow_symlinks=False)
