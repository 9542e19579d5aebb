"""Single writer thread that builds new snapshots, in FIFO order.

Owns the order of jobs. Knows nothing of what it runs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

log = logging.getLogger("weft")

_T = TypeVar("_T")


class Writer:
    """Runs jobs one after another on its own thread; an exception fails its own job only."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="weft-writer")

    def submit(self, job: Callable[[], _T]) -> Future[_T]:
        future = self._executor.submit(job)
        future.add_done_callback(_log_failure)
        return future

    def run(self, job: Callable[[], _T]) -> _T:
        """Run a job and wait for its result. Raises what the job raises."""
        return self._executor.submit(job).result()

    def flush(self) -> None:
        """Wait until all jobs submitted so far are done."""
        self._executor.submit(lambda: None).result()

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def _log_failure(future: Future[_T]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("An index update failed: %s", error, exc_info=error)
