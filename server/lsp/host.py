"""The server that several editor windows share: a session for each window, workspaces for those that want the same.

Owns who is attached, the talk with their relays, and when the process ends: a few seconds after the last window, or
when it is told to. Knows no message of an editor.
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
from ..shared.endpoint import SharedPlace, file_at, is_of_this_user, locked, shared_place
from ..shared.log_file import log_to
from ..shared.relay import READY, SERVE
from ..shared.workspaces import Workspaces
from ..workspace.process import memory_mb, share_interpreter
from .serve import DRAIN_WITHIN_S, converse
from .server import WeftServer
from .transport import PipeReader, PipeWriter

log = logging.getLogger("weft.lsp")

ALONE_FOR_S = 5.0
"""How long the server waits for another window after the last: an editor that reloads comes back sooner."""

TRY_AGAIN_AFTER_S = 1.0

WORD_WITHIN_S = 5.0
"""A connection that says nothing for so long is closed."""


def serve_shared(listening: int) -> int:
    """Serve all windows that come to this listening socket, until none is left. Returns the exit status."""
    place = shared_place()
    log_to(log_file(place))
    share_interpreter()
    with socket.socket(fileno=listening) as listener:
        listener.setblocking(False)
        asyncio.run(_Host(place, listener).run())
    return 0


class _Host:
    """Lives on the event loop."""

    def __init__(self, place: SharedPlace, listener: socket.socket) -> None:
        self._place, self._listener = place, listener
        self._workspaces = Workspaces()
        self._servers: set[WeftServer] = set()
        self._attending: set[asyncio.Task[None]] = set()
        self._socket_file = file_at(place.socket)
        self._started_s = time.monotonic()
        self._ended = asyncio.Event()
        self._told_by: list[socket.socket] = []  # who told it to end sees the end of the process by the end of these
        self._alone: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._place.lock.write_text(str(os.getpid()))
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        log.info("The shared server is process %d.", os.getpid())
        self._wait_for_windows()
        accepting = asyncio.ensure_future(self._accept())
        await self._ended.wait()
        accepting.cancel()
        self._listener.close()
        for server in self._servers:
            server.leave(1)
        if self._attending:
            await asyncio.wait(self._attending)
        log.info("The shared server ends.")
        self._clear_up()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                log.error("No window can come: %s", error)  # too many open files, as a rule; some will be closed
                await asyncio.sleep(TRY_AGAIN_AFTER_S)
                continue
            task = asyncio.ensure_future(self._attend(connection))
            self._attending.add(task)
            task.add_done_callback(self._left)
            if self._alone is not None:
                self._alone.cancel()

    async def _attend(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with connection, contextlib.suppress(OSError, asyncio.TimeoutError):
            if not is_of_this_user(connection):
                log.warning("Rejected a connection from another user.")
                return
            word = await asyncio.wait_for(loop.sock_recv(connection, 64), WORD_WITHIN_S)
            if word == SERVE:
                await loop.sock_sendall(connection, READY)
                files = await asyncio.wait_for(_received_files(connection), WORD_WITHIN_S)
                if len(files) == 2:
                    await self._serve(connection, *files)
            elif word in (STATUS, STOP):
                await loop.sock_sendall(connection, self._status().line())
                if word == STOP:
                    log.info("The shared server was told to end.")
                    self._told_by.append(connection.dup())
                    self._stop()

    async def _serve(self, connection: socket.socket, stdin: int, stdout: int) -> None:
        """One window, from its first message to its exit status."""
        loop = asyncio.get_running_loop()
        reader = PipeReader(os.fdopen(stdin, "rb", buffering=0), loop)
        writer = PipeWriter(os.fdopen(stdout, "wb", buffering=0))
        server = WeftServer(self._workspaces)
        server.protocol.set_writer(writer)
        self._servers.add(server)
        if self._ended.is_set():  # it came in the moment in which we were told to end
            server.leave(1)
        watching = asyncio.ensure_future(_when_closed(connection, lambda: server.leave(1)))
        try:
            await converse(server, reader)
        except Exception:
            log.exception("A window could not be served any more.")
        finally:
            self._servers.discard(server)
            watching.cancel()
            reader.close()
            await asyncio.to_thread(writer.drain, DRAIN_WITHIN_S)
        await loop.sock_sendall(connection, b"%d\n" % (1 if server.exit_code is None else server.exit_code))

    def _status(self) -> SharedServer:
        uptime_s = time.monotonic() - self._started_s
        return SharedServer(os.getpid(), len(self._servers), len(self._workspaces), uptime_s, memory_mb())

    def _left(self, task: asyncio.Task[None]) -> None:
        self._attending.discard(task)
        if not self._attending:
            self._wait_for_windows()

    def _wait_for_windows(self) -> None:
        if self._alone is not None:
            self._alone.cancel()
        self._alone = asyncio.get_running_loop().call_later(ALONE_FOR_S, self._end_alone)

    def _end_alone(self) -> None:
        if not self._attending:
            self._stop()

    def _stop(self) -> None:
        """From here on who connects finds nobody, and starts another server."""
        if not self._ended.is_set():
            self._ended.set()
            if file_at(self._place.socket) == self._socket_file:  # else it was removed, and another server has come
                self._place.socket.unlink(missing_ok=True)

    def _clear_up(self) -> None:
        """Leave nothing behind but the log, unless another server is there already."""
        with locked(self._place):
            if file_at(self._place.socket) is None:
                self._place.last_words.unlink(missing_ok=True)
                self._place.lock.unlink(missing_ok=True)


async def _received_files(connection: socket.socket) -> list[int]:
    """The open files that come next; none when the other side has gone."""
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
    """Call when the relay is gone: it says nothing more."""
    with contextlib.suppress(OSError):
        await asyncio.get_running_loop().sock_recv(connection, 1)
    call()
