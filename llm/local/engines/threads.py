"""Measurement of the fastest number of threads, which often differs from the number of cores.

For small models synchronisation costs more than threads gain, and on shared cores spinning threads can make a step a
hundred times slower.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median

Step = Callable[[], object]

WORTH_MORE_THREADS = 0.9  # twice the threads must save a tenth of the time: the editor needs cores too
N_STEPS = 5
LONG_STEP_S = 0.05  # for a step this long one measurement is enough
HOPELESS = 10  # a first step this many times slower than wanted is not explained by its warm-up


def available_cores() -> int:
    """Cores available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def fastest_threads(use: Callable[[int], Step], *, cores: int | None = None, worth: float = WORTH_MORE_THREADS) -> int:
    """Doubles the threads from 1 up to the cores while each doubling takes at most the share `worth` of the time.

    `use(n)` prepares n threads and returns the step to measure.
    """
    cores = cores or available_cores()
    best, best_s = 1, _step_seconds(use(1))
    n_threads = 1
    while n_threads < cores:
        n_threads = min(2 * n_threads, cores)
        wanted_s = best_s * worth
        seconds = _step_seconds(use(n_threads), wanted_s)
        if seconds > wanted_s:
            break
        best, best_s = n_threads, seconds
    return best


def _step_seconds(step: Step, wanted_s: float = float("inf")) -> float:
    """The median of a few steps after a warm-up step. Ends early when it must exceed `wanted_s`."""
    first = _seconds(step)
    if first > max(LONG_STEP_S, HOPELESS * wanted_s):
        return first
    n_steps = 1 if first > LONG_STEP_S else N_STEPS
    steps: list[float] = []
    while len(steps) < n_steps and sum(seconds > wanted_s for seconds in steps) <= n_steps // 2:
        steps.append(_seconds(step))
    return median(steps)


def _seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
