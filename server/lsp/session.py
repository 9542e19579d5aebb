"""Session of one client: its documents, its workspace handle, and its running requests.

Owns ordering and cancellation: an edit reaches the workspace before the request that follows it, a newer request
supersedes the older one of its document, and nothing slow runs on the event loop. Knows only the messages it sends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
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
from ..shared.workspaces import WorkspaceHandle, Workspaces
from ..workspace.folder import IndexReport, Progress
from ..workspace.status import Status
from ..workspace.text import Cursor
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

N_REQUEST_THREADS = 8  # a superseded request returns its thread soon; models generate in their own threads
# Maximum number of concurrent questions; further ones are queued. An answer may take minutes, so completions have a
# separate pool.
N_QUESTION_THREADS = 4
# How long the server waits for the client's response to a request before it continues without one.
RESPONSE_WITHIN_S = 3.0
PERSIST_WITHIN_S = 1.0  # how long a cancelled answer may take to be stored
# A request that gets no turn to compute in this time is answered with nothing: the server has more requests than it can
# answer. An automatic completion would come too late for its key; a request by hand waits longer.
AUTOMATIC_TURN_WITHIN_S, TURN_WITHIN_S = 0.5, 10.0
MAX_INPUT_FIRST = 100  # messages of the client that are handled before a request before them begins to compute
BUSY_FOR_S = 10.0  # how long after such an answer the status says so
CLOSE_WITHIN_S = 5.0  # how long storing the index may delay the exit of the process

# The answers to the question whether to index a broad folder.
INDEX_IT = "Index it"
ONLY_OPEN_FILES = "Only open files"

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
    """Used on the event loop; slow calls run in its thread pools."""

    def __init__(self, server: WeftServer, workspaces: Workspaces) -> None:
        self._server = server
        self._workspaces = workspaces
        self._requests = ThreadPoolExecutor(N_REQUEST_THREADS, "weft-request")
        self._questions = ThreadPoolExecutor(N_QUESTION_THREADS, "weft-answer")
        self._background = ThreadPoolExecutor(2, "weft-chore")
        self._diagnostics = ThreadPoolExecutor(1, "weft-doctor")
        self._opened: asyncio.Future[None] | None = None  # done when the workspace is open, or failed to open
        self._handle: WorkspaceHandle | None = None
        self._changing = asyncio.Lock()  # serialises changes of settings and folders
        self._folders: list[Path] = []
        self._running: dict[tuple[str, str], _Running] = {}
        self._ids = count()
        self._running_jobs: set[Future[Any]] = set()  # whose threads still run, maybe after the response
        self._shown: set[str] = set()
        self._asked: set[Path] = set()  # broad folders about which the user was asked
        self._open_questions: set[asyncio.Task[None]] = set()
        self._problem = ""  # why the workspace could not be opened
        self._push: StatusPush | None = None
        self._unsubscribe_status: Callable[[], None] = lambda: None
        self._not_busy: asyncio.TimerHandle | None = None  # while the status says that the server is busy
        self.client = Client()
        self.settings: Mapping[str, Any] = {}  # the client's
        self.documents = Documents()
        self.n_received = 0  # messages of the client
        self.running_handlers: set[asyncio.Task[Any]] = set()  # tasks of asynchronous handlers

    # Notifications of the client.

    def initialize(self, params: types.InitializeParams) -> types.ServerCapabilities:
        self.client = read_client(params.capabilities)
        self.documents = Documents(self.client.encoding)
        self._folders = _folders_of(params)
        self.settings = _section(params.initialization_options)
        self._opened = asyncio.get_running_loop().create_future()
        if self.client.wants_status:
            self._push = StatusPush(self.status, lambda status: self.notify(WEFT_DID_CHANGE_STATUS, status))
        config, _ = load_config(None, self.settings)
        return offer(self.client, slash_commands_json(), navigates=config.navigation.enabled)

    async def start(self) -> None:
        """Open the workspace and update its index. Requests wait for the opening, not for the index."""
        await self._register()
        await self._pull_settings()
        assert self._opened is not None
        self._status_changed()
        try:
            handle = await self._run_background(self._join_workspace)
        except Exception as error:
            log.exception("The workspace could not be opened.")
            self._problem = f"Weft could not open the workspace: {error}"
            self.show_once(self._problem, types.MessageType.Error)
            self._status_changed()
            if not self._opened.done():
                self._opened.set_result(None)
            return
        if self._opened.done():  # the session stopped meanwhile
            await self._run_background(self._workspaces.release, handle)
            return
        self._attach(handle)
        self._opened.set_result(None)
        await self._update_index()

    def opened(self, document: Document) -> None:
        """Open a buffer in the workspace."""
        if self._handle is not None:
            self._handle.buffers.open(
                self._handle.session, document.path, document.lines, document.version, document.language_id
            )

    def changed(self, document: Document) -> None:
        """Update a buffer, in order with requests. A workspace that opens later gets the newest text."""
        if self._handle is not None:
            self._handle.buffers.edit(
                self._handle.session, document.path, document.lines, document.version, document.changed
            )

    def closed(self, document: Document) -> None:
        if self._handle is not None:
            self._handle.buffers.close(self._handle.session, document.path)

    def activate(self, document: Document) -> None:
        """Make this client's text of a document the one in the index, for a request that reads the index."""
        if self._handle is not None:
            self._handle.buffers.activate(self._handle.session, document.path)

    def notify_workspace(self, event: Callable[[Workspace], None]) -> None:
        """Apply an event to the workspace, in order with requests."""
        if self._workspace is not None:
            event(self._workspace)

    def desynchronize(self, uri: str) -> None:
        log.warning("An edit of %s could not be read. Completion resumes when the client sends its whole text.", uri)
        self.documents.mark_out_of_sync(uri)
        self.supersede_requests(uri)

    def desynchronize_all(self) -> None:
        """Handle the loss of a message that may have been an edit of any document."""
        for document in self.documents:
            self.desynchronize(document.uri)

    def supersede_requests(self, uri: str) -> None:
        """Supersede the running requests of a document, whose text has changed."""
        for (_, key), running in list(self._running.items()):
            if key == document_key(uri):
                running.supersede()

    async def change_folders(self, added: Sequence[Path], removed: Sequence[Path]) -> None:
        self._folders = [folder for folder in self._folders if folder not in removed]
        self._folders += [folder for folder in added if folder not in self._folders]
        await self._wait_until_open()
        async with self._changing:
            handle = self._handle
            if handle is None:
                return
            in_place = await self._run_background(self._workspaces.try_change_folders, handle, self.existing_folders())
            if not in_place:
                await self._change_workspace(handle)
        if not in_place:
            await self._update_index()
            return
        for folder in removed:
            await self._run_background(handle.workspace.remove_folder, folder)
        for folder in added:
            if await self._run_background(folder.is_dir):
                await self._index(f"Indexing {folder.name}", partial(handle.add_folder, folder))
        self._ask_about_folders(handle)

    async def change_settings(self, pushed: object) -> None:
        """Apply a change of the client's settings or of a configuration file."""
        if pushed:
            self.settings = _section(pushed)
        await self._pull_settings()
        await self._wait_until_open()
        async with self._changing:
            handle = self._handle
            if handle is None or await self._run_background(self._workspaces.try_configure, handle):
                return
            await self._change_workspace(handle)
        await self._update_index()

    # Requests of the client.

    def document(self, uri: str) -> Document | None:
        """The current document; None if it is not open or out of sync."""
        document = self.documents.get(uri)
        return document if document is not None and document.in_sync else None

    def cursor(self, document: Document, position: types.Position) -> Cursor:
        """A client's position in a document, as that of this session."""
        return replace(document.cursor(position.line, position.character), session=self.name_in_workspace)

    @property
    def name_in_workspace(self) -> str:
        """The name of this session in its workspace, "" while there is none."""
        return "" if self._handle is None else self._handle.session

    async def run_latest(
        self,
        kind: str,
        document: Document,
        call: Callable[[Workspace, Cancel], T],
        turn_within_s: float = TURN_WITHIN_S,
    ) -> T | None:
        """Run `call` in a thread; None as soon as the request is superseded, or if there is no workspace.

        A newer request of this kind for the document, an edit, its closing, or the end of the server supersedes it.
        Cancellation by the client reaches the model. Sessions take turns: None too if no turn comes in time.
        """
        key = (kind, document_key(document.uri))
        if key in self._running:
            self._running[key].supersede()
        return await self._run(key, self._requests, partial(self._in_turn, call, turn_within_s))

    def _in_turn(
        self, call: Callable[[Workspace, Cancel], T], turn_within_s: float, workspace: Workspace, cancel: Cancel
    ) -> T | None:
        """The result of `call`, which computes when it is the turn of this session; None if that is too late."""
        with self._workspaces.turns.turn(self._name, cancel, turn_within_s) as has_turn:
            if has_turn:
                return call(workspace, cancel)
        if not cancel.cancelled:
            self._server.on_loop(self._show_busy)
        return None

    async def run_behind(self, kind: str, document: Document, call: Callable[[Workspace, Cancel], T]) -> T | None:
        """As `run_latest`, for a call that computes behind those calls: no completion waits for it.

        `call` computes in pieces, with `let_others_first` between them.
        """
        key = (kind, document_key(document.uri))
        if key in self._running:
            self._running[key].supersede()
        return await self._run(key, self._requests, partial(self._behind, call))

    def _behind(self, call: Callable[[Workspace, Cancel], T], workspace: Workspace, cancel: Cancel) -> T | None:
        turns, later = self._workspaces.turns, self._workspaces.later_turns
        with later.turn(self._name, cancel, TURN_WITHIN_S) as has_turn, turns.behind(cancel):
            return call(workspace, cancel) if has_turn and not cancel.cancelled else None

    @property
    def _name(self) -> str:
        """The session's name among those that take turns."""
        return f"{id(self):x}"

    def _show_busy(self) -> None:
        """Say in the status, for a while, that the server has too many requests."""
        if self._not_busy is not None:
            self._not_busy.cancel()
        self._not_busy = asyncio.get_running_loop().call_later(BUSY_FOR_S, self._show_not_busy)
        self._status_changed()

    def _show_not_busy(self) -> None:
        self._not_busy = None
        self._status_changed()

    async def run_concurrently(self, call: Callable[[Workspace, Cancel], T]) -> T | None:
        """Run `call`, which may take minutes, in a thread; None if the server stops or there is no workspace.

        Edits and other questions do not end it; the client's cancellation does.
        """
        return await self._run(("answer", str(next(self._ids))), self._questions, call)

    async def run_short(self, call: Callable[[Workspace, Cancel], T]) -> T | None:
        """As `run_concurrently`, for a call of less than a second: it does not wait until questions are answered."""
        return await self._run(("short", str(next(self._ids))), self._requests, call)

    async def _run(
        self, key: tuple[str, str], pool: ThreadPoolExecutor, call: Callable[[Workspace, Cancel], T]
    ) -> T | None:
        loop = asyncio.get_running_loop()
        running = self._running[key] = _Running(loop.create_future())
        try:
            workspace = await _first(asyncio.ensure_future(self._wait_until_open()), running.superseded)
            if workspace is None or not await self._is_wanted_after_input(running):
                return None
            work = pool.submit(call, workspace, running.cancel)
            self._running_jobs.add(work)
            work.add_done_callback(self._running_jobs.discard)
            return await _first(asyncio.wrap_future(work), running.superseded)
        finally:
            running.cancel.cancel()
            if self._running.get(key) is running:
                del self._running[key]

    async def _is_wanted_after_input(self, running: _Running) -> bool:
        """Handle what the client has already sent; False if that supersedes the request.

        On a busy machine the next keys have arrived before a request begins. Without this, each of them would cost a
        thread and a place in the queue for a request that is overtaken.
        """
        for _ in range(MAX_INPUT_FIRST):
            n_before = self.n_received
            # The reader handles one message in each iteration of the loop; the second one runs what the first woke.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if running.superseded.done():
                return False
            if self.n_received == n_before:
                break
        return True

    async def query(self, call: Callable[[Workspace], T]) -> T | None:
        """Run `call`, which belongs to no document, in a thread; None if there is no workspace."""
        if self._workspace is None:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._requests, call, self._workspace)

    async def run_diagnostics(self, call: Callable[[], T]) -> T | None:
        """Run `call`, which may take seconds and needs no workspace, in a thread; None if the server stops."""
        key = ("diagnostics", str(next(self._ids)))
        running = self._running[key] = _Running(asyncio.get_running_loop().create_future())
        try:
            return await _first(asyncio.wrap_future(self._diagnostics.submit(call)), running.superseded)
        finally:
            del self._running[key]

    async def status(self, *, with_page: bool = False) -> StatusResult:
        status = await self.query(Workspace.status)
        if status is None:
            status = Status("error" if self._problem else "starting", problem=self._problem)
        return status_json(replace(status, is_busy=self._not_busy is not None), with_page=with_page)

    async def pause(self, paused: bool) -> None:
        """Pause the workspace, or resume it and update its index."""
        await self._wait_until_open()
        handle = self._handle
        if handle is None or handle.workspace.is_paused == paused:
            return
        if paused:
            await self.query(Workspace.pause)
            return
        await self.query(Workspace.resume)
        handle.workspace.expect_index()
        indexing = asyncio.ensure_future(self._index_again(handle))
        self.running_handlers.add(indexing)
        indexing.add_done_callback(self.running_handlers.discard)

    def existing_folders(self) -> list[Path]:
        """The workspace folders that exist; accesses the disk."""
        return [folder for folder in self._folders if folder.is_dir()]

    # Messages to the client.

    def show_once(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        if message not in self._shown:
            self._shown.add(message)
            self.show(message, kind)

    def show(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        self._server.window_show_message(types.ShowMessageParams(kind, for_editor(message)))

    def notify(self, method: str, params: object) -> None:
        """Send a notification, from any thread, in order, and before the response of a request that completes later."""
        self._server.on_loop(self._server.protocol.notify, method, params)

    def log(self, message: str, level: int) -> None:
        """Send a line to the client's log; not before `initialize`, as the protocol requires."""
        if self._opened is not None:
            kind = types.MessageType.Info
            if level >= logging.WARNING:
                kind = types.MessageType.Error if level >= logging.ERROR else types.MessageType.Warning
            self._server.window_log_message(types.LogMessageParams(kind, for_editor(message)))

    # Shutdown.

    def stop(self) -> None:
        """Supersede all running requests; they return empty results."""
        for running in list(self._running.values()):
            running.supersede()
        for asking in list(self._open_questions):
            asking.cancel()
        if self._opened is not None and not self._opened.done():
            self._opened.set_result(None)

    async def close(self) -> None:
        """Release the workspace and end the threads, within time limits."""
        self.stop()
        self._unsubscribe_status()
        if self._push is not None:
            self._push.close()
        if self._not_busy is not None:
            self._not_busy.cancel()
        handle, self._handle = self._handle, None
        if handle is not None:
            await self._wait_for_jobs()
            closing = asyncio.get_running_loop().run_in_executor(self._requests, self._workspaces.release, handle)
            done, _ = await asyncio.wait({closing}, timeout=CLOSE_WITHIN_S)
            if not done:
                log.warning("Closing the workspace took longer than %g s and was abandoned.", CLOSE_WITHIN_S)
            elif closing.exception() is not None:
                log.error("The workspace could not be closed: %s", closing.exception())
        if self.running_handlers:
            await asyncio.wait(self.running_handlers, timeout=RESPONSE_WITHIN_S)
        for pool in (self._requests, self._questions, self._background, self._diagnostics):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _wait_for_jobs(self) -> None:
        """Wait until cancelled answers are stored, before the memory store closes."""
        ending = [asyncio.wrap_future(work) for work in list(self._running_jobs)]
        if ending:
            await asyncio.wait(ending, timeout=PERSIST_WITHIN_S)

    # Helpers.

    @property
    def _workspace(self) -> Workspace | None:
        return None if self._handle is None else self._handle.workspace

    async def _wait_until_open(self) -> Workspace | None:
        if self._opened is not None:
            await asyncio.shield(self._opened)
        return self._workspace

    def _attach(self, handle: WorkspaceHandle) -> None:
        """Use a workspace and open the client's documents in it."""
        self._handle = handle
        self._unsubscribe_status()
        self._unsubscribe_status = handle.workspace.on_status_change(self._status_changed)
        self._status_changed()
        for document in self.documents:
            self.opened(document)

    def _status_changed(self) -> None:
        """Push the status, from any thread."""
        if self._push is not None:
            self._server.on_loop(self._push.changed)

    async def _update_index(self) -> None:
        handle = self._handle
        if handle is None:  # the session stopped meanwhile
            return
        await self._run_background(partial(handle.workspace.watch, is_reported=self.client.watches_files))
        self._ask_about_folders(handle)
        await self._index("Indexing", handle.first_index)
        self._ask_about_folders(handle)  # an index run finds folders with too many files

    def _ask_about_folders(self, handle: WorkspaceHandle) -> None:
        """Ask about broad folders, once each, while completions come from open files and their imports."""
        for folder, reason in handle.workspace.open_questions.items():
            if folder in self._asked:
                continue
            self._asked.add(folder)
            question = f"Weft: {folder} {reason}. Index all of it?"
            if self.client.asks_questions:
                asking = asyncio.ensure_future(self._ask_about(handle, folder, question))
                self._open_questions.add(asking)
                asking.add_done_callback(self._open_questions.discard)
            else:
                self.show(
                    f"Weft: {folder} {reason}, so only open files and the files that they import are indexed. To index "
                    "all of it, set `index.broad_folders` to `index`.",
                    types.MessageType.Info,
                )

    async def _ask_about(self, handle: WorkspaceHandle, folder: Path, question: str) -> None:
        actions = [types.MessageActionItem(INDEX_IT), types.MessageActionItem(ONLY_OPEN_FILES)]
        params = types.ShowMessageRequestParams(types.MessageType.Info, for_editor(question), actions)
        try:
            chosen = await self._server.window_show_message_request_async(params)
        except JsonRpcException as error:
            log.warning("The client did not ask about %s: %s", folder, error)
            return
        if chosen is None or self._handle is not handle:  # closed without an answer, or the workspace has changed
            return
        await self._answer_folder(folder, is_allowed=chosen.title == INDEX_IT)

    async def _answer_folder(self, folder: Path, *, is_allowed: bool) -> None:
        """Remember whether a broad folder may be indexed, and begin to index it after a yes."""
        handle = self._handle
        if handle is None:
            return
        is_in_workspace = folder in handle.workspace.limited_folders  # not removed since the question
        await self._run_background(partial(handle.workspace.answer_folder, folder, is_allowed=is_allowed))
        if is_allowed and is_in_workspace:
            job = partial(handle.add_folder, folder)
            indexing = asyncio.ensure_future(self._index(f"Indexing {folder.name}", job))
            self.running_handlers.add(indexing)
            indexing.add_done_callback(self.running_handlers.discard)

    async def index_broad_folders(self) -> None:
        """Begin to index the folders of which only open files are indexed, as after a yes."""
        workspace = await self._wait_until_open()
        for folder in () if workspace is None else tuple(workspace.limited_folders):
            await self._answer_folder(folder, is_allowed=True)

    async def _index_again(self, handle: WorkspaceHandle) -> None:
        """Update the index in the background; the status reports its progress."""
        try:
            await self._index("Indexing", handle.index)
        except Exception:
            log.exception("Changes made during the pause could not be indexed.")

    async def _change_workspace(self, old: WorkspaceHandle) -> None:
        """Move to another workspace: settings or folders now differ from those of the other sessions."""
        handle, unused = await self._run_background(self._join_workspace), old
        if self._handle is old:
            self._attach(handle)
        else:  # the session stopped meanwhile
            unused = handle
        await self._run_background(self._workspaces.release, unused)

    async def _run_background(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._background, call, *arguments)

    async def _index(self, title: str, job: Job) -> None:
        cancel = Cancel()
        bar = ProgressBar(self._server, title, cancel) if self.client.shows_progress else None
        message = "failed"
        try:
            report = await self._run_background(job, bar.report if bar else lambda _: None, cancel)
            message = f"{report.n_files} files, {report.n_lines} lines in {report.seconds:.1f} s"
            if report.cancelled:
                message += ", stopped early"
        finally:
            log.info("%s: %s.", title, message)
            if bar is not None:
                await bar.close(message)

    def _join_workspace(self) -> WorkspaceHandle:
        return self._workspaces.acquire(
            self.existing_folders(),
            self._read_config,
            lambda message: self._server.on_loop(self.show, f"Weft: {message}"),
        )

    def _read_config(self) -> Config:
        """Read the configuration files and the client's settings, on a background thread; shows each problem once."""
        config, problems = load_config(self._folders[0] if self._folders else None, self.settings)
        logging.getLogger("weft").setLevel(config.log_level.upper())
        for problem in problems:
            self._server.on_loop(self.show_once, f"Weft: {problem}")
        return config

    async def _register(self) -> None:
        registrations = later_registrations(self.client)
        if registrations:
            asking = self._server.client_register_capability_async(types.RegistrationParams(registrations))
            await self._client_response(asking, "register capabilities")

    async def _pull_settings(self) -> None:
        if not self.client.answers_configuration:
            return
        wanted = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        answer = await self._client_response(self._server.workspace_configuration_async(wanted), "read the settings")
        if answer and isinstance(answer[0], Mapping) and answer[0]:
            self.settings = answer[0]

    async def _client_response(self, asking: Any, purpose: str) -> Any:
        """The client's response; None, with a log message, on an error or a timeout."""
        try:
            return await asyncio.wait_for(asking, RESPONSE_WITHIN_S)
        except (JsonRpcException, asyncio.TimeoutError) as error:
            log.warning("The client did not %s: %s", purpose, error or "no response in time")
            return None


async def _first(work: asyncio.Future[T], superseded: asyncio.Future[None]) -> T | None:
    """The result of `work`; None as soon as it is superseded."""
    try:
        both: set[asyncio.Future[Any]] = {work, superseded}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return None if superseded.done() else work.result()
    finally:
        work.cancel()


def _section(settings: object) -> Mapping[str, Any]:
    """Weft's settings, whether the client sends them alone or in a section `weft`."""
    if not isinstance(settings, Mapping):
        return {}
    section = settings.get(SECTION, settings)
    return section if isinstance(section, Mapping) else {}


def _folders_of(params: types.InitializeParams) -> list[Path]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    paths = [path for uri in uris if (path := to_path(uri)) is not None]
    if not uris and params.root_path:
        paths = [Path(params.root_path)]
    return list(dict.fromkeys(paths))
