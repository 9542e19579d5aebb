"""`weft/didChangeStatus`: pushes status changes to clients that request them.

Owns the throttling: a few notifications a second at most, no duplicates, and always the last status. Knows no
workspace: callables read and send the status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..output.types import StatusResult

MIN_INTERVAL_S = 0.2


class StatusPush:
    """Used on the event loop only; other threads call `changed` through `on_loop`."""

    def __init__(self, read: Callable[[], Awaitable[StatusResult]], send: Callable[[StatusResult], object]) -> None:
        self._read, self._send = read, send
        self._task: asyncio.Task[None] | None = None
        self._is_due = False
        self._sent: StatusResult | None = None

    def changed(self) -> None:
        self._is_due = True
        if self._task is None:
            self._task = asyncio.ensure_future(self._send_while_due())

    def close(self) -> None:
        """Stop sending."""
        if self._task is not None:
            self._task.cancel()

    async def _send_while_due(self) -> None:
        try:
            while self._is_due:
                self._is_due = False
                status = await self._read()
                if self._sent is None or _without_memory(status) != _without_memory(self._sent):
                    self._sent = status
                    self._send(status)
                await asyncio.sleep(MIN_INTERVAL_S)
        finally:
            self._task = None


def _without_memory(status: StatusResult) -> dict[str, object]:
    """The status without its memory use, whose change alone is not pushed."""
    return {name: value for name, value in status.items() if name != "memoryMb"}
