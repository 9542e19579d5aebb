"""Joint index over the folders of a workspace: one code graph, inverted index and workspace model for all of them.

A file is named by its path from the common root of the folders, so module resolution treats the folders like the
directories of one repository: relative paths, package names and `go.work` lead from one folder to another. Files belong
to the innermost folder. Texts and syntax nodes are shared with the folders' own snapshots; postings, call edges and
n-grams are stored a second time. Relations are built only when a strategy or an explanation needs them.

Owns the joint index and the paths that each folder shows: its own files by their plain path, others as "folder/path".
Does not exist for a single folder, and not if `index.cross_folders` is off. Knows no disk and no buffer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...codegraph.graph import garbage_collection_paused
from ...codegraph.modules import contains, join_path
from ...llm import WorkspaceModel
from ...llm.workspace_model import tokenise_document
from ...retrieval import RepositoryIndex, Retrieved, slice_file, with_paths
from ..config import Config
from ..config.options import index_settings
from .analysis import Analysis
from .folder import MAX_REPORTED_FILES, MAX_UNSETTLED_EDITS, Folder
from .snapshot import FolderSnapshot
from .writer import Writer

log = logging.getLogger("weft")

MAX_BATCH_BYTES = 3_000_000
"""A folder joins in batches of this much text, each about a second of work; edits are indexed between them."""


class CrossFolderIndex:
    """The joint index of a workspace; sets the `view` of its folders. Updates run on the writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._joint: _Joint | None = None  # replaced whole, with the lock

    def close(self) -> None:
        """Add no more files."""
        with self._lock:
            self._joint = None

    def use(self, folders: Sequence[Folder], config: Config) -> None:
        """Index these folders jointly from now on; each takes part as soon as its files are in the joint index."""
        is_needed = len(folders) > 1 and config.index.cross_folders
        with self._lock:
            self._joint = _Joint.empty(folders, config) if is_needed else None
            for folder in folders:
                folder.view = folder.snapshot
        for folder in folders if is_needed else ():
            self._writer.submit(partial(self._join, folder))

    def changed(self, folder: Folder, changed: Sequence[Analysis], removed: Sequence[str]) -> None:
        """On the writer: apply a change of a folder's snapshot."""
        joint = self._joint
        if joint is None or folder not in joint.joined:
            self._show_own(folder)
            return
        try:
            after = joint.with_changes(folder, changed, removed)
        except Exception as error:
            self._fail(joint, error)
        else:
            self._publish(joint, after)

    def loaded(self, folder: Folder) -> None:
        """On the writer: the folder's snapshot was replaced whole."""
        joint = self._joint
        if joint is not None and folder in joint.joined:
            self._join_more(joint, replace(joint, joined=joint.joined - {folder}), folder)
        else:
            self._show_own(folder)

    def _settle_some(self) -> None:
        """On the writer: resolve and merge what edits left in the joint index, until another job waits."""
        joint = self._joint
        if joint is None or joint.is_settled:
            return
        try:
            after = joint.settled(lambda: self._writer.has_waiting)
        except Exception as error:
            self._fail(joint, error)
        else:
            self._publish(joint, after)

    def _join(self, folder: Folder) -> None:
        """On the writer: add the files of a folder, in batches."""
        joint = self._joint
        if joint is not None and folder in joint.folders and folder not in joint.joined:
            self._join_more(joint, joint, folder)

    def _join_more(self, before: _Joint, joint: _Joint, folder: Folder) -> None:
        """On the writer: publish, instead of `before`, `joint` with the next files of a folder."""
        try:
            with garbage_collection_paused():
                after = joint.with_files_of(folder)
        except Exception as error:
            self._fail(before, error)
            return
        self._publish(before, after)
        if folder not in after.joined:
            self._writer.submit(partial(self._join, folder))  # behind the edits that came meanwhile

    def _fail(self, joint: _Joint, error: Exception) -> None:
        """Continue without a joint index until the folders change."""
        log.error(
            "Completions do not use the code of other folders: %s. Exclude files, or set index.cross_folders to false.",
            error,
            exc_info=error,
        )
        with self._lock:
            if self._joint is joint:
                self._joint = None
                for folder in joint.folders:
                    folder.view = folder.snapshot

    def _publish(self, before: _Joint, after: _Joint) -> None:
        with self._lock:
            if self._joint is before:  # else the folders have changed, and will join the new index
                self._joint = after
                for folder in after.folders:
                    folder.view = after.seen_from(folder)
        if after is not before and not after.is_settled:
            self._writer.submit_later(self._settle_some)

    def _show_own(self, folder: Folder) -> None:
        with self._lock:
            folder.view = folder.snapshot


