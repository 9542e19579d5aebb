"""`weft/callTool`: the tools for agents in this window's workspace, with its unsaved text (docs/protocol.md)."""

from __future__ import annotations

from ....llm import Cancel
from ...agents.backend import run_tool
from ...output.types import CallToolResult
from ...workspace.workspace import Workspace
from ..messages import WEFT_CALL_TOOL, CallToolParams
from ..registry import handles
from ..session import Session

SLOW = frozenset({"ask", "recall"})
"""Tools that may call a model."""


@handles(WEFT_CALL_TOOL)
async def handle_call_tool(session: Session, params: CallToolParams) -> CallToolResult | None:
    """Null if the server stops. A wrong call is a result, so that an agent reads what to do instead."""

    def call(workspace: Workspace, cancel: Cancel) -> CallToolResult:
        found = run_tool(workspace, params.name, params.arguments, params.agent, cancel)
        return {"text": found.text, "isError": found.is_error, "places": list(found.places), "cursor": found.cursor}

    if params.name in SLOW:
        return await session.run_concurrently(call)
    return await session.run_short(call)
