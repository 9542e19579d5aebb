"""Path tables of a snapshot: directories and file names, with path arithmetic, for all module finders.

Knows no language and no text. Paths are relative to the root, with forward slashes; "" is the root. A workspace with
several folders has a directory for each of them (`roots`) below a common root.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import takewhile

from ...languages import LANGUAGES


class PathTables:
    """The paths of a snapshot by directory and by file name."""

    __slots__ = ("_roots", "by_name", "directories", "parents", "paths")

    def __init__(self, paths: Collection[str], roots: Collection[str] = ("",)) -> None:
        self.paths = paths
        self._roots = sorted(roots, key=len, reverse=True)
        self.directories: dict[str, list[str]] = {}  # directory -> its files; includes parents of directories
        self.by_name: dict[str, list[str]] = {}  # last part of a path -> the paths
        self.parents: dict[str, list[str]] = {}  # last part of a directory -> the directories that contain it
        for path in sorted(paths):
            directory, name = split_path(path)
            self._add_directory(directory).append(path)
            self.by_name.setdefault(name, []).append(path)

    def root_of(self, directory: str) -> str:
        """The innermost workspace folder that contains a directory; "" for one outside of all folders."""
        return next((root for root in self._roots if contains(root, directory)), "")

    def nearer(self, directory: str, found: list[str]) -> list[str]:
        """The found paths in the workspace folder of a directory; all of them if none is there."""
        root = self.root_of(directory)
        return [path for path in found if self.root_of(path) == root] or found

    def is_root(self, directory: str) -> bool:
        """Whether a directory is a workspace folder, or the common root of all."""
        return not directory or directory in self._roots

    def _add_directory(self, directory: str) -> list[str]:
        files = self.directories.get(directory)
        if files is None:
            files = self.directories[directory] = []
            if directory:
                parent, name = split_path(directory)
                self._add_directory(parent)
                self.parents.setdefault(name, []).append(parent)
        return files


@cache
def import_endings(style: str) -> tuple[str, ...]:
    """The endings of files that an import of this module style may refer to, in order."""
    records = [record for record in LANGUAGES.values() if record.module_style == style]
    suffixes = (s for r in records for s in (r.import_suffixes or r.suffixes.partition(" ")[0]).split())
    return tuple(f".{suffix}" for suffix in dict.fromkeys(suffixes))


def directory_of(path: str) -> str:
    return split_path(path)[0]


def split_path(path: str) -> tuple[str, str]:
    directory, _, name = path.rpartition("/")
    return directory, name


def join_path(directory: str, rest: str) -> str:
    return f"{directory}/{rest}".strip("/") if directory else rest.strip("/")


def upwards(directory: str) -> list[str]:
    """The directory, its parent, … and the root "" at last."""
    found = [directory]
    while directory:
        directory = split_path(directory)[0]
        found.append(directory)
    return found


def is_absolute(path: str) -> bool:
    """Whether a path that a manifest contains is absolute, on any system."""
    return path.startswith("/") or path[1:2] == ":"


def contains(directory: str, path: str) -> bool:
    """Whether a path is the directory or below it."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def n_common(one: str, other: str) -> int:
    """The number of directories that two paths share from the root on."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one.split("/"), other.split("/"), strict=False))
    return sum(1 for _ in pairs)


def normalised(path: str) -> str | None:
    """`path` without "." and ".." parts; None when it leaves the workspace."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def ends_with(path: str, tail: str) -> bool:
    """Whether the last parts of a path are `tail`."""
    return path == tail or path.endswith(f"/{tail}")