@dataclass(frozen=True, slots=True)
class _Layout:
    """The directory of each folder below their common root, innermost first."""

    directories: Mapping[Folder, str]

    @classmethod
    def of(cls, folders: Iterable[Folder]) -> _Layout:
        parts = {folder: [part.strip("/\\") for part in folder.path.parts] for folder in folders}
        n_common = 0
        while all(len(each) > n_common for each in parts.values()) and len({e[n_common] for e in parts.values()}) == 1:
            n_common += 1
        directories = {folder: "/".join(filter(None, each[n_common:])) for folder, each in parts.items()}
        return cls(dict(sorted(directories.items(), key=lambda item: -len(item[1]))))

    def owner_of(self, path: str) -> tuple[Folder, str]:
        """The folder of a joint path, and the path in it."""
        folder, directory = next(item for item in self.directories.items() if contains(item[1], path))
        return folder, path[len(directory) :].lstrip("/")

    def path_of(self, folder: Folder, key: str) -> str | None:
        """The joint path of a file of a folder; None if the file belongs to a folder inside of it."""
        path = join_path(self.directories[folder], key)
        return path if self.owner_of(path)[0] is folder else None

    def key_in(self, folder: Folder, path: str) -> str | None:
        """The path in a folder of a joint path; None if it belongs to another folder."""
        owner, key = self.owner_of(path)
        return key if owner is folder else None


class _ShownPaths(dict[str, str]):
    """Joint paths as one folder shows them. The first parts of a shown path tell its folder."""

    def __init__(self, layout: _Layout, own: Folder) -> None:
        super().__init__()
        self._layout, self._own = layout, own
        self.labels = {folder: f"{label}/" for folder, label in _labels(layout, own).items() if folder is not own}

    def __missing__(self, path: str) -> str:
        folder, key = self._layout.owner_of(path)
        shown = self[path] = self.labels.get(folder, "") + key
        return shown

    def other_file(self, shown: str) -> Path | None:
        """The file of a shown path of another folder."""
        found = (f.path / shown.removeprefix(label) for f, label in self.labels.items() if shown.startswith(label))
        return next(found, None)


@dataclass(frozen=True, slots=True)
class CrossFolderSnapshot(FolderSnapshot):
    """The joint index as seen from one folder."""

    own_name: str
    directory: str
    paths: _ShownPaths

    def __post_init__(self) -> None:
        texts = {self.paths[path]: text for path, text in self.index.texts.items()}
        object.__setattr__(self, "texts", texts)

    @property
    def name(self) -> str:
        return self.own_name

    def index_path(self, path: str) -> str:
        # Documents outside of all folders have absolute paths.
        return path if Path(path).is_absolute() else join_path(self.directory, path)

    def shown(self, found: Retrieved) -> Retrieved:
        return with_paths(found, self.shown_path)

    def other_file(self, path: str) -> Path | None:
        return self.paths.other_file(path)

    def shown_path(self, path: str) -> str:
        return path if Path(path).is_absolute() else self.paths[path]


