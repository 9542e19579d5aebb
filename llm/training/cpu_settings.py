"""Environment settings of memory and threads for training on a CPU, which are read before a program starts."""

from __future__ import annotations

import os
import sys

# glibc gives the memory of big activations back after each step and takes it again: 2 to 5 times slower. Waiting
# threads that spin take the cores from those that work.
_SETTINGS = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    "MALLOC_TOP_PAD_": "536870912",
    "OMP_WAIT_POLICY": "PASSIVE",
}


def restart_with_cpu_settings() -> None:
    """Begin this program anew with the settings that are missing. On Linux only."""
    missing = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    if missing and sys.platform == "linux":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **missing})
