"""Fair scheduling: round robin over sessions for the threads that compute answers, newest request first.

Owns the turns and the queue for them. A thread gives its turn back while it waits for a model, for a pause between two
texts or for the writer (`waiting`). Knows no request and no session but by name.
Work that no key waits for computes behind them, in pieces (`behind`, `let_others_first`).

Python's interpreter lock lets one thread compute at a time. With a thread for each of 50 requests, all of them progress
slowly and each key arrives before the answer to the key before it; with turns, the first ones are answered soon.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from ...llm import Cancel

N_TURNS = 1
"""Requests that compute at the same time. Python's interpreter lock lets one compute; a second turn was not measured to
help (50 typists at 183 thousand lines, six runs on a loaded machine)."""


WAITS_FOR_S = 1.0
"""Work behind others waits so long in all: where so many type that there is no gap, it goes on beside them."""

LOOKS_EVERY_S = 0.02
"""Between two looks whether waiting work was cancelled."""


class _Waiter:
    """A thread in the queue. `is_decided` is set when it has a turn or has left."""

    def __init__(self) -> None:
        self.is_decided = threading.Event()
        self.has_turn = False


class Turns:
    """The turns of a process. Thread-safe."""

    def __init__(self, n: int = N_TURNS) -> None:
        self._lock = threading.Lock()
        self._n_free = self._n = n
        self._idle = threading.Event()  # set while no thread has a turn
        self._idle.set()
        self._waiting: OrderedDict[str, list[_Waiter]] = OrderedDict()  # by session, the next one first

    @contextmanager
    def turn(self, session: str, cancel: Cancel, at_most_s: float) -> Iterator[bool]:
        """Compute in turn. False if no turn came in time, or the request was cancelled before."""
        has_turn = self._take(session, cancel, at_most_s)
        if not has_turn:
            yield False
            return
        outer, held = _of_thread.turn, _Held(self, session, cancel)
        _of_thread.turn = held
        try:
            yield True
        finally:
            _of_thread.turn = outer
            if held.is_held:
                self._give_back()

    @contextmanager
    def behind(self, cancel: Cancel) -> Iterator[None]:
        """Compute without a turn, in pieces: `let_others_first` between them lets those go first that have one."""
        outer, _of_thread.behind = _of_thread.behind, _Behind(self, cancel)
        try:
            let_others_first()
            yield
        finally:
            _of_thread.behind = outer

    def wait_until_idle(self, within_s: float) -> bool:
        """Whether no thread has a turn, now or within this time."""
        return self._idle.wait(within_s)

    @property
    def n_waiting(self) -> int:
        """Requests in the queue."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def _take(self, session: str, cancel: Cancel, at_most_s: float) -> bool:
        with self._lock:
            if self._n_free:  # then the queue is empty
                self._n_free -= 1
                self._idle.clear()
                return True
            waiter = _Waiter()
            self._waiting.setdefault(session, []).append(waiter)
        unsubscribe = cancel.on_cancel(waiter.is_decided.set)
        waiter.is_decided.wait(at_most_s)
        unsubscribe()
        with self._lock:
            if not waiter.has_turn:
                self._leave(session, waiter)
        return waiter.has_turn

    def _leave(self, session: str, waiter: _Waiter) -> None:
        """With the lock: remove a thread that got no turn."""
        of_session = self._waiting[session]
        of_session.remove(waiter)
        if not of_session:
            del self._waiting[session]

    def _give_back(self) -> None:
        """Pass the turn on: to the session that waits longest since its last turn, and there to its newest request."""
        with self._lock:
            if not self._waiting:
                self._n_free += 1
                if self._n_free == self._n:
                    self._idle.set()
                return
            session, of_session = self._waiting.popitem(last=False)
            waiter = of_session.pop()
            if of_session:
                self._waiting[session] = of_session  # behind the others
            waiter.has_turn = True
        waiter.is_decided.set()


class _Held:
    """The turn of a thread."""

    def __init__(self, turns: Turns, session: str, cancel: Cancel) -> None:
        self.turns, self.session, self.cancel = turns, session, cancel
        self.is_held = True


class _Behind:
    """The turns behind which a thread computes."""

    def __init__(self, turns: Turns, cancel: Cancel) -> None:
        self.turns, self.cancel, self.left_s = turns, cancel, WAITS_FOR_S


class _OfThread(threading.local):
    turn: _Held | None = None
    behind: _Behind | None = None


_of_thread = _OfThread()

RESUMES_WITHIN_S = 0.5
"""A request that has waited for a model goes on after this time even without a turn: its text is there already."""


def let_others_first() -> None:
    """Between two pieces of work `behind` others: wait until these have computed."""
    behind = _of_thread.behind
    if behind is None or behind.left_s <= 0:
        return
    until_s = time.monotonic() + behind.left_s
    while not behind.turns.wait_until_idle(LOOKS_EVERY_S) and not behind.cancel.cancelled:
        if time.monotonic() > until_s:
            break
    behind.left_s = until_s - time.monotonic()


@contextmanager
def waiting() -> Iterator[None]:
    """Let other requests compute while this thread waits, if it has a turn; it goes on with the next one."""
    held = _of_thread.turn
    if held is None or not held.is_held:
        yield
        return
    held.is_held = False
    held.turns._give_back()
    try:
        yield
    finally:
        held.is_held = held.turns._take(held.session, held.cancel, RESUMES_WITHIN_S)
