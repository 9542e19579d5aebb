"""Positions as clients count them: lines of the protocol, columns in UTF-8, UTF-16 or UTF-32 units.

Owns the two conversions. Knows no message and no document; every position is clamped, none is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

Encoding = Literal["utf-8", "utf-16", "utf-32"]

DEFAULT_ENCODING: Encoding = "utf-16"
"""What a client means that says nothing (LSP 3.17, PositionEncodingKind)."""


def choose_encoding(offered: Iterable[str] | None) -> Encoding:
    """The client's most wanted encoding that we know, UTF-16 when there is none."""
    known: dict[str, Encoding] = {encoding: encoding for encoding in get_args(Encoding)}
    return next((known[encoding] for encoding in offered or () if encoding in known), DEFAULT_ENCODING)


def without_break(line: str) -> str:
    """A line without its line break."""
    return line.rstrip("\r\n")


def from_lsp_column(line: str, units: int, encoding: Encoding) -> int:
    """Python characters before a column; the end of the line for a column past it.

    A column inside a character (half a surrogate pair, the middle of a UTF-8 sequence) counts as the character's start.
    """
    head = without_break(line)[: max(units, 0)]  # no character is shorter than one unit
    if encoding == "utf-32" or head.isascii():
        return len(head)
    seen = 0
    for column, character in enumerate(head):
        seen += _width(character, encoding)
        if seen > units:
            return column
    return len(head)


def to_lsp_column(line: str, column: int, encoding: Encoding) -> int:
    """Units before a Python character; the end of the line for a column past it."""
    head = without_break(line)[: max(column, 0)]
    if encoding == "utf-32" or head.isascii():
        return len(head)
    return sum(_width(character, encoding) for character in head)


def _width(character: str, encoding: Encoding) -> int:
    # A lone surrogate is one UTF-16 unit; in UTF-8 it takes the three bytes its code point would.
    code_point = ord(character)
    if encoding == "utf-16":
        return 2 if code_point > 0xFFFF else 1
    if code_point < 0x80:
        return 1
    if code_point < 0x800:
        return 2
    return 4 if code_point > 0xFFFF else 3
