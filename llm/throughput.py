"""Measured prefill and decode throughput of a model, and the prompt budget that follows from it.

Owns the running averages, the token budget within a time limit, and the duration of a forward pass by its number of
tokens. Knows no model.
"""

from __future__ import annotations

import threading
from bisect import bisect_left

from .protocol import Speed

SHORTEST_CONTEXT_TOKENS = 512  # a shorter prompt shows too little code for a useful completion
NEWEST_SHARE = 0.2  # weight of the newest measurement: one slow second does not change the budget, a slow minute does
# A budget that changes with every measurement cuts each prompt elsewhere and defeats the prefix cache.
TOLERATED_CHANGE = 1.5
FEWEST_TOKENS = 64  # shorter prompts measure the overhead of a call
# A pass that takes more than this many times its average was preempted by another process; its time is capped.
LONGEST_PAUSE = 3.0
ASSUMED_GROWTH = 0.1  # relative cost of each token beyond the longest pass that was measured


class ThroughputMeter:
    """Running averages of one model's throughput. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prefill = 0.0
        self._decode = 0.0
        self._context_tokens = 0

    @property
    def speed(self) -> Speed:
        with self._lock:
            return Speed(self._prefill, self._decode)

    def record_prefill(self, n_tokens: int, seconds: float) -> None:
        """Add a prefill of `n_tokens`, none of them cached."""
        if n_tokens >= FEWEST_TOKENS and seconds > 0:
            with self._lock:
                self._prefill = _moving_average(self._prefill, n_tokens / seconds)

    def record_decode(self, n_tokens: int, seconds: float) -> None:
        """Add the decoding of `n_tokens` after the prompt."""
        if n_tokens > 0 and seconds > 0:
            with self._lock:
                self._decode = _moving_average(self._decode, n_tokens / seconds)

    def context_tokens(self, limit: int, prompt_ms: float) -> int:
        """Tokens of prompt and answer, at most `limit`, so that an uncached prompt takes at most `prompt_ms`.

        `limit` while nothing is measured. Changes only when the measurements differ clearly from the last budget.
        """
        with self._lock:
            if not self._prefill:
                return limit
            wanted = max(SHORTEST_CONTEXT_TOKENS, int(self._prefill * prompt_ms / 1e3))
            now = self._context_tokens
            if not now or not now / TOLERATED_CHANGE <= wanted <= now * TOLERATED_CHANGE:
                self._context_tokens = wanted
            return min(limit, self._context_tokens)


class ForwardPassTimes:
    """Seconds of one forward pass after a prompt, by its number of tokens. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[int, float] = {}

    def record(self, n_tokens: int, seconds: float) -> None:
        with self._lock:
            before = self._seconds.get(n_tokens, 0.0)
            capped = min(seconds, LONGEST_PAUSE * before) if before else seconds
            self._seconds[n_tokens] = _moving_average(before, capped)

    def seconds(self, n_tokens: int) -> float:
        """Linear interpolation between measurements; 0 while nothing is measured."""
        with self._lock:
            if n_tokens in self._seconds or not self._seconds:
                return self._seconds.get(n_tokens, 0.0)
            known = sorted(self._seconds.items())
        at = bisect_left(known, (n_tokens, 0.0))
        if at == 0:
            return known[0][1]
        fewer, fewer_s = known[at - 1]
        if at == len(known):
            return fewer_s * (1 + ASSUMED_GROWTH * (n_tokens - fewer))
        more, more_s = known[at]
        return fewer_s + (more_s - fewer_s) * (n_tokens - fewer) / (more - fewer)


def _moving_average(before: float, now: float) -> float:
    return now if not before else (1 - NEWEST_SHARE) * before + NEWEST_SHARE * now
