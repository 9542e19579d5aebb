"""The file of a workspace that a piece of code comes from, found by its text.

A client that speaks to a model sends the code around the cursor, often without a path, and often only some lines of it.
Owns the search for the file, and the file's whole text with the client's lines in it. Knows no protocol.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import numpy as np

from ...languages import UNKNOWN, language_named, language_of
from ...retrieval import RepositoryIndex
from ...retrieval.terms import count_terms
from ..workspace.windows_path import plain_windows_path
from ..workspace.workspace import Workspace
from .prompt import CodeAround
from .splice import splice

N_QUERY_LINES = 30
"""Lines on each side of the cursor whose words are searched."""

N_FRAGMENTS = 24
"""Fragments of a search whose files are compared."""

MIN_SHARED_LINES = 3
MIN_SHARE = 0.5
"""A file has at least this many, and this share, of the distinct lines with a word around the cursor."""

SURE_SHARE = 0.9
"""With this share of the lines, no further file is compared."""

N_REMEMBERED = 16
"""Files of earlier requests that are compared first."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text: 0-based line and character. `is_known`: the file is one of the workspace."""

    path: Path
    text: str
    line: int
    character: int
    is_known: bool


class FileFinder:
    """Finds the files of one workspace. Thread-safe: what it remembers only makes it faster."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._recent: OrderedDict[Path, None] = OrderedDict()

    def place(self, around: CodeAround) -> Place:
        """The place of the cursor in the file of the code, else in a new file beside the most similar one."""
        prefix, suffix = _with_line_feeds(around.prefix), _with_line_feeds(around.suffix)
        around = replace(around, prefix=prefix, suffix=suffix)
        path = self._named(around.path) or self._by_text(around)
        if path is not None:
            self._remember(path)
            prefix, suffix = splice(self._text(path), prefix, suffix)
        line = prefix.count("\n")
        character = len(prefix) - (prefix.rfind("\n") + 1)
        return Place(path or self._new_file(around), prefix + suffix, line, character, path is not None)

    def _named(self, name: str) -> Path | None:
        """The indexed file of a path: absolute, relative to a folder, or the only one that ends with it."""
        name = _plain(name).removeprefix("./")
        if not name or ".." in name.split("/"):
            return None
        found = list[Path]()
        for folder, index in self._workspace.indexes().items():
            root = _plain(folder).rstrip("/") + "/"
            is_inside = _key(name).startswith(_key(root))
            inside = name[len(root) :] if is_inside else name
            if (known := _known(inside, index.texts)) is not None:
                return Path(folder, known)
            if not is_inside and not name.startswith("/"):
                found.extend(Path(folder, path) for path in index.texts if _key(path).endswith(_key(f"/{name}")))
        return found[0] if len(found) == 1 else None

    def _by_text(self, around: CodeAround) -> Path | None:
        wanted = _telling_lines(_last_lines(around.prefix)) | _telling_lines(_first_lines(around.suffix))
        if len(wanted) < MIN_SHARED_LINES:
            return None
        best, best_shared = None, max(MIN_SHARED_LINES, MIN_SHARE * len(wanted)) - 1
        for path in self._candidates(around):
            shared = len(wanted & _telling_lines(self._text(path).split("\n")))
            if shared > best_shared:
                best, best_shared = path, shared
                if shared >= SURE_SHARE * len(wanted):
                    break
        return best

    def _candidates(self, around: CodeAround) -> Iterator[Path]:
        """Files that the code may come from: those of the last requests, then those with its words."""
        recent = list(reversed(self._recent))
        yield from recent
        yield from (path for path in self._similar(around) if path not in recent)

    def _similar(self, around: CodeAround) -> Iterator[Path]:
        """Files with the words around the cursor, the most similar first."""
        before = around.prefix.split("\n")[-N_QUERY_LINES:]
        query = count_terms("\n".join((*before, *_first_lines(around.suffix))))
        for folder, index in self._workspace.indexes().items():
            yield from self._similar_in(folder, index, query)

    def _similar_in(self, folder: str, index: RepositoryIndex, query: Mapping[str, float]) -> Iterator[Path]:
        scores = index.lexical.bm25(query)
        best = np.argsort(-scores, kind="stable")[:N_FRAGMENTS]
        for path in dict.fromkeys(index.location(int(at)).path for at in best if scores[at] > 0):
            found = self._workspace.path_of(folder, path)
            if found is not None:
                yield found

    def _new_file(self, around: CodeAround) -> Path:
        """A path that does not exist, in the language of the code, beside the most similar file."""
        similar = next(self._similar(around), None)
        named = language_named(around.language.strip().lower())
        language = named if named is not UNKNOWN or similar is None else language_of(similar.name)
        suffix = language.suffixes.split()[0] if language.suffixes else "txt"
        folder = similar.parent if similar is not None else next(map(Path, self._workspace.indexes()), Path.cwd())
        name = PurePosixPath(around.path.replace("\\", "/")).name
        return folder / (name if name and not (folder / name).exists() else f"untitled.{suffix}")

    def _text(self, path: Path) -> str:
        """The indexed text of a file, "" for one that is no longer there."""
        for folder, index in self._workspace.indexes().items():
            root = Path(folder)
            if path.is_relative_to(root):
                text = index.texts.get(path.relative_to(root).as_posix())
                if text is not None:
                    return text.decode("utf-8", "surrogatepass")
        return ""

    def _remember(self, path: Path) -> None:
        self._recent[path] = None
        self._recent.move_to_end(path)
        while len(self._recent) > N_REMEMBERED:
            self._recent.popitem(last=False)


def _plain(path: str) -> str:
    """A path or a `file:` URI of a client, with forward slashes."""
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    path = path.replace("\\", "/")
    return plain_windows_path(path) if os.name == "nt" else path


def _key(path: str) -> str:
    """Equal for the spellings of one path: Windows ignores case."""
    return path.lower() if os.name == "nt" else path


def _known(path: str, texts: Mapping[str, bytes]) -> str | None:
    """The path as the index spells it."""
    if path in texts or os.name != "nt":
        return path if path in texts else None
    return next((each for each in texts if _key(each) == _key(path)), None)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _last_lines(prefix: str) -> list[str]:
    """The lines before the cursor's, the last ones of them."""
    return prefix.split("\n")[:-1][-N_QUERY_LINES:]


def _first_lines(suffix: str) -> list[str]:
    """The lines after the cursor's, the first ones of them."""
    return suffix.split("\n")[1 : 1 + N_QUERY_LINES]


def _telling_lines(lines: Iterable[str]) -> set[str]:
    """The distinct lines that tell files apart."""
    return {line.strip() for line in lines if sum(map(str.isalnum, line)) >= 4}
