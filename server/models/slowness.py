"""Whether a model is too slow here, from its last answers.

Owns the window and when a verdict turns: one that swung with every answer would help nobody. Knows no model.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

# Measured by the time that the user wants: fixed seconds would suit one machine.
WINDOW = 10
FEWEST = 3
"""Fewer answers say nothing: the first one reads a prompt that later ones have read."""
SLOW_FROM = 1.5
"""Slow when the answers take so many times as long as wanted, on average."""
GIVEN_UP_FROM = 0.5
"""Slow when more than this share was given up."""
HEALTHY_AFTER = 3
"""Healthy again when so many in a row came within the time that is wanted."""


@dataclass(frozen=True, slots=True)
class _Answer:
    seconds: float
    wanted_s: float
    is_given_up: bool

    @property
    def is_in_time(self) -> bool:
        return not self.is_given_up and self.seconds <= self.wanted_s


class Slowness:
    """Of one model. Not thread-safe."""

    def __init__(self) -> None:
        self._answers: deque[_Answer] = deque(maxlen=WINDOW)
        self._is_slow = False

    def answered(self, seconds: float, wanted_s: float) -> None:
        self._add(_Answer(seconds, wanted_s, False))

    def given_up(self, seconds: float, wanted_s: float) -> None:
        """Nobody waited any longer, after more than the time that is wanted."""
        self._add(_Answer(seconds, wanted_s, True))

    @property
    def text(self) -> str:
        """What is too slow about it; "" when nothing is."""
        if not self._is_slow:
            return ""
        wanted_s = self._answers[-1].wanted_s
        n_given_up = sum(answer.is_given_up for answer in self._answers)
        if n_given_up > GIVEN_UP_FROM * len(self._answers):
            return f"{n_given_up} of its last {len(self._answers)} answers did not come within {wanted_s:.1f} s"
        return f"its answers take {self._mean_s:.1f} s here, and {wanted_s:.1f} s are wanted"

    @property
    def _mean_s(self) -> float:
        """Of the answers that came."""
        came = [answer.seconds for answer in self._answers if not answer.is_given_up]
        return sum(came) / len(came) if came else 0.0

    def _add(self, answer: _Answer) -> None:
        self._answers.append(answer)
        latest = list(self._answers)[-HEALTHY_AFTER:]
        if self._is_slow:
            self._is_slow = not (len(latest) == HEALTHY_AFTER and all(each.is_in_time for each in latest))
        elif len(self._answers) >= FEWEST:
            n_given_up = sum(each.is_given_up for each in self._answers)
            self._is_slow = (
                n_given_up > GIVEN_UP_FROM * len(self._answers) or self._mean_s > SLOW_FROM * answer.wanted_s
            )
