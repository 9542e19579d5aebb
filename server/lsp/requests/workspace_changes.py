"""Notifications about settings, folders and files: they change the workspace, not a document.

`initialized`, `workspace/didChangeConfiguration`, `didChangeWorkspaceFolders` and `didChangeWatchedFiles`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types

from ...config import PROJECT_FILE, WORKSPACE_FILE
from ...workspace.workspace import Workspace
from ..registry import handles
from ..session import Session
from ..uris import to_path

log = logging.getLogger("weft.lsp")


@handles(types.INITIALIZED)
async def handle_initialized(session: Session, _: object) -> None:
    await session.start()


@handles(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def handle_did_change_configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    await session.change_settings(params.settings)


@handles(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
async def handle_did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    await session.change_folders(_paths(params.event.added), _paths(params.event.removed))


@handles(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def handle_did_change_watched_files(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    paths = set(_paths(params.changes))
    await session.query(lambda workspace: _report(workspace, paths))
    if any(path.name in (WORKSPACE_FILE, PROJECT_FILE) for path in paths):
        await session.change_settings(None)


def _paths(given: Iterable[types.WorkspaceFolder] | Iterable[types.FileEvent]) -> list[Path]:
    return [path for each in given if (path := to_path(each.uri)) is not None]


def _report(workspace: Workspace, paths: Iterable[Path]) -> None:
    """Report changes by their real paths. A path that cannot be resolved, such as in a folder that is being replaced,
    triggers reconciliation and does not affect the others."""
    real: set[Path] = set()
    for path in paths:
        try:
            real.add(Path(os.path.realpath(path.parent), path.name))
        except (OSError, ValueError) as error:
            log.warning("A change of %s could not be handled: %s. Comparing with the disk.", path, error)
            workspace.reconcile()
    workspace.files_changed(real)
