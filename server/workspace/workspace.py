"""A workspace: folders, the texts an editor holds open, and completions at a cursor in them. No editor protocol inside.

Owns the open buffers and the order of events: what was edited before a request is seen by that request. One
writer thread builds snapshots, readers keep theirs. This is the Python API for scripts and tests:

    with Workspace([Path("my-project")]) as workspace:
        workspace.index()
        print(workspace.complete(Path("my-project/shop.py"), line=10, character=4).text)
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ...codegraph import CpuTimeLimit, SyntaxTree, TimeLimitExceeded
from ...errors import InvalidArgument, StoreError
from ...languages import Language, language_of
from ...llm import Cancel, CodeModel
from ...llm.disk import read_regular
from ...memory import Segment
from ...memory.storage import MemoryStore
from ...retrieval import Location, RankedFragment, RepositoryIndex, RetrievalOptions, Retrieved
from ..completion import Completion, Cursor, Engine, Request, Round, Trigger, retrieve_at
from ..completion.idle import Idle
from ..completion.repair import IndentStyle, style_of_properties
from ..completion.stats import Stats, stats_folder
from ..config import Config, load_config
from ..config.options import index_settings, kept_indexes, model_configs, retrieval_options, uses_workspace_model
from ..models.chain import ModelChain
from ..secrets import is_secret_path, is_secret_text
from .analysis import FILE_LIMIT_S, analyse
from .documents import FolderDocuments
from .editorconfig import EditorConfigs
from .files import decode
from .folder import Folder, IndexReport, Progress
from .ignore import matches
from .indexing import Indexing
from .memories import Memories
from .pauses import Pauses
from .process_memory import memory_mb
from .recent_edits import RecentEdits
from .reconcile import Outcome, Reconciler
from .snapshot import FolderSnapshot
from .status import NOBODY, PAUSED, WORKSPACE_MODEL, Status
from .text import TextLines, changed_range
from .virtual_path import shown_file
from .watch import Watcher
from .workers import reason_of
from .writer import Writer

if TYPE_CHECKING:  # questions load what they need when the first one is asked: completions begin sooner
    from ..chat.evidence import GatherOptions
    from ..chat.values import Case, Exhibit, Reply
    from ..chat.writing import Listener

log = logging.getLogger("weft")

READ_AHEAD_AFTER_S = 0.15
"""A model reads ahead this long after the last edit."""

INDEX_AFTER_S = 0.6
"""An edited buffer is indexed this long after the last edit: the file that is typed in is read fresh anyway, and a
request from another one brings the edit in at once. After 0.15 s every second key had an indexing beside its request
(`weft bench latency`, processor time in half a minute: 628 instead of 82 ms at 200k lines, 2.0 instead of 0.3 s at 1M).
"""

MAX_OPEN_CHARACTERS = 5_000_000
"""Longer texts that an editor holds open are followed, and neither analysed nor completed in; `index.max_file_bytes`
raises this when it is more."""

COUNTERS_KEPT_AFTER_S = 30.0
"""What was counted is written to disk when nobody has typed for so long, and at the end."""

LONGEST_GIVING_WAY_S = 0.5
"""An answer that is being written goes on after so long, a piece at a time, however much is typed."""

LONGEST_WAIT_FOR_DOCUMENTS_S = 1.0
"""A question waits no longer for notebooks and PDF files to be read; a later one finds them."""

LONGEST_WAIT_S = 0.1
"""A request waits no longer for edits of other files to be indexed; while a first index is built they queue."""

LONGEST_WAIT_FOR_INDEX_S = 60.0
"""A question waits so long for an index that is being built, and then says that not everything was searched."""

PAUSED_NOTE = "Weft is paused: what changed since then was not looked at."

BACKGROUND_NICENESS = 10
"""Of the workers that index while somebody types: who types comes first."""

RETRY_SLOW_TEXT_AFTER_S = 60.0
"""An unsaved text whose syntax took too long is analysed again so much later: it changes at every key."""

GIVE_WAY_S = 0.05
"""A comparison with the disk goes on after so long, a few files at a time, however many requests there are."""

Spot = tuple[Path, int, int]  # file, line and character, 0-based


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why these fragments: the scores in parts, what was left out and why, and what the prompt shows anyway."""

    folder: str  # whose index it is, "" for none
    path: str
    shown_from_line: int
    fragments: tuple[RankedFragment, ...]
    left_out: tuple[tuple[Location, str], ...]  # with the reason
    timings_ms: dict[str, float]
    model: str
    notes: tuple[str, ...]


@dataclass
class _Buffer:
    lines: TextLines
    version: int
    tree: SyntaxTree | None = None  # of an earlier text; the next parse starts from it. Touched on the writer only.
    too_slow_until_s: float = 0.0  # on the monotonic clock: its syntax took too long
    language_id: str = ""  # what the editor calls its language


