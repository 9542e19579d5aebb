"""Validation of stored rows. A damaged page can hold any bytes, so every row is checked when it is read.

Knows no table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...errors import ControlFlow

MAX_SECONDS = 1e11  # upper bound of times in seconds since the epoch
MAX_NUMBER = 2**53

Kinds = Sequence["type | tuple[type, ...]"]


class DamagedRow(ControlFlow):
    """A value that Weft cannot have written. The message names the column."""


def checked(row: Sequence[Any], kinds: Kinds, names: Sequence[str]) -> Sequence[Any]:
    """The row, after a check of types and ranges. Raises DamagedRow."""
    for value, kind, name in zip(row, kinds, names, strict=True):
        if not isinstance(value, kind) or not _is_in_range(value):
            raise DamagedRow(f"{name} has an invalid value")
    return row


def json_list(text: str, name: str) -> tuple[Any, ...]:
    """The elements of a JSON list. Raises DamagedRow."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise DamagedRow(f"{name} is not a JSON list")
    return tuple(found)


def _is_in_range(value: Any) -> bool:
    if isinstance(value, float):
        return 0 <= value < MAX_SECONDS
    return not isinstance(value, int) or 0 <= value < MAX_NUMBER
