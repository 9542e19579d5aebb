"""`weft/conversations`: list, get, search, delete and export stored conversations (docs/protocol.md)."""

from __future__ import annotations

import re

from pygls.exceptions import JsonRpcInternalError, JsonRpcInvalidParams

from ....llm import Cancel
from ....memory.storage import Turn as StoredTurn
from ....memory.storage import export_conversations
from ...chat.as_json import conversation_json, turn_json
from ...output.types import ConversationsResult, Turn
from ...workspace.memory import exports_folder
from ...workspace.workspace import Workspace
from ..documents import Encoding
from ..links import with_location
from ..messages import WEFT_CONVERSATIONS, ConversationsParams
from ..registry import handles
from ..session import Session

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")


@handles(WEFT_CONVERSATIONS)
async def handle_conversations(session: Session, params: ConversationsParams) -> ConversationsResult:
    encoding = session.client.encoding

    def call(workspace: Workspace, _: Cancel) -> ConversationsResult:
        return _answer(workspace, params, encoding)

    try:
        # Waits for the workspace to open, for a request right after the editor starts.
        return await session.run_concurrently(call) or {}
    except FileExistsError:
        raise JsonRpcInvalidParams(
            f"An export named {params.file} exists. Set overwrite: true to replace it."
        ) from None
    except OSError as error:
        raise JsonRpcInternalError(f"Writing the export {params.file} failed: {error.strerror}.") from error


def _answer(workspace: Workspace, params: ConversationsParams, encoding: Encoding) -> ConversationsResult:
    conversations = workspace.memory.conversations
    if params.action == "list":
        return {"conversations": [conversation_json(each) for each in conversations.list(params.limit, params.text)]}
    if params.action == "get":
        return {"turns": [_with_locations(turn, workspace, encoding) for turn in conversations.turns(params.id)]}
    if params.action == "search":
        return {
            "turns": [
                _with_locations(turn, workspace, encoding) for turn in conversations.search(params.text, params.limit)
            ]
        }
    if params.action == "delete" and (params.id or params.all):
        n_deleted = len(conversations.list(1_000_000)) if params.all else int(conversations.get(params.id) is not None)
        if params.all:
            conversations.delete_all()
        else:
            conversations.delete(params.id)
        return {"deleted": n_deleted}
    if params.action == "export" and params.file:
        file = exports_folder(workspace.config) / _checked_name(params.file)
        return {"exported": export_conversations(conversations, file, overwrite=params.overwrite), "file": str(file)}
    raise JsonRpcInvalidParams(
        "The action is unknown, or a parameter is missing. Actions: list, get (id), search (text), delete (id, or all) "
        "and export (file)."
    )


def _checked_name(name: str) -> str:
    """A valid file name. A client may not choose the folder: it may be another program than the user's editor."""
    if not _NAME.fullmatch(name):
        raise JsonRpcInvalidParams(
            "file must be a name of letters, digits, '.', '-' and '_' that starts with a letter or digit. "
            "It is written to Weft's folder of exports."
        )
    return name


def _with_locations(turn: StoredTurn, workspace: Workspace, encoding: Encoding) -> Turn:
    """A turn as JSON, with LSP locations."""
    stored = turn_json(turn)
    return {**stored, "citations": [with_location(cited, workspace.path_of, encoding) for cited in stored["citations"]]}
