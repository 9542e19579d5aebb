"""Peak of the private memory of all child processes, sampled in a thread.

Owns the sampling. Knows no benchmark. Only Linux reports this memory; elsewhere the peak is 0.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType

from ...server.workspace.process import private_mb

INTERVAL_S = 0.25
"""Between two samples, each of which takes a few milliseconds."""


class PeakMemory:
    """While it is entered, the highest sum over all processes that this one has started, and their children.

    Pages that a forked process shares with its parent count for both.
    """

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            self.megabytes = max(self.megabytes, sum(private_mb(pid) or 0.0 for pid in descendants(os.getpid())))
            if self._ended.wait(INTERVAL_S):
                return


def descendants(pid: int) -> list[int]:
    """Process ids of the children of a process, of their children, and so on; none where there is no /proc."""
    children = defaultdict[int, list[int]](list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of the program is in parentheses and may contain any character.
            parent = int(path.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):  # the process has ended
            continue
        children[parent].append(int(path.parent.name))
    found, pending = list[int](), [pid]
    while pending:
        started = children[pending.pop()]
        found += started
        pending += started
    return found
