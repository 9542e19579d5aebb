"""Conversion of document URIs to paths.

Owns the conversion of `file:` URIs, and virtual paths for documents of other schemes. Does not access the disk.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urlsplit

from ...languages import language_named
from ..secrets import is_secret_path
from ..workspace.virtual_path import virtual_path
from ..workspace.windows_path import plain_windows_path


def to_path(uri: str) -> Path | None:
    """The path of a `file:` URI; None for another scheme or an invalid path."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    try:
        path = os.fsdecode(unquote_to_bytes(parts.path))
    except UnicodeDecodeError:  # Windows: the bytes are no UTF-8, so they name no file
        return None
    if not path or "\0" in path:
        return None
    if parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    return Path(plain_windows_path(path) if os.name == "nt" else path)


def virtual_document_path(uri: str, language_id: str) -> Path:
    """A virtual path for a document that is not a file (`untitled:Untitled-1`, a notebook cell, `git:/shop/a.py?{…}`).

    It is outside all folders, so the text is completed but never indexed, and has a suffix of its language. It contains
    the path of the file that the document shows, so that the access rules of that file apply.
    """
    scheme, _, rest = uri.partition(":")
    suffix = f".{suffixes[0]}" if (suffixes := language_named(language_id).suffixes.split()) else ""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return virtual_path(unquote(scheme), unquote(rest).rpartition("/")[2], suffix)
    fragment = f"#{unquote(parts.fragment)}" if parts.fragment else ""
    return virtual_path(
        unquote(scheme), _shown_file(parts) + fragment.replace("/", "_"), suffix, version=parts.netloc + parts.query
    )


def _shown_file(parts: SplitResult) -> str:
    """The file that a URI of any scheme shows: its path, or a path in its query.

    A path that marks a secret takes precedence.
    """
    path = unquote(parts.path)
    named = [path, *_paths_in(_json(unquote(parts.query)))]
    secret = next((each for each in named if is_secret_path(each.partition("#")[0])), None)
    return secret or next((each for each in named[1:] if each.startswith("/")), path)


def _json(text: str) -> object:
    try:
        return json.loads(text) if text[:1] in ("{", "[") else text
    except (ValueError, RecursionError):
        return text


def _paths_in(value: object, depth: int = 0) -> Iterator[str]:
    """Strings in a query that look like file paths."""
    if isinstance(value, str):
        yield from (unquote(each) for each in re.findall(r"[^=&?]*/[^=&?]+", value))
    elif isinstance(value, (dict, list)) and depth < 3:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _paths_in(each, depth + 1)
