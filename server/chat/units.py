"""A text cut into what is decided at once.

A unit is a sentence, a fenced block, or a sentence that names a place at the end of a line with the block below it.

Owns where these end, also in a text that is still being written. Knows no place: it is told whether a text names one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence


def unit_end(text: str, names_a_place: Callable[[str], bool]) -> int | None:
    """Where the unit that a text begins with ends; None while that is not known."""
    if not text.strip():
        return text.find("\n") + 1 or None
    if _may_open_fence(text):
        return None
    if _FENCE.match(text):
        return _block_end(text, 0)
    for found in _SENTENCE_END.finditer(text):
        if not _NO_END.search(text[: found.end()]):
            break
    else:
        return None
    end = found.end()
    if not found[0].endswith("\n") or not names_a_place(text[:end]):
        return end
    below = _BLANK_LINES.match(text, end)
    start = below.end() if below else end
    if not text[start:] or _may_open_fence(text[start:]):
        return None
    return _block_end(text, start) if _FENCE.match(text, start) else end


def begins_block(text: str) -> bool:
    """Whether a text begins with a fence, or with what may become one."""
    return _FENCE.match(text) is not None or _may_open_fence(text)


def code_of(block: str, named_at: Sequence[int]) -> str:
    """The lines inside a fenced block that name no place."""
    kept, at = [], 0
    for line in block.split("\n"):
        named = any(at <= start < at + len(line) + 1 for start in named_at)
        if not named and not FENCE_BELOW.match(line):
            kept.append(line)
        at += len(line) + 1
    return "\n".join(kept)


def _may_open_fence(text: str) -> bool:
    """Whether this is the beginning of a fence, of which it can't be said yet whether it is one."""
    begun = text.lstrip(" ")
    return len(begun) < 3 and len(text) - len(begun) <= 3 and (begun in ("`", "``", "~", "~~"))


def _block_end(text: str, start: int) -> int | None:
    """Where the fenced block that begins at `start` ends; None while it is open."""
    opened = _FENCE.match(text, start)
    assert opened is not None
    mark = opened["mark"]
    closing = re.compile(rf"^ {{0,3}}{re.escape(mark)}{re.escape(mark[0])}*[ \t]*\n", re.MULTILINE)
    first_line = text.find("\n", start)
    closed = None if first_line < 0 else closing.search(text, first_line + 1)
    return None if closed is None else closed.end()


_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
FENCE_BELOW = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_SENTENCE_END = re.compile(r"\n|[.!?][\"')\]`*_]*[ \t]|[\u3002\uff01\uff1f]")
_NO_END = re.compile(r"(?:^[ \t]*\d+|\b(?:e\.g|i\.e|cf|vs|etc|resp|approx|no))\.[ \t]$", re.IGNORECASE)
