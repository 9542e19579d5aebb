"""Access control for single files: whether a model may see one, by name, by ignore rules and by content.

Owns the decision and its reason in words. Knows no completion settings and reads no file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..secrets import is_secret_path, is_secret_text
from .folders import Folders
from .virtual_path import shown_file


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Access properties of a document, from its name and the rules of its folders."""

    name: str
    index_names: tuple[str, ...]  # its keys in the folders' indexes, and those of the files it shows or links to
    is_secret: bool
    is_ignored: bool

    @classmethod
    def of(cls, path: Path, folders: Folders) -> FileAccess:
        names = _names_of(path)
        located = [folders.locate(name) for name in names]
        return cls(
            path.name,
            tuple(key for _, key in located),
            any(is_secret_path(name.as_posix()) for name in names),
            any(folder is not None and folder.exclusion_reason(key) == "ignored" for folder, key in located),
        )

    def withheld(self, text: str | None = None, *, is_invoked: bool = False, uses_server: bool = False) -> str:
        """Why the file is withheld from a model: secret or ignored; "" if it is not withheld.

        An ignored file may be sent to models in this process for an invoked request, but not to a remote model.
        """
        if self.is_secret:
            return f"{self.name} may contain secrets"
        if text is not None and is_secret_text(text):
            return f"{self.name} contains a private key"
        if self.is_ignored and not is_invoked:
            return f"{self.name} is ignored (.gitignore, .weftignore or index.exclude)"
        if self.is_ignored and uses_server:
            return f"{self.name} is ignored, so it is not sent to a remote model"
        return ""


def _names_of(path: Path) -> tuple[Path, ...]:
    """The document's path, the path of the file that it shows, and that file's real path, without duplicates."""
    shown = shown_file(path)
    file = path if shown is None else shown
    return tuple(dict.fromkeys((path, file, Path(os.path.realpath(file)))))
