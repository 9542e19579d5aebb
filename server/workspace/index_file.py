"""The file format of a stored index: checksummed sections of bytes, memory-mapped.

Little-endian: a header (see `_HEAD`), then block checksums, one CRC-32 for each `_BLOCK_BYTES` of the body, zeros up to
a multiple of `_ALIGNMENT`, then the body: a table of (offset, length) pairs, uint64, and the sections, each at a
multiple of `_ALIGNMENT` from the start of the body. The checksum of the header covers everything before the body.

The sections of a mapped file take no private memory, and processes share them. Windows cannot replace a mapped file, so
it is read there.

Owns the format and its version. Knows nothing about the meaning of the sections.
"""

from __future__ import annotations

import io
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import ControlFlow

FORMAT_VERSION = 8
"""History: 1, the first. 2, file records contain the file's identity, which detects a replaced file. 5, the body is
aligned in the file, file records are a section of their own, and there is no pickle. 6, names are tables of strings,
and resolved calls have an index of the files that they depend on. 7, the calls of a file are in columns, with their
lines. 8, and with the names of the definitions around them."""

_MAGIC = b"weft idx"
_HEAD = struct.Struct("<8sII16sQQI")  # magic, version, n_blocks, analysis, body bytes, n_sections, checksum
_BLOCK_BYTES = 1 << 22
_ALIGNMENT = 64


class DamagedFile(ControlFlow):
    """The file is damaged."""


class OtherVersion(ControlFlow):
    """The file was written by another version of Weft."""


def write_sections(file: BinaryIO, sections: Sequence[Any], analysis: bytes) -> None:
    """Write a file; `analysis` are 16 bytes that identify the version of its content."""
    table = np.zeros((len(sections), 2), np.uint64)
    end = table.nbytes
    for number, section in enumerate(sections):
        start = _aligned(end)
        end = start + section.nbytes
        table[number] = start, section.nbytes
    n_blocks = -(-end // _BLOCK_BYTES)
    file.seek(_body_start(n_blocks))
    body = _ChecksummedWriter(file)
    body.write(table.data.cast("B"))
    for (start, _), section in zip(table.tolist(), sections, strict=True):
        body.pad_to(start)
        body.write(section)
    checksums = body.finish().tobytes().ljust(_body_start(n_blocks) - _HEAD.size, b"\0")
    head = _HEAD.pack(_MAGIC, FORMAT_VERSION, n_blocks, analysis, end, len(sections), 0)
    file.seek(0)
    file.write(head[:-4] + struct.pack("<I", zlib.crc32(checksums, zlib.crc32(head[:-4]))) + checksums)


class SectionFile:
    """An open file. Its sections stay valid when the file is closed, replaced or removed."""

    def __init__(self, file: io.FileIO, analysis: bytes) -> None:
        """Raises DamagedFile, and OtherVersion unless it was written with the same `analysis`."""
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[:8] != _MAGIC:
            raise DamagedFile("it is not an index, or truncated")
        _, version, n_blocks, made_by, n_bytes, self.n_sections, checksum = _HEAD.unpack(head)
        if version != FORMAT_VERSION:
            raise OtherVersion(f"it has format version {version}, this Weft writes {FORMAT_VERSION}")
        if size != _body_start(n_blocks) + n_bytes or n_blocks != -(-n_bytes // _BLOCK_BYTES):
            raise DamagedFile("its size does not match its header")
        checksums = file.read(_body_start(n_blocks) - _HEAD.size)
        if zlib.crc32(checksums, zlib.crc32(head[:-4])) != checksum:
            raise DamagedFile("its header is damaged")
        if made_by != analysis:
            raise OtherVersion("it was built by another version of the analysis")
        self._body = _body(file, _body_start(n_blocks), n_bytes)
        self._unverified = dict(enumerate(np.frombuffer(checksums, "<u4", n_blocks).tolist()))
        table = np.frombuffer(self._verified(0, 16 * self.n_sections), "<u8")
        self._table: list[list[int]] = table.reshape(-1, 2).tolist()

    def section(self, number: int) -> memoryview:
        """The bytes of a section, read-only. Raises DamagedFile: each block is verified when it is needed."""
        start, length = self._table[number]
        return self._verified(start, start + length).toreadonly()

    def unverified_section(self, number: int) -> memoryview:
        """The bytes of a section, read-only, which are not read yet: `verify_rest` tells whether they are damaged."""
        start, length = self._table[number]
        return self._body[start : start + length].toreadonly()

    def verify_rest(self, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Verify the blocks that were not needed yet. False if cancelled before the end. Raises DamagedFile."""
        for block in sorted(self._unverified):
            if cancelled():
                return False
            self._verify(block)
        return True

    def _verified(self, start: int, end: int) -> memoryview:
        for block in range(start // _BLOCK_BYTES, -(-end // _BLOCK_BYTES)):
            self._verify(block)
        return self._body[start:end]

    def _verify(self, block: int) -> None:
        expected = self._unverified.get(block)
        content = self._body[block * _BLOCK_BYTES : (block + 1) * _BLOCK_BYTES]
        if expected is not None and zlib.crc32(content) != expected:
            raise DamagedFile(f"it is damaged in block {block}")
        self._unverified.pop(block, None)


class _ChecksummedWriter:
    """Writes a body and computes a CRC-32 of each block."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0
        self._checksums: list[int] = []

    def write(self, data: Any) -> None:
        view = memoryview(data)
        self._file.write(view)
        while view.nbytes:
            room = _BLOCK_BYTES - self._at % _BLOCK_BYTES
            if room == _BLOCK_BYTES:
                self._checksums.append(0)
            self._checksums[-1] = zlib.crc32(view[:room], self._checksums[-1])
            self._at += len(view[:room])
            view = view[room:]

    def pad_to(self, offset: int) -> None:
        self.write(bytes(offset - self._at))

    def finish(self) -> NDArray[np.uint32]:
        return np.array(self._checksums, "<u4")


def _body(file: io.FileIO, start: int, n_bytes: int) -> memoryview:
    """The bytes from `start` on, memory-mapped where a mapped file can be replaced."""
    if os.name != "nt":
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start : start + n_bytes]
    file.seek(start)
    body = np.empty(n_bytes, np.uint8).data
    at = 0
    while at < n_bytes:
        n_read = file.readinto(body[at:])
        if not n_read:
            raise DamagedFile("it is truncated")
        at += n_read
    return body


def _body_start(n_blocks: int) -> int:
    return _aligned(_HEAD.size + 4 * n_blocks)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
