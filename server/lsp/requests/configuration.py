"""`initialized` and `workspace/didChangeConfiguration`: both read the client's settings."""

from __future__ import annotations

from lsprotocol import types

from ..registry import handles
from ..session import Session


@handles(types.INITIALIZED)
async def handle_initialized(session: Session, _: object) -> None:
    await session.start()


@handles(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def handle_did_change_configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    await session.change_settings(params.settings)
