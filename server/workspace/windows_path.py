"""Spellings of one path on Windows, reduced to one: an index has one name for a file."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"^/[A-Za-z]:")
_EXTENDED = re.compile(r"^[\\/]{2}[?.][\\/](?P<share>UNC[\\/])?", re.IGNORECASE)


def plain_windows_path(path: str) -> str:
    """The path without the slash that URIs have before a drive, and without the prefix `//?/` or `//./`."""
    if (extended := _EXTENDED.match(path)) is not None:
        path = ("//" if extended["share"] else "") + path[extended.end() :]
    return path[1:] if _DRIVE.match(path) else path
