"""Analyse many files in worker processes, in order to keep the editor's process free and to survive a bad file.

Owns the processes, the frames on their pipes, and what happens when one dies: its batch is retried file by
file, and the file that kills a worker is quarantined with a reason. Knows no index: results are handed on as they come.

The processes are started by hand rather than by `multiprocessing`, which runs the caller's main module again: a
script that uses `weft.Workspace` without a main guard must work too. They never see the workspace on their
module path, so a `numpy.py` in somebody's repository is not imported.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from ..llm.protocol import Cancel
from .analysis import Analysis, analyse
from .config import IndexOptions
from .files import FoundFile, Skipped, SourceText, read_source
from .store import FileRecord

BATCH_BYTES = 400_000
"""Source bytes in a batch: large enough to hide the pipe, small enough that results flow early."""

BATCH_TIMEOUT_S = 60.0
"""A worker that is silent for longer is stuck in one file and is killed."""

RACY_NS = 2_000_000_000
"""Coarsest time stamp of a common file system."""

_HEADER = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Batch:
    """Files of one folder to read and analyse."""

    folder: Path
    files: tuple[FoundFile, ...]
    options: IndexOptions
    known: Mapping[str, bytes] = field(default_factory=dict)  # path -> hash of what is indexed already


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of a batch; every file of it is in one of the three."""

    analyses: tuple[Analysis, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)  # path -> reason
    unchanged: tuple[FileRecord, ...] = ()  # touched, but they hold what is indexed


def into_batches(
    folder: Path, files: Iterable[FoundFile], options: IndexOptions, known: Mapping[str, FileRecord] | None = None
) -> Iterator[Batch]:
    """Batches of about BATCH_BYTES, in the order of `files`; `known` spares the analysis of what did not change."""
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


def analyse_batch(batch: Batch) -> BatchResult:
    """Analyse a batch in this process."""
    analyses: list[Analysis] = []
    skipped: dict[str, str] = {}
    unchanged: list[FileRecord] = []
    for found in batch.files:
        source = read_source(batch.folder, found, batch.options)
        if isinstance(source, Skipped):
            skipped[found.path] = source.reason
        elif batch.known.get(found.path) == source.hash:
            unchanged.append(_record(source))
        else:
            analyses.append(analyse(found.path, source.text, _record(source)))
    return BatchResult(tuple(analyses), skipped, tuple(unchanged))


def analyse_in_processes(
    batches: Iterable[Batch], n_processes: int, cancel: Cancel, niceness: int = 0
) -> Iterator[BatchResult]:
    """Results as they come, in no particular order; ends early, with the processes gone, when cancelled or closed."""
    todo = iter(batches)
    todo_lock = threading.Lock()
    done: queue.Queue[BatchResult | BaseException | None] = queue.Queue(maxsize=2 * n_processes)
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

    def drive() -> None:
        worker = _Worker(niceness, stop)
        try:
            while (batch := next_batch()) is not None:
                put(worker.analyse(batch))
        except BaseException as error:
            put(error)
        finally:
            worker.close()
            put(None)

    threads = [threading.Thread(target=drive, name=f"weft-analysis-{i}", daemon=True) for i in range(n_processes)]
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


def _record(source: SourceText) -> FileRecord:
    # A file that changed a moment ago may change again within the same time stamp: the next start reads it again.
    racy = time.time_ns() - source.mtime_ns < RACY_NS
    return FileRecord(source.path, source.size, 0 if racy else source.mtime_ns, source.hash)


class _Worker:
    """One process, started when first needed and again after it died."""

    def __init__(self, niceness: int, stop: Cancel) -> None:
        self._niceness = niceness
        self._stop = stop
        self._process: subprocess.Popen[bytes] | None = None
        stop.on_cancel(self.close)

    def analyse(self, batch: Batch) -> BatchResult:
        try:
            return self._ask(batch)
        except (OSError, EOFError, pickle.PickleError, struct.error):
            self.close()
        if self._stop.cancelled:
            return BatchResult()
        if len(batch.files) == 1:
            path = batch.files[0].path
            return BatchResult((), {path: "stopped the parser; quarantined until it changes"})
        alone = [self.analyse(replace(batch, files=(found,))) for found in batch.files]
        return BatchResult(
            tuple(analysis for result in alone for analysis in result.analyses),
            {path: reason for result in alone for path, reason in result.skipped.items()},
            tuple(record for result in alone for record in result.unchanged),
        )

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _ask(self, batch: Batch) -> BatchResult:
        process = self._process
        if process is None:
            process = self._process = _start(self._niceness)
        assert process.stdin is not None and process.stdout is not None
        watchdog = threading.Timer(BATCH_TIMEOUT_S, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            _write_frame(process.stdin, batch)
            result = _read_frame(process.stdout)
        finally:
            watchdog.cancel()
        assert isinstance(result, BatchResult)
        return result


def _start(niceness: int) -> subprocess.Popen[bytes]:
    # -I keeps the current folder and PYTHONPATH out; the parent's own module path is handed over explicitly.
    here = os.getcwd()
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != os.path.realpath(here)]
    top = __package__.rpartition(".")[0]
    package_folder = str(Path(__file__).resolve().parent.parent)
    code = (
        "import sys, importlib.util as u\n"
        f"sys.path[:] = {path!r}\n"
        f"spec = u.spec_from_file_location({top!r}, {package_folder + '/__init__.py'!r},"
        f" submodule_search_locations=[{package_folder!r}])\n"
        f"sys.modules[{top!r}] = u.module_from_spec(spec); spec.loader.exec_module(sys.modules[{top!r}])\n"
        f"from {__name__} import serve_batches; serve_batches({niceness})"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def serve_batches(niceness: int) -> None:
    """The worker's side: batches in on stdin, results out on stdout, until stdin ends."""
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    gc.disable()  # analysis makes many values and no cycles; searching for some costs a tenth of the time
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print must not reach the frames
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            batch = _read_frame(requests)
            assert isinstance(batch, Batch)
            _write_frame(answers, analyse_batch(batch))


def _write_frame(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value, protocol=5)
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def _read_frame(stream: IO[bytes]) -> object:
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise EOFError("the other side is gone")
    (length,) = _HEADER.unpack(header)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the other side stopped within an answer")
    return pickle.loads(data)
