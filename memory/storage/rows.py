"""Validation of stored rows. A damaged page can hold any bytes, so every row is checked when it is read.

Knows no table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ControlFlow

MAX_SECONDS = 1e11  # upper bound of times in seconds since the epoch
MAX_NUMBER = 2**53

Columns = Mapping[str, "type | tuple[type, ...]"]
"""The names of columns in order, with their types."""


class DamagedRow(ControlFlow):
    """A value that Weft cannot have written. The message names the column."""


def checked(row: Sequence[Any], columns: Columns) -> Sequence[Any]:
    """The row, after a check of types and ranges. Raises DamagedRow."""
    for value, (name, kind) in zip(row, columns.items(), strict=True):
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
