"""Path resolution for citations: the file that a model means, in the index snapshots or in the evidence.

Owns how a written path is matched to a file, and which lines are citable. Knows no citation syntax. Snapshots include
unsaved buffers as of the time of the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, urlparse

from ...retrieval import RepositoryIndex
from ...retrieval.fragments import split_lines
from .values import EvidenceItem


@dataclass(frozen=True)
class SourceFile:
    """One file. `lines` are numbered from `first_line` (0-based): of a document outside the index only the lines of the
    evidence are known."""

    folder: str
    path: str
    lines: Sequence[str]
    index: RepositoryIndex | None = None
    first_line: int = 0

    @property
    def end_line(self) -> int:
        return self.first_line + len(self.lines)

    def between(self, start_line: int, end_line: int) -> list[str]:
        return list(self.lines[start_line - self.first_line : end_line - self.first_line])

    def enclosing_names(self, start_line: int, end_line: int) -> list[str]:
        """Qualified names of the definitions that contain these lines or start in them."""
        return [name for name, start, end in self._definitions if start < end_line and end > start_line]

    def starts_definition(self, line: int) -> bool:
        """Whether a definition starts at a line, give or take one: models miscount."""
        return any(abs(start - line) <= 1 for _, start, _ in self._definitions)

    @cached_property
    def _definitions(self) -> list[tuple[str, int, int]]:
        file = None if self.index is None else self.index.graph.files.get(self.path)
        definitions = () if file is None else file.definitions
        return [(d.qualified_name, d.start_line, d.end_line) for d in definitions]


class Sources:
    """Resolves paths as models write them. Created for one question; the indexes are by workspace folder."""

    def __init__(self, indexes: Mapping[str, RepositoryIndex], items: Sequence[EvidenceItem] = ()) -> None:
        self._indexes = dict(indexes)
        self._items = [item for item in items if item.kind != "turn"]
        self._opened: dict[tuple[str, str], SourceFile | None] = {}

    def find(self, written: str) -> SourceFile | None:
        """The file of a path: an exact match, relative to its folder, or a unique suffix match.

        Files of the evidence come first. None for an unknown or ambiguous path.
        """
        path = _plain(written)
        if not path:
            return None
        for name in (path, path.lstrip("/"), self._relative_to_folder(path)):
            for folder in self._folders_of(name):
                return self._open(folder, name)
        ends = [file for file in self._shown if _ends_with(file[1], path)] or self._by_end(path)
        return self._open(*ends[0]) if len(ends) == 1 else None

    def is_file(self, written: str) -> bool:
        """Whether this is the exact path of a file."""
        return any(True for _ in self._folders_of(written))

    def knows(self, written: str) -> bool:
        """Whether a path matches one or more files."""
        path = _plain(written)
        return self.find(path) is not None or bool(self._by_end(path))

    def of(self, item: EvidenceItem) -> SourceFile | None:
        """The file of an item; None for a past turn."""
        return None if item.kind == "turn" else self._open(item.folder, item.path)

    @cached_property
    def _shown(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((item.folder, item.path) for item in self._items))

    @cached_property
    def _by_name(self) -> Mapping[str, list[tuple[str, str]]]:
        files: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for folder, index in self._indexes.items():
            for path in index.texts:
                files[path.rpartition("/")[2]].append((folder, path))
        return files

    def _folders_of(self, path: str) -> list[str]:
        shown = [folder for folder, name in self._shown if name == path]
        return shown or [folder for folder, index in self._indexes.items() if path in index]

    def _by_end(self, path: str) -> list[tuple[str, str]]:
        return [file for file in self._by_name.get(path.rpartition("/")[2], ()) if _ends_with(file[1], path)]

    def _relative_to_folder(self, path: str) -> str:
        """The path relative to its folder, which is written in full or by name."""
        for folder in self._indexes:
            root = folder.replace("\\", "/").rstrip("/")
            for start in (f"{root}/", f"{root.rpartition('/')[2]}/"):
                if root and path.startswith(start):
                    return path[len(start) :]
        return path

    def _open(self, folder: str, path: str) -> SourceFile | None:
        key = (folder, path)
        if key not in self._opened:
            self._opened[key] = self._read(folder, path)
        return self._opened[key]

    def _read(self, folder: str, path: str) -> SourceFile | None:
        for name in (folder,) if folder in self._indexes else self._indexes:
            index = self._indexes[name]
            if path in index:
                lines = split_lines(index.texts[path].decode("utf-8", "surrogatepass"))
                return SourceFile(name, path, lines[: index.n_lines_of(path)], index)
        items = [item for item in self._items if (item.folder, item.path) == (folder, path)]
        if not items:
            return None
        first = min(item.start_line for item in items)
        lines = [""] * (max(item.end_line for item in items) - first)
        for item in items:
            for number, line in enumerate(split_lines(item.text)[: item.end_line - item.start_line]):
                lines[item.start_line - first + number] = line
        return SourceFile(folder, path, lines, first_line=first)


def _plain(written: str) -> str:
    if written.startswith("file://"):
        written = urlparse(written).path
    path = unquote(written).replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end.lstrip("/"))
