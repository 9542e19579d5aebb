"""Adaptive debounce before a slow model.

Owns the moving averages of the time between keys and of the time a model takes, and the debounce that follows from
both. Knows no clock: callers pass times in seconds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from ..workspace.text import MAX_SESSIONS, FileOfSession

# Chosen by feel, not tuned. `weft bench latency` shows the cost of other values.

NEWEST_SHARE = 0.2
"""Weight of the newest measurement in the exponential moving average."""

MAX_PAUSE_S = 1.0
"""A longer pause between two keys is not part of a burst, and is not measured."""

WAIT_FACTOR = 1.2
"""Debounce as a multiple of the time between two keys; most keys of a burst arrive within it."""

PROMISING_SHARE = 0.5
"""Share of the debounce that applies at promising positions, see `is_promising`."""

PROMISING_ENDS = (".", "(", "[", "{", ",", "=", ":")


@dataclass(frozen=True, slots=True)
class _Typing:
    """The last key of a session: a user types in one file at a time. Times in seconds; 0 means unknown."""

    file: FileOfSession | None = None
    at_s: float = 0.0
    between_keys_s: float = 0.0


class TypingPace:
    """Moving averages of typing times by session, and of generation times. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._typing: OrderedDict[str, _Typing] = OrderedDict()  # by session, the latest last
        self._generation_s: dict[str, float] = {}

    def key_typed(self, file: FileOfSession, at_s: float) -> None:
        """The user typed a key."""
        session = file[2]
        with self._lock:
            typing = self._typing.get(session, _Typing())
            pause_s = at_s - (typing.at_s if typing.file == file else at_s - 2 * MAX_PAUSE_S)
            between_s = typing.between_keys_s
            if 0 < pause_s <= MAX_PAUSE_S:
                between_s = _moving_average(between_s, pause_s)
            self._typing[session] = _Typing(file, at_s, between_s)
            self._typing.move_to_end(session)
            if len(self._typing) > MAX_SESSIONS:
                self._typing.popitem(last=False)

    def model_answered(self, model: str, took_s: float) -> None:
        """A model completed a generation."""
        with self._lock:
            self._generation_s[model] = _moving_average(self._generation_s.get(model, 0.0), took_s)

    def wait_until(
        self, file: FileOfSession, arrived_s: float, model: str, max_s: float, *, is_promising: bool
    ) -> float:
        """The time at which to start generation for a request.

        The debounce counts from the last key in the file, because some editors debounce themselves. The result is at
        most `max_s` after `arrived_s`.
        """
        with self._lock:
            typing = self._typing.get(file[2], _Typing())
            since_s = min(arrived_s, typing.at_s) if typing.file == file else arrived_s
            wait_s = debounce_s(typing.between_keys_s, self._generation_s.get(model, 0.0), max_s)
        return since_s + wait_s * (PROMISING_SHARE if is_promising else 1.0)


def debounce_s(between_keys_s: float, generation_s: float, max_s: float) -> float:
    """The debounce for the average times between two keys and of a generation.

    A model that completes before the next key is not debounced: an unwanted completion costs little, and typing along
    a wanted one needs no other. For slower models the debounce approaches the time between two keys. 0 means
    unknown: an unknown time between keys results in `max_s`, and a model of unknown speed counts as slow.
    """
    if not between_keys_s:
        return max_s
    share = max(0.0, 1.0 - between_keys_s / generation_s) if generation_s else 1.0
    return min(max_s, WAIT_FACTOR * between_keys_s * share)


def is_promising(start_of_line: str, rest_of_line: str) -> bool:
    """Whether a completion is likely to be wanted: on an empty line, or at the end of one that expects more."""
    return not start_of_line.strip() or (not rest_of_line.strip() and start_of_line.rstrip().endswith(PROMISING_ENDS))


def _moving_average(old: float, new: float) -> float:
    return new if not old else (1 - NEWEST_SHARE) * old + NEWEST_SHARE * new
