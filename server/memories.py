"""Where the memory of a workspace stands on this machine.

Owns the place of the store and what is done when it cannot be opened. History is no cache: it stands in the user's
data folder, and clearing caches loses none of it.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ..memory.storage import MemoryStore, StoreError
from .config import Config
from .store import file_name

DATA_VARIABLE = "WEFT_DATA_DIR"


def data_folder(data_dir: str = "") -> Path:
    """Weft's folder for the user's data: as configured, or as the environment says (`WEFT_DATA_DIR`)."""
    named = data_dir or os.environ.get(DATA_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("weft", appauthor=False))


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
