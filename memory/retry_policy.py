"""Retry policy with backoff for servers that are unreachable or busy.

Owns when a request is repeated. Knows no request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..llm.protocol import Cancel, ModelUnreachable

T = TypeVar("T")
Pause = Callable[[Cancel, float], bool]
"""Waits for a number of seconds; true if cancelled meanwhile. `Cancel.wait` outside of tests."""

BACKOFF_S = (0.5, 1.0, 2.0)  # before each retry


def with_retries(work: Callable[[], T], cancel: Cancel, pause: Pause, *, is_local: bool) -> T | None:
    """The result of `work`; None when cancelled. Does not retry a server on this machine.

    Raises the last error of `work`.
    """
    for seconds in (*(() if is_local else BACKOFF_S), None):
        if cancel.cancelled:
            return None
        try:
            return work()
        except ModelUnreachable as error:
            if seconds is None or not _may_pass(error):
                raise
            pause(cancel, seconds)
    return None


def _may_pass(error: ModelUnreachable) -> bool:
    """Whether a retry can succeed: not if the server understood the request and rejected it."""
    status = getattr(error, "status", None)
    return status is None or status in (408, 429) or status >= 500
