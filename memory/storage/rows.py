"""The types of stored rows. SQLite keeps whatever bytes a damaged page holds, so each row is checked when it is read.

Owns what counts as damage in a row. Knows no table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...errors import ControlFlow

MOST_SECONDS = 1e11
"""No time in seconds since the epoch is later; the platform's calendars end before."""

MOST_NUMBER = 2**53

Kinds = Sequence["type | tuple[type, ...]"]


class DamagedRow(ControlFlow):
    """A value that Weft never wrote in this column. The message names the column."""


def checked(row: Sequence[Any], kinds: Kinds, names: Sequence[str]) -> Sequence[Any]:
    """The row, whose values have these types and whose numbers are in range. Raises DamagedRow."""
    for value, kind, name in zip(row, kinds, names, strict=True):
        if not isinstance(value, kind) or not _is_in_range(value):
            raise DamagedRow(f"{name} holds what is none")
    return row


def json_list(text: str, name: str) -> tuple[Any, ...]:
    """The elements of a list in JSON. Raises DamagedRow."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise DamagedRow(f"{name} holds no list in JSON")
    return tuple(found)


def _is_in_range(value: Any) -> bool:
    if isinstance(value, float):
        return 0 <= value < MOST_SECONDS
    return not isinstance(value, int) or 0 <= value < MOST_NUMBER
