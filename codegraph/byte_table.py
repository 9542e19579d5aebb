"""Byte strings of many files in one array, from which a stored index maps them.

Knows nothing about their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ByteTable = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""All strings, one after another, and where each ends."""


def to_table(values: Iterable[bytes | memoryview]) -> ByteTable:
    """The table of some strings."""
    parts = list(values)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), ends


def from_table(table: ByteTable) -> list[memoryview]:
    """Views of the strings of a table. Raises ValueError if the ends are not within it."""
    data, ends = table
    if len(ends) and (np.any(np.diff(ends, prepend=0) < 0) or ends[-1] != len(data)):
        raise ValueError("the ends of a table of strings are not those of its strings")
    view = np.ascontiguousarray(data).data.toreadonly()
    return [view[start:end] for start, end in pairwise([0, *ends.tolist()])]
