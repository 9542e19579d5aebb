"""Environment settings of memory and threads for training on a CPU, which take effect at process start."""

from __future__ import annotations

import os
import sys

# By default glibc returns the memory of large activations to the system after each step: 2 to 5 times slower. Spinning
# idle threads slow the working ones down.
_SETTINGS = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    "MALLOC_TOP_PAD_": "536870912",
    "OMP_WAIT_POLICY": "PASSIVE",
}


def restart_with_cpu_settings() -> None:
    """Restart this program with the missing settings. On Linux only."""
    missing = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    if missing and sys.platform == "linux":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **missing})
