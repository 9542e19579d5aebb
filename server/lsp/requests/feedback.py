"""Completion feedback: `weft/didShow`, `didAccept`, `didPartiallyAccept`, `didReject`, and counters: `weft/stats`."""

from __future__ import annotations

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from ...completion.stats import EMPTY_SUMMARY, summary_json
from ...output.types import StatsResult
from ...workspace.workspace import Workspace
from ..documents import from_lsp_column
from ..messages import (
    COMMAND_DID_ACCEPT,
    COMMAND_DID_TAKE_NEXT_EDIT,
    WEFT_DID_ACCEPT,
    WEFT_DID_PARTIALLY_ACCEPT,
    WEFT_DID_REJECT,
    WEFT_DID_SHOW,
    WEFT_STATS,
    ItemParams,
    PartlyAcceptedParams,
)
from ..registry import handles
from ..session import Session
from .next_edit import handle_did_take_next_edit


@handles(WEFT_DID_SHOW)
def handle_did_show(session: Session, params: ItemParams) -> None:
    session.notify_workspace(lambda workspace: workspace.completion.shown(params.id))


@handles(WEFT_DID_ACCEPT)
def handle_did_accept(session: Session, params: ItemParams) -> None:
    session.notify_workspace(lambda workspace: workspace.completion.accepted(params.id))


@handles(WEFT_DID_PARTIALLY_ACCEPT)
def handle_did_partially_accept(session: Session, params: PartlyAcceptedParams) -> None:
    def event(workspace: Workspace) -> None:
        text = workspace.stats.text(params.id)
        if text is not None:
            workspace.stats.partially_accepted(params.id, from_lsp_column(text, params.accepted_length, "utf-16"))

    session.notify_workspace(event)


@handles(WEFT_DID_REJECT)
def handle_did_reject(session: Session, params: ItemParams) -> None:
    session.notify_workspace(lambda workspace: workspace.stats.rejected(params.id))


@handles(WEFT_STATS)
async def handle_stats(session: Session, _: object) -> StatsResult:
    """The counters of this server since it started; `weft stats` sums all days and servers."""
    summary = await session.query(lambda workspace: summary_json(workspace.stats.summary()))
    return summary or summary_json(EMPTY_SUMMARY)


@handles(types.WORKSPACE_EXECUTE_COMMAND)
def handle_execute_command(session: Session, params: types.ExecuteCommandParams) -> None:
    """The command of an accepted item; its only argument is an object with the item's `id`."""
    accept = _COMMANDS.get(params.command)
    if accept is None:
        known = ", ".join(map(repr, _COMMANDS))
        raise JsonRpcInvalidParams(f"The command {params.command!r} is unknown. Available: {known}.")
    for item in params.arguments or ():
        # The library represents a JSON object as an object with attributes.
        item_id = item.get("id") if isinstance(item, dict) else getattr(item, "id", None)
        if isinstance(item_id, str):
            accept(session, ItemParams(item_id))


_COMMANDS = {COMMAND_DID_ACCEPT: handle_did_accept, COMMAND_DID_TAKE_NEXT_EDIT: handle_did_take_next_edit}
