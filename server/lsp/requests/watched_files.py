"""`workspace/didChangeWatchedFiles`: what changed on disk, as the client saw it."""

from __future__ import annotations

import os
from pathlib import Path

from lsprotocol import types

from ...config import PROJECT_FILE, WORKSPACE_FILE
from ..session import Session
from ..uris import to_path


async def handle_did_change_watched_files(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    found = (to_path(event.uri) for event in params.changes)
    paths = {Path(os.path.realpath(path.parent), path.name) for path in found if path is not None}
    await session.look(lambda workspace: workspace.files_changed(paths))
    if any(path.name in (WORKSPACE_FILE, PROJECT_FILE) for path in paths):
        await session.change_settings(None)
