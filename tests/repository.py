"""The files of the repository: in a clone as git lists them, in a source distribution as its list has them."""

from __future__ import annotations

import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import weft

ROOT = Path(weft.__file__).resolve().parent
WRITTEN_BY_THE_BUILD = ("weft_lsp.egg-info/", "PKG-INFO", "setup.cfg")


def repository_files(pattern: str = "*") -> list[str]:
    """Existing files as paths below the root, sorted."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    else:
        listed = (ROOT / "weft_lsp.egg-info" / "SOURCES.txt").read_text("utf-8").split("\n")
        names = [name.removeprefix("./") for name in listed if not name.startswith(WRITTEN_BY_THE_BUILD)]
    return sorted(name for name in set(names) if name and fnmatch(name, pattern) and (ROOT / name).is_file())


def copy_repository(target: Path) -> Path:
    """A copy of these files, without what builds and tests have written."""
    for name in repository_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target
