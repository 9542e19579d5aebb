"""Helpers that several test files share: files from one text, an editor at the real server, and model servers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import settings
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from weft.errors import ModelError
from weft.llm.local.engines import FloatArray, OutOfMemory
from weft.llm.local.model import LocalModel, LocalSettings
from weft.llm.protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelInfo, Piece, Speed
from weft.server.completion import Cursor
from weft.server.completion.confidence import ConfidenceModel
from weft.server.completion.evidence import FEATURES
from weft.server.shared.control import SharedServer, running_server, stop_server
from weft.server.workspace import workers
from weft.server.workspace.analysis import Analysis, analyse
from weft.server.workspace.store import CACHE_VARIABLE
from weft.server.workspace.text import TextLines

# The same cases every time: a test that passed passes again. `WEFT_FUZZ=1` looks for new ones.
settings.register_profile("pinned", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None)
settings.load_profile("fuzz" if os.environ.get("WEFT_FUZZ") else "pinned")

WAIT_S = 30
"""Only a test that fails waits this long."""

SERVER = (sys.executable, "-m", "weft", "serve")

WHOLE_TEXTS = {"weft": {"completion": {"min_confidence": 0.01}}}
"""Settings of a client: texts of the index are shown as a whole, independent of the fitted confidence."""


def pytest_collection_finish() -> None:
    """Exempt the tests, millions of objects, from every garbage collection that follows."""
    gc.collect()
    gc.freeze()


def write_files(folder: Path, text: str) -> None:
    """Files from one text: `#- name` opens each."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        path = folder / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")


def cursor_in(path: str, text: str) -> Cursor:
    """The cursor at `<CURSOR>` of a file."""
    before, _, after = text.partition("<CURSOR>")
    lines = TextLines(before + after)
    return Cursor(path, lines, *lines.position(len(before)))


def linear_confidence(intercept: float, **weights: float) -> ConfidenceModel:
    """A logistic regression with these weights, which are 0 for other features; "_" for a space in a name."""
    by_name = {name.replace("_", " "): weight for name, weight in weights.items()}
    assert by_name.keys() <= set(FEATURES)
    linear = np.array([by_name.get(name, 0.0) for name in FEATURES])
    none = np.zeros(0)
    return ConfidenceModel(linear, np.zeros((len(FEATURES), 0)), none, none, intercept, ((0.0, 0.0), (1.0, 0.0)))


def environment(home: Path) -> dict[str, str]:
    """With a home of its own: no settings of this machine's user, no cache of another test."""
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    return {**os.environ, **dict.fromkeys(homes, str(home))}


def ghost_capabilities(**others: Any) -> types.ClientCapabilities:
    """A client with ghost text that registers nothing dynamically."""
    inline = types.InlineCompletionClientCapabilities(dynamic_registration=False)
    return types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(inline_completion=inline), **others
    )


