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
from .background import BackgroundWorker
from .files import FoundFile, Membership, content_hash, decode, read_bytes
from .folder import Folder

log = logging.getLogger("weft")

ON_DISK = frozenset({"ipynb", "pdf"})
"""Suffixes of documents that the code index skips."""

_SCANNED_KINDS = ("notebook", "pdf")

FIRST_WAIT_S = 5.0
"""The first request waits this long for notebooks and PDF files; files read later appear in later requests."""


@dataclass(frozen=True, slots=True)
class _ParsedDocument:
    """A document as it was read last. `stamp` is its size and modification time then; None when it cannot be read."""

    stamp: tuple[int, int] | None
    hash: str
    segments: tuple[Segment, ...]
    notes: tuple[str, ...] = ()


class FolderDocuments:
    """The documents of one folder. Thread-safe; reads nothing before the first request."""

    def __init__(
        self, folder: Folder, config: Config, memory: Callable[[], MemoryStore], worker: BackgroundWorker
    ) -> None:
        limit = config.memory.max_document_bytes
        self._folder = folder
        self._is_on = config.memory.documents
        self._rules = replace(config.index, max_file_bytes=limit, max_data_bytes=limit)
        self._membership = Membership(folder.path, self._rules, ON_DISK)
        self._memory = memory
        self._worker = worker
        self._closed = Cancel()
        self._lock = threading.Lock()
        self._files: dict[str, _ParsedDocument] = {}  # replaced whole
        self._stored: dict[str, StoredDocument] = {}  # from the last start
        self._persisted: dict[str, str] = {}  # hashes of what is stored now
        self._first_scan: Future[None] | None = None

    def files_outside_index(self, wait_s: float = FIRST_WAIT_S) -> tuple[Segment, ...]:
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
        """Messages for the user: files that could not be read, with the reason."""
        files = self._files
        is_scanning = self._first_scan is not None and not self._first_scan.done()
        more = ("Notebooks and PDF files are still being read.",) if is_scanning else ()
        return (*(note for path in sorted(files) for note in files[path].notes), *more)

    def files_changed(self, keys: Iterable[str]) -> None:
        """Read changed notebooks and PDF files again, in the background, also those in changed folders."""
        if self._first_scan is None:
            return
        scanned = {key for key in keys if document_kind(key) in _SCANNED_KINDS}
        if any(self._membership.changes_rules(key) or self._is_folder(key) for key in keys):
            self._worker.submit(self._scan)
        elif scanned and not self._folder.limit_reason:
            self._worker.submit(lambda: self._scan(scanned))

    def close(self) -> None:
        self._closed.cancel()

    def _wait_for_files(self, wait_s: float) -> None:
        with self._lock:
            if self._first_scan is None:
                self._load()
                self._first_scan = self._worker.submit(self._scan)
            first_scan = self._first_scan
        wait([first_scan], timeout=wait_s)

    def _is_folder(self, key: str) -> bool:
        return any(path.startswith(f"{key}/") for path in self._files) or (self._folder.path / key).is_dir()

    def _scan(self, keys: Iterable[str] | None = None) -> None:
        """Bring `_files` up to date with the disk: these, or all. On the worker."""
        if keys is None:
            self._membership = Membership(self._folder.path, self._rules, ON_DISK)
            # Of a folder that may not be indexed, no documents are read either.
            walk = () if self._folder.limit_reason else self._membership.walk(self._closed)
            found = {f.path: f for f in walk if document_kind(f.path) in _SCANNED_KINDS}
            files = {path: read for path, read in self._files.items() if path in found}
        else:
            candidates = [self._membership.find(key) for key in keys]
            found = {file.path: file for file in candidates if isinstance(file, FoundFile)}
            files = {path: read for path, read in self._files.items() if path in found or path not in keys}
        for path, file in found.items():
            if self._closed.cancelled:
                return
            if path not in files or files[path].stamp != (file.size, file.mtime_ns):
                files[path] = self._read_file(file)
        self._files = files
        self._persist()

    def _read_file(self, file: FoundFile) -> _ParsedDocument:
        path = file.path
        try:
            data, size, mtime_ns = read_bytes(self._folder.path / path, self._rules.max_file_bytes)
        except (OSError, ValueError) as error:
            return _ParsedDocument(None, "", (), (f"{path} is not read: {error}.",))
        stamp, hash = (size, mtime_ns), _hash(data)
        stored = self._stored.get(path)
        if stored is not None and stored.hash == hash:
            return _ParsedDocument(stamp, hash, stored.segments)
        if document_kind(path) == "pdf":
            pages = pdf_pages(path, data, self._closed)
            return _ParsedDocument(stamp, hash, tuple(segments_of_sections(pages.sections)), pages.notes)
        try:
            decoded = decode(data)
            sections = read_sections(path, decoded[0] if decoded else "")
        except ValueError as error:
            return _ParsedDocument(stamp, hash, (), (f"{path} is not read: {error}.",))
        return _ParsedDocument(stamp, hash, tuple(segments_of_sections(sections)))

    def _load(self) -> None:
        start = self._name("")
        documents = self._memory().documents.all()
        stored = {d.source[len(start) :]: d for d in documents if d.source.startswith(start)}
        self._stored = {path: d for path, d in stored.items() if document_kind(path) in _SCANNED_KINDS}
        self._persisted = {path: document.hash for path, document in self._stored.items()}

    def _persist(self) -> None:
        """Store for the next start what is read now. On the worker."""
        files = {path: read for path, read in self._files.items() if not read.notes}
        removed = [path for path in self._persisted if path not in files]
        new = {path: read for path, read in files.items() if self._persisted.get(path) != read.hash}
        if self._closed.cancelled:
            return
        now, documents = time.time(), self._memory().documents
        try:
            if removed:
                documents.drop(*map(self._name, removed))
            documents.put_all(
                [StoredDocument(self._name(p), r.hash, document_kind(p), now, r.segments) for p, r in new.items()]
            )
        except StoreError as error:
            log.warning("The documents of %s could not be stored: %s", self._folder.path, error)
            return
        self._persisted = {path: read.hash for path, read in files.items()}

    def _name(self, path: str) -> str:
        return f"{self._folder.path.as_posix()}/{path}"


def _hash(data: bytes) -> str:
    """Hash of a document's content and of the reader's version."""
    return f"{READERS_VERSION}.{SEGMENT_WORDS}.{content_hash(data).hex()}"
