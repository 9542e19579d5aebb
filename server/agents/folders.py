"""The folders of a workspace as an agent names their files.

Owns paths: relative to the folder, with the name of the folder before them where there are several. Paths outside of
the workspace and files that are not indexed are refused with a reason. Reads snapshots, never the disk.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...codegraph.file_graph import Definition
from ...codegraph.symbol_table import innermost_definition, language_family
from ...errors import InvalidArgument
from ...retrieval import Location, RepositoryIndex
from ...retrieval.questions import is_document
from ...retrieval.questions.units import units_of
from ..workspace.workspace import Workspace
from .hints import Hint, Unclear
from .values import shortened

MAX_SUGGESTED = 5


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder, in one snapshot. `prefix` is its name in paths, "" where it is the only one."""

    root: Path
    index: RepositoryIndex
    prefix: str = ""

    def shown(self, path: str) -> str:
        return f"{self.prefix}{path}"

    @property
    def files(self) -> Iterable[str]:
        """The paths of all indexed files, as the index has them."""
        return self.index.graph.files

    def line(self, path: str, line: int) -> str:
        """A line of a file, shortened; `line` is 0-based."""
        return shortened(self.index.text(Location(path, line, line + 1)))

    def enclosing(self, path: str, line: int) -> str:
        """The qualified name of the innermost definition around a line (0-based); of a document the headings above it.

        "" at the top level.
        """
        if is_document(path):
            units = units_of(self.index.graph.files[path], self.index.texts[path])
            return next((unit.title for unit in units if unit.start_line <= line < unit.end_line), "")
        definition = self.definition_around(path, line) if path in self.index.graph.files else None
        return "" if definition is None else definition.qualified_name

    def may_share(self, path: str, other: str) -> bool:
        """Whether code of two files may mean one symbol: their languages use each other's names."""
        files = self.index.graph.files
        return language_family(files[path].language) == language_family(files[other].language)

    def definition_around(self, path: str, line: int) -> Definition | None:
        """The innermost definition whose lines, decorators included, hold a line (0-based)."""
        return innermost_definition(self.index.graph.files[path].definitions, line)


@dataclass(frozen=True, slots=True)
class Folders:
    """All folders of a workspace, each in its newest snapshot."""

    all: tuple[Folder, ...]
    workspace: Workspace

    def __iter__(self) -> Iterator[Folder]:
        return iter(self.all)

    def locate(self, path: str) -> tuple[Folder, str]:
        """The folder of a file, and its path there. The end of a path is enough where one file has it.

        Raises InvalidArgument for a file that is not indexed.
        """
        for folder, key in self._candidates(path):
            if key in folder.index.graph.files:
                return folder, key
        reason, ended = self._reason(path), self.ending(path)
        if not reason and len(ended) == 1:
            return ended[0]
        raise self._why_not(path, reason)

    def has(self, path: str) -> bool:
        """Whether a path is that of an indexed file. Raises nothing."""
        try:
            self.locate(path)
        except InvalidArgument:
            return False
        return True

    def below(self, path: str) -> tuple[Folder, str]:
        """The same for a directory, whose path ends with a slash, "" for the whole folder."""
        for folder, key in self._candidates(path):
            directory = "" if key == "." else f"{key}/"
            if any(each.startswith(directory) for each in folder.index.graph.files):
                return folder, directory
        raise self._why_not(path, self._reason(path))

    def directory(self, path: str) -> tuple[Folder, str] | None:
        """As `below`; None for a path that is no directory with indexed files."""
        try:
            return self.below(path)
        except InvalidArgument:
            return None

    def ending(self, path: str) -> list[tuple[Folder, str]]:
        """The files whose paths end with a relative path, such as the name of a file."""
        if os.path.isabs(path) or not path.strip():
            return []
        end = "/" + posixpath.normpath(path.strip().replace(os.sep, "/"))
        return [(folder, each) for folder in self.all for each in folder.files if each.endswith(end)]

    def left_out(self, name: str) -> tuple[str, ...]:
        """A note on a source file that is not indexed and named like a part of a dotted name: too large, generated."""
        for path, reason in sorted(self.workspace.skipped.items()):
            if posixpath.basename(path).partition(".")[0] in name.split("."):
                shown = next(Path(path).relative_to(each.root) for each in self.all if path.startswith(f"{each.root}/"))
                limit = " (`index.max_file_bytes`)" if reason == "too large" else ""
                return (f"{shown.as_posix()} may define it, and is not indexed: {reason}{limit}.",)
        return ()

    def _candidates(self, path: str) -> Iterator[tuple[Folder, str]]:
        """The paths that are meant. Raises InvalidArgument for one outside of the workspace."""
        written = path.strip().replace(os.sep, "/")
        if not written or "\0" in written:
            raise Unclear("The path is empty or no path.", Hint.GIVE_PATH)
        is_inside = False
        for folder in self.all:
            key = written
            if os.path.isabs(written):
                try:
                    key = Path(posixpath.normpath(written)).relative_to(folder.root).as_posix()
                except ValueError:
                    continue
            elif folder.prefix and f"{key}/" == folder.prefix:
                key = "."
            elif folder.prefix and key.startswith(folder.prefix):
                key = key[len(folder.prefix) :]
            key = posixpath.normpath(key)
            if key != ".." and not key.startswith("../"):
                is_inside = True
                yield folder, key
        if not is_inside:
            roots = " or ".join(str(folder.root) for folder in self.all)
            raise InvalidArgument(f"{path} is outside of the workspace. Give a path below {roots}.")

    def _reason(self, path: str) -> str:
        """Why a file is not indexed, in a word or two."""
        reasons = (self.workspace.exclusion_reason(folder.root / key) for folder, key in self._candidates(path))
        return next(filter(None, reasons), "")

    def _why_not(self, path: str, reason: str) -> InvalidArgument:
        if reason:
            return InvalidArgument(f"{path} is not indexed: {reason}. Ask about another file, or read it without Weft.")
        name = posixpath.basename(posixpath.normpath(path.replace(os.sep, "/"))).lower()
        shown = [(folder.shown(each), posixpath.basename(each).lower()) for folder in self.all for each in folder.files]
        alike = [each for each, base in shown if base == name]
        alike = alike or [each for each, base in shown if posixpath.splitext(base)[0] == name]
        if alike:
            near = ", ".join(sorted(alike)[:MAX_SUGGESTED])
            return InvalidArgument(f"No file {path} is indexed. Did you mean {near}?")
        for each, why in sorted(self.workspace.skipped.items()):
            if posixpath.basename(each).lower() == name:
                return InvalidArgument(f"{path} is not indexed: {each} is {why}. Read it without Weft.")
        return Unclear(f"No file {path} is indexed.", Hint.FIND_FILE)


def folders_of(workspace: Workspace) -> Folders:
    """The folders of a workspace, with unsaved edits of open buffers."""
    indexes = workspace.indexes()
    if len(indexes) == 1:
        return Folders(tuple(Folder(Path(root), index) for root, index in indexes.items()), workspace)
    names = [Path(root).name for root in indexes]
    return Folders(
        tuple(
            Folder(Path(root), index, f"{root if names.count(Path(root).name) > 1 else Path(root).name}/")
            for root, index in indexes.items()
        ),
        workspace,
    )
