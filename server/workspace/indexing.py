"""State of index runs: progress, cancellation, pause and failure.

Owns the current runs and the overall state. Knows no folder and no file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ...llm import Cancel
from .folder import Progress

State = Literal["starting", "indexing", "ready", "error"]


_NO_PROGRESS = Progress(0, 0)


@dataclass
class _IndexRun:
    """An index run of one folder. It counts until all runs are done, so that the total progress never decreases."""

    cancel: Cancel
    progress: Progress = _NO_PROGRESS
    is_done: bool = False


class Indexing:
    """The state of all index runs. Thread-safe. `changed` is called, from any thread, when the state changes."""

    def __init__(self, closed: Cancel, changed: Callable[[], None]) -> None:
        self._closed = closed
        self._changed = changed
        self._lock = threading.Lock()
        self._runs: list[_IndexRun] = []
        self._is_expected = False
        self._has_begun = False
        self.is_paused = False
        self._problem = ""

    @property
    def state(self) -> State:
        if self._problem:
            return "error"
        if self.is_running:
            return "indexing"
        return "ready" if self._has_begun else "starting"

    @property
    def problem(self) -> str:
        """Why the last run failed; "" if it did not."""
        return self._problem

    @property
    def is_running(self) -> bool:
        return not self.is_paused and (self._is_expected or bool(self._runs))

    @property
    def progress(self) -> Progress | None:
        """The total progress of all current runs; None if there are none."""
        if not self.is_running:
            return None
        with self._lock:
            known = [run.progress for run in self._runs]
        return Progress(sum(each.done for each in known), sum(each.total for each in known))

    def expect(self) -> None:
        """Announce a run: requests that need its results wait from now on."""
        with self._lock:
            self._is_expected, self._has_begun, self._problem = True, True, ""
        self._changed()

    @contextmanager
    def run_all(self) -> Iterator[None]:
        """Context of an index run over all folders."""
        self.expect()
        try:
            yield
        finally:
            with self._lock:
                self._is_expected = False
            self._changed()

    @contextmanager
    def run(self, cancel: Cancel | None) -> Iterator[tuple[Callable[[Progress], None], Cancel]]:
        """Context of one folder's run: a progress callback, and a Cancel for `cancel`, a pause, or the end."""
        run = _IndexRun(Cancel())
        unsubscribe = [source.on_cancel(run.cancel.cancel) for source in (self._closed, cancel) if source is not None]
        with self._lock:
            self._runs.append(run)
            self._has_begun, self._problem = True, ""
            is_paused = self.is_paused
        if is_paused:
            run.cancel.cancel()

        def report(progress: Progress) -> None:
            run.progress = progress
            self._changed()

        try:
            yield report, run.cancel
        except Exception as error:
            self._problem = str(error) or type(error).__name__
            raise
        finally:
            run.is_done = True
            with self._lock:
                if all(each.is_done for each in self._runs):
                    self._runs = []
            for remove in unsubscribe:
                remove()
            self._changed()

    def pause(self) -> None:
        """Cancel current runs, and new ones at their start, until `resume`."""
        with self._lock:
            self.is_paused, self._is_expected = True, False
            runs = list(self._runs)
        for run in runs:
            run.cancel.cancel()
        self._changed()

    def resume(self) -> None:
        with self._lock:
            self.is_paused = False
        self._changed()
