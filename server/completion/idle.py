"""Background work between requests, preempted by every request.

Owns the worker thread and the scheduling: only the newest job, for a bounded time, and never during a request. Knows
no model and no prompt.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...llm import Cancel, ModelError

log = logging.getLogger("weft")

MAX_JOB_S = 5.0
"""Time limit of a job. A model mostly keeps the part of the prompt that it has prefilled by then."""

Job = Callable[[Cancel], None]


class IdleWorker:
    """Runs the newest job in one thread while no request runs. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pending: Job | None = None
        self._running = Cancel()
        self._n_requests = 0
        self._closed = False
        self._is_paused = False
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        """Run a job when no request runs; it replaces an earlier job, pending or running."""
        with self._changed:
            if self._closed or self._is_paused:
                return
            self._pending = job
            self._running.cancel()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="weft-idle-worker", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @contextmanager
    def request_running(self) -> Iterator[None]:
        """Preempt the running job and drop the pending one; no job starts until the request ends."""
        with self._changed:
            self._n_requests += 1
            self._pending = None
            self._running.cancel()
        try:
            yield
        finally:
            with self._changed:
                self._n_requests -= 1
                self._changed.notify_all()

    def wait_for_requests(self, cancel: Cancel, at_most_s: float) -> None:
        """Wait until no request runs, for work that yields to requests without being cancelled by them."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or cancel.cancelled or not self._n_requests, at_most_s)

    def pause(self) -> None:
        """Cancel all jobs, and reject new ones until `resume`."""
        with self._changed:
            self._is_paused, self._pending = True, None
            self._running.cancel()

    def resume(self) -> None:
        with self._changed:
            self._is_paused = False

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._running.cancel()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (self._pending is None or self._n_requests):
                    self._changed.wait()
                if self._closed:
                    return
                job, self._pending = self._pending, None
                assert job is not None
                cancel = self._running = Cancel()
            timer = threading.Timer(MAX_JOB_S, cancel.cancel)
            timer.daemon = True
            timer.start()
            try:
                job(cancel)
            except (ModelError, OSError, ValueError) as error:
                # The next request meets and reports the same error.
                log.debug("Background work was skipped: %s", error)
            except Exception:
                log.exception("Unexpected error in background work.")
            finally:
                timer.cancel()
