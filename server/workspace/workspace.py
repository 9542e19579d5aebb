"""Python API of a workspace: an index with completions and questions.

Owns the order of events between the index and the services: a request sees the edits before it. Knows no editor
protocol; the services implement completions and questions.

    with Workspace([Path("my-project")]) as workspace:
        workspace.index()
        print(workspace.complete(Path("my-project/shop.py"), line=10, character=4).text)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ...llm import Cancel, CodeModel
from ...retrieval import RepositoryIndex, RetrievalOptions, Retrieved
from ..completion.explanation import Explanation
from ..completion.idle import IdleWorker
from ..completion.iterate import Round
from ..completion.repair import IndentStyle
from ..completion.service import WARM_UP_AFTER_S, CompletionService
from ..completion.stats import Stats, stats_folder
from ..completion.values import AUTOMATIC, NO_TRACE, Completion, RequestOptions, Trace, Trigger
from ..config import Config, load_config
from ..models.active import ActiveModels
from ..models.chain import ModelChain
from ..next_edit.rewrite.service import RewriteOptions, Rewrites
from ..next_edit.service import N_OFFERED, NextEdits
from ..next_edit.values import NextEdit
from .buffers import INDEX_AFTER_S
from .folder import Progress
from .index import WorkspaceIndex
from .memory_limit import MemoryLimit, clear_caches
from .process import memory_mb
from .quiet_timer import QuietTimer
from .status import Status
from .text import TextChange, TextLines

if TYPE_CHECKING:  # chat modules are imported on the first question, so that completions are available sooner
    from ..chat.conversation import Chat
    from ..chat.evidence import GatherOptions
    from ..chat.generation import StreamCallbacks
    from ..chat.values import EvidenceSet, Reply
    from ..models.unit_encoder import UnitEncoderCache
    from ..search import SearchResult

log = logging.getLogger("weft")

EMBED_AFTER_S = 30.0
"""Changed definitions are embedded this long after the last edit (`chat.embed_code`)."""

CHECK_MEMORY_AFTER_S = 5.0
"""Memory is compared with `memory_limit_mb` this long after the last edit, change on disk or index run."""

MEMORY_IS_SHORT = "Memory is short (`memory_limit_mb`)."

SAVE_STATS_AFTER_S = 30.0
"""Counters are written to disk this long after the last edit, and on close."""


class Workspace(WorkspaceIndex):
    """An index of folders, with models, completions and questions. Thread-safe; close it, or use it with `with`.

    `config` None reads the user's and the first folder's configuration. `model` precedes the configured models.
    `cache` False writes nothing to disk. `separates_sessions`: sessions are of different people, who share no recent
    edits. Raises NotADirectoryError.
    """

    def __init__(
        self,
        folders: Sequence[Path | str],
        config: Config | None = None,
        *,
        model: CodeModel | None = None,
        cache: bool = True,
        separates_sessions: bool = False,
    ) -> None:
        roots = [Path(folder).resolve() for folder in folders]
        if config is None:
            config, problems = load_config(roots[0] if roots else None)
            for problem in problems:
                log.warning("%s", problem)
        self._idle = IdleWorker()
        self._memory_limit: MemoryLimit | None = None
        self._memory_timer = QuietTimer((CHECK_MEMORY_AFTER_S, self._check_memory))
        super().__init__(roots, config, self._idle.wait_for_requests, cache=cache)
        self._buffers.separates_sessions = separates_sessions
        self.stats = Stats(stats_folder(config.cache_dir) if cache else None)
        self._models = ActiveModels(config, model, self._status_changed)
        self.completion = CompletionService(
            self._folders, self._buffers, self._models, config, self.stats, self._idle, self._closed
        )
        self._rewrites = Rewrites(self._buffers, lambda: self._models.chain, config)
        self.next_edits_of = NextEdits(self._buffers, self.stats, config.next_edits, self._rewrites)
        self._quiet_timer = QuietTimer(
            (WARM_UP_AFTER_S, self.completion.warm_up),
            (INDEX_AFTER_S, self._buffers.index_pending),
            (SAVE_STATS_AFTER_S, self.stats.save),
            (EMBED_AFTER_S, self._embed_later),
        )
        self._memory_limit = self._new_memory_limit(config)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def configure(self, config: Config) -> None:
        """Use another configuration; recreates models and indexes that it changes."""
        self._models.configure(config, is_paused=self.is_paused)
        self.completion.configure(config)
        self.next_edits_of.configure(config.next_edits)
        self._rewrites.configure(config)
        self._close_chat()
        self._memory_limit = self._new_memory_limit(config)
        self._configure_index(config)
        self._status_changed()

    def pause(self) -> None:
        """Stop automatic completions, indexing and prefetching until `resume`.

        Edits of open texts are still applied. Invoked requests use the current index.
        """
        self._pause_index()
        self.completion.pause()
        self._models.pause()

    def resume(self) -> None:
        """End a pause. Call `index` next, to index the changes made meanwhile."""
        self.completion.resume()
        self._models.resume()
        self._resume_index()

    def close(self) -> None:
        """Save the index and release all resources. Running requests are cancelled."""
        self._closed.cancel()
        self.completion.close()
        self._quiet_timer.close()
        self._memory_timer.close()
        self._close_chat()
        self._close_index()
        self._models.close()
        self.stats.save()

    # Open buffers.

    def open_buffer(
        self,
        path: Path,
        text: str | TextLines,
        version: int = 0,
        language_id: str | None = None,
        *,
        session: str = "",
        is_indexed: bool = True,
    ) -> None:
        """Overlay the file on disk with this text of a session; with `is_indexed` False not in the index.

        `language_id` is the LSP language id; None keeps the previous one.
        """
        path, lines = Path(path), text if isinstance(text, TextLines) else TextLines(text)
        if self._buffers.open(path, lines, version, language_id, session=session, is_indexed=is_indexed):
            self.completion.opened(path, lines)
        self._begin_timers()

    def edit_buffer(
        self,
        path: Path,
        text: str | TextLines,
        version: int = 0,
        changed: TextChange | None = None,
        *,
        session: str = "",
        is_indexed: bool = True,
    ) -> None:
        """Set a buffer's whole new text; `changed` is the changed range, if known. The index is updated later."""
        path, lines = Path(path), text if isinstance(text, TextLines) else TextLines(text)
        changed = self._buffers.edit(path, lines, version, changed, session=session, is_indexed=is_indexed)
        if changed is not None:
            self.completion.edited(path, lines, changed, session)
        self._begin_timers()

    def close_buffer(self, path: Path) -> None:
        """Use the file on disk again."""
        self._buffers.close(Path(path))
        self._begin_timers()

    def forget_session(self, session: str) -> None:
        """A session has ended, and its buffers are closed."""
        self._buffers.forget_session(session)
        self.next_edits_of.forget_session(session)

    # Next edits. `self.next_edits_of` has the same with files, for sessions, and feedback on them.

    def next_edits(
        self, path: Path | str, line: int, character: int, limit: int = 20, *, cancel: Cancel | None = None
    ) -> tuple[NextEdit, ...]:
        """What the recent edits of open texts make necessary, best first, with paths relative to their folder.

        Positions are 0-based, in Python characters. Where nothing else is known, a model is asked that the settings
        allow, which may take seconds.
        """
        rewrite = RewriteOptions(cancel or Cancel())
        offers = self.next_edits_of.at(Path(path), line, character, limit, thorough=limit > N_OFFERED, rewrite=rewrite)
        return tuple(offer.edit for offer in offers)

    # Completions. `self.completion` has the same for cursors, and feedback on completions.

    def complete(
        self,
        path: Path | str,
        line: int,
        character: int,
        *,
        cancel: Cancel | None = None,
        multi_line: bool | None = None,
        trigger: Trigger = "automatic",
        style: IndentStyle | None = None,
        text: str | None = None,
        trace: Trace = NO_TRACE,
    ) -> Completion:
        """The completion at a position (0-based, in Python characters; clamped to the text).

        `text` is the file's text in the requesting editor; other editors may have the file open with another text.
        `multi_line` None uses the configuration. `style` is the editor's indentation; None infers it from the file.
        Raises OSError for a file that is neither open nor readable on disk, ValueError for a binary file.
        """
        options = RequestOptions(trigger, multi_line, style, trace=trace)
        request = self.completion.request_at(Path(path), line, character, options, text=text, cancel=cancel)
        return self.completion.complete(request)

    def complete_in_rounds(
        self,
        path: Path | str,
        line: int,
        character: int,
        n_rounds: int,
        *,
        multi_line: bool | None = None,
        trace: Trace = NO_TRACE,
        on_round: Callable[[Round], None] = lambda done: None,
    ) -> Completion:
        """The completion at a position after RepoCoder's loop, see `CompletionService`. Raises as `complete` does."""
        options = RequestOptions("invoked", multi_line, trace=trace)
        request = self.completion.request_at(Path(path), line, character, options)
        return self.completion.complete_in_rounds(request, n_rounds, on_round)

    def complete_several(
        self,
        path: Path | str,
        line: int,
        character: int,
        n: int,
        *,
        multi_line: bool | None = None,
        text: str | None = None,
        trace: Trace = NO_TRACE,
    ) -> list[Completion]:
        """Up to `n` different completions at a position, the best first. `text` and errors are those of `complete`."""
        options = RequestOptions("invoked", multi_line, trace=trace)
        request = self.completion.request_at(Path(path), line, character, options, text=text)
        return self.completion.complete_several(request, n)

    def retrieve(
        self, path: Path | str, line: int, character: int, *, options: RetrievalOptions | None = None
    ) -> Retrieved:
        """Fragments of the repository that are relevant at a position, best first."""
        return self.completion.retrieve(self.completion.request_at(Path(path), line, character), options)

    def explain(
        self,
        path: Path | str,
        line: int,
        character: int,
        options: RequestOptions = AUTOMATIC,
        *,
        text: str | None = None,
    ) -> Explanation:
        """The completion at a position, and why it is shown or hidden while typing."""
        return self.completion.explain(self.completion.request_at(Path(path), line, character, options, text=text))

    # Questions.

    @cached_property
    def chat(self) -> Chat:
        """The conversations of this workspace, created on the first question."""
        from ..chat.context import ChatContext
        from ..chat.conversation import Chat

        context = ChatContext(
            self.config,
            self._folders,
            self._buffers,
            self._models,
            self._memories,
            self._indexing,
            self._idle,
            self.encoder,
        )
        return Chat(context, self._closed)

    @cached_property
    def encoder(self) -> UnitEncoderCache | None:
        """The vectors of all definitions by an embedding model; None without the setting `chat.embed_code`."""
        if not self.config.chat.embed_code:
            return None
        from ..models.embeddings import embedder_of
        from ..models.unit_encoder import UnitEncoderCache

        config = self.config
        encoder = UnitEncoderCache(
            lambda cancel: embedder_of(config.memory, self.memory, cancel, redact=config.redact)[0],
            lambda: self._folders.indexes(None).values(),
            self._idle.wait_for_requests,
            self._status_changed,
        )
        if self._memory_notes:
            encoder.suspend(MEMORY_IS_SHORT)
        return encoder

    def embed(self, progress: Callable[[Progress], None] = lambda _: None, cancel: Cancel | None = None) -> None:
        """Embed all definitions and sections, if the setting `chat.embed_code` says so, and wait for it.

        Without this call it happens in the background, and questions are ranked by words until then.
        """
        if self.encoder is not None:
            self.encoder.embed(progress, cancel or Cancel())

    def ask(
        self,
        question: str,
        conversation_id: str = "",
        *,
        selection: tuple[Path, int, int] | None = None,
        folder: Path | str | None = None,
        strategy: str = "",
        remember: bool = True,
        as_written: bool = False,
        documents: Sequence[Path] = (),
        callbacks: StreamCallbacks | None = None,
        cancel: Cancel | None = None,
    ) -> Reply:
        """The reply to a question about the code, with checked citations; see `ChatRequest` and `Chat.ask`."""
        from ..chat.conversation import ChatRequest
        from ..chat.generation import NO_CALLBACKS

        request = ChatRequest(
            question, conversation_id, selection, folder, strategy, remember, as_written, tuple(documents)
        )
        return self.chat.ask(request, callbacks or NO_CALLBACKS, cancel)

    def gather(
        self, question: str, folder: Path | str | None = None, *, options: GatherOptions | None = None
    ) -> EvidenceSet:
        """The evidence for a question, of one folder or of all, unsaved edits included.

        Raises ValueError if `folder` is not a folder of this workspace.
        """
        return self.chat.context.gather(question, folder, options=options)

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        kinds: Sequence[str] = (),
        folder: Path | str | None = None,
        documents_wait_s: float = 1.0,
        cancel: Cancel | None = None,
    ) -> SearchResult:
        """Definitions, code and sections of documents by name and words, of one folder or of all, best first.

        The filters are those of `UnitFilter`; each keeps what matches one of its values. `documents_wait_s` is the
        longest wait for notebooks and PDF files that are not read yet. Unsaved edits are searched. Raises ValueError
        for an unknown language or kind, and if `folder` is not a folder of this workspace.
        """
        from ..chat.conversation import NOT_FULLY_INDEXED
        from ..chat.evidence import index_documents
        from ..search import read_filter, search_folders

        chosen = read_filter(languages, paths, kinds)
        context = self.chat.context
        indexes = context.indexes(folder)
        beside, notes = context.documents_beside(indexes, documents_wait_s)
        searched = list[tuple[str, RepositoryIndex]]()
        for root, index in indexes.items():
            shown = "" if len(indexes) == 1 else root
            searched.append((shown, index))
            documents = index_documents(index, beside.get(root, ()))
            if documents.n_files:
                searched.append((shown, documents))
        result = search_folders(searched, query, limit, chosen, cancel, context.encoder)
        unread = [NOT_FULLY_INDEXED] if context.is_indexing else []
        # Files that cannot be read matter only when nothing is found.
        return replace(result, notes=(*result.notes, *unread, *(() if result.hits else notes)))

    @property
    def models(self) -> ModelChain:
        """The configured models, in order."""
        return self._models.chain

    def keep_models_ready(self, report: Callable[[str], None]) -> None:
        """Open, test and warm up the models in the background from now on, and reopen those that fail.

        For long-lived processes. Requests do not wait until weights are loaded: the next model serves them meanwhile.
        `report` receives a sentence, from any thread, when a model goes down and when it recovers.
        """
        self._models.attend(report, self.completion.warm_up)

    def status(self) -> Status:
        snapshots = [folder.snapshot.index for folder in self._folders.with_lone]
        chain = self._models.chain
        encoder: UnitEncoderCache | None = self.__dict__.get("encoder")
        return Status(
            self._indexing.state,
            tuple(str(folder.path) for folder in self._folders),
            sum(index.n_files for index in snapshots),
            sum(index.n_lines for index in snapshots),
            sum(index.n_fragments for index in snapshots),
            self._models.name,
            chain.answering[1],
            chain.states,
            (*chain.notes, *self._memory_notes, *(() if self.base is None else self.base.notices)),
            memory_mb(),
            progress=self._indexing.progress,
            problem=self._indexing.problem,
            is_paused=self.is_paused,
            is_enabled=self.config.completion.enabled,
            withheld=self._buffers.withheld_reasons(),
            is_reconciling=self._folders.is_reconciling,
            failed=self._folders.failed,
            limited=tuple((str(path), reason) for path, reason in self._folders.limited.items()),
            embedding=None if encoder is None else encoder.progress,
            not_embedded="" if encoder is None else encoder.problem,
        )

    def _embed_later(self) -> None:
        if self.encoder is not None and not self.is_paused:
            self.encoder.update()

    def _folder_indexed(self) -> None:
        self._embed_later()

    def _begin_timers(self) -> None:
        self._quiet_timer.begin()
        if self._memory_limit is not None:
            self._memory_timer.begin()

    def _status_changed(self) -> None:
        super()._status_changed()
        if self._memory_limit is not None:
            self._memory_timer.begin()

    def _new_memory_limit(self, config: Config) -> MemoryLimit | None:
        if not config.memory_limit_mb:
            return None
        return MemoryLimit(config.memory_limit_mb, (clear_caches, self._folders.reduce_memory), self._memory_checked)

    @property
    def _memory_notes(self) -> tuple[str, ...]:
        limit = self._memory_limit
        return (limit.note,) if limit is not None and limit.note else ()

    def _check_memory(self) -> None:
        if self._memory_limit is not None and not self._indexing.is_running:
            self._memory_limit.check()

    def _memory_checked(self, is_exceeded: bool) -> None:
        encoder: UnitEncoderCache | None = self.__dict__.get("encoder")
        if encoder is not None and is_exceeded:
            encoder.suspend(MEMORY_IS_SHORT)
        elif encoder is not None:
            encoder.resume()
        super()._status_changed()

    def _close_chat(self) -> None:
        chat = self.__dict__.pop("chat", None)
        if chat is not None:
            chat.close()
        encoder = self.__dict__.pop("encoder", None)
        if encoder is not None:
            encoder.close()
