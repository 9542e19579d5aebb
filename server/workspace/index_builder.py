"""A process that builds the index of a folder and saves it, so that a server only maps it.

Building takes seconds of one thread and leaves a fragmented heap of several times the index. In a process of its own,
at low priority, it delays no request and its memory is returned. Early snapshots are saved too, so that a server
answers from the first files on.

A builder reads a request from its stdin and writes messages to its stdout: the number of files done, or a `SavedIndex`.
After each of those it waits for a frame from the server, because the saved files are removed at its end.

Owns the two sides of this pipe, and the limits of a builder. Knows no open file and no change on disk.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from ...codegraph.graph import Spread
from ...errors import ControlFlow
from ...llm import Cancel
from ..config import Config
from ..config.options import index_settings, kept_analyses
from .analysis_run import AnalysisRun, n_processes
from .child_process import (
    Child,
    Watchdog,
    can_fork,
    end_child,
    end_with_parent,
    read_frame,
    start_child,
    take_pipes,
    write_frame,
)
from .files import FoundFile
from .forked_map import forked_map
from .known_content import KnownContent
from .snapshot import FolderSnapshot
from .store import Store
from .workers import BatchResult, forked_workers

HANG_LIMIT_S = 60.0
HANG_LIMIT_S_PER_MB = 20.0
"""A builder that reports nothing for this long, by the size of the sources, hangs and is killed. Wall-clock time: the
longest step without a report takes 0.15 s of processor time per MB, and a low-priority process gets little of it on a
busy machine."""

REPORT_INTERVAL_S = 1.0
"""While a builder resolves names, it reports this often that it does."""


END_LIMIT_S = 10.0
"""A builder has this long to remove its files at its end."""


class BuilderFailed(ControlFlow):
    """The index cannot be built by another process. The message is the reason, as a clause."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """The folder and its files to index. `saves_early` asks for early snapshots."""

    folder: Path
    config: Config
    store: Store
    files: tuple[FoundFile, ...]
    saves_early: bool = True
    niceness: int = 0


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """A saved snapshot, and the reasons why files are missing in it, by path, as in `BatchResult`.

    `n_from_base` and `base_notices` are those of the builder's base (`server/base/base.py`).
    """

    path: Path
    is_last: bool
    left_out: BatchResult = field(default_factory=BatchResult)
    n_from_base: int = 0
    base_notices: tuple[str, ...] = ()


Message: TypeAlias = int | SavedIndex
"""The number of files done, or a snapshot that is saved. A text on the pipe is the reason of a failure."""


def build_in_process(request: BuildRequest, cancel: Cancel) -> Iterator[Message]:
    """The messages of a builder process. A `SavedIndex` can be used until the next message is asked for.

    If cancelled or closed, kills the process and ends. Raises BuilderFailed.
    """
    try:
        process = start_child(serve_build)
    except OSError as error:
        raise BuilderFailed(f"the process could not be started ({error})") from error
    assert process.stdin is not None and process.stdout is not None
    unsubscribe = cancel.on_cancel(process.kill)
    megabytes = sum(file.size for file in request.files) / 1e6
    watchdog = Watchdog(process, HANG_LIMIT_S + HANG_LIMIT_S_PER_MB * megabytes)
    try:
        write_frame(process.stdin, request)
        while True:
            message = read_frame(process.stdout)
            watchdog.reset()
            if isinstance(message, str):
                raise BuilderFailed(message)
            assert isinstance(message, (int, SavedIndex))
            yield message
            if isinstance(message, SavedIndex):
                write_frame(process.stdin, None)
                if message.is_last:
                    watchdog.stop()
                    watchdog = Watchdog(process, END_LIMIT_S)
                    process.wait()  # the files of one that is killed are removed with those of others
                    return
    except (OSError, EOFError, pickle.PickleError, struct.error) as error:
        if not cancel.cancelled:
            reason = "hangs" if watchdog.has_fired else f"has ended with status {_status(process.wait)}"
            raise BuilderFailed(f"the process {reason}") from error
    finally:
        watchdog.stop()
        unsubscribe()
        end_child(process)


def _status(wait: Callable[..., int]) -> str:
    with suppress(Exception):
        return str(wait(timeout=1.0))
    return "unknown"


def serve_build() -> None:
    """Main function of a builder process: see the module."""
    end_with_parent()
    gc.disable()  # building makes many objects and no cycles
    requests, answers = take_pipes()
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        request = read_frame(requests)
        assert isinstance(request, BuildRequest)
        if request.niceness and hasattr(os, "nice"):
            os.nice(request.niceness)

        def send(message: Message) -> None:
            write_frame(answers, message)
            if isinstance(message, SavedIndex):
                read_frame(requests)

        try:
            build(request, send, forked_workers(n_processes()) if can_fork() else ())
        except OSError as error:
            write_frame(answers, f"the index could not be saved ({error})")
    os._exit(0)  # freeing a large index takes a second


def build(request: BuildRequest, send: Callable[[Message], None], workers: Sequence[Child] = ()) -> None:
    """Analyse all files, build the index, and save it and early snapshots. Raises OSError.

    The files of a `SavedIndex` may be moved away; they are removed when `send` returns or at the end.
    """
    config, store = request.config, request.store
    contents = KnownContent(request.folder, config.index, kept_analyses(config))
    base = contents.base
    run = AnalysisRun(request.folder, config.index, {}, contents, base=base, workers=workers)
    snapshot = FolderSnapshot.empty(index_settings(config, name=request.folder.name))
    waiting: list[BatchResult] = []
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    with store.building(request.folder) as place:
        for number, group in enumerate(run.groups(request.files, Cancel(), 0, send)):
            waiting += group.results
            for result in group.results:
                skipped |= result.skipped
                failed |= result.failed
            if not (group.is_last or request.saves_early):
                continue
            analyses = [analysis for result in waiting for analysis in result.analyses]
            waiting = []
            # Needs no resolved name, so the last one is made while other processes resolve them.
            model = cache(partial(snapshot.model.with_changes, [analysis.tokens for analysis in analyses], ()))
            report = partial(send, len(request.files))
            spread = _on_all_cores(report, meanwhile=model) if group.is_last else map
            snapshot = snapshot.with_changes(analyses, spread=spread, model=model)
            if group.is_last:
                contents.flush()
            path = place / str(number)
            store.save_at(path, (snapshot.index, snapshot.model), list(snapshot.records.values()))
            of_base = (0, ()) if base is None else (base.n_rows, base.notices)
            send(SavedIndex(path, group.is_last, BatchResult(skipped=skipped, failed=failed), *of_base))


def _on_all_cores(report: Callable[[], None], meanwhile: Callable[[], object]) -> Spread:
    """`map` in forked processes, see `forked_map`. `report` is called every few seconds."""
    # A base that is late has threads that wait for the network.
    n_shares = n_processes() if can_fork() else 1
    reported_s = time.monotonic()

    def report_sometimes() -> None:
        nonlocal reported_s
        if time.monotonic() - reported_s > REPORT_INTERVAL_S:
            reported_s = time.monotonic()
            report()

    return partial(forked_map, n_processes=n_shares, report=report_sometimes, meanwhile=meanwhile)
