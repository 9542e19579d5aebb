"""One folder of the workspace: its snapshot, how it is brought up to date, and how it is kept between starts.

Owns what is indexed of this folder and which of its files are open in an editor. Readers take `snapshot` and
keep it; everything that changes it runs on the writer. Knows no request and no model but the workspace's own.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..codegraph.graph import no_search_for_cycles
from ..llm import Cancel
from ..retrieval.fragments import normalise
from ..retrieval.terms import encode
from .analysis import Analysis
from .config import Config
from .files import FoundFile, Membership, Reason, Skipped
from .settings import index_settings
from .snapshot import FolderSnapshot
from .store import FileRecord, Store
from .workers import Batch, BatchResult, analyse_batch, analyse_in_processes, into_batches
from .writer import Writer

log = logging.getLogger("weft")

INLINE_BYTES = 600_000
"""Less source than this is analysed in this process: starting workers would take longer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far indexing is: `done` of `total` files, for one folder."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What indexing found. `skipped` counts files by reason; `warm` says that a kept index was used."""

    n_files: int
    n_lines: int
    n_fragments: int
    n_reused: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    warm: bool = False
    cancelled: bool = False


PUBLISH_FACTOR = 3
"""While the first index is built, a snapshot is published when this many times as many new files wait as are in,
and this many times as many are still to come."""

MOST_PROCESSES = 8
"""More workers than this wait for the writer."""


