"""A limit on the processor time that one text may cost: parsers are superlinear on some texts.

Cooperative: whoever works for long calls `check`. Processor time of the calling thread counts, not the clock, so
that a busy machine fails no file. Knows no text and no grammar.
"""

from __future__ import annotations

import time

from ..errors import ControlFlow


class TimeLimitExceeded(ControlFlow):
    """The work took longer than its limit and was stopped. The message says how long that is."""


class TooRiskyToParse(TimeLimitExceeded):
    """A sample of the text took so long that the whole is not begun: a parser may not come to its next check."""


class CpuTimeLimit:
    """So much processor time of this thread, from now on.

    `samples` False parses without a look at samples first, for processes that may hang: somebody ends them.
    """

    __slots__ = ("_until_s", "samples", "seconds")

    def __init__(self, seconds: float, *, samples: bool = True) -> None:
        self.seconds = seconds
        self.samples = samples
        self._until_s = time.thread_time() + seconds

    def check(self) -> None:
        """Raises TimeLimitExceeded when the time is used up."""
        if time.thread_time() > self._until_s:
            raise TimeLimitExceeded(f"took longer than {self.seconds:g} s to analyse")
