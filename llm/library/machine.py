"""Memory, cores and GPUs of this machine, as far as the system tells without a library.

Runs `nvidia-smi` if it is installed, and reads files of the system. Knows no model.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

QUERY_S = 10.0
_QUERY = ("--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")
APPLE_SHARE = 0.7
"""Of the memory of Apple silicon, what a GPU may use by default."""


@dataclass(frozen=True, slots=True)
class Gpu:
    name: str
    free_gb: float


@dataclass(frozen=True, slots=True)
class Machine:
    """Memory in units of 1e9 bytes; 0 where the system does not tell."""

    n_cores: int
    memory_gb: float
    free_gb: float  # available without swapping
    gpus: tuple[Gpu, ...] = ()

    @property
    def description(self) -> str:
        memory = f"{self.free_gb:.1f} of {self.memory_gb:.1f} GB memory free" if self.memory_gb else "unknown memory"
        gpus = ", ".join(f"{gpu.name} ({gpu.free_gb:.1f} GB free)" for gpu in self.gpus) or "no GPU found"
        return f"{self.n_cores} CPU core{'s' * (self.n_cores != 1)}, {memory}, {gpus}"


def this_machine() -> Machine:
    total_gb, free_gb = _memory_gb()
    return Machine(_n_cores(), total_gb, free_gb, (*_nvidia_gpus(), *_amd_gpus(), *_apple_gpus(total_gb)))


def read_meminfo(text: str) -> Mapping[str, float]:
    """The sizes in `/proc/meminfo`, in 1e9 bytes."""
    sizes = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        with suppress(ValueError, IndexError):
            sizes[name] = int(rest.split()[0]) * 1024 / 1e9
    return sizes


def read_nvidia(text: str) -> tuple[Gpu, ...]:
    """The GPUs in the output of `nvidia-smi`: name, total and free memory in MiB."""
    gpus = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        with suppress(ValueError, IndexError):
            gpus.append(Gpu(parts[0], int(parts[2]) * 2**20 / 1e9))
    return tuple(gpus)


def _n_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gb() -> tuple[float, float]:
    """Total and available memory."""
    with suppress(OSError):
        sizes = read_meminfo(Path("/proc/meminfo").read_text("utf-8"))
        return sizes.get("MemTotal", 0.0), sizes.get("MemAvailable", 0.0)
    with suppress(OSError, ValueError, AttributeError):  # macOS has the total only; half of it counts as free
        total_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        return total_gb, total_gb / 2
    return 0.0, 0.0


def _nvidia_gpus() -> tuple[Gpu, ...]:
    program = shutil.which("nvidia-smi")
    if program is None or not os.path.isabs(program):
        return ()
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([program, *_QUERY], capture_output=True, text=True, timeout=QUERY_S, check=True)
        return read_nvidia(done.stdout)
    return ()


def _amd_gpus() -> tuple[Gpu, ...]:
    gpus = []
    for path in sorted(Path("/sys/class/drm").glob("card*/device/mem_info_vram_total")):
        with suppress(OSError, ValueError):
            used = int(path.with_name("mem_info_vram_used").read_text())
            gpus.append(Gpu(f"AMD GPU {path.parts[-3]}", (int(path.read_text()) - used) / 1e9))
    return tuple(gpus)


def _apple_gpus(total_gb: float) -> tuple[Gpu, ...]:
    if (platform.system(), platform.machine()) == ("Darwin", "arm64"):
        return (Gpu("Apple silicon", APPLE_SHARE * total_gb),)
    return ()
