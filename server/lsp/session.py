"""One client's session: its documents, its workspace, and the requests that are running for it.

Owns the order of things: an edit reaches the workspace before the request that follows it, a newer request ends
the older one of its document, and nothing slow runs on the event loop. Knows no message but those it sends itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ...llm import Cancel
from ..chat.as_json import slash_commands_json
from ..config import Config, load_config
from ..output.as_json import status_json
from ..output.safe_text import for_editor
from ..output.types import StatusResult
from ..shared.workspaces import Share, Workspaces
from ..workspace.folder import IndexReport, Progress
from ..workspace.process import freeze_garbage_collector
from ..workspace.status import Status
from ..workspace.workspace import Workspace
from .capabilities import SECTION, Client, later_registrations, offer, read_client
from .documents import Document, Documents, document_key
from .messages import WEFT_DID_CHANGE_STATUS
from .progress import ProgressBar
from .status_push import StatusPush
from .uris import to_path

if TYPE_CHECKING:
    from .server import WeftServer

log = logging.getLogger("weft.lsp")

N_REQUEST_THREADS = 8
"""A superseded request leaves its thread as soon as it is told; models write in threads of their own."""

N_ANSWER_THREADS = 4
"""So many questions are answered at once; further ones wait. An answer may take minutes, and completions do not wait
for it: they have threads of their own."""

ANSWER_WITHIN_S = 3.0
"""How long the client may take to answer a question of ours before we go on without the answer."""

KEPT_WITHIN_S = 1.0
"""How long an answer that is ended early may take to be kept."""

CLOSE_WITHIN_S = 5.0
"""How long keeping the index may hold up the end of the process."""

T = TypeVar("T")
Job = Callable[[Callable[[Progress], None], Cancel], IndexReport]


@dataclass(frozen=True, slots=True)
class _Running:
    superseded: asyncio.Future[None]
    cancel: Cancel = field(default_factory=Cancel)

    def supersede(self) -> None:
        self.cancel.cancel()
        if not self.superseded.done():
            self.superseded.set_result(None)


class Session:
    """Lives on the event loop; only what it hands to its threads runs elsewhere."""

    def __init__(self, server: WeftServer, workspaces: Workspaces) -> None:
        self._server = server
        self._workspaces = workspaces
        self._requests = ThreadPoolExecutor(N_REQUEST_THREADS, "weft-request")
        self._answers = ThreadPoolExecutor(N_ANSWER_THREADS, "weft-answer")
        self._chores = ThreadPoolExecutor(2, "weft-chore")
        self._examinations = ThreadPoolExecutor(1, "weft-doctor")
        self._opened: asyncio.Future[None] | None = None  # done when requests need not wait for a workspace any more
        self._share: Share | None = None
        self._changing = asyncio.Lock()  # settings and folders, one after the other
        self._folders: list[Path] = []
        self._running: dict[tuple[str, str], _Running] = {}
        self._numbers = count()
        self._at_work: set[Future[Any]] = set()  # requests whose threads are not done, though they may be answered
        self._shown: set[str] = set()
        self._problem = ""  # why there is no workspace
        self._push: StatusPush | None = None
        self._forget_status: Callable[[], None] = lambda: None
        self.client = Client()
        self.settings: Mapping[str, Any] = {}  # the client's
        self.documents = Documents()
        self.answering: set[asyncio.Task[Any]] = set()  # handlers that are not done yet

    # What the client tells.

    def initialize(self, params: types.InitializeParams) -> types.ServerCapabilities:
        self.client = read_client(params.capabilities)
        self.documents = Documents(self.client.encoding)
        self._folders = _folders_of(params)
        self.settings = _section(params.initialization_options)
        self._opened = asyncio.get_running_loop().create_future()
        if self.client.wants_status:
            self._push = StatusPush(self.status, lambda status: self.notify(WEFT_DID_CHANGE_STATUS, status))
        return offer(self.client, slash_commands_json())

    async def start(self) -> None:
        """Open the workspace and bring its index up to date. Requests wait for the first and not for the second."""
        await self._register()
        await self._pull_settings()
        assert self._opened is not None
        self._status_changed()
        try:
            share = await self._chore(self._join_workspace)
        except Exception as error:
            log.exception("The workspace could not be opened.")
            self._problem = f"Weft could not open the workspace: {error}"
            self.show_once(self._problem, types.MessageType.Error)
            self._status_changed()
            if not self._opened.done():
                self._opened.set_result(None)
            return
        if self._opened.done():  # stopped before it was open
            await self._chore(self._workspaces.leave, share)
            return
        self._take(share)
        self._opened.set_result(None)
        await self._bring_up_to_date()

    def opened(self, document: Document) -> None:
        """The client shows a document."""
        if self._share is not None:
            self._share.texts.open(self._share, document.path, document.lines, document.version, document.language_id)

    def changed(self, document: Document) -> None:
        """In order with the requests: what is asked after this sees it. A workspace that opens later gets it then."""
        if self._share is not None:
            self._share.texts.edit(self._share, document.path, document.lines, document.version, document.changed)

    def closed(self, document: Document) -> None:
        if self._share is not None:
            self._share.texts.close(self._share, document.path)

    def asks_about(self, document: Document) -> None:
        """What comes next is answered from the index, which shall hold this client's text of the document."""
        if self._share is not None:
            self._share.texts.count_again(self._share, document.path)

    def tell(self, news: Callable[[Workspace], None]) -> None:
        """Hand an event to the workspace, in order with the requests."""
        if self._workspace is not None:
            news(self._workspace)

    def lost_edit(self, uri: str) -> None:
        log.warning("An edit of %s could not be read; nothing is completed there until its whole text comes.", uri)
        self.documents.lose_step(uri)
        self.edited(uri)

    def lost_edits(self) -> None:
        """A message was lost that may have been an edit of any document."""
        for document in self.documents:
            self.lost_edit(document.uri)

    def edited(self, uri: str) -> None:
        """What was asked about the text before this edit fits it no more."""
        for (_, key), running in list(self._running.items()):
            if key == document_key(uri):
                running.supersede()

    async def change_folders(self, added: Sequence[Path], removed: Sequence[Path]) -> None:
        self._folders = [folder for folder in self._folders if folder not in removed]
        self._folders += [folder for folder in added if folder not in self._folders]
        await self._when_open()
        async with self._changing:
            share = self._share
            if share is None:
                return
            in_place = await self._chore(self._workspaces.took_folders, share, self.existing_folders())
            if not in_place:
                await self._change_workspace(share)
        if not in_place:
            await self._bring_up_to_date()
            return
        for folder in removed:
            await self._chore(share.workspace.remove_folder, folder)
        for folder in added:
            if await self._chore(folder.is_dir):
                await self._index(f"Indexing {folder.name}", _adding(share.workspace, folder))

    async def change_settings(self, pushed: object) -> None:
        """The client's settings or a configuration file changed."""
        if pushed:
            self.settings = _section(pushed)
        await self._pull_settings()
        await self._when_open()
        async with self._changing:
            share = self._share
            if share is None or await self._chore(self._workspaces.reconfigured, share):
                return
            await self._change_workspace(share)
        await self._bring_up_to_date()

    # What the client asks.

    def document(self, uri: str) -> Document | None:
        """The document as it is now; None when it is not open, or an edit of it was lost."""
        document = self.documents.get(uri)
        return document if document is not None and document.in_step else None

    async def ask(self, kind: str, document: Document, call: Callable[[Workspace, Cancel], T]) -> T | None:
        """Run `call` beside the loop; None as soon as its answer is of no use any more.

        That is: a newer request of this kind came for the document, the document was edited or closed, the
        server stops, or there is no workspace. A request that the client cancels is cancelled down to the model.
        """
        key = (kind, document_key(document.uri))
        if key in self._running:
            self._running[key].supersede()
        return await self._run(key, self._requests, call)

    async def answer(self, call: Callable[[Workspace, Cancel], T]) -> T | None:
        """Run `call`, which may take minutes, beside everything else; None when the server stops or has no workspace.

        Neither an edit nor another question ends it, only who asked.
        """
        return await self._run(("answer", str(next(self._numbers))), self._answers, call)

    async def _run(
        self, key: tuple[str, str], pool: ThreadPoolExecutor, call: Callable[[Workspace, Cancel], T]
    ) -> T | None:
        loop = asyncio.get_running_loop()
        running = self._running[key] = _Running(loop.create_future())
        try:
            workspace = await _first(asyncio.ensure_future(self._when_open()), running.superseded)
            if workspace is None:
                return None
            work = pool.submit(call, workspace, running.cancel)
            self._at_work.add(work)
            work.add_done_callback(self._at_work.discard)
            return await _first(asyncio.wrap_future(work), running.superseded)
        finally:
            running.cancel.cancel()
            if self._running.get(key) is running:
                del self._running[key]

    async def look(self, call: Callable[[Workspace], T]) -> T | None:
        """Run `call`, which belongs to no document, beside the loop; None when there is no workspace."""
        if self._workspace is None:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._requests, call, self._workspace)

    async def beside(self, call: Callable[[], T]) -> T | None:
        """Run `call`, which may take seconds and needs no workspace; None when the server stops meanwhile."""
        key = ("beside", str(next(self._numbers)))
        running = self._running[key] = _Running(asyncio.get_running_loop().create_future())
        try:
            return await _first(asyncio.wrap_future(self._examinations.submit(call)), running.superseded)
        finally:
            del self._running[key]

    async def status(self, *, with_page: bool = False) -> StatusResult:
        status = await self.look(Workspace.status)
        if status is None:
            status = Status("error" if self._problem else "starting", problem=self._problem)
        return status_json(status, with_page=with_page)

    async def pause(self, paused: bool) -> None:
        """Let the workspace rest, or go on and bring its index up to date."""
        await self._when_open()
        share = self._share
        if share is None or share.workspace.is_paused == paused:
            return
        if paused:
            await self.look(Workspace.pause)
            return
        await self.look(Workspace.resume)
        share.workspace.expect_index()
        indexing = asyncio.ensure_future(self._index_again(share))
        self.answering.add(indexing)
        indexing.add_done_callback(self.answering.discard)

    def existing_folders(self) -> list[Path]:
        """The folders of the workspace that are there; touches the disk."""
        return [folder for folder in self._folders if folder.is_dir()]

    # What the client is told.

    def show_once(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        if message not in self._shown:
            self._shown.add(message)
            self.show(message, kind)

    def show(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        self._server.window_show_message(types.ShowMessageParams(kind, for_editor(message)))

    def notify(self, method: str, params: object) -> None:
        """A notification, from any thread; in their order, and before the answer of a request that is done later."""
        self._server.on_loop(self._server.protocol.notify, method, params)

    def log(self, message: str, level: int) -> None:
        """A line in the client's log; only once there is a client to tell, as the protocol wants."""
        if self._opened is not None:
            kind = types.MessageType.Info
            if level >= logging.WARNING:
                kind = types.MessageType.Error if level >= logging.ERROR else types.MessageType.Warning
            self._server.window_log_message(types.LogMessageParams(kind, for_editor(message)))

    # The end.

    def stop(self) -> None:
        """Let go of everything that runs; whoever asked gets an empty answer."""
        for running in list(self._running.values()):
            running.supersede()
        if self._opened is not None and not self._opened.done():
            self._opened.set_result(None)

    async def close(self) -> None:
        """Keep the index and end the threads. Bounded: what does not end in time is left behind."""
        self.stop()
        self._forget_status()
        if self._push is not None:
            self._push.close()
        share, self._share = self._share, None
        if share is not None:
            await self._let_answers_end()
            closing = asyncio.get_running_loop().run_in_executor(self._requests, self._workspaces.leave, share)
            done, _ = await asyncio.wait({closing}, timeout=CLOSE_WITHIN_S)
            if not done:
                log.warning("Closing the workspace took longer than %g s; it is left as it is.", CLOSE_WITHIN_S)
            elif closing.exception() is not None:
                log.error("The workspace did not close well: %s", closing.exception())
        if self.answering:
            await asyncio.wait(self.answering, timeout=ANSWER_WITHIN_S)
        for pool in (self._requests, self._answers, self._chores, self._examinations):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _let_answers_end(self) -> None:
        """What was written of an answer is kept before the memory closes."""
        ending = [asyncio.wrap_future(work) for work in list(self._at_work)]
        if ending:
            await asyncio.wait(ending, timeout=KEPT_WITHIN_S)

    # Helpers.

    @property
    def _workspace(self) -> Workspace | None:
        return None if self._share is None else self._share.workspace

    async def _when_open(self) -> Workspace | None:
        if self._opened is not None:
            await asyncio.shield(self._opened)
        return self._workspace

    def _take(self, share: Share) -> None:
        """Use this workspace from now on; it gets the documents that are open."""
        self._share = share
        self._forget_status()
        self._forget_status = share.workspace.on_status_change(self._status_changed)
        self._status_changed()
        for document in self.documents:
            self.opened(document)

    def _status_changed(self) -> None:
        """From any thread."""
        if self._push is not None:
            self._server.on_loop(self._push.changed)

    async def _bring_up_to_date(self) -> None:
        share = self._share
        if share is None:  # stopped meanwhile
            return
        await self._chore(partial(share.workspace.watch, is_reported=self.client.watches_files))
        await self._index("Indexing", share.first_index)

    async def _index_again(self, share: Share) -> None:
        """Nobody waits for it; the status tells how it goes."""
        try:
            await self._index("Indexing", share.index)
        except Exception:
            log.exception("What changed in the pause could not be indexed.")

    async def _change_workspace(self, old: Share) -> None:
        """Settings or folders are others now than those of whom this session shared a workspace with."""
        share, unused = await self._chore(self._join_workspace), old
        if self._share is old:
            self._take(share)
        else:  # stopped meanwhile
            unused = share
        await self._chore(self._workspaces.leave, unused)

    async def _chore(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._chores, call, *arguments)

    async def _index(self, title: str, job: Job) -> None:
        cancel = Cancel()
        bar = ProgressBar(self._server, title, cancel) if self.client.shows_progress else None
        message = "failed"
        try:
            report = await self._chore(job, bar.report if bar else _ignore, cancel)
            await self._chore(freeze_garbage_collector)
            message = f"{report.n_files} files, {report.n_lines} lines in {report.seconds:.1f} s"
            if report.cancelled:
                message += ", stopped early"
        finally:
            log.info("%s: %s.", title, message)
            if bar is not None:
                await bar.close(message)

    def _join_workspace(self) -> Share:
        return self._workspaces.join(
            self.existing_folders(),
            self._read_config,
            lambda news: self._server.on_loop(self.show, f"Weft: {news}"),
        )

    def _read_config(self) -> Config:
        """On a chore thread. Problems are shown once each, the files' and the client's alike."""
        config, problems = load_config(self._folders[0] if self._folders else None, self.settings)
        logging.getLogger("weft").setLevel(config.log_level.upper())
        for problem in problems:
            self._server.on_loop(self.show_once, f"Weft: {problem}")
        return config

    async def _register(self) -> None:
        registrations = later_registrations(self.client)
        if registrations:
            asking = self._server.client_register_capability_async(types.RegistrationParams(registrations))
            await self._answer_of(asking, "register capabilities")

    async def _pull_settings(self) -> None:
        if not self.client.answers_configuration:
            return
        wanted = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        answer = await self._answer_of(self._server.workspace_configuration_async(wanted), "read the settings")
        if answer and isinstance(answer[0], Mapping) and answer[0]:
            self.settings = answer[0]

    async def _answer_of(self, asking: Any, purpose: str) -> Any:
        """The client's answer; None, with a line in the log, when it refuses or takes too long."""
        try:
            return await asyncio.wait_for(asking, ANSWER_WITHIN_S)
        except (JsonRpcException, asyncio.TimeoutError) as error:
            log.warning("The client did not %s: %s", purpose, error or "no answer in time")
            return None


async def _first(work: asyncio.Future[T], superseded: asyncio.Future[None]) -> T | None:
    """What `work` comes to, or None as soon as it is superseded."""
    try:
        both: set[asyncio.Future[Any]] = {work, superseded}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return None if superseded.done() else work.result()
    finally:
        work.cancel()


def _section(settings: object) -> Mapping[str, Any]:
    """Our settings, whether the client sends them alone or under our name."""
    if not isinstance(settings, Mapping):
        return {}
    ours = settings.get(SECTION, settings)
    return ours if isinstance(ours, Mapping) else {}


def _folders_of(params: types.InitializeParams) -> list[Path]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    paths = [path for uri in uris if (path := to_path(uri)) is not None]
    if not uris and params.root_path:
        paths = [Path(params.root_path)]
    return list(dict.fromkeys(paths))


def _adding(workspace: Workspace, folder: Path) -> Job:
    return lambda report, cancel: workspace.add_folder(folder, report, cancel)


def _ignore(_: Progress) -> None:
    pass
