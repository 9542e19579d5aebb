"""Answers about broad folders: whether the user allowed Weft to index one, remembered in the user's cache folder.

Owns the file of answers and the rules by name. Never reads or writes in a workspace. Knows no index: the number of
files is counted during the first index run, see `folder.py`.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Literal

from ...llm.disk import read_json_object, replace_file
from ...llm.private_files import private_folder
from ..config import Config
from .projects import broad_reason
from .store import cache_folder

Answer = Literal["index", "open files"]

log = logging.getLogger("weft")

FILE_NAME = "folders.json"
MAX_ANSWERS = 1000
"""The oldest answers beyond this number are forgotten."""


class FolderAnswers:
    """The answers of one user, by folder. Thread-safe. `on_disk` False remembers them in this process only."""

    def __init__(self, config: Config, *, on_disk: bool) -> None:
        self._policy = config.index.broad_folders
        self._limit = config.index.max_files_unasked
        directory = Path(config.cache_dir).expanduser() if config.cache_dir else cache_folder()
        self._file = directory / FILE_NAME if on_disk else None
        self._lock = threading.Lock()
        self._given: dict[str, Answer] = {}  # in this process

    def max_files(self, folder: Path) -> int:
        """The number of files above which a folder is indexed only after a yes; 0 for no limit."""
        return 0 if self._policy == "index" or self.answer(folder) == "index" else self._limit

    def limit_reason(self, folder: Path) -> str:
        """Why only open files of a folder are indexed, by its name and its subfolders; "" for the whole folder."""
        if self._policy == "index" or self.answer(folder) == "index":
            return ""
        return broad_reason(folder)

    def is_open_question(self, folder: Path) -> bool:
        """Whether the user may be asked about this folder."""
        return self._policy == "ask" and self.answer(folder) is None

    def answer(self, folder: Path) -> Answer | None:
        given = self._given.get(str(folder)) or self._stored().get(str(folder))
        return given if given in ("index", "open files") else None

    def remember(self, folder: Path, answer: Answer) -> None:
        with self._lock:
            self._given[str(folder)] = answer
            if self._file is None:
                return
            answers = {name: given for name, given in self._stored().items() if name != str(folder)}
            answers[str(folder)] = answer
            content = json.dumps(dict(list(answers.items())[-MAX_ANSWERS:]), indent=1)
            try:
                private_folder(self._file.parent)
                replace_file(self._file, content.encode("utf-8", "replace"))
            except OSError as error:
                log.warning("The answer about %s could not be stored, and Weft will ask again: %s", folder, error)

    def _stored(self) -> dict[str, Answer]:
        return {} if self._file is None else read_json_object(self._file)
