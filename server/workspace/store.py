"""Persistent index cache: one file for each workspace folder.

The files are in Weft's folder in the user's cache, never in the workspace. A file is written to a temporary name,
flushed and renamed atomically: a reader sees the old index or the new one, and of two servers the last writer wins. All
content is checksummed, so `load` returns what was saved or nothing.

The state is stored as JSON and arrays (`state_codec.py`), which are loaded without a copy. Of classes, loading makes
only those that the store was created with.

Before many files change at once, the index on disk is linked under a second name: an earlier index. It is loaded when
most of these files are as they were, as after a switch back to a branch.

Owns the paths, the size limit and the earlier indexes. `index_file.py` has the file format: the first section is the
JSON of the state, the second that of the file records, and the others are arrays. Knows nothing about the meaning of
the state.
"""

from __future__ import annotations

import glob
import io
import json
import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from ...codegraph.graph import garbage_collection_paused
from ...errors import StoreError
from ...llm.disk import regular_descriptor, remove_abandoned, replace_patiently, replacing, temporary_folder
from ...llm.private_files import private_folder
from .index_file import DamagedFile, OtherVersion, SectionFile, write_sections
from .state_codec import Decoder, Encoder, UnknownClass, from_json, to_json

CACHE_VARIABLE = "WEFT_CACHE_DIR"

MAX_EARLIER = 4
"""Earlier indexes of a folder on disk; those that were not used for longest are removed first."""

_SUFFIX = ".weft"
_EARLIER = "+"  # between the name of a folder and the digest of the contents of an earlier index
_STATE, _RECORDS, _FIRST_BUFFER = range(3)  # sections of a file

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


