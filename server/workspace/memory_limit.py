"""The limit of private memory: what is given up when it is exceeded, and what is said when it cannot be kept.

Owns the order of the steps and when they are worth repeating. Knows no index: the steps are functions.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
from collections.abc import Callable, Sequence

from ...codegraph.limited_cache import LimitedCache
from .process import freeze_garbage_collector, private_mb, return_free_memory

GROWTH = 1.05
"""The steps are repeated when memory has grown by this factor since they were taken."""

SMALL_CACHE = 16
"""Caches of functions with fewer entries hold tables that are read once, and are kept."""

log = logging.getLogger("weft")


class MemoryLimit:
    """Takes `steps` one after another while this process has more than `limit_mb` of private memory. Thread-safe.

    `set_exceeded` is called with whether the limit is exceeded in spite of them, after each check. Does nothing where
    the system does not report private memory.
    """

    def __init__(
        self, limit_mb: int, steps: Sequence[Callable[[], None]], set_exceeded: Callable[[bool], None]
    ) -> None:
        self.limit_mb = limit_mb
        self._steps = steps
        self._set_exceeded = set_exceeded
        self._lock = threading.Lock()
        self._reached_mb = 0.0  # after the last steps
        self.note = ""
        """Why the limit is exceeded, and what helps; "" if it is kept."""

    def check(self) -> None:
        """Take the steps as far as they are needed."""
        with self._lock:
            used_mb = private_mb() or 0.0
            if used_mb > max(self.limit_mb, GROWTH * self._reached_mb):
                for step in self._steps:
                    step()
                    freeze_garbage_collector()  # a snapshot and its overlays refer to each other
                    return_free_memory()
                    used_mb = private_mb() or 0.0
                    if used_mb <= self.limit_mb:
                        break
                self._reached_mb = used_mb
            is_exceeded = used_mb > self.limit_mb
            note = _note(used_mb, self.limit_mb) if is_exceeded else ""
            if note and not self.note:
                log.warning("%s", note)
            self.note = note
        self._set_exceeded(is_exceeded)


def clear_caches() -> None:
    """Forget the memoised results of the functions of this package."""
    package = __package__.split(".")[0]
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(f"{package}.")]
    for value in {id(value): value for module in modules for value in list(vars(module).values())}.values():
        if isinstance(value, functools._lru_cache_wrapper):
            max_size = value.cache_parameters()["maxsize"]
            if max_size is not None and max_size >= SMALL_CACHE:
                value.cache_clear()
        elif isinstance(value, LimitedCache):
            value.clear()


def _note(used_mb: float, limit_mb: int) -> str:
    return (
        f"Weft takes {used_mb:,.0f} MB of memory, more than `memory_limit_mb` ({limit_mb:,} MB). "
        "Exclude folders by `index.exclude`, or raise the limit."
    )
