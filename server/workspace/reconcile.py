"""Scheduler of reconciliation: debounced, rate-limited comparisons of indexes with the disk.

Change events are hints: they may be lost, late or out of order. A comparison of the whole tree with the index is
reliable, so one is requested if an event may be missing, waits until the disk is quiet, and is repeated until it finds
no difference. Owns the schedule. Does not access the disk: a callable does the comparison.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...llm import Cancel

log = logging.getLogger("weft")

QUIET_S = 0.3
"""A comparison starts after this time without a report."""

PRECAUTION_S = 1.0
"""The same for a comparison as a precaution, when no report is known to be missing."""

MAX_WAIT_S = 4.0
"""If the disk is never quiet, a comparison starts this long after the first report."""

MAX_TIME_SHARE = 0.05
"""Maximum share of CPU time for comparisons of a disk that is never quiet, and for precautions and polling."""

POLL_S = 3.0
"""Polling interval of a folder that cannot be watched; longer if MAX_TIME_SHARE requires it."""

RETRY_AFTER_FAILURE_S = 2.0

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """Result of one comparison. `repeat_after_s` requests another one although nothing differed."""

    n_changed: int = 0
    repeat_after_s: float | None = None
    compare_s: float = 0.0  # CPU time of the comparison alone, without reading files


@dataclass(slots=True)
class _Request:
    first_s: float
    due_s: float
    after_s: float


class Reconciler(Generic[Key]):
    """Runs comparisons one after another on its own thread. Thread-safe; the thread starts when needed."""

    def __init__(self, compare: Callable[[Key, Cancel], ComparisonResult], changed: Callable[[], None]) -> None:
        self._compare = compare
        self._status_changed = changed
        self._condition = threading.Condition()
        self._requests: dict[Key, _Request] = {}
        self._polled: set[Key] = set()
        self._seconds: dict[Key, float] = {}  # CPU time of the last comparison
        self._running: Key | None = None
        self._cancel = Cancel()
        self._is_paused = False
        self._is_flushed = False
        self._is_closed = False
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def request(self, key: Key, after_s: float = QUIET_S) -> None:
        """Compare after `after_s` without another request; of several pending delays the shortest applies."""
        with self._condition:
            if self._is_closed:
                return
            now_s = time.monotonic()
            known = self._requests.get(key)
            if known is None:
                self._requests[key] = _Request(now_s, now_s + after_s, after_s)
            elif after_s <= known.after_s:
                last_s = known.first_s + max(MAX_WAIT_S, self._pause_after(key))
                known.after_s, known.due_s = after_s, min(now_s + after_s, max(last_s, now_s))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="weft-reconcile", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def request_precaution(self, key: Key) -> None:
        """Request a comparison as a precaution: later if comparisons take long."""
        self.request(key, max(PRECAUTION_S, self._pause_after(key)))

    def poll(self, key: Key) -> None:
        """Compare periodically: changes of this key are not reported."""
        self._polled.add(key)
        self.request(key)

    def remove(self, key: Key) -> None:
        with self._condition:
            self._requests.pop(key, None)
            self._polled.discard(key)
            if self._running == key:
                self._cancel.cancel()

    def flush(self) -> None:
        """Run pending comparisons without delay, except precautions, and wait for them."""
        with self._condition:
            self._is_flushed = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._is_closed or self._is_paused or not self._is_urgent())
            self._is_flushed = False

    def pause(self) -> None:
        """Cancel the running comparison, and start none until `resume`."""
        with self._condition:
            self._is_paused = True
            self._cancel.cancel()
            self._condition.notify_all()

    def resume(self) -> None:
        with self._condition:
            self._is_paused = False
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._cancel.cancel()
            self._condition.notify_all()

    def _is_urgent(self) -> bool:
        return self._running is not None or any(r.after_s <= QUIET_S for r in self._requests.values())

    def _pause_after(self, key: Key) -> float:
        return self._seconds.get(key, 0.0) / MAX_TIME_SHARE

    def _work(self) -> None:
        while (key := self._next()) is not None:
            self._status_changed()
            try:
                outcome = self._compare(key, self._cancel)
            except Exception as error:
                outcome = ComparisonResult(repeat_after_s=RETRY_AFTER_FAILURE_S)
                if not self._is_closed:
                    log.error("The comparison of %s with the disk failed and will be repeated: %s", key, error)
            self._ended(key, outcome)
            self._status_changed()

    def _ended(self, key: Key, outcome: ComparisonResult) -> None:
        with self._condition:
            self._running = None
            self._seconds[key] = outcome.compare_s
            is_cancelled = self._cancel.cancelled
            self._condition.notify_all()
        if is_cancelled:  # removed, or paused: an index run follows the pause
            return
        if outcome.n_changed:
            self.request(key)
        elif outcome.repeat_after_s is not None:
            self.request(key, outcome.repeat_after_s)
        if key in self._polled:
            self.request(key, max(POLL_S, self._pause_after(key)))

    def _next(self) -> Key | None:
        """Wait for the next due key; None after `close`."""
        with self._condition:
            while not self._is_closed:
                if self._is_paused or not self._requests:
                    self._condition.wait()
                    continue
                key, request = min(self._requests.items(), key=lambda item: item[1].due_s)
                left_s = request.due_s - time.monotonic()
                if left_s <= 0 or (self._is_flushed and request.after_s <= QUIET_S):
                    del self._requests[key]
                    self._running, self._cancel = key, Cancel()
                    return key
                self._condition.wait(left_s)
            return None
