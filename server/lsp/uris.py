"""Document identifiers to paths and back.

Owns the two directions and the stand-in path of a document that is not a file. Touches no disk.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from ...languages import language_named

_WINDOWS_DRIVE = re.compile(r"^/[A-Za-z]:")


def document_key(uri: str) -> str:
    """The same text for identifiers that differ only in percent-encoding."""
    return unquote(uri)


def to_path(uri: str) -> Path | None:
    """The path of a `file:` URI; None for any other scheme and for what no file system can hold."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if not path or "\0" in path:
        return None
    if parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    elif os.name == "nt" and _WINDOWS_DRIVE.match(path):
        path = path[1:]
    return Path(path)


def stand_in_path(uri: str, language_id: str) -> Path:
    """A path for a document that is no file (`untitled:Untitled-1`, a notebook cell).

    It lies outside every folder, so the text is completed but never indexed, and ends as files of its language do.
    """
    scheme, _, rest = unquote(uri).partition(":")
    name = re.sub(r"[^\w.#-]+", "_", rest.rpartition("/")[2])[:100] or "document"
    suffixes = language_named(language_id).suffixes.split()
    if suffixes and not name.endswith(f".{suffixes[0]}"):
        name = f"{name}.{suffixes[0]}"
    return Path(os.sep, re.sub(r"\W+", "_", scheme) + ":", name)
