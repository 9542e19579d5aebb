"""Code inside markup: the script blocks of single-file components.

Owns the search for script blocks and the blanking of all other text, so that the grammar of the scripts can parse the
file: every byte keeps its offset and every line its number. Knows no grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(rb"<script(?=[\s>/])(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)
_CLOSING = re.compile(rb"</script", re.IGNORECASE)
_BLANKED = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))


@dataclass(frozen=True)
class ScriptBlocks:
    """The `<script>` blocks of a file as code in one language."""

    language: str  # name of the record of the scripts

    def blanked(self, source: bytes) -> bytes:
        """The source with spaces for everything outside of its scripts, line breaks excepted."""
        parts: list[bytes] = []
        end = 0
        for start, stop in _blocks(source):
            parts += [source[end:start].translate(_BLANKED), source[start:stop]]
            end = stop
        return b"".join([*parts, source[end:].translate(_BLANKED)])

    def contains(self, text: str, offset: int) -> bool:
        """Whether the character offset is in a script."""
        before = text[:offset].encode("utf-8", "replace")
        return any(stop == len(before) for _, stop in _blocks(before))


def _blocks(source: bytes) -> list[tuple[int, int]]:
    """Start and end of the content of each script; an unfinished one ends with the source."""
    found: list[tuple[int, int]] = []
    at = 0
    while (opening := _OPENING.search(source, at)) is not None:
        at = opening.end()
        if opening[0].endswith(b"/>"):
            continue
        closing = _CLOSING.search(source, at)
        end = len(source) if closing is None else closing.start()
        if b"json" not in opening[0]:
            found.append((at, end))
        at = end
    return found
