"""`weft/status` and `weft/pause`. `status_push` sends status changes."""

from __future__ import annotations

from ...output.types import StatusResult
from ..messages import PauseParams
from ..session import Session


async def handle_status(session: Session, _: object) -> StatusResult:
    return await session.status(with_page=True)


async def handle_pause(session: Session, params: PauseParams) -> StatusResult:
    """Pause or resume, and return the new status. No effect before the workspace is open."""
    await session.pause(params.paused)
    return await session.status(with_page=True)
