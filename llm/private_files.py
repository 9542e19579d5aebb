"""Folders and files that their user alone may read, under any umask.

For what Weft keeps of somebody's code and questions: indexes, history, counters, logs, exports, saved prefixes.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def private_folder(folder: Path, *, is_ours: bool = False) -> None:
    """Make a folder, with what is missing above it. Raises OSError.

    Folders that are there stay as they are, but for one of Weft's own (`is_ours`) that others may enter.
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
    """Make an empty file, or keep the text of one that is there, for its owner alone. Raises OSError."""
    # Not waiting: a pipe that nobody reads is an error.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600))
    with suppress(OSError):
        _tighten(path, 0o600)


def _tighten(path: Path, mode: int) -> None:
    """Take away what others may do; of files of other users nothing."""
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return
    if hasattr(os, "getuid") and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(mode)
