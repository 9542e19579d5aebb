"""Shared server process: one session per editor window, workspaces shared between equal sessions.

Owns the connections, the handshake with the relays, and the end of the process: a few seconds after the last window
closes, or on a stop command. Knows no LSP message.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable

from ..shared.control import STATUS, STOP, SharedServer, log_file
from ..shared.endpoint import SharedEndpoint, file_id_at, is_same_user, locked, shared_endpoint
from ..shared.log_file import log_to
from ..shared.relay import FULL, READY, SERVE
from ..shared.workspaces import Workspaces
from ..workspace.process import memory_mb, share_interpreter
from .authentication import MAX_UNAUTHENTICATED
from .loopback_host import FramedWriter, authenticate, listen_on_loopback
from .serve import DRAIN_WITHIN_S, max_sessions, refusal_of, serve_connection
from .server import WeftServer
from .transport import PipeReader, PipeWriter, Writer

log = logging.getLogger("weft.lsp")

# How long the server waits for a window after the last one closes: an editor that reloads reconnects sooner.
IDLE_SHUTDOWN_AFTER_S = 5.0
RETRY_ACCEPT_AFTER_S = 1.0
COMMAND_WITHIN_S = 5.0  # a connection that sends no command in this time is closed


def serve_shared(listening: int) -> int:
    """Serve all windows that connect to this listening Unix socket, until none is left. Returns the exit status."""
    endpoint = shared_endpoint()
    log_to(log_file(endpoint))
    with socket.socket(fileno=listening) as listener:
        return _serve(_SharedServerHost(endpoint, listener))


def serve_shared_on_loopback() -> int:
    """The same on a loopback port, whose address and token are in a file of this user."""
    endpoint = shared_endpoint()
    log_to(log_file(endpoint))
    listener, token = listen_on_loopback(endpoint)
    with listener:
        return _serve(_LoopbackHost(endpoint, listener, token))


def _serve(host: _SharedServerHost) -> int:
    share_interpreter()
    asyncio.run(host.run())
    return 0


class _SharedServerHost:
    """Accepts connections and runs their sessions on the event loop."""

    def __init__(self, endpoint: SharedEndpoint, listener: socket.socket) -> None:
        self._endpoint, self._listener = endpoint, listener
        listener.setblocking(False)
        self._workspaces = Workspaces()
        self._max_sessions = max_sessions()
        self._servers: set[WeftServer] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._server_file = file_id_at(endpoint.server_file)
        self._started_s = time.monotonic()
        self._stopping = asyncio.Event()
        self._stop_connections: list[socket.socket] = []  # left open: their end of stream reports the exit
        self._idle_timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        if not self._endpoint.uses_loopback:  # there the address file has the process id
            self._endpoint.lock.write_text(str(os.getpid()))
        with contextlib.suppress(NotImplementedError):  # Windows has no such signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        log.info("The shared server is process %d.", os.getpid())
        self._start_idle_timer()
        accepting = asyncio.ensure_future(self._accept())
        await self._stopping.wait()
        accepting.cancel()
        self._listener.close()
        for server in self._servers:
            server.disconnect(1)
        if self._connections:
            await asyncio.wait(self._connections)
        log.info("The shared server exits.")
        self._remove_files()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                log.error("Could not accept a connection: %s", error)  # usually too many open files, until some close
                await asyncio.sleep(RETRY_ACCEPT_AFTER_S)
                continue
            task = asyncio.ensure_future(self._handle_connection(connection))
            self._connections.add(task)
            task.add_done_callback(self._connection_closed)
            if self._idle_timer is not None:
                self._idle_timer.cancel()

    async def _handle_connection(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with connection, contextlib.suppress(OSError, asyncio.TimeoutError):
            if not await asyncio.wait_for(self._may_connect(connection), COMMAND_WITHIN_S):
                return
            command = await asyncio.wait_for(loop.sock_recv(connection, 64), COMMAND_WITHIN_S)
            if command == SERVE and refusal_of(len(self._servers), self._max_sessions):
                log.warning("Refused a window: %d are open, the limit of `max_sessions`.", len(self._servers))
                await loop.sock_sendall(connection, FULL)
            elif command == SERVE:
                await loop.sock_sendall(connection, READY)
                await self._serve_window(connection)
            elif command in (STATUS, STOP):
                await loop.sock_sendall(connection, self._status().line())
                if command == STOP:
                    log.info("Received a stop command.")
                    self._stop_connections.append(connection.dup())
                    self._stop()

    async def _may_connect(self, connection: socket.socket) -> bool:
        if not is_same_user(connection):
            log.warning("Rejected a connection from another user.")
            return False
        return True

    async def _serve_window(self, connection: socket.socket) -> None:
        """Run the session of one window over the descriptors that its relay sends, and send the exit status."""
        loop = asyncio.get_running_loop()
        files = await asyncio.wait_for(_receive_descriptors(connection), COMMAND_WITHIN_S)
        if len(files) != 2:
            return
        reader = PipeReader(os.fdopen(files[0], "rb", buffering=0), loop)
        writer = PipeWriter(os.fdopen(files[1], "wb", buffering=0))
        server = self._new_server(writer)
        watching = asyncio.ensure_future(_when_closed(connection, lambda: server.disconnect(1)))
        try:
            await self._run_session(server, reader)
        finally:
            watching.cancel()
            reader.close()
            await asyncio.to_thread(writer.drain, DRAIN_WITHIN_S)
        await loop.sock_sendall(connection, b"%d\n" % _exit_status(server))

    def _new_server(self, writer: Writer) -> WeftServer:
        server = WeftServer(self._workspaces)
        server.protocol.set_writer(writer)
        self._servers.add(server)
        if self._stopping.is_set():  # the server began to stop during the handshake
            server.disconnect(1)
        return server

    async def _run_session(self, server: WeftServer, reader: asyncio.StreamReader) -> None:
        """Serve one window from its first message to its end. Logs any failure."""
        try:
            await serve_connection(server, reader)
        except Exception:
            log.exception("The session of a window failed.")
        finally:
            self._servers.discard(server)

    def _status(self) -> SharedServer:
        uptime_s = time.monotonic() - self._started_s
        return SharedServer(os.getpid(), len(self._servers), len(self._workspaces), uptime_s, memory_mb())

    def _connection_closed(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        if not self._connections:
            self._start_idle_timer()

    def _start_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(IDLE_SHUTDOWN_AFTER_S, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        if not self._connections:
            self._stop()

    def _stop(self) -> None:
        """Begin the shutdown: later relays find no server, and start another one."""
        if not self._stopping.is_set():
            self._stopping.set()
            if file_id_at(self._endpoint.server_file) == self._server_file:  # else another server has replaced it
                self._endpoint.server_file.unlink(missing_ok=True)

    def _remove_files(self) -> None:
        """Remove all files but the log, unless another server already uses them."""
        # OSError: Windows removes no file that is open, as the lock file is here.
        with locked(self._endpoint), contextlib.suppress(OSError):
            if file_id_at(self._endpoint.server_file) is None:
                self._endpoint.startup_log.unlink(missing_ok=True)
                self._endpoint.lock.unlink(missing_ok=True)


class _LoopbackHost(_SharedServerHost):
    """The host on a loopback port: its relays prove that they know the token, and copy the streams of their windows."""

    def __init__(self, endpoint: SharedEndpoint, listener: socket.socket, token: str) -> None:
        super().__init__(endpoint, listener)
        self._token = token
        self._unauthenticated: dict[socket.socket, None] = {}  # the oldest first

    async def _may_connect(self, connection: socket.socket) -> bool:
        if len(self._unauthenticated) >= MAX_UNAUTHENTICATED:
            oldest = next(iter(self._unauthenticated))
            del self._unauthenticated[oldest]
            with contextlib.suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)  # ends its handshake
        self._unauthenticated[connection] = None
        try:
            is_allowed = await authenticate(connection, self._token)
        finally:
            self._unauthenticated.pop(connection, None)
        if not is_allowed:
            log.warning("Refused a connection without the token of this server.")
        return is_allowed

    async def _serve_window(self, connection: socket.socket) -> None:
        reader, stream = await asyncio.open_connection(sock=connection)
        writer = FramedWriter(stream)
        server = self._new_server(writer)
        await self._run_session(server, reader)
        await writer.finish(_exit_status(server), DRAIN_WITHIN_S)


def _exit_status(server: WeftServer) -> int:
    return 1 if server.exit_code is None else server.exit_code


async def _receive_descriptors(connection: socket.socket) -> list[int]:
    """The file descriptors that the relay sends; empty if it has disconnected."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(connection)
    _, files, _, _ = socket.recv_fds(connection, 1, 2)
    return files


async def _when_closed(connection: socket.socket, call: Callable[[], None]) -> None:
    """Call `call` when the relay disconnects; it sends nothing else."""
    with contextlib.suppress(OSError):
        await asyncio.get_running_loop().sock_recv(connection, 1)
    call()
