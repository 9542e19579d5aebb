"""How much memory a process holds, as far as the system tells."""

from __future__ import annotations

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
