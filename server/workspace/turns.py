"""Fair scheduling: round robin over sessions for the threads that compute answers, newest request first.

Owns the turns and the queue for them. A thread gives its turn back while it waits for a model, for a pause between two
texts or for the writer (`waiting`). Knows no request and no session but by name.

Python's interpreter lock lets one thread compute at a time. With a thread for each of 50 requests, all of them progress
slowly and each key arrives before the answer to the key before it; with turns, the first ones are answered soon.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from ...llm import Cancel

N_TURNS = 1
"""Requests that compute at the same time. Python's interpreter lock lets one compute; a second turn was not measured to
help (50 typists at 183 thousand lines, six runs on a loaded machine)."""


class _Waiter:
    """A thread in the queue. `is_decided` is set when it has a turn or has left."""

    def __init__(self) -> None:
        self.is_decided = threading.Event()
        self.has_turn = False


class Turns:
    """The turns of a process. Thread-safe."""

    def __init__(self, n: int = N_TURNS) -> None:
        self._lock = threading.Lock()
        self._n_free = n
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

    @property
    def n_waiting(self) -> int:
        """Requests in the queue."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def _take(self, session: str, cancel: Cancel, at_most_s: float) -> bool:
        with self._lock:
            if self._n_free:  # then the queue is empty
                self._n_free -= 1
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


class _OfThread(threading.local):
    turn: _Held | None = None


_of_thread = _OfThread()

RESUMES_WITHIN_S = 0.5
"""A request that has waited for a model goes on after this time even without a turn: its text is there already."""


def give_way() -> None:
    """Let all requests that wait for a turn compute first, if this thread has one."""
    held = _of_thread.turn
    if held is not None and held.is_held and held.turns.n_waiting:
        with waiting():
            pass


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
