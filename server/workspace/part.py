"""Part files: the analyses of some files by their content, in one immutable file that is memory-mapped.

A part is a safetensors file (`llm/tensor_file.py`): a JSON header and arrays, no pickle. The rows of a part are files,
without their paths. Its arrays, for n rows:

- `content_keys`, uint8 of shape (n, 16): the `content_key` of each row.
- `checksums`, uint32 of shape (n,): CRC-32 of a row's key and of its columns in the order of `COLUMNS`. A damaged row
  is not read; the others are.
- for each column of `COLUMNS` its values, one row after another, and `NAME.ends`, int64 of shape (n,): where each row
  ends. Texts are UTF-8. `facts` is a JSON list: language, lines, bytes, problems, package and manifest of the file
  graph. `outline` and `calls` are the JSON of `FileGraph`, `nodes` its array by rows. `words` is a JSON list, and
  `tokens` are numbers in it; of a file with more different words they are in `wide_tokens`. The other columns are those
  of `FileFragments`.

The metadata has the version of this format, and the version of the analysis: a part of another one is not read.

Rows are sorted by key, and the name of a part is the hash of its bytes: the same rows give the same file anywhere.

Owns the format. Knows no folder, no limit and no other part.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...codegraph import FileGraph
from ...codegraph.modules import manifest_style
from ...errors import ControlFlow
from ...languages import language_of
from ...llm.disk import read_regular, replacing
from ...llm.tensor_file import Array, Buffer, TensorFile, map_tensors, tensor_bytes, tensors_in
from ...llm.workspace_model import DocumentTokens
from ...retrieval import FileFragments
from ...retrieval.fragments import FRAGMENT_ARRAYS
from ...retrieval.static_vectors import N_STORED
from .analysis import Analysis

PART_VERSION = 1
"""History: 1, the first."""

_OWN_COLUMNS: tuple[tuple[str, type[np.generic]], ...] = (
    *(("nodes", np.int32), ("wide_tokens", np.uint32), ("tokens", np.uint16)),
    *((name, np.uint8) for name in ("text", "facts", "outline", "calls", "words")),
)
# Wide elements first, so that every array is aligned.
COLUMNS: Mapping[str, np.dtype[Any]] = dict(
    sorted(
        ((name, np.dtype(kind)) for name, kind in (*FRAGMENT_ARRAYS, *_OWN_COLUMNS)),
        key=lambda column: -column[1].itemsize,
    )
)
"""The columns of a part, with their types, in the order of the file."""

PART_SUFFIX = ".part"

NAME_DIGITS = 40
"""Hexadecimal digits in the name of a part."""

KEY_BYTES = 16

Row = Mapping[str, Array]
"""The values of one file, by column."""


class UnusablePart(ControlFlow):
    """The file is damaged, or of another version."""


def content_key(path: str, content_hash: bytes, *, is_checked: bool) -> bytes:
    """The key of an analysis, 16 bytes: equal for files whose analyses are equal, but for their paths.

    `is_checked`: whether a generated or minified file would not be indexed. Of a path the language counts alone; a
    manifest is read by its name, and its problems name its path.
    """
    read_as = f"/{path}" if manifest_style(path) else language_of(path).name
    parts = (content_hash, read_as.encode("utf-8", "surrogateescape"), bytes([is_checked]))
    return blake2b(b"\0".join(parts), digest_size=KEY_BYTES).digest()


def encoded(analysis: Analysis) -> Row:
    """The columns of an analysis. They depend on its text alone, so that other processes write the same."""
    _, language, n_lines, n_bytes, nodes, problems, package, manifest, outline, calls = analysis.graph.__getstate__()
    fragments, tokens = analysis.fragments, analysis.tokens
    is_wide = tokens.numbers.dtype == np.uint32
    bytes_of = {
        "text": fragments.text,
        "facts": _json([language, n_lines, n_bytes, problems, package, manifest]),
        "outline": outline,
        "calls": calls,
        "words": _json(tokens.words),
    }
    arrays = {
        **{name: getattr(fragments, name) for name, _ in FRAGMENT_ARRAYS},
        **{name: np.frombuffer(value, np.uint8) for name, value in bytes_of.items()},
        "nodes": nodes,
        "tokens": () if is_wide else tokens.numbers,
        "wide_tokens": tokens.numbers if is_wide else (),
    }
    return {name: np.asarray(arrays[name], kind).reshape(-1) for name, kind in COLUMNS.items()}


def decoded(row: Row, path: str) -> Analysis:
    """The analysis of a file at `path`, without a record. Its arrays are views of the row's."""
    language, n_lines, n_bytes, problems, package, manifest = _from_json(row["facts"])
    nodes = row["nodes"].reshape(5, -1)
    state = (language, n_lines, n_bytes, nodes, tuple(problems), package, manifest)
    graph = FileGraph.from_state((path, *state, row["outline"].tobytes(), row["calls"].tobytes()))
    arrays: dict[str, Any] = {name: row[name] for name, _ in FRAGMENT_ARRAYS}
    arrays["vectors"] = arrays["vectors"].reshape(-1, N_STORED)
    numbers = row["wide_tokens"] if len(row["wide_tokens"]) else row["tokens"]
    return Analysis(
        None,
        graph,
        FileFragments(path, row["text"].tobytes(), **arrays),
        DocumentTokens(path, tuple(_from_json(row["words"])), numbers),
    )


