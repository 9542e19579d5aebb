"""`weft/status` and `weft/pause`. `status_push` sends status changes."""

from __future__ import annotations

from ...output.types import StatusResult
from ..messages import WEFT_PAUSE, WEFT_STATUS, PauseParams
from ..registry import handles
from ..session import Session


@handles(WEFT_STATUS)
async def handle_status(session: Session, _: object) -> StatusResult:
    return await session.status(with_page=True)


@handles(WEFT_PAUSE)
async def handle_pause(session: Session, params: PauseParams) -> StatusResult:
    """Pause or resume, and return the new status. No effect before the workspace is open."""
    await session.pause(params.paused)
    return await session.status(with_page=True)
