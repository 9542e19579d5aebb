"""The index of each workspace folder, kept on disk between starts.

One file for each folder, in a folder of our own below the user's cache: never in the workspace. A file is written
beside its path, flushed, and moved into it in one step; a reader sees the old index or the new one, and of two
servers the last to write wins. Everything is checksummed, so what comes back is what was saved or nothing.

The state is pickled with its arrays beside it, so that they come back without being copied. A pickle can name any
function of the machine, so only the classes that the store was made for, and numpy's arrays, are let in.

Owns the file format, its path and its size. Knows nothing about what the state means.

Format, little-endian: a head (see `_HEAD`), then the blocks' checksums, one uint32 for each `_BLOCK_BYTES` of the
body, then the body: a table of (offset, length) pairs, uint64, whose first entry is the pickle and whose others are
its buffers in order, each at a multiple of `_ALIGNMENT` from the start of the body.
"""

from __future__ import annotations

import io
import logging
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

from ...llm.disk import regular_descriptor, remove_abandoned, replacing
from ...llm.private_files import private_folder

STORE_VERSION = 2
"""History: 1, the first. 2, a file's record holds its identity, so that a file in the path of another is noticed."""

CACHE_VARIABLE = "WEFT_CACHE_DIR"

_MAGIC = b"weft idx"
_HEAD = struct.Struct("<8sII16sQQI")  # magic, store version, n_blocks, analysis, body bytes, n_sections, checksum
_BLOCK_BYTES = 1 << 22
_ALIGNMENT = 64
_SUFFIX = ".weft"

_log = logging.getLogger(__name__)


class FileRecord(NamedTuple):
    """One indexed file as it was when the state was made: enough to tell later whether it has changed."""

    path: str  # relative to the folder, with forward slashes
    size: int
    mtime_ns: int
    hash: bytes
    identity: int = 0  # see `files.identity_of`


class StoredIndex(NamedTuple):
    """What `Store.load` brings back. Arrays in `state` cannot be written to."""

    state: Any
    files: tuple[FileRecord, ...]


class UnsupportedClass(TypeError):
    """The state holds a value of a class that the store does not let in. The message names the class."""


@dataclass(frozen=True)
class Store:
    """The kept indexes of one user.

    `classes` are the value classes of a state; `analysis` names how it was computed, and an index that was
    computed another way is not loaded. `directory` is where the indexes stand, `cache_folder()` when None.
    """

    classes: Collection[type]
    analysis: str
    directory: Path | None = None
    limit_bytes: int = 2_000_000_000

    def location(self, folder: Path) -> Path:
        """Where the index of `folder` is kept. Two names of one folder have one path."""
        return (self.directory or cache_folder()) / "indexes" / f"{file_name(folder)}{_SUFFIX}"

    def save(self, folder: Path, state: object, files: Sequence[FileRecord]) -> bool:
        """Keep `state` as the index of `folder`. False, with a line in the log, when the disk refuses it.

        Raises `UnsupportedClass` when the state holds a class that is not in `classes`: a mistake of the program.
        """
        path = self.location(folder)
        sections = self._pickled((state, tuple(map(tuple, files))))
        try:
            private_folder(path.parent, is_ours=True)
            with replacing(path) as file:
                _write(file, sections, self._analysis())
        except OSError as error:
            _log.warning("The index of %s is not kept: %s", folder, error)
            return False
        with suppress(OSError):
            self._prune(path)
        return True

    def load(self, folder: Path) -> StoredIndex | None:
        """The kept index of `folder`; None when there is none, or it is damaged, of another version, or not ours.

        All but the first leave a line in the log, and the caller makes the index anew.
        """
        path = self.location(folder)
        try:
            remove_abandoned(path.parent)
            with open(regular_descriptor(path), "rb", buffering=0) as file:
                _check_owner(file)
                sections = _read(file, self._analysis())
            state, files = _Unpickler(io.BytesIO(sections[0]), sections[1:], self._allowed()).load()
            stored = StoredIndex(state, tuple(FileRecord(*row) for row in files))
        except FileNotFoundError:
            return None
        except _VersionMismatch as error:
            _log.info("The kept index of %s is not used and will be made anew: %s", folder, error)
            return None
        # Whatever a damaged or hostile file makes of the unpickler, the answer is to index again.
        except Exception as error:
            _log.warning("The kept index of %s is not used and will be made anew: %s", folder, error or type(error))
            return None
        with suppress(OSError):
            os.utime(path)  # makes it the most recently used; access times are not kept everywhere
        return stored

    def forget(self, folder: Path) -> None:
        """Remove the kept index of `folder`, if there is one."""
        with suppress(OSError):
            self.location(folder).unlink()

    def _analysis(self) -> bytes:
        return blake2b(self.analysis.encode(), digest_size=16).digest()

    def _allowed(self) -> dict[tuple[str, str], Any]:
        return _NUMPY | {(kind.__module__, kind.__qualname__): kind for kind in self.classes}

    def _pickled(self, value: object) -> list[Any]:
        buffers: list[pickle.PickleBuffer] = []
        out = io.BytesIO()
        _Pickler(out, buffers, self._allowed().values()).dump(value)
        # Not `getbuffer()`: an exception that is kept holds this list, and CPython 3.12.1 crashes collecting it.
        return [memoryview(out.getvalue()), *(buffer.raw() for buffer in buffers)]

    def _prune(self, kept: Path) -> None:
        """Remove the least recently used indexes beyond the limit."""
        found: list[tuple[float, int, Path]] = []
        for path in kept.parent.iterdir():
            with suppress(OSError):
                status = path.stat(follow_symlinks=False)
                if path.suffix == _SUFFIX and path != kept:
                    found.append((status.st_mtime, status.st_size, path))
        total = kept.stat().st_size
        for _, size, path in sorted(found, reverse=True):
            total += size
            if total > self.limit_bytes:
                with suppress(OSError):
                    path.unlink()


