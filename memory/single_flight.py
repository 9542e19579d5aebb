"""Single-flight: coalesces identical concurrent calls into one.

Knows nothing of the calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from ..llm.protocol import Cancel


class SingleFlight:
    """Calls in flight, by key. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._single_flight: dict[str, Future[str | None]] = {}

    def share(self, key: str, work: Callable[[], str], cancel: Cancel) -> tuple[str, bool]:
        """The result of `work`, and whether this thread ran it. Waiting threads get the same result or error.

        If the running thread is cancelled, a waiting one takes over; a waiting thread that is cancelled gets "".
        """
        while True:
            with self._lock:
                flight = self._single_flight.get(key)
                if is_mine := flight is None:
                    flight = self._single_flight[key] = Future()
            if is_mine:
                return self._work(key, work, cancel, flight), True
            _wait(flight, cancel)
            if not flight.done():
                return "", False
            if (text := flight.result()) is not None:
                return text, False

    def _work(self, key: str, work: Callable[[], str], cancel: Cancel, flight: Future[str | None]) -> str:
        try:
            text = work()
        except BaseException as error:
            self._end(key)
            flight.set_exception(error)
            raise
        self._end(key)
        flight.set_result(None if cancel.cancelled else text)
        return text

    def _end(self, key: str) -> None:
        with self._lock:
            del self._single_flight[key]


def _wait(flight: Future[str | None], cancel: Cancel) -> None:
    """Wait until the call finishes or the waiting thread is cancelled."""
    woken = threading.Event()
    flight.add_done_callback(lambda _: woken.set())
    forget = cancel.on_cancel(woken.set)
    woken.wait()
    forget()
