"""Timing of one call, processor time, percentiles of many, and measurements in a new process.

Knows no benchmark.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ...errors import UserError
from ..bootstrap import percentile

T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """The result and the milliseconds."""
    started = time.perf_counter()
    result = call()
    return result, 1e3 * (time.perf_counter() - started)


def processor_s() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def percentiles(name: str, values: Sequence[float]) -> dict[str, float]:
    """`NAME_p50_ms` and `NAME_p95_ms`; nothing for fewer than two values."""
    if len(values) < 2:
        return {}
    return {f"{name}_p50_ms": statistics.median(values), f"{name}_p95_ms": percentile(values, 0.95)}


def in_fresh_process(module: str, *arguments: str, **environment: str) -> Mapping[str, Any]:
    """The last JSON line that a module prints in a new process, with memory and caches of its own. Raises UserError."""
    return last_json_line([sys.executable, "-m", module, *arguments], **environment)


def last_json_line(command: Sequence[str], **environment: str) -> Mapping[str, Any]:
    """The last JSON line that a command prints. Raises UserError."""
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise UserError(f"{' '.join(command)} failed with {done.returncode}; see above.")
    measured: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured
