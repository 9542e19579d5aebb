"""`weft/conversations`: what was asked and answered: list, get, search, delete, export (docs/protocol.md)."""

from __future__ import annotations

from pathlib import Path

from pygls.exceptions import JsonRpcInternalError, JsonRpcInvalidParams

from ....memory.storage import StoreError, export_conversations
from ...chat.jsonable import conversation_json, turn_json
from ...jsonable import Json
from ...workspace import Workspace
from ..messages import ConversationsParams
from ..session import Session


async def handle_conversations(session: Session, params: ConversationsParams) -> Json:
    def call(workspace: Workspace) -> Json:
        return _answer(workspace, params)

    try:
        return await session.look(call) or {}
    except OSError as error:
        raise JsonRpcInvalidParams(f"{params.file}: {error.strerror}") from error
    except StoreError as error:
        raise JsonRpcInternalError(str(error)) from error


def _answer(workspace: Workspace, params: ConversationsParams) -> Json:
    said = workspace.memory.conversations
    if params.action == "list":
        return {"conversations": [conversation_json(each) for each in said.list(params.limit, params.text)]}
    if params.action == "get":
        return {"turns": [_with_uris(turn_json(turn), workspace) for turn in said.turns(params.id)]}
    if params.action == "search":
        return {"turns": [turn_json(turn) for turn in said.search(params.text, params.limit)]}
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


def _with_uris(turn: Json, workspace: Workspace) -> Json:
    """A turn with where an editor jumps to; null for what is outside of all folders by now."""
    for citation in turn["citations"]:
        path = workspace.path_of(citation["folder"], citation["path"])
        citation["uri"] = None if path is None else path.as_uri()
    return turn
