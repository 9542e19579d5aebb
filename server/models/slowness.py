"""Detection of a slow model: latency of its last answers against the target, with hysteresis. Knows no model."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

WINDOW = 10  # number of answers that count
MIN_ANSWERS = 3  # fewer answers decide nothing: the first one has an uncached prompt
SLOW_FACTOR = 1.5  # slow if the average latency exceeds the target by this factor
TIMEOUT_SHARE = 0.5  # slow if more than this share of the answers timed out
RECOVERED_AFTER = 3  # no longer slow after so many answers in a row within the target


@dataclass(frozen=True, slots=True)
class _Answer:
    seconds: float
    target_s: float
    timed_out: bool

    @property
    def is_in_time(self) -> bool:
        return not self.timed_out and self.seconds <= self.target_s


class Slowness:
    """The last answers of one model. Not thread-safe."""

    def __init__(self) -> None:
        self._answers: deque[_Answer] = deque(maxlen=WINDOW)
        self._is_slow = False

    def add(self, seconds: float, target_s: float, *, timed_out: bool = False) -> None:
        """Add an answer, or with `timed_out` a request that was cancelled after more than the target."""
        self._answers.append(_Answer(seconds, target_s, timed_out))
        latest = list(self._answers)[-RECOVERED_AFTER:]
        if self._is_slow:
            self._is_slow = not (len(latest) == RECOVERED_AFTER and all(each.is_in_time for each in latest))
        elif len(self._answers) >= MIN_ANSWERS:
            n_timed_out = sum(each.timed_out for each in self._answers)
            self._is_slow = n_timed_out > TIMEOUT_SHARE * len(self._answers) or self._mean_s > SLOW_FACTOR * target_s

    @property
    def text(self) -> str:
        """Why the model is slow; "" if it is not."""
        if not self._is_slow:
            return ""
        target_s = self._answers[-1].target_s
        n_timed_out = sum(answer.timed_out for answer in self._answers)
        if n_timed_out > TIMEOUT_SHARE * len(self._answers):
            return f"{n_timed_out} of the last {len(self._answers)} answers timed out; target {target_s:.1f} s"
        return f"average {self._mean_s:.1f} s; target {target_s:.1f} s"

    @property
    def _mean_s(self) -> float:
        """Average latency of the answers that did not time out."""
        seconds = [answer.seconds for answer in self._answers if not answer.timed_out]
        return sum(seconds) / len(seconds) if seconds else 0.0
