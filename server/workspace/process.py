"""This process: its memory, its garbage collector, and how often its threads take turns."""

from __future__ import annotations

import gc
import os
import sys


def memory_mb() -> float:
    """Resident memory of this process, its peak where the system tells no more."""
    resident = resident_mb(os.getpid())
    if resident is not None:
        return resident
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def resident_mb(pid: int) -> float | None:
    """Resident memory of a process; None where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return None


def share_interpreter() -> None:
    """Let threads take turns fifty times as often, for processes that answer while they index.

    A request is many short array operations; after each it would wait 5 ms for the thread that merges the index.
    """
    sys.setswitchinterval(0.0001)


def freeze_garbage_collector() -> None:
    """Exempt the index from garbage collection from now on, for processes that live with one. Takes a moment.

    Objects exempt before that are garbage by now are collected first.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
