"""What a measurement was made on. Knows no benchmark."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> str:
    """What figures of speed depend on."""
    return f"{os.cpu_count()} logical cores of {processor()}, {platform.system()}, Python {platform.python_version()}"


def processor() -> str:
    """The processor's name, its kind where the system does not tell more."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
