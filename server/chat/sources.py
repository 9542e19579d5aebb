"""The lines that a reply may cite: those of the snapshots that the evidence comes from, and of the evidence itself.

Owns how a path that a model wrote finds its file. Knows no text that cites. A snapshot holds unsaved buffers, so these
count as they stood when the question was asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, urlparse

from ...retrieval import RepositoryIndex
from ...retrieval.fragments import split_lines
from .values import Exhibit


@dataclass(frozen=True)
class Source:
    """One file. `lines` are numbered from `first_line` (0-based): a document that the index does not hold is known only
    where the evidence shows it."""

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

    def around(self, start_line: int, end_line: int) -> list[str]:
        """Qualified names of the definitions that hold these lines, and of those that begin in them."""
        return [name for name, start, end in self._definitions if start < end_line and end > start_line]

    def begins_definition(self, line: int) -> bool:
        """Whether a definition begins at a line, as far as a model counts right."""
        return any(abs(start - line) <= 1 for _, start, _ in self._definitions)

    @cached_property
    def _definitions(self) -> list[tuple[str, int, int]]:
        file = None if self.index is None else self.index.graph.files.get(self.path)
        definitions = () if file is None else file.definitions
        return [(d.qualified_name, d.start_line, d.end_line) for d in definitions]


class Sources:
    """Files by the names that models give them. Made for one question; the indexes are by workspace folder."""

    def __init__(self, indexes: Mapping[str, RepositoryIndex], exhibits: Sequence[Exhibit] = ()) -> None:
        self._indexes = dict(indexes)
        self._exhibits = [exhibit for exhibit in exhibits if exhibit.kind != "turn"]
        self._opened: dict[tuple[str, str], Source] = {}

    def find(self, written: str) -> Source | None:
        """The file that a path means: as it stands, below its folder, or by its end where that is one file's alone.

        What the evidence shows comes first. None for a file that is not there or could be several.
        """
        path = _plain(written)
        if not path:
            return None
        for name in (path, path.lstrip("/"), self._below_its_folder(path)):
            for folder in self._folders_of(name):
                return self._open(folder, name)
        ends = [place for place in self._shown if _ends_with(place[1], path)] or self._by_end(path)
        return self._open(*ends[0]) if len(ends) == 1 else None

    def is_file(self, written: str) -> bool:
        """Whether this is exactly the name of a file."""
        return any(True for _ in self._folders_of(written))

    def knows(self, written: str) -> bool:
        """Whether one or several files could be meant."""
        path = _plain(written)
        return self.find(path) is not None or bool(self._by_end(path))

    def of(self, exhibit: Exhibit) -> Source | None:
        """The file of an exhibit; None for a past turn."""
        return None if exhibit.kind == "turn" else self._open(exhibit.folder, exhibit.path)

    @cached_property
    def _shown(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((exhibit.folder, exhibit.path) for exhibit in self._exhibits))

    @cached_property
    def _by_name(self) -> Mapping[str, list[tuple[str, str]]]:
        places: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for folder, index in self._indexes.items():
            for path in index.texts:
                places[path.rpartition("/")[2]].append((folder, path))
        return places

    def _folders_of(self, path: str) -> list[str]:
        shown = [folder for folder, name in self._shown if name == path]
        return shown or [folder for folder, index in self._indexes.items() if path in index]

    def _by_end(self, path: str) -> list[tuple[str, str]]:
        return [place for place in self._by_name.get(path.rpartition("/")[2], ()) if _ends_with(place[1], path)]

    def _below_its_folder(self, path: str) -> str:
        """Without the folder, written whole or by its name alone."""
        for folder in self._indexes:
            root = folder.replace("\\", "/").rstrip("/")
            for start in (f"{root}/", f"{root.rpartition('/')[2]}/"):
                if root and path.startswith(start):
                    return path[len(start) :]
        return path

    def _open(self, folder: str, path: str) -> Source | None:
        if (folder, path) not in self._opened:
            source = self._read(folder, path)
            if source is None:
                return None
            self._opened[folder, path] = source
        return self._opened[folder, path]

    def _read(self, folder: str, path: str) -> Source | None:
        for name in (folder,) if folder in self._indexes else self._indexes:
            index = self._indexes[name]
            if path in index:
                text = index.texts[path].decode("utf-8", "surrogatepass")
                lines = split_lines(text)
                return Source(name, path, lines[: index.n_lines_of(path)], index)
        exhibits = [exhibit for exhibit in self._exhibits if (exhibit.folder, exhibit.path) == (folder, path)]
        if not exhibits:
            return None
        first = min(exhibit.start_line for exhibit in exhibits)
        lines = [""] * (max(exhibit.end_line for exhibit in exhibits) - first)
        for exhibit in exhibits:
            for number, line in enumerate(split_lines(exhibit.text)[: exhibit.end_line - exhibit.start_line]):
                lines[exhibit.start_line - first + number] = line
        return Source(folder, path, lines, first_line=first)


def _plain(written: str) -> str:
    if written.startswith("file://"):
        written = urlparse(written).path
    path = unquote(written).replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end.lstrip("/"))
