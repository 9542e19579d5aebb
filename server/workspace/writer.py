"""Single writer thread that builds new snapshots, in FIFO order.

Owns the order of jobs. Knows nothing of what it runs.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from ...errors import ControlFlow

log = logging.getLogger("weft")

_T = TypeVar("_T")


class WriterClosed(ControlFlow):
    """A job came after the end of the writer."""


class Writer:
    """Runs jobs one after another on its own thread; an exception fails its own job only.

    Jobs of `submit_later` run when no others wait. A long one returns when `has_waiting`, and submits the rest again.

    Garbage is collected between jobs, when none waits: a collection at a million lines takes 100 ms of an edit's time.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="weft-writer")
        self._lock = threading.Lock()
        self._n_waiting = 0
        self._has_paused_collection = False  # used on the writer only
        self._later: deque[Callable[[], None]] = deque()

    @property
    def has_waiting(self) -> bool:
        """Whether a job waits that was not submitted for later."""
        return self._n_waiting > 0

    def submit(self, job: Callable[[], _T]) -> Future[_T]:
        """Run a job, which may fail. Raises WriterClosed."""
        future = self._submit(job)
        future.add_done_callback(_log_failure)
        return future

    def submit_later(self, job: Callable[[], None]) -> None:
        """Run a job once no others wait; never if the writer is closed before that."""
        self._later.append(job)
        self._schedule(self._run_later)

    def run(self, job: Callable[[], _T]) -> _T:
        """Run a job and wait for its result. Raises what the job raises, and WriterClosed."""
        return self._submit(job).result()

    def flush(self) -> None:
        """Wait until all jobs submitted so far are done, and all that they submitted for later."""
        self._executor.submit(lambda: None).result()
        while self._later:
            self._executor.submit(lambda: None).result()

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._resume_collection()

    def _submit(self, job: Callable[[], _T]) -> Future[_T]:
        def begin() -> _T:
            with self._lock:
                self._n_waiting -= 1
            self._pause_collection()
            try:
                return job()
            finally:
                self._schedule(self._tidy)

        with self._lock:
            try:
                future = self._executor.submit(begin)
            except RuntimeError:
                raise WriterClosed("the workspace is closed") from None
            self._n_waiting += 1
        return future

    def _schedule(self, job: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # closed
            self._executor.submit(job)

    def _run_later(self) -> None:
        if self.has_waiting:
            self._schedule(self._run_later)  # behind them
            return
        self._pause_collection()
        try:
            self._later[0]()
        except Exception as error:
            log.error("An index update failed: %s", error, exc_info=error)
        finally:
            self._later.popleft()  # last, see `flush`
            self._schedule(self._tidy)

    def _tidy(self) -> None:
        if not self.has_waiting and not self._later:
            self._resume_collection()

    def _pause_collection(self) -> None:
        if gc.isenabled():
            self._has_paused_collection = True
            gc.disable()

    def _resume_collection(self) -> None:
        if self._has_paused_collection:
            self._has_paused_collection = False
            gc.enable()


def _log_failure(future: Future[_T]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("An index update failed: %s", error, exc_info=error)
