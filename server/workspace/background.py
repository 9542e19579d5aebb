"""Single background thread with a FIFO job queue, for jobs that may hang: a daemon thread, so exit never waits for it.

Owns the order of jobs and their cancellation. Knows nothing of what it runs.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

log = logging.getLogger("weft")

JOIN_WITHIN_S = 2.0
"""How long `close` waits for the running job."""

_Job = tuple[Callable[[], None], "Future[None]"]


class BackgroundWorker:
    """Runs jobs one after another; an exception fails its own job only. Thread-safe; the thread starts when needed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Callable[[], None]) -> Future[None]:
        future: Future[None] = Future()
        with self._lock:
            if self._closed:
                return _cancelled(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put((job, future))
        return future

    def flush(self) -> None:
        """Wait until all jobs submitted so far are done."""
        self.submit(lambda: None).result()

    def close(self) -> None:
        """Drop queued jobs. Cancel the running job first if it can be cancelled."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._jobs.put(None)
        if thread is not None:
            thread.join(JOIN_WITHIN_S)

    def _work(self) -> None:
        while (waiting := self._jobs.get()) is not None:
            job, future = waiting
            if self._closed:
                _cancelled(future)
                continue
            try:
                job()
            except Exception as error:
                log.error("%s: a job failed: %s", self._name, error, exc_info=error)
                future.set_exception(error)
            else:
                future.set_result(None)


def _cancelled(future: Future[None]) -> Future[None]:
    future.cancel()
    future.set_running_or_notify_cancel()  # wakes waiting threads
    return future