class Editor:
    """A text editor as the server knows one: pygls' client, what the server told it, and waiting for that."""

    def __init__(self, folder: Path, home: Path, arguments: Sequence[str] = ()) -> None:
        self.folder = folder
        self.command: tuple[str, ...] = SERVER
        self.arguments = arguments  # of `weft serve`
        self.messages: list[tuple[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.settings: dict[str, Any] = {}
        self.result: types.InitializeResult | None = None
        self._home = home
        self._news = asyncio.Event()
        self.client = LanguageClient("weft-tests", "1")
        for method in (types.WINDOW_LOG_MESSAGE, types.WINDOW_SHOW_MESSAGE, types.PROGRESS, "weft/didChangeStatus"):
            self._listen(method, None)
        for method in (types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.CLIENT_REGISTER_CAPABILITY):
            self._listen(method, None)
        self._listen(types.WORKSPACE_CONFIGURATION, lambda: [self.settings])

    def _listen(self, method: str, answer: Callable[[], Any] | None) -> None:
        def remember(params: Any) -> Any:
            self.messages.append((method, params))
            self._news.set()
            return answer() if answer else None

        self.client.feature(method)(remember)

    @property
    def process(self) -> asyncio.subprocess.Process:
        process = self.client._server
        assert process is not None
        return process

    async def launch(self) -> None:
        """The server's process, and not a word to it."""
        await self.client.start_io(*self.command, *self.arguments, env=environment(self._home), cwd=str(self._home))

    async def start(
        self,
        capabilities: types.ClientCapabilities | None = None,
        folders: list[Path] | None = None,
        options: dict[str, Any] | None = None,
        process_id: int | None = None,
    ) -> types.ServerCapabilities:
        await self.launch()
        workspace_folders = [types.WorkspaceFolder(f.as_uri(), f.name) for f in folders or [self.folder]]
        self.result = await self.within(
            self.client.initialize_async(
                types.InitializeParams(
                    capabilities=capabilities or ghost_capabilities(),
                    process_id=process_id,
                    workspace_folders=workspace_folders,
                    initialization_options=options,
                )
            )
        )
        self.client.initialized(types.InitializedParams())
        return self.result.capabilities

    async def within(self, waiting: Awaitable[Any]) -> Any:
        return await asyncio.wait_for(waiting, WAIT_S)

    async def message(self, method: str, fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """The first message of this kind that fits, whether it came already or not."""

        async def look() -> Any:
            while True:
                for name, params in self.messages:
                    if name == method and fits(params):
                        return params
                self._news.clear()
                await self._news.wait()

        return await self.within(look())

    async def indexed(self) -> None:
        """Until the server has said that its index is up to date."""
        await self.message(types.WINDOW_LOG_MESSAGE, lambda params: params.message.startswith("Indexing"))

    def uri(self, name: str) -> str:
        return name if ":" in name else (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None, language: str = "python", version: int = 1) -> None:
        uri = self.uri(name)
        self.texts[uri] = (self.folder / name).read_bytes().decode() if text is None else text
        self.versions[uri] = version
        item = types.TextDocumentItem(uri, language, version, self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def replace_all(self, name: str, text: str) -> None:
        uri = self.uri(name)
        self.texts[uri] = text
        self.change(name, types.TextDocumentContentChangeWholeDocument(text))

    def insert(self, name: str, line: int, column: int, text: str) -> None:
        at = types.Position(line, column)
        self.change(name, types.TextDocumentContentChangePartial(types.Range(at, at), text))

    def change(self, name: str, *changes: Any, version: int | None = None) -> None:
        uri = self.uri(name)
        self.versions[uri] = self.versions[uri] + 1 if version is None else version
        identifier = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, list(changes)))

    def close(self, name: str) -> None:
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
        )

    def ask(self, name: str, line: int, column: int, *, invoked: bool = True, id: str | None = None) -> Any:
        """An inline completion request on its way; await it for the answer."""
        kind = types.InlineCompletionTriggerKind
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(kind.Invoked if invoked else kind.Automatic),
            types.TextDocumentIdentifier(self.uri(name)),
            types.Position(line, column),
        )
        return self.client.protocol.send_request_async(types.TEXT_DOCUMENT_INLINE_COMPLETION, params, msg_id=id)

    async def complete(self, name: str, line: int, column: int, **how: Any) -> types.InlineCompletionItem | None:
        answer = await self.within(self.ask(name, line, column, **how))
        return answer.items[0] if answer.items else None

    async def request(self, method: str, params: Any = None) -> Any:
        return await self.within(self.client.protocol.send_request_async(method, params))

    async def stop(self) -> int:
        """Shutdown and exit as editors do; the exit status of the server."""
        await self.within(self.client.shutdown_async(None))
        self.client.exit(None)
        return await self.ended()

    async def ended(self) -> int:
        await self.within(self.process.wait())
        await self.within(self.client.stop())
        assert self.process.returncode is not None
        return self.process.returncode


Story = Callable[[Editor], Awaitable[None]]


@pytest.fixture
def editing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """`editing(files, story)`: write the files, start a server, tell the story to an editor, end both.

    Indirectly parametrised with arguments of `weft serve`, it is served like that.
    """
    arguments = getattr(request, "param", ())

    def run(files: str, story: Story, *, start: bool = True, **options: Any) -> None:
        folder = (tmp_path / "project").resolve()
        write_files(folder, files)
        home = tmp_path / "home"
        home.mkdir()

        async def tell() -> None:
            editor = Editor(folder, home, arguments)
            try:
                if start:
                    await editor.start(**options)
                await story(editor)
                if editor.process.returncode is None:
                    assert await editor.stop() == 0
            finally:
                if editor.client._server is not None and editor.process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        editor.process.kill()
                    # What a failed test has not read keeps asyncio waiting although the process is gone.
                    with contextlib.suppress(asyncio.TimeoutError):
                        await editor.within(editor.process.wait())

        asyncio.run(tell())

    yield run
    if "--shared" in arguments:
        end_shared_server(tmp_path / "home")


