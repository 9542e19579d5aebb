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
from .serve import DRAIN_WITHIN_S, max_sessions, refusal_of, serve_connection
from .server import WeftServer
from .transport import PipeReader, PipeWriter

log = logging.getLogger("weft.lsp")

# How long the server waits for a window after the last one closes: an editor that reloads reconnects sooner.
IDLE_SHUTDOWN_AFTER_S = 5.0
RETRY_ACCEPT_AFTER_S = 1.0
COMMAND_WITHIN_S = 5.0  # a connection that sends no command in this time is closed


def serve_shared(listening: int) -> int:
    """Serve all windows that connect to this listening socket, until none is left. Returns the exit status."""
    endpoint = shared_endpoint()
    log_to(log_file(endpoint))
    share_interpreter()
    with socket.socket(fileno=listening) as listener:
        listener.setblocking(False)
        asyncio.run(_SharedServerHost(endpoint, listener).run())
    return 0


class _SharedServerHost:
    """Accepts connections and runs their sessions on the event loop."""

    def __init__(self, endpoint: SharedEndpoint, listener: socket.socket) -> None:
        self._endpoint, self._listener = endpoint, listener
        self._workspaces = Workspaces()
        self._max_sessions = max_sessions()
        self._servers: set[WeftServer] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._socket_file = file_id_at(endpoint.socket)
        self._started_s = time.monotonic()
        self._stopping = asyncio.Event()
        self._stop_connections: list[socket.socket] = []  # left open: their end of stream reports the exit
        self._idle_timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._endpoint.lock.write_text(str(os.getpid()))
        loop.add_signal_handler(signal.SIGTERM, self._stop)
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
            if not is_same_user(connection):
                log.warning("Rejected a connection from another user.")
                return
            command = await asyncio.wait_for(loop.sock_recv(connection, 64), COMMAND_WITHIN_S)
            if command == SERVE and refusal_of(len(self._servers), self._max_sessions):
                log.warning("Refused a window: %d are open, the limit of `max_sessions`.", len(self._servers))
                await loop.sock_sendall(connection, FULL)
            elif command == SERVE:
                await loop.sock_sendall(connection, READY)
                files = await asyncio.wait_for(_receive_descriptors(connection), COMMAND_WITHIN_S)
                if len(files) == 2:
                    await self._serve(connection, *files)
            elif command in (STATUS, STOP):
                await loop.sock_sendall(connection, self._status().line())
                if command == STOP:
                    log.info("Received a stop command.")
                    self._stop_connections.append(connection.dup())
                    self._stop()

    async def _serve(self, connection: socket.socket, stdin: int, stdout: int) -> None:
        """Run the session of one window, from its first message to its exit status."""
        loop = asyncio.get_running_loop()
        reader = PipeReader(os.fdopen(stdin, "rb", buffering=0), loop)
        writer = PipeWriter(os.fdopen(stdout, "wb", buffering=0))
        server = WeftServer(self._workspaces)
        server.protocol.set_writer(writer)
        self._servers.add(server)
        if self._stopping.is_set():  # the server began to stop during the handshake
            server.disconnect(1)
        watching = asyncio.ensure_future(_when_closed(connection, lambda: server.disconnect(1)))
        try:
            await serve_connection(server, reader)
        except Exception:
            log.exception("The session of a window failed.")
        finally:
            self._servers.discard(server)
            watching.cancel()
            reader.close()
            await asyncio.to_thread(writer.drain, DRAIN_WITHIN_S)
        await loop.sock_sendall(connection, b"%d\n" % (1 if server.exit_code is None else server.exit_code))

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
        """Begin the shutdown: later relays find no socket, and start another server."""
        if not self._stopping.is_set():
            self._stopping.set()
            if file_id_at(self._endpoint.socket) == self._socket_file:  # otherwise another server has replaced it
                self._endpoint.socket.unlink(missing_ok=True)

    def _remove_files(self) -> None:
        """Remove all files but the log, unless another server already uses them."""
        with locked(self._endpoint):
            if file_id_at(self._endpoint.socket) is None:
                self._endpoint.startup_log.unlink(missing_ok=True)
                self._endpoint.lock.unlink(missing_ok=True)


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
