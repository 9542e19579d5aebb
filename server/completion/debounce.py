"""How long to wait for the next key before a slow model is asked.

Owns the pace of whoever types and of the models that answer, and the wait that follows from both. Knows no clock:
times come from whoever calls, in seconds.
"""

from __future__ import annotations

import threading

# None of these is tuned: they are where a wait feels right. `weft bench latency` shows what another choice costs.

NEWEST_SHARE = 0.2
"""Weight of the newest measurement."""

LONGEST_PAUSE_S = 1.0
"""Who waits longer between two keys thinks, and is not typing."""

WAIT_FACTOR = 1.2
"""The wait in times between two keys: most keys of a burst come within it."""

PROMISING_SHARE = 0.5
"""At the end of a line, and behind what asks for more: a completion is wanted here more often than elsewhere."""

PROMISING_ENDS = (".", "(", "[", "{", ",", "=", ":")


class TypingPace:
    """What was measured lately. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_key: dict[tuple[str, str], float] = {}
        self._between_keys_s = 0.0
        self._answer_s: dict[str, float] = {}

    def key(self, file: tuple[str, str], at_s: float) -> None:
        """Somebody typed."""
        with self._lock:
            pause_s = at_s - self._last_key.get(file, at_s - 2 * LONGEST_PAUSE_S)
            self._last_key = {file: at_s}  # who types in another file is not typing in this one
            if 0 < pause_s <= LONGEST_PAUSE_S:
                self._between_keys_s = _mixed(self._between_keys_s, pause_s)

    def answered(self, model: str, took_s: float) -> None:
        """A model wrote a whole answer."""
        with self._lock:
            self._answer_s[model] = _mixed(self._answer_s.get(model, 0.0), took_s)

    def wait_until(
        self, file: tuple[str, str], arrived_s: float, model: str, longest_s: float, *, is_promising: bool
    ) -> float:
        """When to ask `model` for a request that arrived at a time.

        Counted from the last key of its file, since some editors have waited themselves. Never later than `longest_s`
        after the request.
        """
        with self._lock:
            since_s = min(arrived_s, self._last_key.get(file, arrived_s))
            wait_s = wait_for(self._between_keys_s, self._answer_s.get(model, 0.0), longest_s)
        return since_s + wait_s * (PROMISING_SHARE if is_promising else 1.0)


def wait_for(between_keys_s: float, answer_s: float, longest_s: float) -> float:
    """The wait for somebody who types a key every `between_keys_s`, before a model that takes `answer_s`.

    None for an answer that is here before the next key: it costs little if it is not wanted, and what is typed along
    it needs no other. The slower the model, the nearer is the wait to a whole key's. What was not measured, 0, counts
    as slow.
    """
    if not between_keys_s:
        return longest_s
    share = max(0.0, 1.0 - between_keys_s / answer_s) if answer_s else 1.0
    return min(longest_s, WAIT_FACTOR * between_keys_s * share)


def is_promising(start_of_line: str, rest_of_line: str) -> bool:
    """Whether a completion is wanted at such a place more often than in the middle of a word."""
    return not start_of_line.strip() or (not rest_of_line.strip() and start_of_line.rstrip().endswith(PROMISING_ENDS))


def _mixed(old: float, new: float) -> float:
    return new if not old else (1 - NEWEST_SHARE) * old + NEWEST_SHARE * new
