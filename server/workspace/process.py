"""Processes: memory and existence, and this process's garbage collector and thread switch interval."""

from __future__ import annotations

import ctypes
import gc
import os
import sys


def memory_mb() -> float:
    """Resident memory of this process; its peak where the system reports only that."""
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
    """Resident memory of a process; None where the system does not report it."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return None


def private_mb(pid: int | None = None) -> float | None:
    """Memory of one process alone, without the pages of mapped files; None where the system does not report it.

    `pid` None is this process.
    """
    try:
        with open(f"/proc/{pid or 'self'}/status", encoding="ascii", errors="replace") as file:
            return next(float(line.split()[1]) * 1024 / 1e6 for line in file if line.startswith("RssAnon:"))
    except (OSError, ValueError, StopIteration):
        return None


def return_free_memory() -> None:
    """Give freed memory back to the system, where the C library keeps it (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def is_alive(process_id: int) -> bool:
    """Whether a process of this machine runs; one that this process cannot see does not."""
    if sys.platform == "win32":
        return _is_alive_on_windows(process_id)
    try:
        os.kill(process_id, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_alive_on_windows(process_id: int) -> bool:
    # On Windows, os.kill(pid, 0) would terminate the process.
    still_active, query_limited_information = 259, 0x1000
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]
    handle = kernel.OpenProcess(query_limited_information, False, process_id)
    if not handle:
        return False
    exit_code = ctypes.c_ulong()
    answered = kernel.GetExitCodeProcess(handle, ctypes.byref(exit_code))
    kernel.CloseHandle(handle)
    return bool(answered) and exit_code.value == still_active


def share_interpreter() -> None:
    """Reduce the interpreter's thread switch interval fifty-fold, for processes that serve requests while they index.

    A request is many short array operations; after each it would wait 5 ms for the thread that merges the index.
    """
    sys.setswitchinterval(0.0001)


def freeze_garbage_collector() -> None:
    """Exempt the index from garbage collection, for long-lived processes. Runs a full collection first.

    Objects exempted earlier that are garbage by now are collected too.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