class UnverifiedIndex(NamedTuple):
    """The result of `Store.load_unverified`. `verify` raises `DamagedFile` if the arrays are not those that were saved;
    it returns False if it was cancelled before it has read all of them."""

    stored: StoredIndex
    verify: Callable[[Callable[[], bool]], bool]


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
        try:
            self.save_at(path, state, files)
        except OSError as error:
            _log.warning("The index of %s could not be saved: %s", folder, error)
            return False
        with suppress(OSError):
            self._prune(path)
        return True

    def save_at(self, path: Path, state: object, files: Sequence[FileRecord]) -> None:
        """Save `state` at another path. Raises OSError, and `UnsupportedClass` as `save` does."""
        encoded, *buffers = self._encoded(state)
        private_folder(path.parent, is_ours=True)
        with replacing(path) as file:
            write_sections(file, [encoded, _records_as_json(files), *buffers], self._analysis())

    @contextmanager
    def building(self, folder: Path) -> Iterator[Path]:
        """A folder of this process for indexes of `folder` that are being built, removed afterwards. Raises OSError."""
        parent = self.location(folder).parent
        private_folder(parent, is_ours=True)
        with temporary_folder(parent) as path:
            yield path

    def adopt(self, folder: Path, built: Path) -> bool:
        """Make an index that was saved at `built` the index of `folder`. False, with a log message, on an error."""
        path = self.location(folder)
        try:
            replace_patiently(built, path)
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
        return self._verified(self.location(folder), self.load_unverified(folder))

    def load_unverified(self, folder: Path) -> UnverifiedIndex | None:
        """As `load`, without reading the arrays: `UnverifiedIndex.verify` reads them and finds damage.

        Until then a damaged array has wrong values; it crashes nothing.
        """
        with suppress(OSError):
            remove_abandoned(self.location(folder).parent)
        return self._load(self.location(folder))

    def discard(self, folder: Path, reason: Exception) -> None:
        """Log why the cached index of `folder` is not used, and remove it."""
        path = self.location(folder)
        _log.warning("The cached index %s is not used and will be rebuilt: %s", path.stem, reason or type(reason))
        with suppress(OSError):
            path.unlink()

    def keep_earlier(self, folder: Path) -> None:
        """Keep the index of `folder` on disk as an earlier one, also after the next `save`. Copies nothing."""
        path = self.location(folder)
        records = self._records(path)
        if records is None:
            return
        digest = blake2b(b"".join(sorted(map(_content_of, records))), digest_size=8).hexdigest()
        try:
            earlier = path.with_name(f"{path.stem}{_EARLIER}{digest}{_SUFFIX}")
            earlier.unlink(missing_ok=True)
            os.link(path, earlier)
            for old in self._earlier_paths(folder)[MAX_EARLIER:]:
                old.unlink()
        except OSError as error:  # the file system has no links
            _log.info("No earlier index of %s is kept: %s", folder, error)

    def closest_earlier(self, folder: Path, contents: Mapping[str, bytes], least: int) -> Path | None:
        """The earlier index of `folder` with most of the files in `contents` (path to hash) and fewest others.

        None if none differs from `contents` in fewer than `least` files.
        """
        best: tuple[int, Path | None] = (least, None)
        for path in self._earlier_paths(folder):
            records = self._records(path)
            if records is not None:
                n_same = sum(contents.get(record.path) == record.hash for record in records)
                best = min(best, (len(contents) - n_same + len(records) - n_same, path), key=lambda item: item[0])
        return best[1]

    def load_earlier(self, path: Path) -> StoredIndex | None:
        """The index at a path of `closest_earlier`, as `load` returns one. A file that cannot be used is removed."""
        stored = self.load_at(path)
        if stored is None:
            with suppress(OSError):
                path.unlink()
        return stored

    def load_at(self, path: Path) -> StoredIndex | None:
        """The index in a file, as `load` returns one."""
        return self._verified(path, self._load(path))

    def _verified(self, path: Path, found: UnverifiedIndex | None) -> StoredIndex | None:
        if found is None:
            return None
        try:
            found.verify(lambda: False)
        except DamagedFile as error:
            _log.warning("The cached index %s is not used and will be rebuilt: %s", path.stem, error)
            return None
        return found.stored

    def _load(self, path: Path) -> UnverifiedIndex | None:
        try:
            with open(regular_descriptor(path), "rb", buffering=0) as opened:
                check_owner(opened)
                file = SectionFile(opened, self._analysis())
            buffers = [file.unverified_section(number) for number in range(_FIRST_BUFFER, file.n_sections)]
            with garbage_collection_paused():
                state = self._decoded(file.section(_STATE), buffers)
            stored = StoredIndex(state, _records_of_json(file.section(_RECORDS)))
        except FileNotFoundError:
            return None
        except OtherVersion as error:
            _log.info("The cached index %s is not used and will be rebuilt: %s", path.stem, error)
            return None
        # A damaged or hostile file may raise any exception in a class; the index is rebuilt.
        except Exception as error:
            _log.warning("The cached index %s is not used and will be rebuilt: %s", path.stem, error or type(error))
            return None
        with suppress(OSError):
            os.utime(path)  # marks it as the most recently used; access times are unreliable
        return UnverifiedIndex(stored, file.verify_rest)

    def _records(self, path: Path) -> tuple[FileRecord, ...] | None:
        """The file records of an index; None for one that cannot be used."""
        try:
            with open(regular_descriptor(path), "rb", buffering=0) as opened:
                check_owner(opened)
                return _records_of_json(SectionFile(opened, self._analysis()).section(_RECORDS))
        except (OSError, OtherVersion, DamagedFile, ValueError, TypeError):
            return None

    def _earlier_paths(self, folder: Path) -> list[Path]:
        """The earlier indexes of a folder, the latest used first."""
        path = self.location(folder)
        found = path.parent.glob(f"{glob.escape(path.stem)}{_EARLIER}*{_SUFFIX}")
        return sorted(found, key=_last_used, reverse=True)

    def _analysis(self) -> bytes:
        return blake2b(self.analysis.encode(), digest_size=16).digest()

    def _encoded(self, state: object) -> list[memoryview]:
        """The JSON of the state, and its buffers."""
        encoder = Encoder(tuple(self.classes))
        try:
            node = encoder.encode(state)
        except UnknownClass as error:
            raise UnsupportedClass(f"{error} is not among the classes of this store; add it") from error
        return [memoryview(to_json([encoder.class_names, node])), *encoder.buffers]

    def _decoded(self, data: memoryview, buffers: Sequence[memoryview]) -> Any:
        class_names, node = from_json(data)
        try:
            return Decoder(tuple(self.classes), class_names, buffers).decode(node)
        except UnknownClass as error:
            raise DamagedFile(f"it refers to {error}, which is not allowed") from error

    def _prune(self, saved: Path) -> None:
        """Remove the least recently used indexes beyond the limit, earlier ones first."""
        found: list[tuple[bool, float, int, Path]] = []
        for path in saved.parent.iterdir():
            with suppress(OSError):
                status = path.stat(follow_symlinks=False)
                if path.suffix == _SUFFIX and path != saved:
                    found.append((_EARLIER not in path.stem, status.st_mtime, status.st_size, path))
        total = saved.stat().st_size
        for *_, size, path in sorted(found, reverse=True):
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


def check_owner(file: io.FileIO) -> None:
    """Raise an OSError for a file that another user owns or can write to."""
    status = os.fstat(file.fileno())
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise PermissionError("another user owns it or can write to it")


def _records_as_json(files: Sequence[FileRecord]) -> memoryview:
    rows = [[path, size, mtime, digest.hex(), at] for path, size, mtime, digest, at in files]
    return memoryview(json.dumps(rows, separators=(",", ":")).encode())


def _records_of_json(data: memoryview) -> tuple[FileRecord, ...]:
    rows = json.loads(bytes(data))
    return tuple(FileRecord(path, size, mtime, bytes.fromhex(digest), at) for path, size, mtime, digest, at in rows)


def _content_of(record: FileRecord) -> bytes:
    return record.path.encode("utf-8", "surrogateescape") + b"\0" + record.hash


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
