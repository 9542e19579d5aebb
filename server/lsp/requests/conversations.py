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
from ..links import linked
from ..messages import ConversationsParams
from ..session import Session

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")


async def handle_conversations(session: Session, params: ConversationsParams) -> ConversationsResult:
    encoding = session.client.encoding

    def call(workspace: Workspace, _: Cancel) -> ConversationsResult:
        return _answer(workspace, params, encoding)

    try:
        # Right after the start of an editor this waits for the workspace.
        return await session.answer(call) or {}
    except FileExistsError:
        raise JsonRpcInvalidParams(f"The export {params.file} exists. To replace it, set overwrite: true.") from None
    except OSError as error:
        raise JsonRpcInternalError(f"Writing the export {params.file} failed: {error.strerror}.") from error


def _answer(workspace: Workspace, params: ConversationsParams, encoding: Encoding) -> ConversationsResult:
    stored = workspace.memory.conversations
    if params.action == "list":
        return {"conversations": [conversation_json(each) for each in stored.list(params.limit, params.text)]}
    if params.action == "get":
        return {"turns": [_linked(turn, workspace, encoding) for turn in stored.turns(params.id)]}
    if params.action == "search":
        return {"turns": [_linked(turn, workspace, encoding) for turn in stored.search(params.text, params.limit)]}
    if params.action == "delete" and (params.id or params.all):
        n_deleted = len(stored.list(1_000_000)) if params.all else int(stored.get(params.id) is not None)
        if params.all:
            stored.delete_all()
        else:
            stored.delete(params.id)
        return {"deleted": n_deleted}
    if params.action == "export" and params.file:
        file = exports_folder(workspace.config) / _checked_name(params.file)
        return {"exported": export_conversations(stored, file, overwrite=params.overwrite), "file": str(file)}
    raise JsonRpcInvalidParams("action must be list, get (id), search (text), delete (id, or all) or export (file).")


def _checked_name(name: str) -> str:
    """A plain file name, no path: a client may not choose the folder, as it may not be the user."""
    if not _NAME.fullmatch(name):
        raise JsonRpcInvalidParams(
            "file must be a name of letters, digits, '.', '-' and '_' that starts with a letter or digit. "
            "It is written to Weft's folder of exports."
        )
    return name


def _linked(turn: StoredTurn, workspace: Workspace, encoding: Encoding) -> Turn:
    """A turn whose citations have URIs and ranges."""
    as_json = turn_json(turn)
    return {**as_json, "citations": [linked(cited, workspace.path_of, encoding) for cited in as_json["citations"]]}
