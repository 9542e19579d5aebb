"""Folders and files with access for their owner only, under any umask.

For all stored data of a user's code and questions: indexes, history, counters, logs, exports, saved prefix caches.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def private_folder(folder: Path, *, is_ours: bool = False) -> None:
    """Create a folder and its missing parents. Raises OSError.

    Existing folders are unchanged; one of Weft's own (`is_ours`) loses the permissions of others.
    """
    missing = []
    here = folder
    while not here.exists() and here != here.parent:
        missing.append(here)
        here = here.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
    if is_ours:
        with suppress(OSError):
            _tighten(folder, 0o700)


def private_file(path: Path) -> None:
    """Create a file if it does not exist, and restrict its permissions to its owner. Raises OSError."""
    # Non-blocking: a pipe without a reader is an error.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600))
    with suppress(OSError):
        _tighten(path, 0o600)


def _tighten(path: Path, mode: int) -> None:
    """Remove the permissions of others; files of other users are unchanged."""
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return
    if hasattr(os, "getuid") and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(mode)