class Workspace:
    """Folders under one index each, with the completion API. Thread-safe; close it, or use it with `with`.

    `config` None reads the user's and the first folder's configuration. `model` is asked before the configured ones.
    `cache` False keeps nothing between starts.
    """

    def __init__(
        self,
        folders: Sequence[Path | str],
        config: Config | None = None,
        *,
        model: CodeModel | None = None,
        cache: bool = True,
    ) -> None:
        roots = [Path(folder).resolve() for folder in folders]
        if config is None:
            config, problems = load_config(roots[0] if roots else None)
            for problem in problems:
                log.warning("%s", problem)
        for root in roots:
            if not root.is_dir():
                raise NotADirectoryError(f"{root} is not a folder. Give the folder of a project.")
        self.config = config
        self._model = model
        self._store = kept_indexes(config) if cache and config.index.keep_on_disk else None
        self._memories = Memories(roots[0] if cache and roots else None, config)
        self.stats = Stats(stats_folder(config.cache_dir) if cache else None)
        self._listeners: tuple[Callable[[], None], ...] = ()  # replaced whole
        self._models = self._new_chain()
        self._tell: Callable[[str], None] | None = None
        self._idle = Idle()
        self._engine = Engine(self._idle.making_way)
        self._touched: Spot | None = None  # where somebody was last
        self._places: dict[Path, tuple[int, int]] = {}  # where a completion was last asked for in a file
        self._answered: TextLines | None = None  # the text of the last request that was answered
        self._writer = Writer()
        self._lock = threading.Lock()
        self._buffers: dict[Path, _Buffer] = {}
        self._too_large: set[Path] = set()  # open, and not analysed
        self._editor_configs: dict[str, EditorConfigs] = {}  # by folder
        self._recent: dict[str, RecentEdits] = {}  # by folder
        self._pending: set[Path] = set()  # edited, and not yet handed to the writer
        self._pauses = Pauses(
            (READ_AHEAD_AFTER_S, self._warm_again),
            (INDEX_AFTER_S, self._bring_in_pending),
            (COUNTERS_KEPT_AFTER_S, self.stats.save),
        )
        self._watcher: Watcher | None = None
        self._follows_disk = False  # changes on disk are watched, or reported
        self._reconciler = Reconciler[Folder](self._reconcile, self._status_changed)
        self._is_bringing_in = False  # what a comparison with the disk found
        self._to_renew: frozenset[Folder] = frozenset()  # their watches may have lost events
        self._closed = Cancel()
        self._indexing = Indexing(self._closed, self._status_changed)
        self._folders = tuple(self._new_folder(root) for root in dict.fromkeys(roots))
        self._outside = FolderSnapshot.empty(index_settings(config, name=""))

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def index(
        self,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        *,
        niceness: int = 0,
    ) -> IndexReport:
        """Bring the index up to date with the disk, warm from what is kept. Completions work meanwhile.

        The report adds up all folders.
        """
        started = time.perf_counter()
        with self._indexing.whole():
            reports = [self._index_folder(folder, progress, cancel, niceness) for folder in self._folders]
        report = replace(_sum_reports(reports), seconds=time.perf_counter() - started)
        if not report.cancelled:
            for folder in self._folders:
                folder.save()
        return report

    def expect_index(self) -> None:
        """`index` is about to be called: questions wait for it from now on."""
        self._indexing.expect()

    def pause(self) -> None:
        """From now on nothing is completed unasked, nothing is indexed and nothing is done ahead.

        Edits are followed in open texts. Whoever asks is answered from what is known.
        """
        self._indexing.pause()
        self._reconciler.pause()
        self._idle.pause()
        self._models.pause()
        self._forget_documents()

    def resume(self) -> None:
        """Go on as before. Call `index` next: it brings in what changed meanwhile."""
        self._forget_documents()
        self._idle.resume()
        self._models.resume()
        self._indexing.resume()
        self._reconciler.resume()
        self._bring_in_pending()

    @property
    def is_paused(self) -> bool:
        return self._indexing.is_paused

    def on_status_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener`, from any thread, when `status` may say something else. Returns what takes it back."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def take_back() -> None:
            with self._lock:
                self._listeners = tuple(each for each in self._listeners if each is not listener)

        return take_back

    def watch(self, *, is_reported: bool = False) -> None:
        """Follow changes on disk from now on. `is_reported` says that an editor reports them to `files_changed`.

        What no event told of is found by comparisons with the disk, see `reconcile`.
        """
        self._follows_disk = True
        if self._watcher is None and not is_reported:
            self._watcher = Watcher(self.files_changed, self._lost_events)
            for folder in self._folders:
                self._watch(folder)
        self.reconcile()

    def reconcile(self) -> None:
        """Compare the index with the disk as soon as that is quiet, in the background, until nothing differs."""
        for folder in self._folders:
            self._reconciler.request(folder)

    def keep_models_ready(self, tell: Callable[[str], None]) -> None:
        """Open, test and warm the models in the background from now on, and bring back those that fail.

        For processes that live with an editor. Requests no longer wait for weights to be loaded: the next model
        answers meanwhile. `tell` gets a sentence, from any thread, when a model goes down and when it is back.
        """
        self._tell = tell
        self._models.attend(tell, self._warm_again)

    def close(self) -> None:
        """Keep the index for the next start and let everything go. Requests that are running end early."""
        self._closed.cancel()
        self._idle.close()
        self._engine.close()
        self._pauses.close()
        self._reconciler.close()
        if self._watcher is not None:
            self._watcher.close()
        self._memories.close()
        self._writer.close()
        for folder in self._folders:
            folder.save()
        self._models.close()
        self.stats.save()

    def add_folder(
        self,
        folder: Path,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
    ) -> IndexReport:
        """Index one more folder; it is searched as soon as its first files are in."""
        root = Path(folder).resolve()
        known = next((f for f in self._folders if f.path == root), None)
        if known is None:
            known = self._new_folder(root)
            with self._lock:
                self._folders = (*self._folders, known)
            if self._watcher is not None:
                self._watch(known)
        return self._index_folder(known, progress, cancel)

    def remove_folder(self, folder: Path) -> None:
        root = Path(folder).resolve()
        with self._lock:
            gone = [f for f in self._folders if f.path == root]
            self._folders = tuple(f for f in self._folders if f.path != root)
        if self._watcher is not None:
            self._watcher.remove(root)
        for f in gone:
            self._reconciler.forget(f)
            f.close()
            self._memories.forget(f)
            f.save()
        self._status_changed()

    def configure(self, config: Config) -> None:
        """Use another configuration; what it changes is made anew, be it the models or the index."""
        models_changed = (model_configs(config), config.redact) != (model_configs(self.config), self.config.redact)
        index_changed = config.index != self.config.index or index_settings(config, "") != index_settings(
            self.config, ""
        )
        self.config = config
        self._memories.configure(config)
        self._engine.forget()
        if models_changed:
            models, self._models = self._models, self._new_chain()
            models.close()
            if self.is_paused:
                self._models.pause()
            if self._tell is not None:
                self._models.attend(self._tell, self._warm_again)
        if index_changed:
            with self._lock:
                old, self._folders = self._folders, tuple(self._new_folder(folder.path) for folder in self._folders)
            for folder in old:
                self._reconciler.forget(folder)
                folder.close()
                self._memories.forget(folder)
            self.index()
        self._status_changed()

    def open_buffer(self, path: Path, text: str, version: int = 0, language_id: str | None = None) -> None:
        """From now on this text counts, not what is on disk.

        `language_id` is what the editor calls the language of the text; None keeps what it said before.
        """
        path = Path(path)
        if self._set_aside(path, text):
            return
        lines = TextLines(text)
        root, key = self._file(path)
        with self._lock:
            if language_id is None:
                language_id = self._language_id(path)
            self._buffers[path] = _Buffer(lines, version, language_id=language_id)
            self._recent[root] = self._recent.get(root, RecentEdits()).with_text(key, text)
            # Nobody says where the cursor is. Where it was, else at the end, where files grow.
            self._touched = (path, *self._places.get(path, lines.position(len(text))))
        self._refresh(path)

    def edit_buffer(self, path: Path, text: str, version: int = 0) -> None:
        """The buffer's whole new text. Cheap: the index follows on the writer thread."""
        path, lines = Path(path), TextLines(text)
        if self._set_aside(path, text):
            return
        root, key = file = self._file(path)
        is_withheld = bool(self._withheld(path, text))
        with self._lock:
            buffer = self._buffers.setdefault(path, _Buffer(lines, version))
            self._touched = (path, *lines.position(changed_range(buffer.lines.text, text)[2]))
            if not is_withheld:
                recent = self._recent.get(root, RecentEdits())
                self._recent[root] = recent.with_edit(key, buffer.lines.text, text, time.monotonic())
            buffer.lines, buffer.version = lines, version
        self._engine.edited(file, lines)
        self._refresh(path)

    def close_buffer(self, path: Path) -> None:
        """Back to what is on disk."""
        path = Path(path)
        with self._lock:
            self._buffers.pop(path, None)
            self._too_large.discard(path)
        self._refresh(path)

    def files_changed(self, paths: Iterable[Path]) -> None:
        """Files or directories were created, changed or removed on disk. One that cannot be handled costs no other."""
        self._follows_disk = True
        by_folder: dict[Folder, list[str]] = {}
        for path in paths:
            try:
                folder, key = self._locate(path)
                if folder is not None:
                    by_folder.setdefault(folder, []).append(key)
                    self._editor_config(str(folder.path)).changed(key)
            except (OSError, ValueError) as error:
                log.warning("A change of %s could not be handled; the disk is compared: %s", path, error)
                self.reconcile()
        if self.is_paused:
            return  # the look at all files that follows the pause finds them
        for folder, keys in by_folder.items():
            folder.changed_on_disk(keys, partial(self._changed_on_disk, folder))
            try:
                self._memories.files_changed(folder, keys)
            except (OSError, ValueError) as error:
                log.warning("Changed documents of %s could not be handled: %s", folder.path, error)

    def flush(self) -> None:
        """Wait until every edit and change reported so far can be retrieved."""
        self._bring_in_pending()
        self._writer.flush()
        self._reconciler.flush()
        self._writer.flush()

    def complete(
        self,
        path: Path | str,
        line: int,
        character: int,
        *,
        cancel: Cancel | None = None,
        multi_line: bool | None = None,
        trigger: Trigger = "automatic",
        iterations: int = 1,
        style: IndentStyle | None = None,
        text: str | None = None,
    ) -> Completion:
        """The completion at a position (0-based, in Python characters; clamped to the text).

        `text` is the file's as its editor shows it: another one may hold the file open as well, with another text.
        `multi_line` None leaves it to the configuration whether there may be several lines. With more than one of
        `iterations` it is `complete_in_rounds`. `style` is how the editor indents; None reads it from the file.
        Raises OSError for a file that is neither open nor readable on disk, ValueError for one that is no text.
        """
        if iterations > 1:
            return self.complete_in_rounds(
                path, line, character, iterations, cancel=cancel, multi_line=multi_line, text=text
            )
        how = self._engine.complete
        return self._complete(Path(path), line, character, cancel or Cancel(), trigger, multi_line, how, style, text)

    def complete_in_rounds(
        self,
        path: Path | str,
        line: int,
        character: int,
        n_rounds: int,
        *,
        cancel: Cancel | None = None,
        multi_line: bool | None = None,
        on_round: Callable[[Round], None] = lambda done: None,
        text: str | None = None,
    ) -> Completion:
        """The completion at a position after RepoCoder's loop: each round asks for what the last one wrote.

        Slow: as many answers of the model as rounds. For somebody who asked and waits. Raises as `complete` does.
        """
        how = partial(self._engine.complete_in_rounds, n_rounds=n_rounds, on_round=on_round)
        return self._complete(Path(path), line, character, cancel or Cancel(), "invoked", multi_line, how, text=text)

    def complete_several(
        self,
        path: Path | str,
        line: int,
        character: int,
        n: int,
        *,
        cancel: Cancel | None = None,
        multi_line: bool | None = None,
        text: str | None = None,
    ) -> list[Completion]:
        """Up to `n` different completions at a position, the best first; one that is empty when there is none.

        As slow as all models together. For somebody who asked and waits. Raises as `complete` does.
        """
        path, several = Path(path), list[Completion]()

        def how(request: Request) -> Completion:
            several.extend(self._engine.complete_several(request, n))
            return several[0]

        first = self._complete(path, line, character, cancel or Cancel(), "invoked", multi_line, how, text=text)
        for other in several[1:]:
            self.stats.offered_beside(other, self._language(path).name)
        return several or [first]

    def shown(self, item_id: str) -> None:
        """A person sees this completion."""
        self.stats.shown(item_id)
        self._write_ahead(item_id)

    def accepted(self, item_id: str) -> None:
        """A person took this completion."""
        self.stats.accepted(item_id)
        self._write_ahead(item_id)

    def retrieve(
        self, path: Path | str, line: int, character: int, *, options: RetrievalOptions | None = None
    ) -> Retrieved:
        """Fragments of the repository for the code at a position, best first."""
        path = Path(path)
        refusal = self._refusal(path)
        if refusal:
            return Retrieved((), ())
        snapshot, cursor = self._cursor(path, line, character)
        return retrieve_at(snapshot, cursor, options or retrieval_options(self.config))

    def explain(self, path: Path | str, line: int, character: int, *, text: str | None = None) -> Explanation:
        """What `complete` would be given at a position, and why."""
        path = Path(path)
        refusal = self._refusal(path, text)
        notes = (*((refusal,) if refusal else ()), *self._pause_notes, *self._models.notes)
        if refusal:
            return Explanation("", str(path), 0, (), (), {}, self._model_name, notes)
        snapshot, cursor = self._cursor(path, line, character, text)
        found = retrieve_at(snapshot, cursor, replace(retrieval_options(self.config), explain=True))
        return Explanation(
            cursor.folder,
            cursor.path,
            cursor.shown_from_line,
            found.fragments,
            tuple(found.left_out),
            dict(found.timings_ms),
            self._model_name,
            notes,
        )

    def gather(
        self,
        question: str,
        folder: Path | str | None = None,
        *,
        options: GatherOptions | None = None,
        turns: Sequence[Exhibit] = (),
    ) -> Case:
        """Everything that speaks to a question, of one folder or of all: code, documents and these past turns.

        Unsaved edits count. Raises ValueError for a folder that is none of this workspace.
        """
        from ..chat.evidence import GatherOptions, gather

        indexes = self.indexes(folder)
        beside, notes = dict[str, Sequence[Segment]](), list(self._pause_notes)
        for root in indexes:
            try:
                documents = self.documents(root)
                beside[root] = documents.beside_code(LONGEST_WAIT_FOR_DOCUMENTS_S)
                notes += documents.notes
            except StoreError as error:  # code answers as well without what is kept of documents
                notes.append(str(error))
        case = gather(indexes, question, options or GatherOptions(), turns, beside)
        return replace(case, notes=(*case.notes, *notes))

    def indexes(self, folder: Path | str | None = None) -> dict[str, RepositoryIndex]:
        """The newest snapshots by folder, of one or of all. Unsaved edits are in them."""
        self._wait_for(self._bring_in_pending())
        root = None if folder is None else Path(folder).resolve()
        indexes = {str(f.path): f.snapshot.index for f in self._folders if root in (None, f.path)}
        if root is not None and not indexes:
            raise InvalidArgument(f"{folder} is no folder of this workspace. Add it, or ask about one that is.")
        return indexes

    def ask(
        self,
        question: str,
        conversation_id: str = "",
        *,
        selection: tuple[Path, int, int] | None = None,
        folder: Path | str | None = None,
        strategy: str = "",
        remember: bool = True,
        listener: Listener | None = None,
        cancel: Cancel | None = None,
    ) -> Reply:
        """The reply to a question about the code, with checked citations; see `Chat.ask`.

        `selection` is a file with the first of its selected lines and the one after the last (0-based).
        """
        from ..chat.commands import Selection
        from ..chat.conversation import Chat
        from ..chat.writing import NOBODY

        selected = None
        if selection is not None:
            path, start_line, end_line = selection
            if withheld := self._withheld(Path(path)):
                raise InvalidArgument(f"{withheld}. Ask without this selection.")
            selected = Selection(*self._file(path), start_line, end_line)
        cancel = cancel or Cancel()
        forget = self._closed.on_cancel(cancel.cancel)
        try:
            return Chat(self).ask(
                question,
                conversation_id,
                selection=selected,
                folder=folder,
                strategy=strategy,
                remember=remember,
                listener=listener or NOBODY,
                cancel=cancel,
            )
        finally:
            forget()

    def path_of(self, folder: str, path: str) -> Path | None:
        """Where the file of a citation or an exhibit is; None where that folder is gone."""
        roots = [known.path for known in self._folders if folder in ("", str(known.path))]
        return roots[0] / path if roots else None

    def recent_edits(self) -> dict[str, RecentEdits]:
        """What was edited lately, by folder."""
        with self._lock:
            return dict(self._recent)

    @property
    def is_indexing(self) -> bool:
        """Whether files are being read that nobody can search yet."""
        return self._indexing.is_running or self._is_bringing_in

    def wait_for_index(self, cancel: Cancel) -> None:
        """Until all files are read, or for a while at most."""
        until_s = time.monotonic() + LONGEST_WAIT_FOR_INDEX_S
        while self.is_indexing and time.monotonic() < until_s and not cancel.wait(0.02):
            pass

    def wait_for_completions(self, cancel: Cancel) -> None:
        """Until no completion is asked for, or for a moment: who types comes before who reads an answer."""
        self._idle.wait_for_requests(cancel, LONGEST_GIVING_WAY_S)

    @property
    def models(self) -> ModelChain:
        """Those that are asked, in their order."""
        return self._models

    def status(self) -> Status:
        snapshots = [folder.snapshot.index for folder in self._folders]
        failed = [
            f"{key}: {left_out.reason}"
            for folder in self._folders
            for key, left_out in folder.left_out.items()
            if left_out.has_failed
        ]
        return Status(
            self._indexing.state,
            tuple(str(folder.path) for folder in self._folders),
            sum(index.n_files for index in snapshots),
            sum(index.n_lines for index in snapshots),
            sum(index.n_fragments for index in snapshots),
            self._model_name,
            self._models.answering[1],
            self._models.states,
            self._models.notes,
            memory_mb(),
            progress=self._indexing.progress,
            problem=self._indexing.problem,
            is_paused=self.is_paused,
            is_enabled=self.config.completion.enabled,
            withheld=tuple(
                dict.fromkeys(reason for path in [*self._buffers, *self._too_large] if (reason := self._withheld(path)))
            ),
            is_reconciling=self._reconciler.is_running,
            failed=tuple(sorted(failed)),
        )

    @property
    def memory(self) -> MemoryStore:
        """What was said here and is known of documents: the store of the first folder, opened when first needed."""
        return self._memories.store

    def documents(self, folder: Path | str) -> FolderDocuments:
        """The documents of a folder of this workspace. Raises KeyError for another folder."""
        root = Path(folder).resolve()
        known = next((known for known in self._folders if known.path == root), None)
        if known is None:
            raise KeyError(f"{root} is no folder of this workspace")
        return self._memories.documents(known)

    @property
    def skipped(self) -> dict[str, str]:
        """Files that are not indexed although no rule ignores them, with the reason."""
        return {
            str(folder.path / key): left_out.reason
            for folder in self._folders
            for key, left_out in folder.left_out.items()
        }

    @property
    def _model_name(self) -> str:
        return self._models.answering[0] or (WORKSPACE_MODEL if uses_workspace_model(self.config) else NOBODY)

    def _new_chain(self) -> ModelChain:
        fallback = "The workspace model" if uses_workspace_model(self.config) else "Nobody"
        return ModelChain(
            model_configs(self.config),
            self._model,
            fallback=fallback,
            redact=self.config.redact,
            on_change=self._status_changed,
        )

    def _status_changed(self) -> None:
        for listener in self._listeners:
            listener()

    def _forget_documents(self) -> None:
        """Whoever asks next has them read anew; what was read of them is kept by content."""
        for folder in self._folders:
            self._memories.forget(folder)

    @property
    def _pause_notes(self) -> tuple[str, ...]:
        return (PAUSED_NOTE,) if self.is_paused else ()

    def _warm_again(self) -> None:
        """For the place where somebody was last."""
        place = self._touched
        if self._tell is None or place is None or self._refusal(place[0]):
            return
        buffer = self._buffers.get(place[0])
        if buffer is None or buffer.lines is not self._answered:
            self._idle.want(partial(self._warm, place))

    def _warm(self, place: Spot, cancel: Cancel) -> None:
        """What the next completion at this place will need, read by the model that would be asked."""
        wanted = self.config.completion.warm_up
        model = None if wanted == "off" else next(self._models.usable(), None)
        if model is None or not (model.info.local or wanted == "all"):
            return
        request = self._request(*place, cancel)
        if request.cursor.lines is not self._answered and not cancel.cancelled:
            self._engine.read_ahead(request, model)

    def _write_ahead(self, item_id: str) -> None:
        """What comes after a completion, when nobody asks for anything else."""
        if self.config.completion.speculate:
            self._idle.want(partial(self._written_ahead, item_id))

    def _written_ahead(self, item_id: str, cancel: Cancel) -> None:
        cursor = self._engine.cursor_after(item_id)
        if cursor is not None:
            snapshot = self._snapshot_of(cursor.folder)
            request = Request(snapshot, self._models, cursor, self.config, cancel, is_ahead=True)
            self._engine.write_ahead(request)

    def _new_folder(self, root: Path) -> Folder:
        return Folder(root, self.config, self._writer, self._store)

    def _watch(self, folder: Folder) -> None:
        if self._watcher is not None and not self._watcher.renew(folder.path):
            self._reconciler.poll(folder)

    def _lost_events(self) -> None:
        """The watcher may have missed changes, and folders that were made meanwhile."""
        self._to_renew = frozenset(self._folders)
        self.reconcile()

    def _changed_on_disk(self, folder: Folder, is_in_doubt: bool) -> None:
        if is_in_doubt:
            self._reconciler.request(folder)
        else:
            self._reconciler.request_calm(folder)

    def _reconcile(self, folder: Folder, cancel: Cancel) -> Outcome:
        """Compare a folder with the disk: the reconciler's work."""
        if folder not in self._folders or not folder.is_indexed:
            return Outcome()  # a first look has yet to end, and a comparison follows it
        if self._watcher is not None and (folder in self._to_renew or not self._watcher.watches(folder.path)):
            self._to_renew -= {folder}
            self._watch(folder)
        try:
            give_way = partial(self._idle.wait_for_requests, cancel, GIVE_WAY_S)
            return folder.reconcile(cancel, give_way, self._bringing_in, BACKGROUND_NICENESS)
        finally:
            self._is_bringing_in = False

    def _bringing_in(self) -> None:
        self._is_bringing_in = True
        self._status_changed()

    def _locate(self, path: Path) -> tuple[Folder | None, str]:
        """The innermost folder that holds a path and the path's name in its index."""
        best: tuple[Folder | None, str] = (None, path.as_posix())
        for folder in self._folders:
            key = folder.key(path)
            if key is not None and (best[0] is None or len(key) < len(best[1])):
                best = (folder, key)
        return best

    def _file(self, path: Path) -> tuple[str, str]:
        """The folder whose index completes a file, "" for none, and the file's name in it."""
        folder, key = self._locate(path)
        if shown_file(path) is not None:
            key = Path(*path.parts[:2], path.name).as_posix()  # a prompt needs no more of it
        elif folder is None:
            folder, key = self._locate(Path(os.path.realpath(path)))
        if folder is None and self._folders:
            folder = self._folders[0]
        return "" if folder is None else str(folder.path), key

    def _cursor(self, path: Path, line: int, character: int, text: str | None = None) -> tuple[FolderSnapshot, Cursor]:
        # The file at the cursor counts as it is now anyway; what was edited in others before must be seen too.
        self._wait_for(self._bring_in_pending(but=path))
        buffer = self._buffers.get(path)
        if buffer is not None and text in (None, buffer.lines.text):
            lines = buffer.lines
        else:
            lines = TextLines(_text_on_disk(path) if text is None else text)
        line, character = lines.clamp(line, character)
        root, key = self._file(path)
        recent = self._recent.get(root) if self.config.completion.recent_edits else None
        return self._snapshot_of(root), Cursor(
            key, lines, line, character, root, recent or RecentEdits(), self._language_id(path)
        )

    def _language_id(self, path: Path) -> str:
        """What the editor calls the language of a file; "" for one that is not open."""
        buffer = self._buffers.get(path)
        return "" if buffer is None else buffer.language_id

    def _language(self, path: Path) -> Language:
        return language_of(path.name, self._language_id(path))

    def _wait_for(self, edits: Future[None] | None) -> None:
        if edits is not None:
            with suppress(FutureTimeoutError, CancelledError):
                edits.result(timeout=LONGEST_WAIT_S)

    def _editor_config(self, root: str) -> EditorConfigs:
        return self._editor_configs.setdefault(root, EditorConfigs(Path(root)))

    def _project_style(self, cursor: Cursor) -> IndentStyle | None:
        """How the project's `.editorconfig` wants the cursor's file indented."""
        if not cursor.folder or Path(cursor.path).is_absolute():  # outside of all folders
            return None
        return style_of_properties(self._editor_config(cursor.folder).properties(cursor.path))

    def _snapshot_of(self, root: str) -> FolderSnapshot:
        return next((folder.snapshot for folder in self._folders if str(folder.path) == root), self._outside)

    def _complete(
        self,
        path: Path,
        line: int,
        character: int,
        cancel: Cancel,
        trigger: Trigger,
        multi_line: bool | None,
        how: Callable[[Request], Completion],
        style: IndentStyle | None = None,
        text: str | None = None,
    ) -> Completion:
        """The answer of `how`, which is counted, or why this file gets none."""
        refusal = self._refusal(path, text, trigger) or (PAUSED if self.is_paused and trigger == "automatic" else "")
        if refusal:
            completion = Completion("", (line, character), (line, character), why_empty=refusal)
        else:
            forget = self._closed.on_cancel(cancel.cancel)
            try:
                request = self._request(path, line, character, cancel, trigger, multi_line, style, text)
                if is_secret_text(request.cursor.lines.text):
                    completion = request.nothing(f"{path.name} holds a private key; completion in it is off")
                else:
                    completion = how(request)
            finally:
                forget()
            if completion.model not in ("", request.snapshot.model.info.name) and completion.source in _FRESH:
                self._answered = request.cursor.lines
        self.stats.answered(completion, trigger, self._language(path).name)
        return completion

    def _request(
        self,
        path: Path,
        line: int,
        character: int,
        cancel: Cancel,
        trigger: Trigger = "automatic",
        multi_line: bool | None = None,
        style: IndentStyle | None = None,
        text: str | None = None,
    ) -> Request:
        arrived_s = time.monotonic()
        snapshot, cursor = self._cursor(path, line, character, text)
        if not cancel.cancelled:
            self._places[path] = (cursor.line, cursor.character)
        return Request(
            snapshot,
            self._models,
            cursor,
            self.config,
            cancel,
            trigger,
            multi_line,
            style=style,
            project_style=self._project_style(cursor),
            arrived_s=arrived_s,
        )

    def _refusal(self, path: Path, text: str | None = None, trigger: Trigger = "automatic") -> str:
        """Why nothing is completed in this file, "" when it is. `text` is the file's, where it is not as known here."""
        withheld = self._withheld(path, text, is_asked_for=trigger == "invoked")
        if withheld:
            return f"{withheld}; completion in it is off"
        options = self.config.completion
        if not options.enabled:
            return "completion is switched off (completion.enabled)"
        language = self._language(path)
        names = {language.name} if language.grammar else {language.name or "text", "text"}
        if names.isdisjoint(options.languages) and "*" not in options.languages:
            return f"completion is off for {language.name or 'text'} (completion.languages)"
        if any(matches(options.exclude, self._locate(name)[1]) for name in self._names_of(path)):
            return "completion is off for this file (completion.exclude)"
        return ""

    @property
    def _max_characters(self) -> int:
        return max(MAX_OPEN_CHARACTERS, self.config.index.max_file_bytes)

    def _is_too_large(self, text: str) -> bool:
        return len(text) > self._max_characters

    def _set_aside(self, path: Path, text: str) -> bool:
        """Whether an open text is too large to be analysed; then the index has the file as it is on disk."""
        is_too_large = self._is_too_large(text)
        with self._lock:
            was = path in self._too_large
            if is_too_large:
                self._too_large.add(path)
                self._buffers.pop(path, None)
            else:
                self._too_large.discard(path)
        if is_too_large and not was:
            self._refresh(path)
        if is_too_large != was:
            self._status_changed()
        return is_too_large

    def _withheld(self, path: Path, text: str | None = None, *, is_asked_for: bool = False) -> str:
        """Why no model is shown this file, "" when one may be: it is secret, or ignored and not asked for.

        An ignored file that a person asks about is shown to models in this process alone.
        """
        if path in self._too_large or (text is not None and self._is_too_large(text)):
            return f"{path.name} has more than {self._max_characters / 1e6:g} million characters"
        names = self._names_of(path)
        if any(is_secret_path(name.as_posix()) for name in names):
            return f"{path.name} may hold secrets"
        if text is None and (buffer := self._buffers.get(path)) is not None:
            text = buffer.lines.text
        if text is not None and is_secret_text(text):
            return f"{path.name} holds a private key"
        for name in names:
            folder, key = self._locate(name)
            if folder is not None and folder.refuses(key) == "ignored":
                if not is_asked_for:
                    return f"{path.name} is ignored (.gitignore, .weftignore or index.exclude)"
                if self._models.asks_servers:
                    return f"{path.name} is ignored, and is not shown to a model behind an address"
        return ""

    def _names_of(self, path: Path) -> tuple[Path, ...]:
        """The name of a document in the editor, of the file that it shows, and of what that is a link to."""
        shown = shown_file(path)
        file = path if shown is None else shown
        return tuple(dict.fromkeys((path, file, Path(os.path.realpath(file)))))

    def _open_directories(self, folder: Folder) -> set[str]:
        keys = (folder.key(path) for path in list(self._buffers))
        return {os.path.dirname(key) for key in keys if key is not None}

    def _refresh(self, path: Path) -> None:
        """Have a buffer's latest text brought into the index when nobody types any more, or when somebody asks."""
        with self._lock:
            self._pending.add(path)
        self._pauses.begin()

    def _bring_in_pending(self, but: Path | None = None) -> Future[None] | None:
        """Hand the edits that wait to the writer; None when none do, or in a pause. `but` is the file typed in."""
        if self.is_paused:
            return None
        with self._lock:
            pending = self._pending - {but}
            self._pending -= pending
        last = None
        for path in pending:
            last = self._writer.submit(partial(self._bring_in, path))
        return last

    def _index_folder(
        self,
        folder: Folder,
        progress: Callable[[Progress], None] | None = None,
        cancel: Cancel | None = None,
        niceness: int = 0,
    ) -> IndexReport:
        """Every look at a folder: what was kept first, what is open in an editor on top of it, then the disk."""
        with self._indexing.look(cancel) as (report, ended):

            def tell(at: Progress) -> None:
                report(at)
                if progress is not None:
                    progress(at)

            folder.load()
            with self._lock:
                self._pending |= {path for path in self._buffers if folder.key(path) is not None}
            self._bring_in_pending()
            done = folder.index(tell, ended, self._open_directories(folder), niceness)
        if self._follows_disk:
            self._reconciler.request(folder)  # what changed during the look
        return done

    def _bring_in(self, path: Path) -> None:
        buffer = self._buffers.get(path)
        folder, key = self._locate(path)
        if folder is None or is_secret_path(key):
            return
        if buffer is None:
            folder.drop_overlay(key)
            return
        text = buffer.lines.text
        if not folder.includes(key) or len(text) > self.config.index.max_file_bytes or is_secret_text(text):
            return
        folder.hold_open(key)
        language = language_of(key, buffer.language_id)
        if folder.has_indexed(key, text, language.name):
            return
        if buffer.too_slow_until_s > time.monotonic():
            return
        limit = CpuTimeLimit(FILE_LIMIT_S)
        try:
            if buffer.tree is None:
                tree = SyntaxTree.parse(key, text, limit, language=language)
            else:
                tree = buffer.tree.edited(text, limit)
            buffer.tree = tree
            folder.overlay(analyse(key, text, graph=tree.file_graph(limit)))
        except Exception as error:
            if isinstance(error, TimeLimitExceeded):
                buffer.too_slow_until_s = time.monotonic() + RETRY_SLOW_TEXT_AFTER_S
            log.warning("%s is left out of the index: %s", path, error)
            folder.fail_overlay(key, reason_of(error))
            self._status_changed()


_FRESH = ("model", "joined")
"""Sources of a completion for which a model has read the code before the cursor just now."""


def share_interpreter() -> None:
    """Let threads take turns fifty times as often, for processes that answer while they index.

    A request is many short array operations; after each it would wait 5 ms for the thread that merges the index.
    """
    sys.setswitchinterval(0.0001)


def keep_from_collector() -> None:
    """Spare the index the garbage collector's walks from now on, for processes that live with one. Takes a moment.

    What was spared before and is garbage by now is collected first.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _text_on_disk(path: Path) -> str:
    decoded = decode(read_regular(path))
    if decoded is None:
        raise InvalidArgument(f"{path} is no text file. Complete in a source file.")
    return decoded[0]


def _sum_reports(reports: Sequence[IndexReport]) -> IndexReport:
    skipped: dict[str, int] = {}
    for report in reports:
        for reason, count in report.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return IndexReport(
        sum(r.n_files for r in reports),
        sum(r.n_lines for r in reports),
        sum(r.n_fragments for r in reports),
        sum(r.n_reused for r in reports),
        skipped,
        sum(r.seconds for r in reports),
        bool(reports) and all(r.warm for r in reports),
        any(r.cancelled for r in reports),
    )
