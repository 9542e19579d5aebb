"""Manifest of an export: the list of its parts, as JSON.

An export is a folder, or the same files behind an address:

- `manifest.json`: the newest manifest.
- `manifests/TIME-HASH.json`: this one and earlier ones, by the time and the hash of their content.
- `parts/HASH.part`: the parts that these name (`server/workspace/part.py`).

A manifest comes from elsewhere: `read_manifest` takes nothing that is not of the documented shape.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ControlFlow
from ..workspace.part import KEY_BYTES, NAME_DIGITS, PART_SUFFIX

MANIFEST_VERSION = 1
"""History: 1, the first."""

MANIFEST_NAME = "manifest.json"
MANIFESTS = "manifests"
PARTS = "parts"

MAX_MANIFEST_BYTES = 64_000_000
"""A manifest has 25 bytes for a file, so this is enough for two million files."""

MAX_PART_BYTES = 256_000_000
"""A larger part is not read: an export has parts of a few MB, and more only for a single large file."""

_FORMAT = "weft base"
_PART_NAME = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}{re.escape(PART_SUFFIX)}")


class UnusableManifest(ControlFlow):
    """The manifest is damaged, or of another version."""


@dataclass(frozen=True, slots=True)
class ListedPart:
    """A part of an export: the hash of its content is its name."""

    name: str
    n_bytes: int
    keys: tuple[bytes, ...]  # the content keys of its rows, ascending


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export contains. `options` are the settings that decide which files it has."""

    analysis: str
    parts: tuple[ListedPart, ...]
    commit: str = ""  # of the git repository; "" without one
    created: str = ""  # ISO 8601, UTC
    options: Mapping[str, Any] | None = None


def manifest_bytes(manifest: Manifest) -> bytes:
    """The JSON of a manifest."""
    parts = [
        {"name": part.name, "bytes": part.n_bytes, "keys": base64.b64encode(b"".join(part.keys)).decode()}
        for part in manifest.parts
    ]
    about = {"format": _FORMAT, "version": MANIFEST_VERSION, "analysis": manifest.analysis}
    when = {"commit": manifest.commit, "created": manifest.created, "options": dict(manifest.options or {})}
    return json.dumps({**about, **when, "parts": parts}, indent=1).encode()


def read_manifest(data: bytes, analysis: str) -> Manifest:
    """The manifest in `data`. Raises UnusableManifest for a damaged one, and for one of another version."""
    try:
        content = json.loads(data)
        if content["format"] != _FORMAT:
            raise UnusableManifest("it is not the manifest of an index")
        if content["version"] != MANIFEST_VERSION:
            raise UnusableManifest(f"its format has version {content['version']!r:.20}, not {MANIFEST_VERSION}")
        if content["analysis"] != analysis:
            raise UnusableManifest(f"it was made by another version of Weft ({content['analysis']!r:.60})")
        parts = tuple(map(_listed, content["parts"]))
        return Manifest(analysis, parts, str(content.get("commit", ""))[:80], str(content.get("created", ""))[:40])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableManifest("it is damaged") from error


def _listed(entry: Any) -> ListedPart:
    name, n_bytes = entry["name"], entry["bytes"]
    if not (isinstance(name, str) and _PART_NAME.fullmatch(name) and isinstance(n_bytes, int)):
        raise ValueError("a part has no name or no size")
    if not 0 < n_bytes <= MAX_PART_BYTES:
        raise ValueError("a part is too large")
    try:
        packed = base64.b64decode(entry["keys"], validate=True)
    except binascii.Error as error:
        raise ValueError("the keys of a part are damaged") from error
    if len(packed) % KEY_BYTES:
        raise ValueError("the keys of a part are damaged")
    return ListedPart(name, n_bytes, tuple(packed[at : at + KEY_BYTES] for at in range(0, len(packed), KEY_BYTES)))


def names_in(data: bytes) -> frozenset[str]:
    """The names of the parts in a manifest of any version of the analysis; none in a damaged one."""
    try:
        return frozenset(str(part["name"]) for part in json.loads(data)["parts"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return frozenset()