@dataclass(frozen=True, slots=True)
class _Joint:
    """One state of the joint index. `joined` are the folders whose files it has."""

    folders: tuple[Folder, ...]
    layout: _Layout
    index: RepositoryIndex
    model: WorkspaceModel
    joined: frozenset[Folder]
    paths: Mapping[Folder, _ShownPaths]
    n_unsettled: int = 0  # edits whose calls and segments are left to `settled`

    @property
    def is_settled(self) -> bool:
        return not self.n_unsettled

    def settled(self, is_over: Callable[[], bool]) -> _Joint:
        """As `FolderSnapshot.settled`."""
        index = self.index.settled(is_over)
        if not index.is_settled or is_over():
            return replace(self, index=index)
        return replace(self, index=index, model=self.model.settled(), n_unsettled=0)

    @classmethod
    def empty(cls, folders: Sequence[Folder], config: Config) -> _Joint:
        layout = _Layout.of(folders)
        outermost = next((folder.path.name for folder, directory in layout.directories.items() if not directory), "")
        index = RepositoryIndex(
            index_settings(config, outermost), tuple(layout.directories.values()), relations_on_demand=True
        )
        paths = {folder: _ShownPaths(layout, folder) for folder in folders}
        return cls(tuple(folders), layout, index, WorkspaceModel.build(()), frozenset(), paths)

    def with_changes(self, folder: Folder, changed: Sequence[Analysis], removed: Sequence[str]) -> _Joint:
        """The state after files of a folder were added, replaced or removed."""
        moved = [(path, each) for each in changed if (path := self.layout.path_of(folder, each.path)) is not None]
        gone = [path for key in removed if (path := self.layout.path_of(folder, key)) is not None]
        if not moved and not gone:
            return self
        paths = self.paths
        if gone or any(path not in self.index for path, _ in moved):  # else all names are the same
            renewed = _ShownPaths(self.layout, folder)
            if renewed.labels != paths[folder].labels:
                paths = {**paths, folder: renewed}
        settles = len(moved) + len(gone) > MAX_REPORTED_FILES or self.n_unsettled >= MAX_UNSETTLED_EDITS
        parts = [(each.graph.at(path), replace(each.fragments, path=path)) for path, each in moved]
        tokens = [replace(each.tokens, path=path) for path, each in moved]
        return replace(
            self,
            index=self.index.with_changes(parts, gone, settles=settles),
            model=self.model.with_changes(tokens, gone, settles=settles),
            paths=paths,
            n_unsettled=0 if settles else self.n_unsettled + 1,
        )

    def with_files_of(self, folder: Folder) -> _Joint:
        """The state with the next files of a folder's snapshot; the folder has joined when none is left."""
        index = folder.snapshot.index
        known = [self.layout.key_in(folder, path) for path in self.index.texts]
        gone = [key for key in known if key is not None and key not in index]
        batch: list[Analysis] = []
        n_bytes = 0
        for key, text in index.texts.items():
            path = self.layout.path_of(folder, key)
            if path is None or self._has(path, text, index.graph.files[key].language):
                continue
            if n_bytes > MAX_BATCH_BYTES:
                return self.with_changes(folder, batch, gone)
            batch.append(_analysis_of(index, key))
            n_bytes += len(text)
        return replace(self.with_changes(folder, batch, gone), joined=self.joined | {folder})

    def _has(self, path: str, text: bytes, language: str) -> bool:
        """Whether the index has this text of a file, analysed as this language."""
        return self.index.texts.get(path) == text and self.index.graph.files[path].language == language

    def seen_from(self, folder: Folder) -> FolderSnapshot:
        """The snapshot for requests in a folder; the folder's own one before its files have joined."""
        if folder not in self.joined:
            return folder.snapshot
        directory, paths = self.layout.directories[folder], self.paths[folder]
        model = self.model.for_directory(directory)
        return CrossFolderSnapshot(self.index, model, {}, folder.path.name, directory, paths)


def _labels(layout: _Layout, own: Folder) -> dict[Folder, str]:
    """A name for each folder: the last parts of its path, as many as needed to tell it from the others.

    No name leads into another one, and none into a directory of the folder `own`.
    """
    n_parts = dict.fromkeys(layout.directories, 1)
    taken = {key.partition("/")[0] for key in own.snapshot.index.texts if layout.path_of(own, key) is not None}
    while True:
        labels = {folder: "/".join(folder.path.parts[-n:]).strip("/\\") for folder, n in n_parts.items()}
        unclear = {
            folder
            for folder, label in labels.items()
            if n_parts[folder] < len(folder.path.parts)
            and (
                (folder is not own and label.partition("/")[0] in taken)
                or any(contains(other, label) for each, other in labels.items() if each is not folder)
            )
        }
        if not unclear:
            return labels
        for folder in unclear:
            n_parts[folder] += 1


def _analysis_of(index: RepositoryIndex, path: str) -> Analysis:
    """The parts of an indexed file, which the segments of the index contain merged."""
    data = index.texts[path]
    text = data.decode("utf-8", "surrogatepass")
    fragments = replace(slice_file(path, text, index.settings.slicing), text=data)
    return Analysis(None, index.graph.files[path], fragments, tokenise_document(path, text))
