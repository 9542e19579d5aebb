"""A CPU-time limit for one text, since parsers are superlinear on some texts.

Cooperative: long loops call `check`. The CPU time of the calling thread counts, not wall-clock time, so a busy machine
causes no failures. Knows no text and no grammar.
"""

from __future__ import annotations

import time

from ..errors import ControlFlow


class TimeLimitExceeded(ControlFlow):
    """The CPU time of a task exceeded its limit; the message has the limit."""


class TooRiskyToParse(TimeLimitExceeded):
    """A sample of the text took so long that it is not parsed: the parser might not reach its next check."""


class CpuTimeLimit:
    """A limit of CPU time for this thread, from its creation on.

    `samples` False skips the parsing of samples, for worker processes that a supervisor ends when they hang.
    """

    __slots__ = ("_earliest_s", "_until_s", "samples", "seconds")

    def __init__(self, seconds: float, *, samples: bool = True) -> None:
        self.seconds = seconds
        self.samples = samples
        self._until_s = time.thread_time() + seconds
        self._earliest_s = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        # A thread has no more CPU time than time has passed; the clock of the CPU time is slower to read.
        return time.monotonic() > self._earliest_s and time.thread_time() > self._until_s

    def check(self) -> None:
        """Raises TimeLimitExceeded after the limit."""
        if self.is_over:
            raise TimeLimitExceeded(f"took longer than {self.seconds:g} s to analyse")