@contextlib.contextmanager
def user_at(home: Path) -> Iterator[None]:
    """This process as one of the user who lives there."""
    with pytest.MonkeyPatch.context() as user:
        for name, value in environment(home).items():
            user.setenv(name, value)
        yield


def end_shared_server(home: Path) -> None:
    """What a failed test leaves, and what would wait some seconds for another window."""
    with user_at(home):
        stop_server()


class Windows:
    """Editor windows of one user at one shared server: `open()` makes a window, not yet started."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.opened: list[Editor] = []
        home.mkdir()

    def open(self, folder: Path) -> Editor:
        self.opened.append(Editor(folder, self.home, ("--shared",)))
        return self.opened[-1]

    def weft(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        """The command of this user."""
        command = [*SERVER[:-1], *arguments]
        env = environment(self.home)
        return subprocess.run(command, env=env, input=input, cwd="/", capture_output=True, text=True, timeout=WAIT_S)

    def server(self) -> SharedServer | None:
        """The server that runs; None when there is none."""
        with user_at(self.home):
            return running_server()

    async def show(self, folder: Path, **options: Any) -> Editor:
        """A window whose index is made."""
        window = self.open(folder)
        await window.start(**options)
        await window.indexed()
        return window

    def run(self, story: Callable[[], Awaitable[None]]) -> None:
        """Tell the story, and end what is left of the windows."""

        async def tell() -> None:
            try:
                await story()
            finally:
                for window in self.opened:
                    if window.client._server is not None and window.process.returncode is None:
                        window.process.kill()
                        await window.within(window.process.wait())

        asyncio.run(tell())


@pytest.fixture
def windows(tmp_path: Path) -> Iterator[Windows]:
    opened = Windows(tmp_path / "home")
    yield opened
    end_shared_server(opened.home)


@pytest.fixture
def launching(tmp_path: Path) -> Callable[..., Awaitable[asyncio.subprocess.Process]]:
    """`await launching("--tcp", …)`: a server's process, with its streams to write and read."""
    pipe = asyncio.subprocess.PIPE
    return lambda *arguments: asyncio.create_subprocess_exec(
        *SERVER, *arguments, env=environment(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe
    )


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Path]:
    """`project(files)`: the files in a folder of their own."""

    def write(files: str) -> Path:
        folder = (tmp_path / "project").resolve()
        write_files(folder, files)
        return folder

    return write


class Reply:
    """What a replay server knows of one request, and how it may answer."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.path, self.headers, self.body = handler.path, dict(handler.headers), body
        self._handler = handler

    def json(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self._head(status, {"Content-Type": "application/json", "Content-Length": str(len(data))})
        self._handler.wfile.write(data)

    def events(self, *lines: str | bytes | dict[str, Any]) -> None:
        """Each line followed by an empty one; a dict as `data:`."""
        self.start()
        for line in lines:
            self.event(line)
        self.write(b"")

    def event(self, line: str | bytes | dict[str, Any]) -> None:
        text = f"data: {json.dumps(line, ensure_ascii=False)}" if isinstance(line, dict) else line
        self.write((text if isinstance(text, bytes) else text.encode()) + b"\n\n")

    def ndjson(self, *values: Any) -> None:
        self.start(Content_Type="application/x-ndjson")
        for value in values:
            self.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        self.write(b"")

    def start(self, status: int = 200, **headers: str) -> None:
        """The head of an answer in pieces, to be ended by `write(b"")`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self._head(status, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **given})

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self._handler.wfile.flush()

    def cut(self) -> None:
        """Break the connection off, as a server that dies does."""
        self._handler.connection.shutdown(socket.SHUT_RDWR)
        self._handler.close_connection = True

    def was_cut(self) -> bool:
        """Whether the client ends the connection; waits for it."""
        self._handler.connection.settimeout(WAIT_S)
        self._handler.close_connection = True
        try:
            return self._handler.connection.recv(1) == b""
        except ConnectionError:
            return True
        except OSError:  # the answer was written to its end
            return False

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


