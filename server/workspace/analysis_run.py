"""The analyses of the files of one index run, in groups that are worth publishing.

Owns where a file is analysed (found by its content, in this process, or in worker processes), and when an early
snapshot is worth its cost. Knows no snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ...llm import Cancel
from ..base.base import Base
from ..config import IndexOptions
from .child_process import Child
from .files import FoundFile
from .known_content import KnownContent
from .store import FileRecord
from .workers import Batch, BatchResult, analyse_here, analyse_in_processes, into_batches

INLINE_BYTES = 600_000
"""Less source than this is analysed in this process, which is faster than starting workers."""

PUBLISH_FACTOR = 3
"""During a first index run, an early snapshot is published when this many times as many files are ready as are
published, and this many times as many files remain."""

MIN_LATER_BYTES = 20_000_000
"""Of less source than this, only the first results are published early: the whole is ready some seconds later. A second
early snapshot, of a quarter of the files, took 7 % of the processor time of an index of 0.2 million lines."""

MAX_PROCESSES = 8
"""With more workers than this the writer is the bottleneck."""


class Group(NamedTuple):
    """Results to publish together."""

    results: Sequence[BatchResult]
    is_last: bool


@dataclass(frozen=True, slots=True)
class AnalysisRun:
    """What is known about the files of a run. `contents` None looks nothing up by its content.

    `read` are the files that are read already: they are not read again to look them up. With a `base` a run may wait
    for the network, so the writer has none. `workers` are processes of `forked_workers` for this run.
    """

    folder: Path
    options: IndexOptions
    known: Mapping[str, FileRecord]
    contents: KnownContent | None
    read: Mapping[FoundFile, FileRecord] = field(default_factory=dict)
    base: Base | None = None
    workers: Sequence[Child] = ()

    def groups(
        self, todo: Sequence[FoundFile], cancel: Cancel, niceness: int, report: Callable[[int], None]
    ) -> Iterator[Group]:
        """The results of all files, in groups to publish; `report` is called with the number of files done.

        When cancelled, ends early with what is done.
        """
        waiting: list[BatchResult] = []
        n_done = n_waiting = n_published = 0
        publishes_again = sum(file.size for file in todo) >= MIN_LATER_BYTES

        def analyse_batches(batches: Iterable[Batch]) -> Iterator[BatchResult]:
            return self._analyse_batches(list(batches), cancel, niceness)

        for result in self.results(todo, cancel, analyse_batches):
            waiting.append(result)
            n_waiting += len(result.analyses)
            n_done += len(result.analyses) + len(result.unchanged) + len(result.skipped) + len(result.failed)
            # Publishing may resolve published files again, which is cheap for early snapshots only.
            is_many = n_waiting > PUBLISH_FACTOR * n_published and (publishes_again or not n_published)
            if is_many and PUBLISH_FACTOR * (n_published + n_waiting) < len(todo):
                n_published += n_waiting
                yield Group(waiting, is_last=False)
                waiting, n_waiting = [], 0
            report(n_done)
        yield Group(waiting, is_last=True)

    def results(
        self,
        todo: Sequence[FoundFile],
        cancel: Cancel,
        analyse_batches: Callable[[Iterable[Batch]], Iterator[BatchResult]],
    ) -> Iterator[BatchResult]:
        """The results of files in batches: first those of known content, then those that `analyse_batches` yields."""
        if not todo or self.contents is None:
            yield from analyse_batches(into_batches(self.folder, todo, self.options, self.known))
            return
        result, unknown = self.contents.recognise(todo, self.known, cancel, self.read, self.base)
        if result.analyses or result.unchanged:
            yield result
        files = {file.path: file for file in unknown}
        for result in analyse_batches(into_batches(self.folder, unknown, self.options, self.known)):
            self.contents.learn(result, files)
            yield result

    def _analyse_batches(self, batches: Sequence[Batch], cancel: Cancel, niceness: int) -> Iterator[BatchResult]:
        if sum(file.size for batch in batches for file in batch.files) >= INLINE_BYTES:
            # All results are held until the last one, so the workers need not wait while an early snapshot is made.
            yield from analyse_in_processes(batches, n_processes(), cancel, niceness, self.workers, max_waiting=0)
            return
        for batch in batches:
            if cancel.cancelled:
                return
            yield analyse_here(batch)


def n_processes() -> int:
    """How many processes an index run uses."""
    return min(os.cpu_count() or 1, MAX_PROCESSES)
