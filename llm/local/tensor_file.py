"""Reads and writes arrays in the safetensors format, which holds numbers only.

Owns the layout: eight bytes with the length of a JSON header, the header with type, shape and offsets of each array,
and the numbers. A reader of its own, so that a base install needs no further package. Does not know what arrays mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..disk import open_regular, replacing

Array = NDArray[Any]

_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip
_NAMES = {np.dtype(layout): name for name, layout in _TYPES.items()}
_LONGEST_HEADER = 100_000_000


def write_tensors(path: Path, arrays: Mapping[str, Array]) -> None:
    """Replace `path` atomically. The arrays are written one by one, so that at most one is copied in memory."""
    header, start = dict[str, Any](), 0
    for name, array in arrays.items():
        offsets = [start, start + array.nbytes]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        start = offsets[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)


def read_tensors(path: Path) -> dict[str, Array]:
    """The arrays, memory-mapped. Raises ValueError for an incomplete file."""
    size = path.stat().st_size
    with open_regular(path) as file:
        n_header = int.from_bytes(file.read(8), "little")
        if not 2 <= n_header <= min(_LONGEST_HEADER, size - 8):
            raise ValueError(f"{path.name} is not a safetensors file")
        try:
            header = json.loads(file.read(n_header))
            header.pop("__metadata__", None)
            return {name: _mapped(path, 8 + n_header, size, **about) for name, about in header.items()}
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"the header of {path.name} can't be read") from error


def _mapped(path: Path, origin: int, size: int, *, dtype: str, shape: list[int], data_offsets: list[int]) -> Array:
    kind = np.dtype(_TYPES[dtype])
    start, end = data_offsets
    n_bytes = kind.itemsize
    for length in shape:
        n_bytes *= length
    if not 0 <= start <= end <= size - origin or end - start != n_bytes:
        raise ValueError(f"{path.name} is incomplete")
    if not n_bytes:
        return np.zeros(shape, kind)
    # Copy-on-write: torch warns of read-only arrays, and nothing writes to it.
    return np.memmap(path, kind, "c", origin + start, tuple(shape))
