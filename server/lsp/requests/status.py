"""`weft/status`: what a person wants to know when nothing seems to happen (docs/protocol.md)."""

from __future__ import annotations

from typing import Any

from ...jsonable import status_json
from ...workspace import Status, Workspace
from ..session import Session


async def handle_status(session: Session, _: object) -> dict[str, Any]:
    def call(workspace: Workspace) -> Status:
        return workspace.status()

    status = await session.look(call)
    return {"state": "starting"} if status is None else status_json(status)
