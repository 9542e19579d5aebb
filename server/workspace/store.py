"""Persistent index cache: one file for each workspace folder.

The files are in Weft's folder in the user's cache, never in the workspace. A file is written to a temporary name,
flushed and renamed atomically: a reader sees the old index or the new one, and of two servers the last writer wins. All
content is checksummed, so `load` returns what was saved or nothing.

The state is pickled with out-of-band buffers (protocol 5), so that arrays are loaded without a copy. Since a pickle can
name any function, unpickling allows only the classes that the store was created with, and numpy's arrays.

Owns the file format, the paths and the size limit. Knows nothing about the meaning of the state.

Format, little-endian: a header (see `_HEAD`), then block checksums, one uint32 for each `_BLOCK_BYTES` of the body,
then the body: a table of (offset, length) pairs, uint64, whose first entry is the pickle and whose others are its
buffers in order. The body, and each section from its start, is at a multiple of `_ALIGNMENT`.

A loaded file is memory-mapped: its arrays take no private memory, and processes share them. Windows cannot replace a
mapped file, so it is read there.
"""

from __future__ import annotations

import io
import logging
import mmap
import os
import pickle
import re
import struct
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import platformdirs
from numpy.typing import NDArray

from ...errors import ControlFlow, StoreError
from ...llm.disk import regular_descriptor, remove_abandoned, replacing
from ...llm.private_files import private_folder

STORE_VERSION = 5
"""History: 1, the first. 2, file records contain the file's identity, which detects a replaced file. 5, the body is
aligned in the file, which is memory-mapped."""

CACHE_VARIABLE = "WEFT_CACHE_DIR"

_MAGIC = b"weft idx"
_HEAD = struct.Struct("<8sII16sQQI")  # magic, store version, n_blocks, analysis, body bytes, n_sections, checksum
_BLOCK_BYTES = 1 << 22
_ALIGNMENT = 64
_SUFFIX = ".weft"

_log = logging.getLogger(__name__)


class FileRecord(NamedTuple):
    """Metadata of an indexed file at the time of indexing, for change detection."""

    path: str  # relative to the folder, with forward slashes
    size: int
    mtime_ns: int
    hash: bytes
    identity: int = 0  # see `files.identity_of`


class StoredIndex(NamedTuple):
    """The result of `Store.load`. Arrays in `state` are read-only."""

    state: Any
    files: tuple[FileRecord, ...]


class UnsupportedClass(StoreError, TypeError):
    """The state contains a value of a class that is not in the allow-list. The message names the class."""


@dataclass(frozen=True)
class Store:
    """The cached indexes of one user.

    `classes` is the allow-list of value classes; `analysis` is the version of the analysis: an index of another version
    is not loaded. `directory` contains the indexes; None means `cache_folder()`.
    """

    classes: Collection[type]
    analysis: str
    directory: Path | None = None
    limit_bytes: int = 2_000_000_000

    def location(self, folder: Path) -> Path:
        """The cache file of `folder`. Paths that resolve to one folder have one file."""
        return (self.directory or cache_folder()) / "indexes" / f"{file_name(folder)}{_SUFFIX}"

    def save(self, folder: Path, state: object, files: Sequence[FileRecord]) -> bool:
        """Save `state` as the index of `folder`. False, with a log message, on a write error.

        Raises `UnsupportedClass` if the state contains a class that is not in `classes`: a programming error.
        """
        path = self.location(folder)
        sections = self._pickled((state, tuple(map(tuple, files))))
        try:
            private_folder(path.parent, is_ours=True)
            with replacing(path) as file:
                _write(file, sections, self._analysis())
        except OSError as error:
            _log.warning("The index of %s could not be saved: %s", folder, error)
            return False
        with suppress(OSError):
            self._prune(path)
        return True

    def load(self, folder: Path) -> StoredIndex | None:
        """The cached index of `folder`; None if there is none, or it is damaged, of another version, or writable by
        another user. All cases but the first are logged; the caller rebuilds the index.
        """
        path = self.location(folder)
        try:
            remove_abandoned(path.parent)
            with open(regular_descriptor(path), "rb", buffering=0) as file:
                check_owner(file)
                sections = _read(file, self._analysis())
            state, files = _Unpickler(io.BytesIO(sections[0]), sections[1:], self._allowed()).load()
            stored = StoredIndex(state, tuple(FileRecord(*row) for row in files))
        except FileNotFoundError:
            return None
        except _VersionMismatch as error:
            _log.info("The cached index of %s is not used and will be rebuilt: %s", folder, error)
            return None
        # A damaged or hostile file may raise any exception in the unpickler; the index is rebuilt.
        except Exception as error:
            _log.warning("The cached index of %s is not used and will be rebuilt: %s", folder, error or type(error))
            return None
        with suppress(OSError):
            os.utime(path)  # marks it as the most recently used; access times are unreliable
        return stored

    def _analysis(self) -> bytes:
        return blake2b(self.analysis.encode(), digest_size=16).digest()

    def _allowed(self) -> dict[tuple[str, str], Any]:
        return _NUMPY | {(kind.__module__, kind.__qualname__): kind for kind in self.classes}

    def _pickled(self, value: object) -> list[Any]:
        buffers: list[pickle.PickleBuffer] = []
        out = io.BytesIO()
        _Pickler(out, buffers, self._allowed().values()).dump(value)
        # Not `getbuffer()`: a stored exception may refer to this list, and CPython 3.12.1 crashes when it collects it.
        return [memoryview(out.getvalue()), *(buffer.raw() for buffer in buffers)]

    def _prune(self, saved: Path) -> None:
        """Remove the least recently used indexes beyond the limit."""
        found: list[tuple[float, int, Path]] = []
        for path in saved.parent.iterdir():
            with suppress(OSError):
                status = path.stat(follow_symlinks=False)
                if path.suffix == _SUFFIX and path != saved:
                    found.append((status.st_mtime, status.st_size, path))
        total = saved.stat().st_size
        for _, size, path in sorted(found, reverse=True):
            total += size
            if total > self.limit_bytes:
                with suppress(OSError):
                    path.unlink()


