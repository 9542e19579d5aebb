"""`weft/status`, which is also pushed, and `weft/pause`."""

from __future__ import annotations

from ...output.types import StatusResult
from ..messages import PauseParams
from ..session import Session


async def handle_status(session: Session, _: object) -> StatusResult:
    return await session.status(with_page=True)


async def handle_pause(session: Session, params: PauseParams) -> StatusResult:
    """The status after it; while it is starting there is nothing to pause."""
    await session.pause(params.paused)
    return await session.status(with_page=True)
