"""Reads and writes arrays in the safetensors format, which holds numbers only.

Owns the layout: eight bytes with the length of a JSON header, the header with type, shape and offsets of each array,
and the numbers. A reader of its own, so that a base install needs no further package. Does not know what arrays mean.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .disk import open_regular, replacing

Array = NDArray[Any]

_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip
_NAMES = {np.dtype(layout): name for name, layout in _TYPES.items()}
Buffer = bytes | memoryview

_LONGEST_HEADER = 100_000_000
_SHORTEST_FILE = 10
_METADATA = "__metadata__"  # the format's name of a table of strings


class TensorFile(NamedTuple):
    """The content of a mapped file."""

    arrays: Mapping[str, Array]
    metadata: Mapping[str, str]


def write_tensors(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Replace `path` atomically. The arrays are written one by one, so that at most one is copied in memory.

    Readers have aligned arrays if none is behind one with smaller elements.
    """
    with replacing(path) as file:
        file.writelines(tensor_bytes(arrays, metadata))


def tensor_bytes(arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> Iterator[Buffer]:
    """The bytes of a file with these arrays, piece by piece. They depend on the arguments alone."""
    header, start = dict[str, Any]({_METADATA: dict(metadata)} if metadata else {}), 0
    for name, array in arrays.items():
        offsets = [start, start + array.nbytes]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        start = offsets[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for array in arrays.values():
        yield np.ascontiguousarray(array).data


def read_tensors(path: Path) -> dict[str, Array]:
    """The arrays, memory-mapped. Raises ValueError for an incomplete file."""
    with open_regular(path) as file:
        # Copy-on-write: torch warns of read-only arrays, and nothing writes to it.
        return dict(_read(file, path.name, mmap.ACCESS_COPY).arrays)


def map_tensors(file: BinaryIO, name: str) -> TensorFile:
    """The read-only arrays and the metadata of an open file, memory-mapped: the file may be closed and removed.

    Raises ValueError, which contains `name`, for an incomplete file.
    """
    return _read(file, name, mmap.ACCESS_READ)


def _read(file: BinaryIO, name: str, access: int) -> TensorFile:
    if os.fstat(file.fileno()).st_size < _SHORTEST_FILE:
        raise ValueError(f"{name} is not a safetensors file")
    if os.name == "nt":  # Windows can neither replace nor remove a mapped file
        return tensors_in(bytearray(file.read()) if access == mmap.ACCESS_COPY else file.read(), name)
    return tensors_in(mmap.mmap(file.fileno(), 0, access=access), name)


def tensors_in(data: mmap.mmap | bytes | bytearray, name: str) -> TensorFile:
    """The arrays and the metadata in the bytes of a file; the arrays are views of `data`.

    Raises ValueError, which contains `name`, for an incomplete file.
    """
    n_header = int.from_bytes(data[:8], "little")
    if not 2 <= n_header <= min(_LONGEST_HEADER, len(data) - 8):
        raise ValueError(f"{name} is not a safetensors file")
    try:
        header = json.loads(data[8 : 8 + n_header])
        metadata = {str(key): str(value) for key, value in header.pop(_METADATA, {}).items()}
        return TensorFile({key: _view(data, name, 8 + n_header, **about) for key, about in header.items()}, metadata)
    except (AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"the header of {name} can't be read") from error


def _view(
    data: mmap.mmap | bytes | bytearray,
    name: str,
    origin: int,
    *,
    dtype: str,
    shape: list[int],
    data_offsets: list[int],
) -> Array:
    kind = np.dtype(_TYPES[dtype])
    start, end = data_offsets
    n_items = 1
    for length in shape:
        n_items *= length
    if not 0 <= start <= end <= len(data) - origin or end - start != n_items * kind.itemsize:
        raise ValueError(f"{name} is incomplete")
    if not n_items:
        return np.zeros(shape, kind)
    return np.frombuffer(data, kind, n_items, origin + start).reshape(shape)
