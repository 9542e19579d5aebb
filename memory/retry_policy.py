"""A server elsewhere that is not reached, or is too busy, may be there in a moment.

Owns when a request is made again. Knows no request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..llm.protocol import Cancel, ModelUnreachable

T = TypeVar("T")
Pause = Callable[[Cancel, float], bool]
"""Waits for so many seconds; true when cancelled meanwhile. `Cancel.wait`, but in tests."""

BACKOFF_S = (0.5, 1.0, 2.0)
"""Before each further try."""


def with_retries(work: Callable[[], T], cancel: Cancel, pause: Pause, *, is_local: bool) -> T | None:
    """What `work` gives; None when cancelled. A server on this machine is tried once: it is there or it is not.

    Raises what `work` raises in the end.
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
    """Whether the same request may be answered in a moment: not where the server understood it and said no."""
    status = getattr(error, "status", None)
    return status is None or status in (408, 429) or status >= 500
