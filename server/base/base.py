"""The base of an index: an export of another builder, from which known analyses are taken instead of made.

Owns the manifest and the parts that are in use, their cache on disk, the time limits, and the notice of what could not
be used. Each part is verified by its hash before a byte of it is read. Knows no workspace: it is asked for content keys
and answers with rows, which `row_check.py` checks.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from ...errors import WeftError
from ...llm.disk import open_regular, read_json_object, read_regular, replace_file
from ...llm.private_files import private_folder
from ...llm.protocol import Cancel
from ..workspace.part import NAME_DIGITS, Part, Row, UnusablePart, digest_of, part_in
from .manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    MAX_PART_BYTES,
    PARTS,
    ListedPart,
    Manifest,
    UnusableManifest,
    read_manifest,
)
from .sources import BaseUnavailable, InvalidBase, Source, is_private, is_remote, shown_address, source_of

MANIFEST_WAIT_S = 5.0
"""An index waits at most this long for the manifest."""

PARTS_WAIT_S = 30.0
"""An index waits at most this long for the parts that it needs; those that came by then are used."""

MANIFEST_AGE_S = 600.0
"""A manifest is requested again after this time."""

N_CONNECTIONS = 6
_POLL_S = 0.1
_USED = "used.json"
_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class Base:
    """One export. Thread-safe. `cache` is a folder for what is downloaded, at most `limit_bytes`.

    Nothing raises: what cannot be used costs its analyses alone, and is said once in `notices`.
    """

    def __init__(self, address: str, analysis_version: str, cache: Path, limit_bytes: int) -> None:
        self.address = shown_address(address)
        self.n_rows = 0  # analyses that were taken
        self._analysis_version = analysis_version
        digest = blake2b(address.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
        self._cache = cache / digest
        self._files: _Files = _Remote(address, self._cache, limit_bytes) if is_remote(address) else _Folder(address)
        self._lock = threading.Lock()
        self._manifest: Manifest | None = None
        self._of_key: dict[bytes, ListedPart] = {}
        self._damaged: set[str] = set()  # names of parts that cannot be used
        self._checked_s = -MANIFEST_AGE_S  # when the manifest was read, by `time.monotonic`
        self._notices: dict[str, None] = {}

    @property
    def notices(self) -> tuple[str, ...]:
        """What could not be used and why, each once."""
        return tuple(self._notices)

    @property
    def manifest(self) -> Manifest | None:
        """The manifest that is in use; None before the first call of `rows`, and if there is none."""
        return self._manifest

    def rows(self, keys: Collection[bytes], cancel: Cancel) -> dict[bytes, Row]:
        """The rows of those keys that the base has. Waits for at most MANIFEST_WAIT_S and PARTS_WAIT_S."""
        with self._lock:
            if not keys or not self._has_manifest(cancel):
                return {}
            wanted = {self._of_key[key].name: self._of_key[key] for key in keys if key in self._of_key}
            # Parts are not held longer than their rows: some may be in private memory.
            parts = self._loaded([part for name, part in wanted.items() if name not in self._damaged], cancel)
            found: dict[bytes, Row] = {}
            for key in keys:
                part = parts.get(self._of_key[key].name) if key in self._of_key else None
                row = None if part is None else part.row(key)
                if row is not None:
                    found[key] = row
            return found

    def refuse(self, reason: str) -> None:
        """Record that a row was not used."""
        self._notice(f"Some files are analysed here, because {reason}. Build the base anew.")

    def took(self, n_rows: int) -> None:
        """Count rows that were used, for `last_use`."""
        if not n_rows:
            return
        self.n_rows += n_rows
        commit = "" if self._manifest is None else self._manifest.commit
        with suppress(OSError):
            private_folder(self._cache, is_ours=True)
            replace_file(self._cache / _USED, json.dumps({"files": self.n_rows, "commit": commit}).encode())

    def join(self, n_rows: int, notices: Iterable[str]) -> None:
        """Add what another process has taken from the same base, and could not use."""
        self.n_rows += n_rows
        self._notices.update(dict.fromkeys(notices))

    def last_use(self) -> tuple[int, str]:
        """Number of analyses that the last index took, and the commit of the base then; 0 if there was none."""
        used = read_json_object(self._cache / _USED)
        n_files = used.get("files")
        return (n_files if isinstance(n_files, int) else 0), str(used.get("commit", ""))

    def check(self, cancel: Cancel) -> Manifest | None:
        """The manifest as it is now, without a part; None with a notice if it cannot be used."""
        with self._lock:
            return self._manifest if self._has_manifest(cancel) else None

    def _has_manifest(self, cancel: Cancel) -> bool:
        if time.monotonic() - self._checked_s < MANIFEST_AGE_S:
            return self._manifest is not None
        self._checked_s = time.monotonic()
        until_s = time.monotonic() + MANIFEST_WAIT_S
        found = list(_in_threads([MANIFEST_NAME], lambda name: self._files.manifest(until_s), until_s, cancel))
        if not found:
            self._notice("It is not used, because it does not answer in time. Check the address, or remove `base`.")
            return self._manifest is not None
        ((_, future),) = found
        try:
            manifest = read_manifest(future.result(), self._analysis_version)
        except UnusableManifest as reason:
            self._notice(f"It is not used, because {reason}. Build it with the same version of Weft.")
        except Exception as reason:  # of the file system, the network, or the client of an object store
            self._notice(f"It is not used, because {_clause(reason)}. Check the setting `base`.")
        else:
            self._manifest = manifest
            self._of_key = {key: part for part in manifest.parts for key in part.keys}
        return self._manifest is not None

    def _loaded(self, parts: Iterable[ListedPart], cancel: Cancel) -> dict[str, Part]:
        """Those of these parts that can be had in time, by name, mapped or downloaded, and verified."""
        loaded: dict[str, Part] = {}
        by_name = {part.name: part for part in parts}
        until_s = time.monotonic() + PARTS_WAIT_S
        n_done = 0
        for name, future in _in_threads(by_name, lambda name: self._opened(by_name[name], until_s), until_s, cancel):
            n_done += 1
            try:
                loaded[name] = future.result()
            except UnusablePart as reason:
                self._damaged.add(name)
                self._notice(f"Some files are analysed here, because a part is damaged: {reason}. Build the base anew.")
            except Exception as reason:  # as of the manifest
                self._notice(f"Some files are analysed here, because {_clause(reason)}. Check the setting `base`.")
        if n_done < len(by_name) and not cancel.cancelled:
            self._notice("Some files are analysed here, because it is too slow. The next index goes on from there.")
        return loaded

    def _opened(self, listed: ListedPart, until_s: float) -> Part:
        data = self._files.part(listed, until_s)
        return part_in(data, listed.name, self._analysis_version)

    def _notice(self, text: str) -> None:
        notice = f"Base {self.address}: {text}"
        if notice not in self._notices:
            self._notices[notice] = None
            _log.warning("%s", notice)


class _Files:
    """The files of a base."""

    def manifest(self, until_s: float) -> bytes:
        """The newest manifest. Raises BaseUnavailable, InvalidBase and OSError."""
        raise NotImplementedError

    def part(self, listed: ListedPart, until_s: float) -> mmap.mmap | bytes:
        """The verified bytes of a part. Raises BaseUnavailable, UnusablePart and OSError."""
        raise NotImplementedError


class _Folder(_Files):
    """An export in a folder of this machine or of its network. Its parts are mapped in place."""

    def __init__(self, address: str) -> None:
        self._folder = Path(address).expanduser()

    def manifest(self, until_s: float) -> bytes:
        path = self._folder / MANIFEST_NAME
        if not self._folder.is_absolute():
            raise InvalidBase(f"base = {str(self._folder)!r} is a relative path. Set an absolute one.")
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise BaseUnavailable("its manifest is too large")
        return read_regular(path)

    def part(self, listed: ListedPart, until_s: float) -> mmap.mmap | bytes:
        return _verified(_content(self._folder / PARTS / listed.name), listed)


class _Remote(_Files):
    """An export behind a URL. What is downloaded is stored: the manifest with its ETag, and parts by their names."""

    def __init__(self, address: str, cache: Path, limit_bytes: int) -> None:
        self._address = address
        self._cache = cache
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._opened: Source | None = None

    def manifest(self, until_s: float) -> bytes:
        stored, about = self._cache / MANIFEST_NAME, self._cache / "etag.json"
        known, data = read_json_object(about), read_regular(stored) if stored.is_file() else b""
        # The ETag of another or a damaged manifest would make the server say that nothing has changed.
        etag = str(known.get("etag", "")) if known.get("digest") == digest_of([data]) else ""
        content = self._source().read(MANIFEST_NAME, MAX_MANIFEST_BYTES, until_s, etag)
        if content.data is None:
            return data
        private_folder(self._cache, is_ours=True)
        replace_file(stored, content.data)
        replace_file(about, json.dumps({"etag": content.etag, "digest": digest_of([content.data])}).encode())
        return content.data

    def part(self, listed: ListedPart, until_s: float) -> mmap.mmap | bytes:
        path = self._cache / listed.name
        try:
            with suppress(OSError):
                os.utime(path)
            return _verified(_content(path), listed)
        except FileNotFoundError:
            pass
        except UnusablePart:  # the stored file is damaged, not the base
            path.unlink()
        content = self._source().read(f"{PARTS}/{listed.name}", min(MAX_PART_BYTES, listed.n_bytes), until_s)
        data = content.data or b""
        _verified(data, listed)
        with self._lock:
            self._make_room(listed.n_bytes)
            private_folder(self._cache, is_ours=True)
            replace_file(path, data)
        return _content(path)

    def _source(self) -> Source:
        with self._lock:
            if self._opened is None:
                self._opened = source_of(self._address)
            return self._opened

    def _make_room(self, n_bytes: int) -> None:
        """Remove the least recently used parts beyond the limit."""
        found: list[tuple[float, int, Path]] = []
        for path in self._cache.glob("*.part"):
            with suppress(FileNotFoundError):  # another thread replaces a damaged one
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = n_bytes
        for _, size, path in sorted(found, reverse=True):
            total += size
            if total > self._limit_bytes:
                path.unlink(missing_ok=True)


def _content(path: Path) -> mmap.mmap | bytes:
    """The content of a file, mapped where no other user can change it."""
    if not is_private(path) or os.name == "nt":
        return read_regular(path)
    with open_regular(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(file.fileno()).st_size else b""


def _verified(data: mmap.mmap | bytes, listed: ListedPart) -> mmap.mmap | bytes:
    """`data`, if it is that of the part. Raises UnusablePart."""
    if len(data) != listed.n_bytes or digest_of([memoryview(data)]) != listed.name[:NAME_DIGITS]:
        raise UnusablePart(f"{listed.name} is not what its name says")
    return data


def _in_threads(
    names: Collection[str], work: Callable[[str], _T], until_s: float, cancel: Cancel
) -> Iterator[tuple[str, Future[_T]]]:
    """The results of `work` as they arrive, until a time. Threads that are late are left to end by themselves."""
    todo, done = SimpleQueue[str](), SimpleQueue[tuple[str, Future[_T]]]()
    for name in names:
        todo.put(name)

    def run() -> None:
        with suppress(Empty):
            while time.monotonic() < until_s and not cancel.cancelled:
                name = todo.get_nowait()
                future = Future[_T]()
                try:
                    future.set_result(work(name))
                except Exception as error:
                    future.set_exception(error)
                done.put((name, future))

    for number in range(min(N_CONNECTIONS, len(names))):
        threading.Thread(target=run, name=f"weft-base-{number}", daemon=True).start()
    for _ in names:
        while True:
            try:
                yield done.get(timeout=_POLL_S)
                break
            except Empty:
                if time.monotonic() > until_s or cancel.cancelled:
                    return


def _clause(reason: Exception) -> str:
    """An error as the end of a sentence."""
    if isinstance(reason, FileNotFoundError):
        return "it has no such file"
    if isinstance(reason, OSError):
        return f"it can't be read ({reason.strerror or type(reason).__name__})"
    if isinstance(reason, WeftError):
        return str(reason).rstrip(".")
    return f"it can't be read ({type(reason).__name__})"
