"""Reading ahead while nobody asks: the prompt of the next completion, before it is wanted.

Owns when that is done: at the newest place, one at a time, for a bounded time, and never beside a request. Knows no
model and no prompt.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..llm import Cancel, ModelError

log = logging.getLogger("weft")

WARM_WITHIN_S = 5.0
"""A warm-up that takes longer is ended; what was read by then is mostly kept by the model."""

Place = tuple[Path, int, int]  # file, line and character, 0-based


class Warmer:
    """Calls `warm(place, cancel)` in a thread of its own. Thread-safe."""

    def __init__(self, warm: Callable[[Place, Cancel], None]) -> None:
        self._warm = warm
        self._changed = threading.Condition()
        self._wanted: Place | None = None
        self._running = Cancel()
        self._n_requests = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def want(self, place: Place) -> None:
        """Warm up for this place when nobody asks for anything; a place that was wanted before is forgotten."""
        with self._changed:
            if self._closed:
                return
            self._wanted = place
            self._running.cancel()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="weft-warm-up", daemon=True)
                self._thread.start()
            self._changed.notify()

    @contextmanager
    def making_way(self) -> Iterator[None]:
        """While a request runs: a warm-up ends at once, and what was wanted is forgotten, for the request reads it."""
        with self._changed:
            self._n_requests += 1
            self._wanted = None
            self._running.cancel()
        try:
            yield
        finally:
            with self._changed:
                self._n_requests -= 1
                self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._running.cancel()
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (self._wanted is None or self._n_requests):
                    self._changed.wait()
                if self._closed:
                    return
                place, self._wanted = self._wanted, None
                assert place is not None
                cancel = self._running = Cancel()
            timer = threading.Timer(WARM_WITHIN_S, cancel.cancel)
            timer.daemon = True
            timer.start()
            try:
                self._warm(place, cancel)
            except (ModelError, OSError, ValueError) as error:
                # Whoever asks next meets the same, and is told.
                log.debug("No warm-up at %s:%d: %s", place[0], place[1] + 1, error)
            except Exception:
                log.exception("The warm-up at %s:%d failed.", place[0], place[1] + 1)
            finally:
                timer.cancel()


def end_of_change(before: str, after: str) -> int:
    """The offset in `after` right behind what an edit changed: where the cursor probably stands."""
    shorter = min(len(before), len(after))
    start = _agreeing(shorter, lambda n: before[:n] == after[:n])
    end = _agreeing(shorter - start, lambda n: before[len(before) - n :] == after[len(after) - n :])
    return len(after) - end


def _agreeing(longest: int, agree: Callable[[int], bool]) -> int:
    """The greatest n up to `longest` for which `agree(n)`; it holds for every smaller one too."""
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if agree(middle) else (low, middle - 1)
    return low
