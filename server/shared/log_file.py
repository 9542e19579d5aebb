"""Rotating log file of the shared server, which has no terminal.

Owns the file, its permissions, its size limit, and the redirection of stdout and stderr to it. Knows no message.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import shutil
import sys
import time
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from ...llm.private_files import private_file, private_folder

LIMIT_BYTES = 1_000_000  # size limit of the current file and of the one rotated backup
MAX_AGE_S = 30 * 24 * 3600.0  # log files that were not written for longer are removed


def log_to(path: Path) -> None:
    """Redirect logging, stdout and stderr to this file."""
    private_folder(path.parent, is_ours=True)
    _remove_old(path.parent)
    handler = _Log(path, maxBytes=LIMIT_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace")
    logging.basicConfig(
        handlers=[handler], format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s", force=True
    )
    faulthandler.enable(sys.stderr)


class _Log(RotatingFileHandler):
    """Rotating log that also receives stdout and stderr. Readable by its owner only: it may hold text of requests."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        if os.name == "nt":
            self.rotator = copy_and_empty

    def _open(self) -> TextIOWrapper[Any]:
        private_file(Path(self.baseFilename))
        stream = super()._open()
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
        return stream


def copy_and_empty(source: str, target: str) -> None:
    """Rotate a log on Windows, which renames no file that is open: stdout and stderr of this process write to it."""
    shutil.copyfile(source, target)
    private_file(Path(target))
    os.truncate(source, 0)


def _remove_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in folder.glob("shared-*.log*"):
            if time.time() - path.stat().st_mtime > MAX_AGE_S:
                path.unlink()
