"""Virtual paths of documents that are not files: outside all folders, and containing the path of the file shown.

`git:/shop/.env?{…}` shows a version of a file, `vscode-notebook-cell:/shop/a.ipynb#W0` a part of one. Such a document
is completed but never indexed, and the access rules of the file apply to it. Does not access the disk.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from ..secrets import is_secret_path

MAX_NAME_LENGTH = 100

_DRIVE = re.compile(r"[A-Za-z]:")
_DRIVE_NAME = re.compile(r"[A-Za-z]\$")  # of a drive inside a virtual path, where a colon would begin a new path
_STRANGE = re.compile(r"[^\w.#~+@ -]+")


def virtual_path(scheme: str, file: str, suffix: str, version: str = "") -> Path:
    """The virtual path of a document of this scheme that shows `file`, which may be a plain name.

    It ends with `suffix` unless its name marks a secret. Different versions have different paths.
    """
    *folders, name = [part for part in PurePosixPath(file).parts if part not in ("/", "//", "..")] or [""]
    name = _STRANGE.sub("_", name)[-MAX_NAME_LENGTH:] or "document"
    if not name.endswith(suffix) and not is_secret_path("/".join((*folders, name))):
        name += suffix
    mark = f"-{blake2b(version.encode('utf-8', 'replace'), digest_size=4).hexdigest()}" if version else ""
    folders = [re.sub(r"[\x00-\x1f\x7f]", "_", folder) for folder in folders]
    if os.name == "nt" and folders and _DRIVE.fullmatch(folders[0]):
        folders[0] = f"{folders[0][0]}$"
    return Path(os.sep, re.sub(r"\W+", "_", scheme) + mark + ":", *folders, name)


def shown_file(path: Path) -> Path | None:
    """The file that a virtual path shows; None for any other path."""
    parts = path.parts
    if len(parts) > 2 and parts[0] == os.sep and parts[1].endswith(":"):
        if os.name == "nt" and _DRIVE_NAME.fullmatch(parts[2]):
            return Path(f"{parts[2][0]}:{os.sep}", *parts[3:])
        return Path(os.sep, *parts[2:])
    return None
