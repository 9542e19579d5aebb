"""`weft/conversations`: what was asked and answered: list, get, search, delete, export (docs/protocol.md)."""

from __future__ import annotations

import re

from pygls.exceptions import JsonRpcInternalError, JsonRpcInvalidParams

from ....llm import Cancel
from ....memory.storage import StoreError, export_conversations
from ....memory.storage import Turn as StoredTurn
from ...chat.as_json import conversation_json, turn_json
from ...output.types import ConversationsResult, Turn
from ...workspace.memory import exports_folder
from ...workspace.workspace import Workspace
from ..documents import Encoding
from ..links import with_location
from ..messages import ConversationsParams
from ..session import Session

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")


async def handle_conversations(session: Session, params: ConversationsParams) -> ConversationsResult:
    encoding = session.client.encoding

    def call(workspace: Workspace, _: Cancel) -> ConversationsResult:
        return _answer(workspace, params, encoding)

    try:
        # Who looks for a conversation as soon as the editor is up waits for the workspace.
        return await session.run_concurrently(call) or {}
    except FileExistsError:
        raise JsonRpcInvalidParams(
            f"There is an export called {params.file}. Replace it with overwrite: true."
        ) from None
    except OSError as error:
        raise JsonRpcInternalError(f"{params.file} cannot be written: {error.strerror}") from error
    except StoreError as error:
        raise JsonRpcInternalError(str(error)) from error


def _answer(workspace: Workspace, params: ConversationsParams, encoding: Encoding) -> ConversationsResult:
    said = workspace.memory.conversations
    if params.action == "list":
        return {"conversations": [conversation_json(each) for each in said.list(params.limit, params.text)]}
    if params.action == "get":
        return {"turns": [_with_locations(turn, workspace, encoding) for turn in said.turns(params.id)]}
    if params.action == "search":
        return {
            "turns": [_with_locations(turn, workspace, encoding) for turn in said.search(params.text, params.limit)]
        }
    if params.action == "delete" and (params.id or params.all):
        gone = len(said.list(1_000_000)) if params.all else int(said.get(params.id) is not None)
        if params.all:
            said.delete_all()
        else:
            said.delete(params.id)
        return {"deleted": gone}
    if params.action == "export" and params.file:
        file = exports_folder(workspace.config) / _checked_name(params.file)
        return {"exported": export_conversations(said, file, overwrite=params.overwrite), "file": str(file)}
    raise JsonRpcInvalidParams("action is list, get (id), search (text), delete (id, or all) or export (file).")


def _checked_name(name: str) -> str:
    """A client names a file, never a place: whoever speaks for an editor may not be its user."""
    if not _NAME.fullmatch(name):
        raise JsonRpcInvalidParams(
            "file is a name of letters, digits, '.', '-' and '_', which begins with a letter or digit. "
            "The file is written into Weft's folder of exports."
        )
    return name


def _with_locations(turn: StoredTurn, workspace: Workspace, encoding: Encoding) -> Turn:
    """A turn with where an editor jumps to."""
    kept = turn_json(turn)
    return {**kept, "citations": [with_location(cited, workspace.path_of, encoding) for cited in kept["citations"]]}
