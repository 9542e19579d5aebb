"""Debounce timer with several delays on one thread.

Owns the waiting. Knows neither the events nor what the steps do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("weft")


class QuietTimer:
    """Calls each step a given number of seconds after the last event; `steps` are sorted by delay.

    Thread-safe. An event only reads the clock: a `threading.Timer` for each keystroke started and ended a thread, which
    was two thirds of the server's work for an edit.
    """

    def __init__(self, *steps: tuple[float, Callable[[], object]]) -> None:
        self._steps = steps
        self._changed = threading.Condition()
        self._since_s = 0.0
        self._n_done = len(steps)
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Restart the delays after an event."""
        with self._changed:
            self._since_s = time.monotonic()
            # Before the first step the thread needs no notification: it wakes early, and waits for the rest.
            if self._n_done and not self._closed:
                self._n_done = 0
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="weft-quiet-timer", daemon=True)
                    self._thread.start()
                self._changed.notify()

    def close(self) -> None:
        """Start no more steps; a running one continues."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _work(self) -> None:
        while (step := self._next_step()) is not None:
            try:
                step()
            except Exception:
                log.exception("A task that runs in a typing pause failed.")

    def _next_step(self) -> Callable[[], object] | None:
        """Wait for the next due step; None after `close`."""
        with self._changed:
            while not self._closed:
                if self._n_done == len(self._steps):
                    self._changed.wait()
                    continue
                after_s, step = self._steps[self._n_done]
                left_s = self._since_s + after_s - time.monotonic()
                if left_s <= 0:
                    self._n_done += 1
                    return step
                self._changed.wait(left_s)
            return None
