"""`workspace/didChangeWorkspaceFolders`: adds and removes workspace folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types

from ..registry import handles
from ..session import Session
from ..uris import to_path


@handles(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
async def handle_did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    await session.change_folders(_paths(params.event.added), _paths(params.event.removed))


def _paths(folders: Iterable[types.WorkspaceFolder]) -> list[Path]:
    return [path for folder in folders if (path := to_path(folder.uri)) is not None]