class Folder:
    """The index of one folder. All methods may be called from any thread."""

    def __init__(self, path: Path, config: Config, writer: Writer, store: Store | None) -> None:
        self.path = path
        self.skipped: Mapping[str, str] = {}  # path -> reason, of the last look at the folder
        self._config = config
        self._writer = writer
        self._store = store
        self._membership = Membership(path, config.index)
        self._open: set[str] = set()  # files that an editor has open; touched on the writer only
        self._dirty = False
        self._is_warm = False
        self._indexing = threading.Lock()
        self._snapshot = FolderSnapshot.empty(index_settings(config, name=path.name))

    @property
    def snapshot(self) -> FolderSnapshot:
        return self._snapshot

    def key(self, path: Path) -> str | None:
        """The index's name for a path below this folder, None for one outside."""
        try:
            return path.relative_to(self.path).as_posix()
        except ValueError:
            return None

    def includes(self, key: str) -> bool:
        """Whether a file of this name is indexed when it exists."""
        return self._membership.refuses(key) is None

    def refuses(self, key: str) -> Reason | None:
        """Why a file of this name is not indexed when it exists, by its name and the rules; None when it is."""
        return self._membership.refuses(key)

    def index(
        self,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        first: Iterable[str] = (),
        niceness: int = 0,
    ) -> IndexReport:
        """Bring the snapshot up to date with the disk; what is indexed so far can be read meanwhile.

        `first` names directories to begin with: those somebody has open. A second call waits for the first.
        """
        with self._indexing:
            return self._index(progress, cancel, first, niceness)

    def load(self) -> bool:
        """Take the kept index, when there is one and nothing is indexed yet; buffers that are open must follow."""
        if self._snapshot.records or self._store is None:
            return False
        stored = self._store.load(self.path)
        if stored is None:
            return False
        index, model = stored.state
        if index.settings != self._snapshot.index.settings:
            log.info("the kept index of %s was made with other settings and is rebuilt", self.path)
            return False
        records = {record.path: record for record in stored.files}
        self._writer.run(lambda: self._replace(FolderSnapshot(index, model, records), dirty=False))
        self._is_warm = True
        return True

    def _index(
        self, progress: Callable[[Progress], None] | None, cancel: Cancel | None, first: Iterable[str], niceness: int
    ) -> IndexReport:
        started = time.perf_counter()
        cancel = cancel or Cancel()
        report = progress or (lambda _: None)
        self._membership = Membership(self.path, self._config.index)
        found = list(self._membership.walk(cancel))
        known = self._snapshot.records
        todo = [file for file in found if not _same_stamp(known.get(file.path), file)]
        names = {file.path for file in found}
        # A kept index may hold texts that were only in an editor: they have no record of a file.
        gone = [path for path in self._snapshot.index.texts if path not in names]
        hot = set(first)
        if hot:
            todo.sort(key=lambda file: os.path.dirname(file.path) not in hot)
        n_reused = len(found) - len(todo)
        report(Progress(n_reused, len(found)))
        done = n_reused
        skipped: dict[str, str] = {}
        waiting: list[BatchResult] = []
        n_waiting = n_published = 0
        if gone and not cancel.cancelled:
            self._writer.run(lambda: self._merge([], gone))
        with no_search_for_cycles():
            for result in self._analyse(todo, known, cancel, niceness):
                waiting.append(result)
                skipped.update(result.skipped)
                n_waiting += len(result.analyses)
                done += len(result.analyses) + len(result.unchanged) + len(result.skipped)
                # Publishing may resolve again what is in already: only early snapshots cost little enough.
                if n_waiting > PUBLISH_FACTOR * n_published and PUBLISH_FACTOR * (n_published + n_waiting) < len(todo):
                    n_published += n_waiting
                    self._publish(waiting)
                    waiting, n_waiting = [], 0
                report(Progress(done, len(found)))
            self._publish(waiting)
        if not cancel.cancelled:
            self.skipped = skipped
        snapshot = self._snapshot
        return IndexReport(
            n_files=snapshot.index.n_files,
            n_lines=snapshot.index.n_lines,
            n_fragments=snapshot.index.n_fragments,
            n_reused=n_reused,
            skipped=dict(Counter(skipped.values())),
            seconds=time.perf_counter() - started,
            warm=self._is_warm,
            cancelled=cancel.cancelled,
        )

    def changed_on_disk(self, keys: Iterable[str]) -> bool:
        """Re-read these files; False when the whole folder must be looked at again (ignore rules, directories)."""
        keys = set(keys)
        if any(self._membership.changes_rules(key) for key in keys):
            return False
        known = self._snapshot.records
        found: list[FoundFile] = []
        gone: list[str] = []
        for key in keys:
            file = self._membership.find(key)
            if isinstance(file, FoundFile):
                found.append(file)
            elif key in known:
                gone.append(key)
            elif self._holds_or_held_files(key):
                return False
        todo = [file for file in found if not _same_stamp(known.get(file.path), file)]

        def merge() -> None:
            for batch in into_batches(self.path, todo, self._config.index):
                self._take(analyse_batch(batch))
            self._merge([], gone)

        self._writer.submit(merge)
        return True

    def hold_open(self, key: str) -> None:
        """From now on a file is what the editor says, whatever the disk says. On the writer."""
        self._open.add(key)

    def has_indexed(self, key: str, text: str) -> bool:
        """Whether the index holds just this text for a file."""
        return self._snapshot.index.texts.get(key) == encode(normalise(text))

    def overlay(self, analysis: Analysis) -> None:
        """Put an unsaved text in the place of the file on disk. On the writer."""
        self._replace(self._snapshot.with_changes([analysis]))

    def drop_overlay(self, key: str) -> None:
        """Back to what is on disk. On the writer."""
        self._open.discard(key)
        file = self._membership.find(key)
        if isinstance(file, Skipped):
            self._merge([], [key])
        elif not _same_stamp(self._snapshot.records.get(key), file):
            self._take(analyse_batch(Batch(self.path, (file,), self._config.index)))

    def save(self) -> None:
        """Keep the index for the next start, if it changed since it was loaded or kept."""
        if self._store is not None and self._dirty:
            self._dirty = False
            snapshot = self._snapshot
            self._store.save(self.path, (snapshot.index, snapshot.model), list(snapshot.records.values()))

    def _holds_or_held_files(self, key: str) -> bool:
        """Whether a path is a folder whose files count, or was one."""
        if any(path.startswith(f"{key}/") for path in self._snapshot.records):
            return True
        return (self.path / key).is_dir() and self._membership.refuses(f"{key}/any") != "ignored"

    def _analyse(
        self, todo: list[FoundFile], known: Mapping[str, FileRecord], cancel: Cancel, niceness: int
    ) -> Iterator[BatchResult]:
        batches = into_batches(self.path, todo, self._config.index, known)
        n_processes = min(os.cpu_count() or 1, MOST_PROCESSES)
        if sum(file.size for file in todo) >= INLINE_BYTES:
            yield from analyse_in_processes(batches, n_processes, cancel, niceness)
            return
        for batch in batches:
            if cancel.cancelled:
                return
            yield analyse_batch(batch)

    def _publish(self, results: list[BatchResult]) -> None:
        if results:
            self._writer.run(lambda: self._take(*results))

    def _take(self, *results: BatchResult) -> None:
        """On the writer: merge what came out of batches; files that an editor has open keep its text."""
        analyses = [a for result in results for a in result.analyses if a.path not in self._open]
        skipped = [path for result in results for path in result.skipped]
        touched = [record for result in results for record in result.unchanged if record.path not in self._open]
        if touched:
            self._replace(self._snapshot.with_records(touched))
        self._merge(analyses, skipped)

    def _merge(self, analyses: list[Analysis], removed: Iterable[str]) -> None:
        self._replace(self._snapshot.with_changes(analyses, [path for path in removed if path not in self._open]))

    def _replace(self, snapshot: FolderSnapshot, *, dirty: bool = True) -> None:
        self._dirty = self._dirty or (dirty and snapshot is not self._snapshot)
        self._snapshot = snapshot


def _same_stamp(record: FileRecord | None, file: FoundFile) -> bool:
    return record is not None and record.size == file.size and record.mtime_ns == file.mtime_ns
