"""The log of a process that has no terminal and no single editor: a file of bounded size.

Owns the file, who may read it, and that everything gets there, what libraries print as well. Knows no message.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import sys
import time
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from ...llm.private_files import private_file, private_folder

LIMIT_BYTES = 1_000_000
"""Of the file, and of the one before it, which is kept as well."""

MAX_AGE_S = 30 * 24 * 3600.0
"""Logs of servers that were not started for so long are removed."""


def log_to(path: Path) -> None:
    """Write everything that is logged or printed from now on to this file."""
    private_folder(path.parent, is_ours=True)
    _remove_old(path.parent)
    handler = _Log(path, maxBytes=LIMIT_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace")
    logging.basicConfig(
        handlers=[handler], format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s", force=True
    )
    faulthandler.enable(sys.stderr)


class _Log(RotatingFileHandler):
    """A log that stdout and stderr lead to; only its owner may read it: a failed request is in it with its text."""

    def _open(self) -> TextIOWrapper[Any]:
        private_file(Path(self.baseFilename))
        stream = super()._open()
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
        return stream


def _remove_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in folder.glob("shared-*.log*"):
            if time.time() - path.stat().st_mtime > MAX_AGE_S:
                path.unlink()