def file_name(folder: Path) -> str:
    """A file name for `folder`, without a suffix. Paths that resolve to one folder give one name."""
    real = os.path.normcase(os.path.realpath(folder))
    digest = blake2b(os.fsencode(real), digest_size=12).hexdigest()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(real))[:40].strip("-.")
    return f"{name or 'folder'}-{digest}"


def cache_folder() -> Path:
    """Weft's folder in the user's cache, or the one in the environment variable `WEFT_CACHE_DIR`."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("weft", appauthor=False))


class _Damaged(ControlFlow):
    """The file is damaged or not trusted."""


class _VersionMismatch(ControlFlow):
    """The file was written by another version of Weft."""


def _numpy_globals() -> dict[tuple[str, str], Any]:
    """The globals that pickles of numpy arrays and scalars refer to, by module and name in this version of numpy."""
    array = np.zeros(1, np.int32)
    rebuild = array.__reduce__()[0]
    from_buffer = array.__reduce_ex__(5)[0]
    scalar = np.float64(0).__reduce__()[0]
    values: tuple[Any, ...] = (rebuild, from_buffer, scalar, np.ndarray, np.dtype)
    return {(value.__module__, value.__qualname__): value for value in values}


_NUMPY = _numpy_globals()


class _Pickler(pickle.Pickler):
    """Rejects on save what `_Unpickler` would reject on load."""

    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], allowed: Collection[Any]) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._kinds = {value for value in allowed if isinstance(value, type)}
        self._kinds |= {type(np.dtype(code)) for code in np.typecodes["All"]} | set(np.sctypeDict.values())
        self._values = {id(value) for value in allowed}

    def reducer_override(self, value: Any) -> Any:
        if type(value) not in self._kinds and id(value) not in self._values:
            kind = value if isinstance(value, type) else type(value)
            raise UnsupportedClass(
                f"{kind.__module__}.{kind.__qualname__} is not among the classes of this store; add it"
            )
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, buffers: Sequence[Any], allowed: dict[tuple[str, str], Any]) -> None:
        super().__init__(file, buffers=buffers)
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._allowed[module, name]
        except KeyError:
            raise _Damaged(f"it refers to {module}.{name}, which is not allowed") from None


def _write(file: BinaryIO, sections: Sequence[Any], analysis: bytes) -> None:
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
    head = _HEAD.pack(_MAGIC, STORE_VERSION, n_blocks, analysis, end, len(sections), 0)
    file.seek(0)
    file.write(head[:-4] + struct.pack("<I", zlib.crc32(checksums, zlib.crc32(head[:-4]))) + checksums)


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


def _read(file: io.FileIO, analysis: bytes) -> list[memoryview]:
    """The sections of a body; each block is verified."""
    size = os.fstat(file.fileno()).st_size
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or head[:8] != _MAGIC:
        raise _Damaged("it is not an index, or truncated")
    _, version, n_blocks, made_by, n_bytes, n_sections, checksum = _HEAD.unpack(head)
    if version != STORE_VERSION:
        raise _VersionMismatch(f"it has store version {version}, this Weft writes {STORE_VERSION}")
    if size != _body_start(n_blocks) + n_bytes or n_blocks != -(-n_bytes // _BLOCK_BYTES):
        raise _Damaged("its size does not match its header")
    checksums = file.read(_body_start(n_blocks) - _HEAD.size)
    if zlib.crc32(checksums, zlib.crc32(head[:-4])) != checksum:
        raise _Damaged("its header is damaged")
    if made_by != analysis:
        raise _VersionMismatch("it was built by another version of the analysis")
    body = _body(file, _body_start(n_blocks), n_bytes)
    for number, expected in enumerate(np.frombuffer(checksums, "<u4", n_blocks).tolist()):
        if zlib.crc32(body[number * _BLOCK_BYTES : (number + 1) * _BLOCK_BYTES]) != expected:
            raise _Damaged(f"it is damaged in block {number}")
    table = np.frombuffer(body[: 16 * n_sections], "<u8").reshape(-1, 2)
    return [body[start : start + length].toreadonly() for start, length in table.tolist()]


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
            raise _Damaged("it is truncated")
        at += n_read
    return body


def _body_start(n_blocks: int) -> int:
    return _aligned(_HEAD.size + 4 * n_blocks)


def check_owner(file: io.FileIO) -> None:
    """Raise an OSError for a file that another user owns or can write to."""
    status = os.fstat(file.fileno())
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise PermissionError("another user owns it or can write to it")


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
