"""Reconciliation of indexes with the disk: when a folder is compared with its index again.

Reports of changes are hints: they may be lost, late or in the wrong order. A comparison of the whole tree with the
index is not, so one is requested where a hint may be missing, waits until the disk is quiet (debounce), and is
repeated until it finds nothing. Owns when that happens. Knows no disk: a callable does the comparison.
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
"""A comparison begins when nothing was reported for so long."""

PRECAUTION_S = 1.0
"""The same where nothing says that a report is missing."""

MAX_WAIT_S = 4.0
"""A disk that is never quiet is compared this long after the first report."""

MAX_TIME_SHARE = 0.05
"""Of the time, for comparisons of a disk that is never quiet, and for those that nothing asks for."""

POLL_S = 3.0
"""A folder that cannot be watched is compared this often, if MAX_TIME_SHARE allows it."""

RETRY_AFTER_FAILURE_S = 2.0

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """What one comparison found. `repeat_after_s` asks for another although nothing differed."""

    n_changed: int = 0
    repeat_after_s: float | None = None
    compare_s: float = 0.0  # processor time of the comparison alone, without what had to be read


@dataclass(slots=True)
class _Request:
    first_s: float
    due_s: float
    after_s: float


class Reconciler(Generic[Key]):
    """Runs comparisons one after another on a thread of its own. Thread-safe; the thread starts when needed."""

    def __init__(self, compare: Callable[[Key, Cancel], ComparisonResult], changed: Callable[[], None]) -> None:
        self._compare = compare
        self._status_changed = changed
        self._condition = threading.Condition()
        self._requests: dict[Key, _Request] = {}
        self._polled: set[Key] = set()
        self._seconds: dict[Key, float] = {}  # processor time of the last comparison
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
        """Compare when nothing was requested for `after_s`, of all that wait the shortest."""
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
        """The same, as a precaution: later where comparisons take long."""
        self.request(key, max(PRECAUTION_S, self._pause_after(key)))

    def poll(self, key: Key) -> None:
        """Compare again and again: nothing reports the changes of this one."""
        self._polled.add(key)
        self.request(key)

    def forget(self, key: Key) -> None:
        with self._condition:
            self._requests.pop(key, None)
            self._polled.discard(key)
            if self._running == key:
                self._cancel.cancel()

    def flush(self) -> None:
        """Wait until what was requested so far is done, precautions excepted. Without a pause in between."""
        with self._condition:
            self._is_flushed = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._is_closed or self._is_paused or not self._is_urgent())
            self._is_flushed = False

    def pause(self) -> None:
        """End what runs, and begin nothing until `resume`."""
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
                    log.error("The comparison of %s with the disk failed and is repeated: %s", key, error)
            self._ended(key, outcome)
            self._status_changed()

    def _ended(self, key: Key, outcome: ComparisonResult) -> None:
        with self._condition:
            self._running = None
            self._seconds[key] = outcome.compare_s
            is_cancelled = self._cancel.cancelled
            self._condition.notify_all()
        if is_cancelled:  # forgotten, or a pause: a look at all files follows it
            return
        if outcome.n_changed:
            self.request(key)
        elif outcome.repeat_after_s is not None:
            self.request(key, outcome.repeat_after_s)
        if key in self._polled:
            self.request(key, max(POLL_S, self._pause_after(key)))

    def _next(self) -> Key | None:
        """The next that is due, waited for; None at the end."""
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
