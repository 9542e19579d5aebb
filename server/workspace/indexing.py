"""Whether files are being read, how far that is, and whether it may go on: indexing can be paused.

Owns the runs at folders that run at this moment and the words for their state. Knows no folder and no file.
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
    """One folder that is looked at; one that is done counts until all are, so that the sum does not go back."""

    cancel: Cancel
    progress: Progress = _NO_PROGRESS
    is_done: bool = False


class Indexing:
    """Thread-safe. `changed` is called, from any thread, whenever a reader would see something else."""

    def __init__(self, closed: Cancel, changed: Callable[[], None]) -> None:
        self._closed = closed
        self._changed = changed
        self._lock = threading.Lock()
        self._runs: list[_IndexRun] = []
        self._is_expected = False
        self._has_begun = False
        self._is_paused = False
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
        """Why the last run failed; "" when it did not."""
        return self._problem

    @property
    def is_running(self) -> bool:
        return not self._is_paused and (self._is_expected or bool(self._runs))

    @property
    def progress(self) -> Progress | None:
        """Of all folders that are looked at together; None when none is."""
        if not self.is_running:
            return None
        with self._lock:
            known = [run.progress for run in self._runs]
        return Progress(sum(each.done for each in known), sum(each.total for each in known))

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def expect(self) -> None:
        """A run is about to begin: whoever needs its results waits from now on."""
        with self._lock:
            self._is_expected, self._has_begun, self._problem = True, True, ""
        self._changed()

    @contextmanager
    def run_all(self) -> Iterator[None]:
        """While all folders are looked at, one after the other."""
        self.expect()
        try:
            yield
        finally:
            with self._lock:
                self._is_expected = False
            self._changed()

    @contextmanager
    def run(self, cancel: Cancel | None) -> Iterator[tuple[Callable[[Progress], None], Cancel]]:
        """While one folder is looked at: whom to tell how far it is, and what ends it: `cancel`, a pause, the end."""
        run = _IndexRun(Cancel())
        unsubscribe = [asked.on_cancel(run.cancel.cancel) for asked in (self._closed, cancel) if asked is not None]
        with self._lock:
            self._runs.append(run)
            self._has_begun, self._problem = True, ""
            is_paused = self._is_paused
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
        """End what runs, and what comes at once, until `resume`."""
        with self._lock:
            self._is_paused, self._is_expected = True, False
            runs = list(self._runs)
        for run in runs:
            run.cancel.cancel()
        self._changed()

    def resume(self) -> None:
        with self._lock:
            self._is_paused = False
        self._changed()
