"""The folders of a workspace: path lookup, file watching and reconciliation.

Owns the folders, the file watcher, the reconciler, and the `.editorconfig` files. Knows no open text and no model.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ...errors import InvalidArgument
from ...llm import Cancel
from ...retrieval import RepositoryIndex
from ..config import Config
from ..config.options import index_settings
from .analysis_store import AnalysisStore
from .cross_folder import CrossFolderIndex
from .editorconfig import EditorConfigs
from .folder import Folder
from .folder_answers import FolderAnswers
from .projects import lone_file_root
from .reconcile import ComparisonResult, Reconciler
from .snapshot import FolderSnapshot
from .store import Store
from .virtual_path import shown_file
from .watch import Watcher
from .writer import Writer

log = logging.getLogger("weft")

BACKGROUND_NICENESS = 10
"""Niceness of worker processes that index in the background: completions have priority."""

LONE_FILE = "is outside the workspace"
"""The `limit_reason` of the index of a lone file."""

MAX_PREEMPTION_S = 0.05
"""A comparison with the disk waits at most this long for running requests before it continues."""


class Folders:
    """The folders of one workspace. Thread-safe. `preempt` waits for running requests, `on_change` reports changes."""

    def __init__(
        self,
        roots: Iterable[Path],
        config: Config,
        writer: Writer,
        store: Store | None,
        *,
        preempt: Callable[[Cancel, float], None],
        on_change: Callable[[], None],
        analyses: AnalysisStore | None = None,
        cache: bool = True,
    ) -> None:
        self.version = 0
        """Incremented when the folder or the ignore state of a path may have changed."""
        self._config, self._writer, self._store, self._analyses = config, writer, store, analyses
        self._stores_answers = cache
        self._answers = FolderAnswers(config, on_disk=cache)
        self._preempt = preempt
        self._on_change = on_change
        self._lock = threading.Lock()
        self._editor_configs: dict[str, EditorConfigs] = {}  # by folder
        self._watcher: Watcher | None = None
        self._follows_disk = False  # changes on disk are watched, or reported
        self._reconciler = Reconciler[Folder](self._reconcile, self._reconciler_changed)
        self._is_reindexing = False  # a comparison reads changed files
        self._to_renew: frozenset[Folder] = frozenset()  # their watches may have lost events
        self._cross_folder = CrossFolderIndex(writer)
        self._all = tuple(map(self._new_folder, dict.fromkeys(roots)))
        self._lone: tuple[Folder, ...] = ()  # of open files outside all folders: each has those files and their imports
        self._lone_files: dict[Path, tuple[Folder, str]] = {}  # an open lone file -> its index and its key
        self._cross_folder.use(self._all, config)
        self.outside = FolderSnapshot.empty(index_settings(config, name=""))
        """The snapshot for documents without a folder or a file."""

    def __iter__(self) -> Iterator[Folder]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, root: Path) -> Folder:
        """Add the folder at `root`, and watch it if the others are watched."""
        known = self.at(root)
        if known is None:
            known = self._new_folder(root)
            with self._lock:
                self._all, self.version = (*self._all, known), self.version + 1
                self._cross_folder.use(self._all, self._config)
            if self._watcher is not None:
                self._watch(known)
        return known

    def remove(self, root: Path) -> Folder | None:
        """Remove the folder at `root` and save its index; None if the workspace does not contain it."""
        removed = self.at(root)
        with self._lock:
            self._all, self.version = tuple(f for f in self._all if f is not removed), self.version + 1
            self._cross_folder.use(self._all, self._config)
        if self._watcher is not None:
            self._watcher.remove(root)
        if removed is not None:
            self._release(removed)
            removed.save()
        return removed

    def replace_all(self, config: Config) -> tuple[Folder, ...]:
        """Replace all folders by empty ones with another configuration; returns the old ones."""
        self._config = config
        self._answers = FolderAnswers(config, on_disk=self._stores_answers)
        with self._lock:
            old, self._all = (*self._all, *self._lone), tuple(self._new_folder(folder.path) for folder in self._all)
            lone = {folder: self._new_lone_folder(folder.path) for folder in self._lone}
            for before, after in lone.items():
                after.seeds = before.seeds
            self._lone = tuple(lone.values())
            self._lone_files = {path: (lone[folder], key) for path, (folder, key) in self._lone_files.items()}
            self.version += 1
            self._cross_folder.use(self._all, config)
        for folder in old:
            self._release(folder)
        return old

    @property
    def with_lone(self) -> tuple[Folder, ...]:
        """The folders, and the indexes of lone files."""
        return (*self._all, *self._lone)

    def add_seed(self, path: Path) -> None:
        """Index this file with the files that it imports, though no editor has it open."""
        self.open_lone_file(path)
        folder, key = self.locate(path)
        if folder is not None:
            folder.seeds |= {key}

    def open_lone_file(self, path: Path) -> None:
        """Index a file outside all folders, with the files that it imports. Nothing for a file inside a folder."""
        if shown_file(path) is not None or not path.is_absolute():
            return
        real = Path(os.path.realpath(path))
        if not real.parent.is_dir() or any(self.locate(each)[0] is not None for each in (path, real)):
            return
        root = lone_file_root(real)
        with self._lock:
            folder = next((lone for lone in self._lone if lone.path == root), None)
            if folder is None:
                folder = self._new_lone_folder(root)
                self._lone = (*self._lone, folder)
            key = real.relative_to(root).as_posix()
            self._lone_files = {**self._lone_files, path: (folder, key), real: (folder, key)}
            self.version += 1
        if self._follows_disk:
            self._reconciler.poll(folder)

    def close_lone_file(self, path: Path) -> None:
        """Drop the index of a lone file unless another open file needs it."""
        with self._lock:
            at = self._lone_files.get(path)
            if at is None:
                return
            self._lone_files = {other: where for other, where in self._lone_files.items() if where != at}
            folder, self.version = at[0], self.version + 1
            if any(where[0] is folder for where in self._lone_files.values()):
                self._writer.submit(partial(folder.mark_closed, at[1]))
                self._reconciler.request(folder)
                return
            self._lone = tuple(lone for lone in self._lone if lone is not folder)
        self._release(folder)

    def follow_imports(self, folder: Folder) -> None:
        """Index the new imports of open files, if only open files of this folder are indexed. On the writer."""
        if folder.has_new_imports:
            self._reconciler.request(folder)

    @property
    def limited(self) -> Mapping[Path, str]:
        """The folders of which only open files and their imports are indexed, with the reason."""
        return {folder.path: folder.limit_reason for folder in self._all if folder.limit_reason}

    @property
    def open_questions(self) -> Mapping[Path, str]:
        """Those of `limited` about which the user may be asked."""
        return {path: reason for path, reason in self.limited.items() if self._answers.is_open_question(path)}

    def answer(self, root: Path, *, is_allowed: bool) -> None:
        """Remember whether a broad folder may be indexed. The caller indexes it then."""
        self._answers.remember(root, "index" if is_allowed else "open files")
        folder = self.at(root)
        if folder is not None and folder.limit_reason and is_allowed:
            folder.limit_reason, folder.max_files = "", 0
            self._reconciler.remove(folder)  # it was polled
            if self._watcher is not None:
                self._watch(folder)
        self._on_change()

    def at(self, root: Path) -> Folder | None:
        return next((folder for folder in self._all if folder.path == root), None)

    def locate(self, path: Path) -> tuple[Folder | None, str]:
        """The innermost folder that contains a path, and the path's name in its index; of a lone file its own index."""
        best: tuple[Folder | None, str] = (None, path.as_posix())
        for folder in self._all:
            key = folder.key(path)
            if key is not None and (best[0] is None or len(key) < len(best[1])):
                best = (folder, key)
        return best if best[0] is not None else self._lone_files.get(path, best)

    def locate_document(self, path: Path) -> tuple[Folder | None, str]:
        """The folder whose index serves a document, and the document's name in it.

        The first folder serves documents outside all folders that are no open files.
        """
        folder, key = self.locate(path)
        if shown_file(path) is not None:
            key = Path(*path.parts[:2], path.name).as_posix()  # enough for a prompt
        elif folder is None:
            folder, key = self.locate(Path(os.path.realpath(path)))
        if folder is None and self._all:
            folder = self._all[0]
        return folder, key

    def snapshot_of(self, root: str) -> FolderSnapshot:
        """The newest snapshot for requests in the folder at `root`; an empty one if there is no such folder."""
        return next((folder.view for folder in self.with_lone if str(folder.path) == root), self.outside)

    def known(self, folder: Path | str) -> Folder:
        """The folder at a path. Raises KeyError if the workspace does not contain it."""
        found = self.at(Path(folder).resolve())
        if found is None:
            raise KeyError(f"{folder} is not a folder of this workspace")
        return found

    def indexes(self, folder: Path | str | None = None) -> dict[str, RepositoryIndex]:
        """The newest indexes by folder, of one or of all. Raises ValueError for a folder outside the workspace."""
        root = None if folder is None else Path(folder).resolve()
        indexes = {str(each.path): each.snapshot.index for each in self._all if root in (None, each.path)}
        if root is not None and not indexes:
            raise InvalidArgument(f"{folder} is not a folder of this workspace. Add it, or choose another folder.")
        return indexes

    @property
    def failed(self) -> tuple[str, ...]:
        """Files that could not be analysed, each with the reason."""
        return tuple(
            sorted(
                f"{key}: {skipped_file.reason}"
                for folder in self.with_lone
                for key, skipped_file in folder.skipped_files.items()
                if skipped_file.has_failed
            )
        )

    def editor_config(self, root: str, key: str) -> Mapping[str, str]:
        """The `.editorconfig` properties of a file."""
        return self._editor_configs_of(root).properties(key)

    def watch(self, report: Callable[[Iterable[Path]], None] | None) -> None:
        """Start to follow changes on disk. `report` receives them; None if an editor reports them."""
        self._follows_disk = True
        if self._watcher is None and report is not None:
            self._watcher = Watcher(report, self._events_lost)
            for folder in self._all:
                self._watch(folder)
        for lone in self._lone:
            self._reconciler.poll(lone)
        self.reconcile()

    def files_changed(self, paths: Iterable[Path], *, is_paused: bool) -> Mapping[Folder, Sequence[str]]:
        """Read files or directories again that were created, changed or removed on disk, unless paused.

        Returns the changed names by folder. A path that cannot be handled does not affect the others.
        """
        self._follows_disk = True
        self.version += 1
        by_folder: dict[Folder, list[str]] = {}
        for path in paths:
            try:
                folder, key = self.locate(path)
                if folder is not None:
                    by_folder.setdefault(folder, []).append(key)
                    self._editor_configs_of(str(folder.path)).changed(key)
            except (OSError, ValueError) as error:
                log.warning("A change of %s could not be handled: %s. Comparing with the disk.", path, error)
                self.reconcile()
        if not is_paused:  # the index run after the pause finds them
            for folder, keys in by_folder.items():
                folder.changed_on_disk(keys, partial(self._changed_on_disk, folder))
        return by_folder

    def indexed(self, folder: Folder) -> None:
        """An index run of a folder has ended."""
        self.version += 1
        if folder.limit_reason and self._watcher is not None:
            self._watcher.remove(folder.path)
            self._reconciler.poll(folder)
        if self._follows_disk:
            self._reconciler.request(folder)  # finds changes made during the run

    def reconcile(self) -> None:
        """Request reconciliation of all folders."""
        for folder in self.with_lone:
            self._reconciler.request(folder)

    @property
    def is_reconciling(self) -> bool:
        return self._reconciler.is_running

    @property
    def is_reindexing(self) -> bool:
        """Whether reconciliation is reading changed files."""
        return self._is_reindexing

    def pause(self) -> None:
        self._reconciler.pause()

    def resume(self) -> None:
        self._reconciler.resume()

    def flush(self) -> None:
        """Wait until every comparison requested so far is done."""
        self._reconciler.flush()

    def stop(self) -> None:
        """Stop reconciliation, file watching and the joint index for good."""
        self._reconciler.close()
        self._cross_folder.close()
        if self._watcher is not None:
            self._watcher.close()

    def save(self) -> None:
        """Save the indexes to the cache."""
        for folder in self._all:
            folder.save()

    def map_saved(self) -> None:
        """Map the saved indexes instead of those that were built: see `Folder.map_saved`."""
        for folder in self._all:
            folder.map_saved()

    def reduce_memory(self) -> None:
        """See `Folder.reduce_memory`."""
        for folder in self._all:
            folder.reduce_memory()

    def _new_folder(self, root: Path) -> Folder:
        reason, max_files = self._answers.limit_reason(root), self._answers.max_files(root)
        if reason == "" and self._store is not None and self._store.location(root).exists():
            max_files = 0  # it was indexed before
        return Folder(
            root,
            self._config,
            self._writer,
            self._store,
            self._cross_folder,
            analyses=self._analyses,
            limit_reason=reason,
            max_files=max_files,
        )

    def _new_lone_folder(self, root: Path) -> Folder:
        return Folder(root, self._config, self._writer, None, limit_reason=LONE_FILE)

    def _release(self, folder: Folder) -> None:
        self._reconciler.remove(folder)
        folder.close()

    def _editor_configs_of(self, root: str) -> EditorConfigs:
        return self._editor_configs.setdefault(root, EditorConfigs(Path(root)))

    def _watch(self, folder: Folder) -> None:
        """Watch a folder; poll one that cannot be watched, or whose few indexed files are checked at no cost."""
        if self._watcher is not None and (folder.limit_reason or not self._watcher.renew(folder.path)):
            self._reconciler.poll(folder)

    def _events_lost(self) -> None:
        """The watcher may have lost events, also of new folders: renew all watches and reconcile."""
        self._to_renew = frozenset(self._all)
        self.reconcile()

    def _changed_on_disk(self, folder: Folder, needs_comparison: bool) -> None:
        self.version += 1
        if needs_comparison:
            self._reconciler.request(folder)
        else:
            self._reconciler.request_precaution(folder)

    def _reconcile(self, folder: Folder, cancel: Cancel) -> ComparisonResult:
        """Compare a folder with the disk; called by the reconciler."""
        if folder not in self.with_lone or not (folder.is_indexed or folder.limit_reason):
            return ComparisonResult()  # the first index run is incomplete; a comparison follows it
        if (
            self._watcher is not None
            and not folder.limit_reason
            and (folder in self._to_renew or not self._watcher.watches(folder.path))
        ):
            self._to_renew -= {folder}
            self._watch(folder)
        try:
            preempt = partial(self._preempt, cancel, MAX_PREEMPTION_S)
            return folder.reconcile(cancel, preempt, self._reindexing, BACKGROUND_NICENESS)
        finally:
            self._is_reindexing = False

    def _reindexing(self) -> None:
        self._is_reindexing = True
        self._on_change()

    def _reconciler_changed(self) -> None:
        self.version += 1  # ignore rules may have been read again
        self._on_change()
