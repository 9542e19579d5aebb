"""Access rules of single files: which may be shown to a model, by name, by ignore rules and by content.

Owns the judgement and its wording. Knows no setting of completions and no text but the one that it is given.
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
    """What the name of a document and the rules of its folders say about it."""

    name: str
    index_names: tuple[str, ...]  # in the indexes of its folders: its own, and those of the files it shows or links to
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
        """Why the file is not shown to a model, "" when it may be: it is secret, or ignored.

        An ignored file that a person asks about may be shown to models in this process, not behind an address.
        """
        if self.is_secret:
            return f"{self.name} may hold secrets"
        if text is not None and is_secret_text(text):
            return f"{self.name} holds a private key"
        if self.is_ignored and not is_invoked:
            return f"{self.name} is ignored (.gitignore, .weftignore or index.exclude)"
        if self.is_ignored and uses_server:
            return f"{self.name} is ignored, and is not shown to a model behind an address"
        return ""


def _names_of(path: Path) -> tuple[Path, ...]:
    """The name of a document in the editor, of the file that it shows, and of the target where that is a link."""
    shown = shown_file(path)
    file = path if shown is None else shown
    return tuple(dict.fromkeys((path, file, Path(os.path.realpath(file)))))
