"""The documents of a folder that the code index excludes: notebooks and PDF files, read in the background.

Owns which files are read, and when. Segments are stored under the hash of their file, so that the next start reads only
what changed. Knows no format and no question.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace

from ...llm import Cancel
from ...memory import Segment
from ...memory.documents import (
    READERS_VERSION,
    SEGMENT_WORDS,
    document_kind,
    pdf_pages,
    read_sections,
    segments_of_sections,
)
from ...memory.storage import MemoryStore, StoredDocument, StoreError
from ..config import Config
from .background import Background
from .files import FoundFile, Membership, content_hash, decode, read_bytes
from .folder import Folder

log = logging.getLogger("weft")

ON_DISK = frozenset({"ipynb", "pdf"})
"""Suffixes of documents that the index of code leaves out."""

_READ_FROM_DISK = ("notebook", "pdf")

FIRST_WAIT_S = 5.0
"""Who asks first waits this long for notebooks and PDF files; later ones come in when they are read."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A document as it was read last. `stamp` is its size and modification time then; None when it cannot be read."""

    stamp: tuple[int, int] | None
    hash: str
    segments: tuple[Segment, ...]
    notes: tuple[str, ...] = ()


class FolderDocuments:
    """The documents of one folder. Thread-safe; nothing is read before somebody asks."""

    def __init__(self, folder: Folder, config: Config, memory: Callable[[], MemoryStore], worker: Background) -> None:
        limit = config.memory.max_document_bytes
        self._folder = folder
        self._is_on = config.memory.documents
        self._rules = replace(config.index, max_file_bytes=limit, max_data_bytes=limit)
        self._membership = Membership(folder.path, self._rules, ON_DISK)
        self._memory = memory
        self._worker = worker
        self._closed = Cancel()
        self._lock = threading.Lock()
        self._files: dict[str, _Read] = {}  # replaced whole
        self._stored: dict[str, StoredDocument] = {}  # from the last start
        self._kept: dict[str, str] = {}  # hashes of what is stored now
        self._first_look: Future[None] | None = None

    def beside_code(self, wait_s: float = FIRST_WAIT_S) -> tuple[Segment, ...]:
        """The segments of notebooks and PDF files, by path; empty when documents are switched off.

        Costs what changed since the last time. `wait_s` bounds the wait for the first reading.
        """
        if not self._is_on:
            return ()
        self._wait_for_files(wait_s)
        files = self._files
        return tuple(segment for path in sorted(files) for segment in files[path].segments)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know: which files could not be read, and why."""
        files = self._files
        waits = self._first_look is not None and not self._first_look.done()
        more = ("Notebooks and PDF files are still being read.",) if waits else ()
        return (*(note for path in sorted(files) for note in files[path].notes), *more)

    def files_changed(self, keys: Iterable[str]) -> None:
        """Notebooks and PDF files among these, and below folders among them, are read again in the background."""
        if self._first_look is None:
            return
        mine = {key for key in keys if document_kind(key) in _READ_FROM_DISK}
        if any(self._membership.changes_rules(key) or self._is_folder(key) for key in keys):
            self._worker.submit(self._look)
        elif mine:
            self._worker.submit(lambda: self._look(mine))

    def close(self) -> None:
        self._closed.cancel()

    def _wait_for_files(self, wait_s: float) -> None:
        with self._lock:
            if self._first_look is None:
                self._load()
                self._first_look = self._worker.submit(self._look)
            first_look = self._first_look
        wait([first_look], timeout=wait_s)

    def _is_folder(self, key: str) -> bool:
        return any(path.startswith(f"{key}/") for path in self._files) or (self._folder.path / key).is_dir()

    def _look(self, keys: Iterable[str] | None = None) -> None:
        """Bring `_files` up to date with the disk: these, or all. On the worker."""
        if keys is None:
            self._membership = Membership(self._folder.path, self._rules, ON_DISK)
            found = {f.path: f for f in self._membership.walk(self._closed) if document_kind(f.path) in _READ_FROM_DISK}
            files = {path: read for path, read in self._files.items() if path in found}
        else:
            looked_at = [self._membership.find(key) for key in keys]
            found = {file.path: file for file in looked_at if isinstance(file, FoundFile)}
            files = {path: read for path, read in self._files.items() if path in found or path not in keys}
        for path, file in found.items():
            if self._closed.cancelled:
                return
            if path not in files or files[path].stamp != (file.size, file.mtime_ns):
                files[path] = self._read_file(file)
        self._files = files
        self._keep()

    def _read_file(self, file: FoundFile) -> _Read:
        path = file.path
        try:
            data, size, mtime_ns = read_bytes(self._folder.path / path, self._rules.max_file_bytes)
        except (OSError, ValueError) as error:
            return _Read(None, "", (), (f"{path} is not read: {error}.",))
        stamp, hash = (size, mtime_ns), _hash(data)
        stored = self._stored.get(path)
        if stored is not None and stored.hash == hash:
            return _Read(stamp, hash, stored.segments)
        if document_kind(path) == "pdf":
            pages = pdf_pages(path, data, self._closed)
            return _Read(stamp, hash, tuple(segments_of_sections(pages.sections)), pages.notes)
        try:
            decoded = decode(data)
            sections = read_sections(path, decoded[0] if decoded else "")
        except ValueError as error:
            return _Read(stamp, hash, (), (f"{path} is not read: {error}.",))
        return _Read(stamp, hash, tuple(segments_of_sections(sections)))

    def _load(self) -> None:
        start = self._name("")
        documents = self._memory().documents.all()
        stored = {d.source[len(start) :]: d for d in documents if d.source.startswith(start)}
        self._stored = {path: d for path, d in stored.items() if document_kind(path) in _READ_FROM_DISK}
        self._kept = {path: document.hash for path, document in self._stored.items()}

    def _keep(self) -> None:
        """Store for the next start what is read now. On the worker."""
        files = {path: read for path, read in self._files.items() if not read.notes}
        gone = [path for path in self._kept if path not in files]
        new = {path: read for path, read in files.items() if self._kept.get(path) != read.hash}
        if self._closed.cancelled:
            return
        now, documents = time.time(), self._memory().documents
        try:
            if gone:
                documents.drop(*map(self._name, gone))
            documents.put_all(
                [StoredDocument(self._name(p), r.hash, document_kind(p), now, r.segments) for p, r in new.items()]
            )
        except StoreError as error:
            log.warning("documents of %s are not kept: %s", self._folder.path, error)
            return
        self._kept = {path: read.hash for path, read in files.items()}

    def _name(self, path: str) -> str:
        return f"{self._folder.path.as_posix()}/{path}"


def _hash(data: bytes) -> str:
    """Of what a document says and of how it is read."""
    return f"{READERS_VERSION}.{SEGMENT_WORDS}.{content_hash(data).hex()}"
