"""What is done while nobody asks: reading the prompt of the next completion, or writing it before it is wanted.

Owns when that is done: the newest job alone, for a bounded time, and never beside a request. Knows no model and no
prompt.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...llm import Cancel, ModelError

log = logging.getLogger("weft")

WITHIN_S = 5.0
"""A job that takes longer is ended; what was read of a prompt by then is mostly kept by the model."""

Job = Callable[[Cancel], None]


class IdleWorker:
    """Runs jobs in a thread of its own. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._wanted: Job | None = None
        self._running = Cancel()
        self._n_requests = 0
        self._closed = False
        self._is_paused = False
        self._thread: threading.Thread | None = None

    def want(self, job: Job) -> None:
        """Do this when nobody asks for anything; a job that was wanted before is ended or forgotten."""
        with self._changed:
            if self._closed or self._is_paused:
                return
            self._wanted = job
            self._running.cancel()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="weft-idle", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @contextmanager
    def request_running(self) -> Iterator[None]:
        """While a request runs: a job ends at once, and what was wanted is forgotten, for the request does it."""
        with self._changed:
            self._n_requests += 1
            self._wanted = None
            self._running.cancel()
        try:
            yield
        finally:
            with self._changed:
                self._n_requests -= 1
                self._changed.notify_all()

    def wait_for_requests(self, cancel: Cancel, at_most_s: float) -> None:
        """Until no request runs, for work that goes on beside them but not before them."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or cancel.cancelled or not self._n_requests, at_most_s)

    def pause(self) -> None:
        """End what runs and forget what is wanted, now and until `resume`."""
        with self._changed:
            self._is_paused, self._wanted = True, None
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
                while not self._closed and (self._wanted is None or self._n_requests):
                    self._changed.wait()
                if self._closed:
                    return
                job, self._wanted = self._wanted, None
                assert job is not None
                cancel = self._running = Cancel()
            timer = threading.Timer(WITHIN_S, cancel.cancel)
            timer.daemon = True
            timer.start()
            try:
                job(cancel)
            except (ModelError, OSError, ValueError) as error:
                # Whoever asks next meets the same, and is told.
                log.debug("Nothing was done ahead: %s", error)
            except Exception:
                log.exception("What was to be done ahead failed.")
            finally:
                timer.cancel()
