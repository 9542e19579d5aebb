"""`weft/conversations`: what was asked and answered: list, get, search, delete, export (docs/protocol.md)."""

from __future__ import annotations

from pathlib import Path

from pygls.exceptions import JsonRpcInternalError, JsonRpcInvalidParams

from ....llm import Cancel
from ....memory.storage import StoreError, export_conversations
from ....memory.storage import Turn as StoredTurn
from ...answers import ConversationsResult, Turn
from ...chat.jsonable import conversation_json, turn_json
from ...workspace import Workspace
from ..links import linked
from ..messages import ConversationsParams
from ..positions import Encoding
from ..session import Session


async def handle_conversations(session: Session, params: ConversationsParams) -> ConversationsResult:
    encoding = session.client.encoding

    def call(workspace: Workspace, _: Cancel) -> ConversationsResult:
        return _answer(workspace, params, encoding)

    try:
        # Who looks for a conversation as soon as the editor is up waits for the workspace.
        return await session.answer(call) or {}
    except OSError as error:
        raise JsonRpcInvalidParams(f"{params.file}: {error.strerror}") from error
    except StoreError as error:
        raise JsonRpcInternalError(str(error)) from error


def _answer(workspace: Workspace, params: ConversationsParams, encoding: Encoding) -> ConversationsResult:
    said = workspace.memory.conversations
    if params.action == "list":
        return {"conversations": [conversation_json(each) for each in said.list(params.limit, params.text)]}
    if params.action == "get":
        return {"turns": [_linked(turn, workspace, encoding) for turn in said.turns(params.id)]}
    if params.action == "search":
        return {"turns": [_linked(turn, workspace, encoding) for turn in said.search(params.text, params.limit)]}
    if params.action == "delete" and (params.id or params.all):
        gone = len(said.list(1_000_000)) if params.all else int(said.get(params.id) is not None)
        if params.all:
            said.delete_all()
        else:
            said.delete(params.id)
        return {"deleted": gone}
    if params.action == "export" and params.file:
        return {"exported": export_conversations(said, Path(params.file))}
    raise JsonRpcInvalidParams("action is list, get (id), search (text), delete (id, or all) or export (file).")


def _linked(turn: StoredTurn, workspace: Workspace, encoding: Encoding) -> Turn:
    """A turn with where an editor jumps to."""
    kept = turn_json(turn)
    return {**kept, "citations": [linked(cited, workspace.path_of, encoding) for cited in kept["citations"]]}
