"""Workspace memory: the persistent store of conversations and documents, and the documents of its folders.

Owns the store's path, its lazy opening, and the in-memory fallback. The store is user data, not a cache: it is in the
user's data folder, and clearing caches does not affect it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import platformdirs

from ...memory.storage import MemoryStore, StoreError
from ..config import Config
from .background import BackgroundWorker
from .documents import FolderDocuments
from .folder import Folder
from .store import file_name

DATA_VARIABLE = "WEFT_DATA_DIR"


class WorkspaceMemory:
    """The memory of the workspace at `root`; None persists nothing. Thread-safe; the store is opened on first use."""

    def __init__(self, root: Path | None, config: Config) -> None:
        self._root = root
        self._config = config
        self._lock = threading.RLock()
        self._store: MemoryStore | None = None
        self._documents: dict[Folder, FolderDocuments] = {}
        self._reader = BackgroundWorker("weft-documents")

    @property
    def store(self) -> MemoryStore:
        with self._lock:
            if self._store is None:
                self._store = open_memory(self._root, self._config)
            return self._store

    def documents(self, folder: Folder) -> FolderDocuments:
        with self._lock:
            if folder not in self._documents:
                self._documents[folder] = FolderDocuments(folder, self._config, lambda: self.store, self._reader)
            return self._documents[folder]

    def files_changed(self, folder: Folder, keys: Iterable[str]) -> None:
        with self._lock:
            documents = self._documents.get(folder)
        if documents is not None:
            documents.files_changed(keys)

    def close_documents(self, folder: Folder) -> None:
        """Close the documents of a folder; the store retains them."""
        with self._lock:
            documents = self._documents.pop(folder, None)
        if documents is not None:
            documents.close()

    def configure(self, config: Config) -> None:
        """Use another configuration; if it changes the store, the new one is opened on next use."""
        with self._lock:
            is_same = (config.memory, config.data_dir) == (self._config.memory, self._config.data_dir)
            self._config = config
            if not is_same:
                for folder in list(self._documents):
                    self.close_documents(folder)
                store, self._store = self._store, None
                if store is not None:
                    store.close()

    def close(self) -> None:
        """Cancel document extraction and close the store; conversations are on disk already."""
        with self._lock:
            documents = list(self._documents.values())
        for each in documents:
            each.close()
        self._reader.close()
        with self._lock:
            if self._store is not None:
                self._store.close()


def data_folder(data_dir: str = "") -> Path:
    """Weft's user data folder: as configured, or from the environment (`WEFT_DATA_DIR`), or the system's default."""
    named = data_dir or os.environ.get(DATA_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("weft", appauthor=False))


def exports_folder(config: Config) -> Path:
    """The only folder that client requests write to; created with mode 0700. Raises OSError."""
    folder = data_folder(config.data_dir) / "exports"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def memory_file(root: Path, config: Config) -> Path:
    """The store's file of the workspace at `root`. Paths that resolve to one folder have one store."""
    return data_folder(config.data_dir) / "memory" / f"{file_name(root)}.db"


def open_memory(root: Path | None, config: Config) -> MemoryStore:
    """The store of the workspace at `root`; None persists nothing. If it cannot be opened, returns an empty in-memory
    store whose notes contain the reason."""
    limit_bytes = config.memory.cache_limit_mb * 1_000_000
    note = ""
    if root is not None:
        try:
            path = memory_file(root, config)
            return MemoryStore(path, limit_bytes=limit_bytes, keep_conversations=config.memory.keep_conversations)
        except StoreError as error:
            note = f"{error} Conversations are held in memory until Weft exits."
    return MemoryStore(None, limit_bytes=limit_bytes, note=note)