class ReplayServer:
    """Answers as `routes` say: "POST /completion" to a function of the Reply, or to a value that is sent as JSON.

    A route that is not there is 404. Keeps what was asked (`asked`: replies) and counts the connections.
    """

    def __init__(self, routes: dict[str, Any], port: int = 0) -> None:
        self.routes = routes
        self.asked: list[Reply] = []
        self.n_connections = 0
        self._connections: set[socket.socket] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                outer.n_connections += 1
                outer._connections.add(self.connection)

            def do_GET(self) -> None:
                self.answer()

            def do_POST(self) -> None:
                self.answer()

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reply = Reply(self, json.loads(body) if body else None)
                outer.asked.append(reply)
                route = outer.routes.get(f"{self.command} {self.path}")
                if callable(route):
                    route(reply)
                elif route is None:
                    reply.json({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, 404)
                else:
                    reply.json(route)

            def finish(self) -> None:
                outer._connections.discard(self.connection)
                super().finish()

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that goes away in the middle is what many tests are about."""

        self._http = Quiet(("127.0.0.1", port), Handler)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def asked_for(self, path: str) -> list[Any]:
        """The bodies of the requests for a path, oldest first."""
        return [reply.body for reply in self.asked if reply.path == path]

    def cut_connections(self) -> None:
        """As a server does that waited long enough for the next request."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
            self.cut_connections()


@pytest.fixture
def replaying() -> Iterator[Callable[..., ReplayServer]]:
    """`replaying(routes)`: a server on this machine that answers as `routes` say."""
    servers: list[ReplayServer] = []

    def serve(routes: dict[str, Any], port: int = 0) -> ReplayServer:
        servers.append(ReplayServer(routes, port))
        return servers[-1]

    yield serve
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def chat_routes() -> Callable[..., dict[str, Any]]:
    """`replaying(chat_routes(answer))`: a model that holds conversations, behind a server of OpenAI's protocol.

    `answer(reply, say)` is called for a question, and says its answer in pieces.
    """
    return _chat_routes


def _chat_routes(answer: Callable[[Reply, Callable[[str], None]], None]) -> dict[str, Any]:
    def chat(reply: Reply) -> None:
        def say(text: str) -> None:
            chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}
            reply.event(chunk)

        if not reply.body.get("stream"):  # it is only found out whether the model chats
            message = {"role": "assistant", "content": "hi"}
            reply.json({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
            return
        reply.start()
        if any("Question:" in message["content"] for message in reply.body["messages"]):
            answer(reply, say)
        else:
            say("hi")
        reply.event("data: [DONE]")
        reply.write(b"")

    return {
        "GET /v1/models": {"data": [{"id": "org/chat", "object": "model", "max_model_len": 4096}]},
        "POST /v1/chat/completions": chat,
        "POST /v1/completions": {"choices": [{"text": "x"}]},
    }


class LlamaServer:
    """A real llama-server on this machine, which can be killed and started again where it was."""

    def __init__(self, binary: Path, log: Path) -> None:
        self._binary, self._log = binary, log
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, model: Path, *options: str, wait: bool = True) -> None:
        """Serve a GGUF file. One thread: ggml's threads wait busily, and tests run beside each other."""
        command = [self._binary, "-m", model, "--port", str(self.port), "-t", "1", "--slots", *options]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        until = time.monotonic() + WAIT_S
        while wait and not self._is_ready():
            assert self.process.poll() is None, self._log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < until, "llama-server does not get ready"
            time.sleep(0.05)

    def get(self, path: str) -> Any:
        """What the server says at `path`."""
        return httpx.get(self.url + path, timeout=WAIT_S, trust_env=False).json()

    def kill(self) -> None:
        """As kill -9 does: no word to anybody."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _is_ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return bool(self.get("/health").get("status") == "ok")
        return False


def _llama_server() -> Path:
    default = Path(__file__).resolve().parent.parent / ".llm-servers" / "bin" / "llama-server"
    return Path(os.environ.get("WEFT_LLAMA_SERVER", default))


@pytest.fixture(scope="session")
def llama_server_binary() -> Path:
    binary = _llama_server()
    if not binary.is_file():
        pytest.skip(f"no llama-server at {binary}: run make llm-servers")
    return binary


@pytest.fixture(scope="session")
def llama_library() -> None:
    """llama.cpp runs in this process: with the libraries of llama-cpp-python, else with those beside llama-server."""
    from weft.llm.local.engines.llama_engine import load_library
    from weft.llm.protocol import ModelMissing

    try:
        load_library()
    except ModelMissing:
        os.environ.setdefault("LLAMA_CPP_LIB_PATH", str(_llama_server().parent))
        try:
            load_library()
        except ModelMissing as error:
            pytest.skip(f"{error} Or run make llm-servers.")


@pytest.fixture
def llama_serving(llama_server_binary: Path, tmp_path: Path) -> Iterator[Callable[..., LlamaServer]]:
    """`llama_serving(model, "-c", "2048", …)`: a running llama-server with a GGUF file."""
    servers: list[LlamaServer] = []

    def serve(model: Path, *options: str, wait: bool = True) -> LlamaServer:
        servers.append(LlamaServer(llama_server_binary, tmp_path / "llama-server.log"))
        servers[-1].start(model, *options, wait=wait)
        return servers[-1]

    yield serve
    for server in servers:
        server.kill()


@pytest.fixture(scope="session")
def tiny_model() -> Path:
    """The folder of the tiny trained model: `transformers/`, `onnx/`, `tiny-f16.gguf` and others."""
    default = Path(__file__).resolve().parent.parent / ".tiny-model"
    folder = Path(os.environ.get("WEFT_TINY_MODEL", default))
    if not (folder / "transformers" / "config.json").is_file():
        pytest.skip(f"no model in {folder}: run make tiny-model")
    return folder


class ToyScores:
    """The scores of the toy engine's last call; asking for them later is a mistake of whoever asks."""

    def __init__(self, engine: ToyEngine, rows: FloatArray) -> None:
        self._engine, self._rows, self._call = engine, rows, engine.n_calls

    def logits(self) -> FloatArray:
        assert self._call == self._engine.n_calls, "scores are valid until the next call"
        return self._rows

    def best(self) -> tuple[list[int], list[float]]:
        return self.logits().argmax(-1).tolist(), self._probabilities().max(-1).tolist()

    def best_of(self, row: int, tokens: Sequence[int]) -> tuple[int, float]:
        best = max(tokens, key=lambda token: self.logits()[row, token])
        return best, float(self._probabilities()[row, best])

    def _probabilities(self) -> FloatArray:
        weights = np.exp(self.logits())
        return weights / weights.sum(-1, keepdims=True)


class ToyEngine:
    """An `Engine` whose logits are drawn from the last `order` tokens (all, for None), and that refuses misuse.

    Memory is for `memory_tokens` in all caches. `blocks` are the numbers of tokens that were read, call by call.
    """

    cache_bytes_per_token = 10

    def __init__(
        self,
        n_vocabulary: int = 8,
        *,
        seed: int = 0,
        order: int | None = 2,
        context_tokens: int = 4096,
        crops: bool = True,
        memory_tokens: int = 1_000_000,
    ) -> None:
        self.n_vocabulary, self.context_tokens = n_vocabulary, context_tokens
        self.memory_tokens = memory_tokens
        self.caches: list[list[int]] = []  # in use; compared by what they are, not by what they hold
        self.n_calls = 0
        self.blocks: list[int] = []
        self.is_tuned = self.is_closed = False
        self.before_read: Callable[[], None] = lambda: None
        self._seed, self._order, self._crops = seed, order, crops
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def _call(self, cache: list[int] | None = None) -> Iterator[None]:
        assert self._turn.acquire(blocking=False), "one call at a time"
        try:
            assert not self.is_closed
            assert cache is None or any(cache is known for known in self.caches), "the cache was freed"
            self.n_calls += 1
            yield
        finally:
            self._turn.release()

    def new_cache(self) -> list[int]:
        with self._call():
            self.caches.append([])
            return self.caches[-1]

    def forward(self, cache: list[int], tokens: Sequence[int], n_scored: int = 1) -> ToyScores:
        with self._call(cache):
            assert 1 <= n_scored <= len(tokens)
            assert len(cache) + len(tokens) <= self.context_tokens
            self.before_read()
            if sum(map(len, self.caches)) + len(tokens) > self.memory_tokens:
                raise OutOfMemory
            cache.extend(tokens)
            self.blocks.append(len(tokens))
            ends = range(len(cache) - n_scored + 1, len(cache) + 1)
            return ToyScores(self, np.stack([self._row(cache[:end]) for end in ends]))

    def _row(self, tokens: list[int]) -> FloatArray:
        seen = tokens if self._order is None else tokens[-self._order :]
        return np.random.default_rng([self._seed, *seen]).normal(size=self.n_vocabulary).astype(np.float32)

    def crop(self, cache: list[int], n_tokens: int) -> bool:
        with self._call(cache):
            assert 0 <= n_tokens <= len(cache)
            if self._crops:
                del cache[n_tokens:]
            return self._crops

    def free(self, cache: list[int]) -> None:
        with self._call(cache):
            self.caches = [known for known in self.caches if known is not cache]

    cache_kind = "toy"

    def export_cache(self, cache: list[int]) -> dict[str, Any]:
        with self._call(cache):
            return {"tokens": np.array(cache)}

    def import_cache(self, arrays: dict[str, Any], n_tokens: int) -> list[int]:
        cache = self.new_cache()
        cache.extend(arrays["tokens"].tolist())
        if len(cache) != n_tokens:
            self.free(cache)
            raise ValueError("keys and values have another shape")
        return cache

    def tune(self) -> None:
        assert not self.caches, "before the first cache"
        self.is_tuned = True

    def close(self) -> None:
        assert not self.caches, "caches are freed first"
        self.is_closed = True


@pytest.fixture
def toy_engine() -> type[ToyEngine]:
    """A language model of no weights and exact arithmetic."""
    return ToyEngine


class Bytes:
    """A tokenizer with a token for each byte, and an end."""

    n_vocabulary = 257
    special_tokens: frozenset[str] = frozenset()
    ends = frozenset({256})
    start = None

    def special(self, text: str) -> int | None:
        return None

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8", "replace"))

    def bytes_of(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode("utf-8", "replace")


def _chat_tokens(messages: Sequence[Message]) -> list[int]:
    return Bytes().encode("".join(f"<{message.role[0]}>{message.text}\n" for message in messages) + "<a>")


@pytest.fixture(scope="session")
def chat_tokens() -> Callable[[Sequence[Message]], list[int]]:
    """The template of `toy_chat_model`: `<u>said\\n<a>`, a token for each byte."""
    return _chat_tokens


@pytest.fixture
def toy_chat_model() -> Callable[..., LocalModel]:
    """`toy_chat_model()`: one over a toy engine, which is `model.engine`. The first `seed` makes other weights.

    What else is given is a setting of the model or, by any other name, of the engine.
    """

    def make(seed: int = 0, template: Any = _chat_tokens, **given: Any) -> LocalModel:
        options = {name: given.pop(name) for name in list(given) if name in LocalSettings.__dataclass_fields__}
        engine = ToyEngine(257, seed=seed, order=3, context_tokens=100_000, **given)
        model = LocalModel(
            engine,
            Bytes(),
            name="toy",
            backend="onnx",
            fim=None,
            settings=LocalSettings(**{"prompt_ms": 10**9, "speculative_decoding": False, **options}),
            chat_tokens=template,
            weights=lambda: f"weights {seed}",
        )
        model.prepare(Cancel())
        model.engine = engine  # type: ignore[attr-defined]
        return model

    return make


Script = Callable[[tuple[Message, ...]], str] | Sequence[tuple[str, "str | Exception | list[str | Exception]"]]


class ScriptedChat:
    """A CodeModel that says what a script tells it, a word at a time, and keeps the requests in `asked`.

    The script is a function of the messages, or pairs: the first whose text is in the prompt answers. An answer may
    be an error, which is raised, or a list, whose members are used in turn and whose last one stays. What no pair
    speaks for fails the test. One token is one word. `local` models are asked one at a time.
    """

    def __init__(
        self,
        script: Script,
        *,
        context_tokens: int = 4096,
        local: bool = True,
        chats: bool = True,
        name: str = "scripted",
    ) -> None:
        self.info = ModelInfo(name, "scripted", context_tokens, False, False, local, chats)
        self.speed = Speed()
        self.asked: list[ChatRequest] = []
        self.completed: list[CompletionRequest] = []  # of `stream`: how models that don't chat are asked
        self._script = script if callable(script) else [(text, _turns(answer)) for text, answer in script]
        self._lock = threading.Lock()

    @property
    def prompts(self) -> list[str]:
        """The text of each request: its messages one after the other."""
        return [_text(request.messages) for request in self.asked]

    def prepare(self, cancel: Cancel) -> None:
        pass

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        pass

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        with self._lock:
            self.completed.append(request)
        yield from self._say((Message("user", request.prefix),), cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        with self._lock:
            self.asked.append(request)
        if not self.info.chats:
            raise ModelError(f"{self.info.name} cannot chat.")
        yield from self._say(request.messages, cancel)

    def close(self) -> None:
        pass

    def _say(self, messages: tuple[Message, ...], cancel: Cancel) -> Iterator[Piece]:
        with self._lock:  # turns of an answer are taken one at a time, whoever asks at once
            answer = self._script(messages) if callable(self._script) else self._find(_text(messages))
        if isinstance(answer, Exception):
            raise answer
        for piece in re.findall(r"\s*\S+|\s+$", answer):
            if cancel.cancelled:
                return
            yield Piece(piece)

    def _find(self, prompt: str) -> str | Exception:
        assert not callable(self._script)
        for text, turns in self._script:
            if text in prompt:
                return turns.pop(0) if len(turns) > 1 else turns[0]
        raise AssertionError(f"the script has no answer to:\n{prompt}")


def _text(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages)


def _turns(answer: str | Exception | list[str | Exception]) -> list[str | Exception]:
    return list(answer) if isinstance(answer, list) else [answer]


@pytest.fixture
def scripted_chat() -> type[ScriptedChat]:
    """`scripted_chat([("Which entities", "[]"), …])`: a model that chats as a script says."""
    return ScriptedChat


@pytest.fixture(scope="session")
def beacon_base() -> Callable[..., Any]:
    """`beacon_base("qwen2", seed=1, hidden_size=16)`: a tiny random model of transformers in float64, for a memory."""
    return _beacon_base


def _beacon_base(kind: str = "llama", seed: int = 0, **changes: Any) -> Any:
    torch, transformers = import_module("torch"), import_module("transformers")
    name = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}[kind]
    shape = {
        "vocab_size": 40,
        "hidden_size": 32,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "initializer_range": 0.3,  # wide, so that attention is not flat
    }
    torch.manual_seed(seed)
    model = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(**shape | changes))
    for parameter in model.parameters():  # norms and biases say nothing when they are all 1 and all 0
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.double().eval()


@pytest.fixture(scope="session")
def small_chat_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small real model that chats, as a transformers directory: the one that `WEFT_SMALL_CHAT_MODEL` names.

    Else the tiny model with a template for conversations, which it was not trained on: it goes every way and says
    nothing.
    """
    named = os.environ.get("WEFT_SMALL_CHAT_MODEL")
    if named:
        assert (Path(named) / "config.json").is_file(), f"WEFT_SMALL_CHAT_MODEL: no model in {named}"
        return Path(named)
    tiny: Path = request.getfixturevalue("tiny_model")
    folder = tmp_path_factory.mktemp("tiny-chat") / "model"
    shutil.copytree(tiny / "transformers", folder)
    template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder


@pytest.fixture
def whole_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole text of the workspace model has a confidence of 62 %, its beginnings one of 27 %."""
    model = linear_confidence(-1.0, is_whole=1.5)
    monkeypatch.setattr("weft.server.completion.confidence.fitted_model", lambda: model)


@pytest.fixture
def all_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of the workspace model is almost certainly right: tests that do not depend on the fitted weights."""
    model = linear_confidence(9.0)
    monkeypatch.setattr("weft.server.completion.confidence.fitted_model", lambda: model)


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """One thread: faster for tiny models, and sums in one order."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stored indexes and analyses, of this test alone."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are analysed in this process, where all small folders are."""
    paths: list[str] = []

    def recording(path: str, *arguments: object, **options: object) -> Analysis:
        paths.append(path)
        return analyse(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "analyse", recording)
    return paths
