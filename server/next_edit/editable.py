"""Whether a file is the user's to edit: not generated, not vendored, not read-only.

Owns the signs of such files. Ignored and secret files are not indexed, so nothing is found in them. Knows no edit.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..workspace.files import has_generated_name, is_generated

VENDORED = frozenset(
    {"vendor", "_vendor", "vendored", "node_modules", "bower_components", "third_party", "third-party", "thirdparty"}
    | {"site-packages"}
)
"""Names of directories with copies of other people's code."""


def is_written_by_hand(path: str, text: str) -> bool:
    """Whether a file is neither vendored nor generated, by its path and its head."""
    is_vendored = not VENDORED.isdisjoint(path.split("/")[:-1])
    return not (is_vendored or has_generated_name(path) or is_generated(text))


def is_writable(file: Path) -> bool:
    """Whether a file may be changed on disk; also one that does not exist yet."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return True
    # The superuser has access to files without a bit for writing, too.
    return bool(mode & 0o222) and os.access(file, os.W_OK)
