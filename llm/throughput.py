"""How fast a model is here, and how long a prompt may therefore be.

Owns the running measurements, the token budget that follows from them, and what a pass costs by its tokens. Knows
no model.
"""

from __future__ import annotations

import threading
from bisect import bisect_left

from .protocol import Speed

SHORTEST_CONTEXT_TOKENS = 512
"""Less shows too little to complete anything."""

NEWEST_SHARE = 0.2
"""Weight of the newest measurement: a busy second does not change the budget, a busy minute does."""

TOLERATED_CHANGE = 1.5
"""A budget that moves with every measurement would cut each prompt elsewhere, and nothing read would fit again."""

FEWEST_TOKENS = 64
"""Shorter prompts measure the overhead of a call."""

LONGEST_PAUSE = 3.0
"""A pass that took this many times what it should was interrupted by something else, and counts as no more."""

ASSUMED_GROWTH = 0.1
"""Of a pass with every further token, where none that long was measured. It is measured as soon as it is tried."""


class SpeedMeter:
    """Measurements of one model, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prefill = 0.0
        self._decode = 0.0
        self._context_tokens = 0

    @property
    def speed(self) -> Speed:
        with self._lock:
            return Speed(self._prefill, self._decode)

    def read(self, n_tokens: int, seconds: float) -> None:
        """`n_tokens` of a prompt were read, none of them from a cache."""
        if n_tokens >= FEWEST_TOKENS and seconds > 0:
            with self._lock:
                self._prefill = _mixed(self._prefill, n_tokens / seconds)

    def wrote(self, n_tokens: int, seconds: float) -> None:
        """`n_tokens` were written after the prompt."""
        if n_tokens > 0 and seconds > 0:
            with self._lock:
                self._decode = _mixed(self._decode, n_tokens / seconds)

    def context_tokens(self, limit: int, prompt_ms: float) -> int:
        """Tokens of prompt and answer, at most `limit`, so that a cold prompt is read within `prompt_ms`.

        `limit` while nothing was measured. Changes only when the measurements say something clearly different.
        """
        with self._lock:
            if not self._prefill:
                return limit
            wanted = max(SHORTEST_CONTEXT_TOKENS, int(self._prefill * prompt_ms / 1e3))
            now = self._context_tokens
            if not now or not now / TOLERATED_CHANGE <= wanted <= now * TOLERATED_CHANGE:
                self._context_tokens = wanted
            return min(limit, self._context_tokens)


class PassTimes:
    """Seconds of one pass over the weights, by the number of tokens that it reads after a prompt. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[int, float] = {}

    def measured(self, n_tokens: int, seconds: float) -> None:
        with self._lock:
            before = self._seconds.get(n_tokens, 0.0)
            self._seconds[n_tokens] = _mixed(before, min(seconds, LONGEST_PAUSE * before) if before else seconds)

    def seconds(self, n_tokens: int) -> float:
        """Between two measurements in proportion; 0 while nothing was measured."""
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


def _mixed(before: float, now: float) -> float:
    return now if not before else (1 - NEWEST_SHARE) * before + NEWEST_SHARE * now
