"""What is done when nothing has happened for a while: one thread that waits, however often something happens.

Owns the waiting. Knows not what happens, nor what the steps do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("weft")


class QuietTimer:
    """Calls each step so many seconds after the last thing that happened; `steps` come in the order of their times.

    Thread-safe. That something happens costs a look at the clock: a `threading.Timer` for each key cost a new thread
    and the end of an old one, which was two thirds of what the server does about an edit.
    """

    def __init__(self, *steps: tuple[float, Callable[[], object]]) -> None:
        self._steps = steps
        self._changed = threading.Condition()
        self._since_s = 0.0
        self._n_done = len(steps)
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Something happened: the pause begins anew."""
        with self._changed:
            self._since_s = time.monotonic()
            # Before the first step the thread wakes too early, finds that out and waits on; it need not be told.
            if self._n_done and not self._closed:
                self._n_done = 0
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="weft-quiet-timer", daemon=True)
                    self._thread.start()
                self._changed.notify()

    def close(self) -> None:
        """No step begins after this; one that runs goes on."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _work(self) -> None:
        while (step := self._next_step()) is not None:
            try:
                step()
            except Exception:
                log.exception("What is done in a pause failed.")

    def _next_step(self) -> Callable[[], object] | None:
        """The step whose time has come, waited for; None at the end."""
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
