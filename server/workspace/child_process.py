"""Child processes of the index: their start, and the frames on their pipes.

Processes are not started by `multiprocessing`, which runs the caller's main module again: a script that uses
`weft.Workspace` without a main guard must work too. The workspace is never on their module path, so a `numpy.py` in a
repository is not imported.

Where a process has one thread and the system forks safely, a child is a copy of it, which imports nothing again.

Owns the start and the frames. Knows no batch and no index.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

_HEADER = struct.Struct("<Q")

_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def start_child(function: Callable[..., None], *arguments: int) -> subprocess.Popen[bytes]:
    """A process that calls a module-level function of this package, with pipes to its stdin and from its stdout.

    Raises OSError.
    """
    # -I excludes the current folder and PYTHONPATH; the parent's module path is passed explicitly.
    here = os.getcwd()
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != os.path.realpath(here)]
    top = __package__.split(".")[0]
    package_folder = str(Path(__file__).resolve().parents[2])
    code = (
        "import sys, importlib.util as u\n"
        f"sys.path[:] = {path!r}\n"
        f"spec = u.spec_from_file_location({top!r}, {package_folder + '/__init__.py'!r},"
        f" submodule_search_locations=[{package_folder!r}])\n"
        f"sys.modules[{top!r}] = u.module_from_spec(spec); spec.loader.exec_module(sys.modules[{top!r}])\n"
        f"from {function.__module__} import {function.__name__}; {function.__name__}{arguments!r}"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


class Child(Protocol):
    """A child process, as `subprocess.Popen` has it."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None: ...

    def wait(self) -> int: ...


class ForkedChild:
    """A child that `fork_child` has made. `wait` is the only method that blocks."""

    def __init__(self, process: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self._process = process
        self._status: int | None = None
        self._lock = threading.Lock()  # the system may give the id of a process that was waited for to another one

    def kill(self) -> None:
        with self._lock:
            if self._status is None:
                os.kill(self._process, signal.SIGKILL)

    def wait(self) -> int:
        """The exit status, negative for a signal."""
        if self._status is None:
            os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOWAIT)
        with self._lock:
            if self._status is None:
                self._status = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
            return self._status


def can_fork() -> bool:
    """Whether this system forks safely and cheaply, and this process has one thread."""
    return sys.platform == "linux" and threading.active_count() == 1


def fork_child(function: Callable[[], None]) -> ForkedChild:
    """A copy of this process that calls a function, with pipes to its stdin and from its stdout, and ends.

    Only where `can_fork` is true. Raises OSError.
    """
    requests, stdin = os.pipe()
    stdout, answers = os.pipe()
    process = os.fork()
    if process:
        os.close(requests)
        os.close(answers)
        return ForkedChild(process, open(stdin, "wb"), open(stdout, "rb"))
    status = 1
    try:
        end_with_parent()
        os.dup2(requests, 0)
        os.dup2(answers, 1)
        for descriptor in (requests, stdin, stdout, answers):
            os.close(descriptor)
        function()
        status = 0
    finally:
        os._exit(status)  # without the parent's handlers and buffers


def end_child(process: Child) -> None:
    """Kill a process, wait for its end and close its pipes."""
    process.kill()
    process.wait()
    close_pipes(process)


def close_pipes(process: Child) -> None:
    """Close the pipes of a process that has ended."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """In a child: its stdin and its stdout, for frames alone. A stray print goes to stderr."""
    sys.stdout = sys.stderr
    return open(0, "rb", closefd=False), open(1, "wb", closefd=False)


def end_with_parent() -> None:
    """In a child: let the system kill this process when the thread that started it ends. Does nothing but on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def write_frame(stream: IO[bytes], value: object) -> None:
    """Write a value, with its length before it."""
    data = pickle.dumps(value, protocol=5)
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> object:
    """The next value that a process of this package wrote. Raises EOFError at the end."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise EOFError("the pipe is closed")
    (length,) = _HEADER.unpack(header)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the pipe was closed within a frame")
    return pickle.loads(data)


class Watchdog:
    """Kills a process that is not `reset` within `limit_s`. Uses one timer, which is rearmed when it expires."""

    def __init__(self, process: Child, limit_s: float) -> None:
        self.has_fired = False
        self._process = process
        self._limit_s = limit_s
        self._is_stopped = False
        self.reset()
        self._wait(limit_s)

    def reset(self) -> None:
        self._reset_s = time.monotonic()

    def stop(self) -> None:
        self._is_stopped = True
        self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._check)
        self._timer.daemon = True
        self._timer.start()

    def _check(self) -> None:
        left_s = self._reset_s + self._limit_s - time.monotonic()
        if self._is_stopped:
            return
        if left_s > 0:
            self._wait(left_s)
            return
        self.has_fired = True
        self._process.kill()