def file_name(folder: Path) -> str:
    """What a file about `folder` is called, without a suffix. Two names of one folder give one."""
    real = os.path.normcase(os.path.realpath(folder))
    digest = blake2b(os.fsencode(real), digest_size=12).hexdigest()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(real))[:40].strip("-.")
    return f"{name or 'folder'}-{digest}"


def cache_folder() -> Path:
    """Weft's folder in the user's cache, or what the environment says (`WEFT_CACHE_DIR`)."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("weft", appauthor=False))


class _Damaged(Exception):
    """What was read is not what was written."""


class _VersionMismatch(Exception):
    """Written by another Weft."""


def _numpy_globals() -> dict[tuple[str, str], Any]:
    """What numpy's own arrays and scalars name in a pickle, under the module names of this numpy."""
    array = np.zeros(1, np.int32)
    rebuild = array.__reduce__()[0]
    from_buffer = array.__reduce_ex__(5)[0]
    scalar = np.float64(0).__reduce__()[0]
    values: tuple[Any, ...] = (rebuild, from_buffer, scalar, np.ndarray, np.dtype)
    return {(value.__module__, value.__qualname__): value for value in values}


_NUMPY = _numpy_globals()


class _Pickler(pickle.Pickler):
    """Refuses at once what `_Unpickler` would refuse at the next start."""

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
            raise _Damaged(f"it asks for {module}.{name}, which no index holds") from None


def _write(file: BinaryIO, sections: Sequence[Any], analysis: bytes) -> None:
    table = np.zeros((len(sections), 2), np.uint64)
    end = table.nbytes
    for number, section in enumerate(sections):
        start = _aligned(end)
        end = start + section.nbytes
        table[number] = start, section.nbytes
    n_blocks = -(-end // _BLOCK_BYTES)
    body_start = _HEAD.size + 4 * n_blocks
    file.seek(body_start)
    body = _ChecksummedWriter(file)
    body.write(table.data.cast("B"))
    for (start, _), section in zip(table.tolist(), sections, strict=True):
        body.pad_to(start)
        body.write(section)
    checksums = body.finish()
    head = _HEAD.pack(_MAGIC, STORE_VERSION, n_blocks, analysis, end, len(sections), 0)
    checksums_bytes = checksums.tobytes()
    file.seek(0)
    file.write(head[:-4] + struct.pack("<I", zlib.crc32(checksums_bytes, zlib.crc32(head[:-4]))) + checksums_bytes)


class _ChecksummedWriter:
    """Writes a body and keeps the checksum of each of its blocks."""

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
    """The sections of a body: one read into one buffer, checked block by block while it is still in the CPU's cache."""
    size = os.fstat(file.fileno()).st_size
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or head[:8] != _MAGIC:
        raise _Damaged("it is no index, or only the start of one")
    _, version, n_blocks, made_by, n_bytes, n_sections, checksum = _HEAD.unpack(head)
    if version != STORE_VERSION:
        raise _VersionMismatch(f"it has store version {version}, this Weft writes {STORE_VERSION}")
    if size != _HEAD.size + 4 * n_blocks + n_bytes or n_blocks != -(-n_bytes // _BLOCK_BYTES):
        raise _Damaged("its size is not the one it was written with")
    checksums = file.read(4 * n_blocks)
    if zlib.crc32(checksums, zlib.crc32(head[:-4])) != checksum:
        raise _Damaged("its head is damaged")
    if made_by != analysis:
        raise _VersionMismatch("it was made by another version of the analysis")
    body = np.empty(n_bytes, np.uint8).data
    for number, expected in enumerate(np.frombuffer(checksums, "<u4").tolist()):
        block = body[number * _BLOCK_BYTES : (number + 1) * _BLOCK_BYTES]
        if not _fill(file, block) or zlib.crc32(block) != expected:
            raise _Damaged(f"it is damaged in block {number}")
    table = np.frombuffer(body[: 16 * n_sections], "<u8").reshape(-1, 2)
    return [body[start : start + length].toreadonly() for start, length in table.tolist()]


def _fill(file: io.FileIO, buffer: memoryview) -> bool:
    at = 0
    while at < len(buffer):
        n_read = file.readinto(buffer[at:])
        if not n_read:
            return False
        at += n_read
    return True


def _check_owner(file: io.FileIO) -> None:
    """Where others may write, a file may be theirs: such a one is not read."""
    status = os.fstat(file.fileno())
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise _Damaged("others own it or may write to it")


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
