"""What a workspace remembers: its store on this machine, and the documents of its folders.

Owns the place of the store, when it is opened, and what is done when it cannot be. History is no cache: it stands in
the user's data folder, and clearing caches loses none of it.
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
    """The memory of the workspace at `root`; None keeps nothing between starts. Thread-safe; opened when first used."""

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

    def forget(self, folder: Folder) -> None:
        """Read no documents of a folder any more; what is kept of them stays for the next time."""
        with self._lock:
            documents = self._documents.pop(folder, None)
        if documents is not None:
            documents.close()

    def configure(self, config: Config) -> None:
        """Use another configuration; a store that stands elsewhere now is opened when it is next used."""
        with self._lock:
            is_same = (config.memory, config.data_dir) == (self._config.memory, self._config.data_dir)
            self._config = config
            if not is_same:
                for folder in list(self._documents):
                    self.forget(folder)
                store, self._store = self._store, None
                if store is not None:
                    store.close()

    def close(self) -> None:
        """Everything that was said is on disk already; documents that are being read are given up."""
        with self._lock:
            documents = list(self._documents.values())
        for each in documents:
            each.close()
        self._reader.close()
        with self._lock:
            if self._store is not None:
                self._store.close()


def data_folder(data_dir: str = "") -> Path:
    """Weft's folder for the user's data: as configured, or as the environment says (`WEFT_DATA_DIR`)."""
    named = data_dir or os.environ.get(DATA_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("weft", appauthor=False))


def exports_folder(config: Config) -> Path:
    """The only folder that a client's request writes to; it is made, for its owner alone. Raises OSError."""
    folder = data_folder(config.data_dir) / "exports"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def memory_file(root: Path, config: Config) -> Path:
    """Where the memory of the workspace at `root` is kept. Two names of one folder have one place."""
    return data_folder(config.data_dir) / "memory" / f"{file_name(root)}.db"


def open_memory(root: Path | None, config: Config) -> MemoryStore:
    """The memory of the workspace at `root`; None keeps nothing. One that cannot be opened is replaced by an empty one
    in this process, whose notes say why."""
    limit_bytes = config.memory.kept_mb * 1_000_000
    note = ""
    if root is not None:
        try:
            place = memory_file(root, config)
            keeps = config.memory.keep_conversations
            return MemoryStore(place, limit_bytes=limit_bytes, keep_conversations=keeps)
        except StoreError as error:
            note = f"{error} What is said now is remembered until Weft ends."
    return MemoryStore(None, limit_bytes=limit_bytes, note=note)
