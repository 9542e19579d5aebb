"""Process pool for file analysis, with crash and hang isolation.

Owns the worker processes and crash recovery: if a worker dies or hangs, its current file is quarantined with a reason,
and a new process analyses the rest of its batch. Knows no index: results are yielded as they arrive.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ...codegraph import CpuTimeLimit, TimeLimitExceeded, TooRiskyToParse
from ...llm.protocol import Cancel
from ..config import IndexOptions
from .analysis import FILE_LIMIT_S, Analysis, analyse
from .child_process import Child, Watchdog, end_child, fork_child, read_frame, start_child, take_pipes, write_frame
from .files import ExcludedFile, FileContent, FoundFile, SourceText, read_source
from .store import FileRecord

BATCH_BYTES = 400_000
"""Source bytes in a batch: large enough to amortise the pipe, small enough for early results."""

HANG_LIMIT_S = 15.0
"""A worker that reports no file for this long hangs and is killed. Wall-clock time, so it exceeds FILE_LIMIT_S, which
is CPU time: on a busy machine a low-priority process gets little of it."""

MEMORY_LIMIT_BYTES = 4 << 30
"""Address space limit of a worker: a text whose parse tree needs gigabytes fails alone."""

RACY_NS = 2_000_000_000
"""Coarsest time stamp resolution of a common file system."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Files of one folder to read and analyse."""

    folder: Path
    files: tuple[FoundFile, ...]
    options: IndexOptions
    known: Mapping[str, bytes] = field(default_factory=dict)  # path -> hash of the indexed content


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Result of a batch; each file is in exactly one of the four."""

    analyses: tuple[Analysis, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)  # path -> reason, by a rule
    failed: Mapping[str, str] = field(default_factory=dict)  # path -> reason: its analysis raised, hung or crashed
    unchanged: tuple[FileRecord, ...] = ()  # touched, with the indexed content


def into_batches(
    folder: Path, files: Iterable[FoundFile], options: IndexOptions, known: Mapping[str, FileRecord] | None = None
) -> Iterator[Batch]:
    """Batches of about BATCH_BYTES, in the order of `files`; files with the hash in `known` are not analysed again."""
    known = known or {}
    group: list[FoundFile] = []
    n_bytes = 0
    for found in files:
        group.append(found)
        n_bytes += found.size
        if n_bytes >= BATCH_BYTES:
            yield _batch(folder, group, options, known)
            group, n_bytes = [], 0
    if group:
        yield _batch(folder, group, options, known)


def _batch(folder: Path, group: list[FoundFile], options: IndexOptions, known: Mapping[str, FileRecord]) -> Batch:
    hashes = {file.path: known[file.path].hash for file in group if file.path in known}
    return Batch(folder, tuple(group), options, hashes)


def analyse_here(batch: Batch) -> BatchResult:
    """Analyse a batch in this process, except texts that might hang it, which are analysed in a worker process.

    An exception affects only its own file.
    """
    results: list[BatchResult] = []
    worker = _Worker(0, Cancel())
    try:
        for found in batch.files:
            alone = replace(batch, files=(found,))
            try:
                results.append(_analyse_file(alone, samples=True))
            except TooRiskyToParse:
                results.append(worker.analyse(alone))
    finally:
        worker.close()
    return _joined(results)


def reason_of(error: Exception) -> str:
    """Why the analysis of a file failed, as a clause."""
    if isinstance(error, TimeLimitExceeded):
        return str(error)
    return f"its analysis failed: {type(error).__name__}: {error}"[:MAX_REASON_CHARACTERS]


MAX_REASON_CHARACTERS = 200


def _analyse_file(batch: Batch, *, samples: bool) -> BatchResult:
    """Analyse a batch of one file. Raises TooRiskyToParse only if `samples` is true."""
    (found,) = batch.files
    try:
        source = read_source(batch.folder, found, batch.options)
        if isinstance(source, ExcludedFile):
            return BatchResult(skipped={found.path: source.reason})
        if batch.known.get(found.path) == source.hash:
            return BatchResult(unchanged=(record_of(source),))
        limit = CpuTimeLimit(FILE_LIMIT_S, samples=samples)
        return BatchResult((analyse(found.path, source.text, record_of(source), limit=limit),))
    except TooRiskyToParse:
        raise
    except Exception as error:
        return BatchResult(failed={found.path: reason_of(error)})


def _joined(results: Iterable[BatchResult]) -> BatchResult:
    results = list(results)
    return BatchResult(
        tuple(analysis for result in results for analysis in result.analyses),
        {path: reason for result in results for path, reason in result.skipped.items()},
        {path: reason for result in results for path, reason in result.failed.items()},
        tuple(record for result in results for record in result.unchanged),
    )


def forked_workers(n_processes: int) -> tuple[Child, ...]:
    """Worker processes for `analyse_in_processes` that start in some milliseconds. Only where `can_fork` is true."""
    return tuple(fork_child(partial(serve_batches, 0)) for _ in range(n_processes))


def analyse_in_processes(
    batches: Iterable[Batch],
    n_processes: int,
    cancel: Cancel,
    niceness: int = 0,
    workers: Sequence[Child] = (),
    max_waiting: int | None = None,
) -> Iterator[BatchResult]:
    """Yield results as they arrive, in no particular order. If cancelled or closed, kills the processes and ends.

    `workers` are used first: processes of `forked_workers`. One that ends is replaced by a process of its own start.
    The processes pause while `max_waiting` results are not taken, None for twice their number and 0 for no limit.
    """
    todo = iter(batches)
    todo_lock = threading.Lock()
    done: queue.Queue[BatchResult | BaseException | None] = queue.Queue(
        2 * n_processes if max_waiting is None else max_waiting
    )
    stop = Cancel()
    cancel.on_cancel(stop.cancel)

    def next_batch() -> Batch | None:
        with todo_lock:
            return None if stop.cancelled else next(todo, None)

    def put(item: BatchResult | BaseException | None) -> None:
        while not stop.cancelled:
            with contextlib.suppress(queue.Full):
                done.put(item, timeout=0.2)
                return

    def drive(process: Child | None) -> None:
        worker = _Worker(niceness, stop, process)
        try:
            while (batch := next_batch()) is not None:
                put(worker.analyse(batch))
        except BaseException as error:
            put(error)
        finally:
            worker.close()
            put(None)

    threads = [
        threading.Thread(target=drive, args=(process,), name=f"weft-analysis-{i}", daemon=True)
        for i, process in enumerate([*workers, *[None] * n_processes][:n_processes])
    ]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running and not stop.cancelled:
            try:
                item = done.get(timeout=0.2)
            except queue.Empty:
                continue
            if item is None:
                running -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item
    finally:
        stop.cancel()
        for thread in threads:
            thread.join(timeout=5)


def is_racy(file: FoundFile | SourceText | FileContent) -> bool:
    """Whether a file was changed so recently that another change might leave its time stamp equal."""
    return time.time_ns() - file.mtime_ns < RACY_NS


def record_of(source: SourceText | FileContent) -> FileRecord:
    """The record of a file that was just read. That of a racy file has no time: the next comparison reads it again."""
    mtime_ns = 0 if is_racy(source) else source.mtime_ns
    return FileRecord(source.path, source.size, mtime_ns, source.hash, source.identity)


class _Worker:
    """One worker process, started when needed and restarted after a crash."""

    def __init__(self, niceness: int, stop: Cancel, process: Child | None = None) -> None:
        self._niceness = niceness
        self._stop = stop
        self._process = process
        self._n_done = 0  # files of the current batch
        self._has_hung = False  # the last batch failed because the process hung
        stop.on_cancel(self.close)

    def analyse(self, batch: Batch) -> BatchResult:
        failed: dict[str, str] = {}
        files, suspect = list(batch.files), ""
        while files and not self._stop.cancelled:
            try:
                result = self._run_batch(replace(batch, files=tuple(files)))
                return replace(result, failed={**failed, **result.failed})
            except (OSError, EOFError, pickle.PickleError, struct.error):
                self.close()
            at = files.pop(min(self._n_done, len(files) - 1))
            if self._has_hung:
                failed[at.path] = f"its analysis hung for {HANG_LIMIT_S:g} s; quarantined until it changes"
            elif at.path == suspect:
                failed[at.path] = "stopped the parser; quarantined until it changes"
            else:  # the process may have been killed for another reason: try once more
                suspect = at.path
                files.insert(0, at)
        return BatchResult(failed=failed)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end_child(process)

    def _run_batch(self, batch: Batch) -> BatchResult:
        self._n_done, self._has_hung = 0, False
        process = self._process
        if process is None:
            process = self._process = _start(self._niceness)
        assert process.stdin is not None and process.stdout is not None
        watchdog = Watchdog(process, HANG_LIMIT_S)
        try:
            write_frame(process.stdin, batch)
            while (result := read_frame(process.stdout)) is None:
                self._n_done += 1
                watchdog.reset()
        finally:
            watchdog.stop()
            self._has_hung = watchdog.has_fired
        assert isinstance(result, BatchResult)
        return result


def _start(niceness: int) -> Child:
    return start_child(serve_batches, niceness)


def serve_batches(niceness: int) -> None:
    """Main loop of a worker: reads batches from stdin; writes None after each file, then the result, to stdout."""
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    _limit_memory()
    gc.disable()  # analysis allocates many objects and no cycles; collections would take a tenth of the time
    requests, answers = take_pipes()
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            batch = read_frame(requests)
            assert isinstance(batch, Batch)
            results = []
            for found in batch.files:
                results.append(_analyse_file(replace(batch, files=(found,)), samples=False))
                write_frame(answers, None)
            write_frame(answers, _joined(results))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = MEMORY_LIMIT_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_LIMIT_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