def write_part(folder: Path, analysis_version: str, rows: Mapping[bytes, Row]) -> str:
    """Write the rows by their keys, if `folder` has no such part. Returns the name of the part. Raises OSError."""
    pieces = list(_pieces(analysis_version, rows))
    name = f"{digest_of(pieces)}{PART_SUFFIX}"
    path = folder / name
    if not (path.is_file() and path.name == f"{digest_of([read_regular(path)])}{PART_SUFFIX}"):  # or it is damaged
        with replacing(path) as file:
            file.writelines(pieces)
    return name


def digest_of(pieces: Iterable[Buffer]) -> str:
    """The hash in the name of a file with these bytes: 20 bytes of BLAKE2b, in hexadecimal digits."""
    digest = blake2b(digest_size=NAME_DIGITS // 2)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _pieces(analysis_version: str, rows: Mapping[bytes, Row]) -> Iterator[Buffer]:
    rows = dict(sorted(rows.items()))
    columns = {name: [row[name] for row in rows.values()] for name in COLUMNS}
    ends = {
        f"{name}.ends": np.cumsum([len(each) for each in values], dtype=np.int64) for name, values in columns.items()
    }
    checksums = np.array([_checksum(key, row) for key, row in rows.items()], np.uint32)
    keys = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, KEY_BYTES)
    joined: dict[str, Array] = {name: np.concatenate(values) for name, values in columns.items()}
    is_wide = {name for name, kind in COLUMNS.items() if kind.itemsize >= checksums.itemsize}
    arrays = {
        **ends,
        **{name: array for name, array in joined.items() if name in is_wide},
        "checksums": checksums,
        **{name: array for name, array in joined.items() if name not in is_wide},
        "content_keys": keys,
    }
    return tensor_bytes(arrays, _metadata(analysis_version))


def map_part(file: BinaryIO, name: str, analysis_version: str) -> Part:
    """The part in an open file, memory-mapped: the file may be closed and removed. Raises UnusablePart."""
    try:
        return Part(map_tensors(file, name), analysis_version)
    except ValueError as error:
        raise UnusablePart(str(error)) from error


def part_in(data: mmap | bytes, name: str, analysis_version: str) -> Part:
    """The part in the bytes of a file. Raises UnusablePart."""
    try:
        return Part(tensors_in(data, name), analysis_version)
    except ValueError as error:
        raise UnusablePart(str(error)) from error


class Part:
    """A part in memory. Thread-safe."""

    def __init__(self, tensors: TensorFile, analysis_version: str) -> None:
        """Raises UnusablePart."""
        try:
            self._arrays, metadata = tensors
            if metadata != _metadata(analysis_version):
                raise UnusablePart("it is of another version")
            keys, self._checksums = self._arrays["content_keys"], self._arrays["checksums"]
            n_rows = len(self._checksums)
            _check(keys.reshape(-1), np.dtype(np.uint8), n_rows * KEY_BYTES)
            self._rows = {key.tobytes(): number for number, key in enumerate(keys.reshape(n_rows, KEY_BYTES))}
            for column, kind in COLUMNS.items():
                _check(self._arrays[column], kind)
                _check(self._arrays[f"{column}.ends"], np.dtype(np.int64), n_rows)
            _check(self._checksums, np.dtype(np.uint32), n_rows)
        except (ValueError, KeyError, TypeError) as error:
            raise UnusablePart(str(error)) from error

    @property
    def keys(self) -> Sequence[bytes]:
        return tuple(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def row(self, key: bytes) -> Row | None:
        """The row of a key; None for a damaged or unknown one."""
        number = self._rows.get(key)
        if number is None:
            return None
        row = {name: self._slice(name, number) for name in COLUMNS}
        return row if _checksum(key, row) == self._checksums[number] else None

    def _slice(self, column: str, number: int) -> Array:
        ends: NDArray[np.int64] = self._arrays[f"{column}.ends"]
        start = int(ends[number - 1]) if number else 0
        values: Array = self._arrays[column][max(start, 0) : max(int(ends[number]), 0)]
        return values


def _check(array: Array, kind: np.dtype[Any], length: int | None = None) -> None:
    if array.dtype != kind or array.ndim != 1 or length not in (None, len(array)) or not array.flags.aligned:
        raise UnusablePart("its arrays are not those of a part")


def _metadata(analysis_version: str) -> dict[str, str]:
    return {"format": "weft part", "version": str(PART_VERSION), "analysis": analysis_version}


def _checksum(key: bytes, row: Row) -> int:
    checksum = zlib.crc32(key)
    for name in COLUMNS:
        checksum = zlib.crc32(np.ascontiguousarray(row[name]).data, checksum)
    return checksum


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _from_json(data: Array) -> Any:
    return json.loads(data.tobytes().decode("utf-8", "surrogatepass"))
