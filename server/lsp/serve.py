"""Transports of the server: stdio and TCP. Runs each connection from its first message to the end of its session.

Owns the read loop, back-pressure, and the end of a connection: exit, end of stream, or exit of the client's process.
`authentication.py` authenticates TCP clients. Knows no message.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

from ..config import load_config
from ..shared.workspaces import Workspaces
from ..workspace.process import is_alive, share_interpreter
from .authentication import Authenticator, close
from .log_limit import one_line
from .server import WeftServer
from .transport import MAX_UNSENT_BYTES, PipeReader, PipeWriter, SocketWriter, TooLong, claim_stdio, read_message

log = logging.getLogger("weft.lsp")

DRAIN_WITHIN_S = 2.0  # how long a client may take to read the last messages
CHECK_CLIENT_EVERY_S = 1.0
CHECK_BACKLOG_EVERY_S = 0.01  # interval of checks while a client does not read its messages
# A client that leaves so much unread for longer is disconnected: its unread messages take memory from the others.
READS_WITHIN_S = 60.0

# The server whose messages the current task handles.
_current_server: ContextVar[WeftServer | None] = ContextVar("weft-conversing", default=None)


def serve_stdio() -> int:
    """Serve the parent process over stdio until it exits or disconnects. Returns the process's exit status.

    Threads that wait for a model may still run: the caller exits without waiting for them.
    """
    share_interpreter()
    return asyncio.run(_serve_stdio())


def serve_tcp(host: str, port: int, token: str, on_listening: Callable[[str, int], None]) -> int:
    """Serve any number of clients that send the token, each in its own session, until interrupted.

    `on_listening` receives the address; port 0 lets the system choose one. Raises OSError if it cannot be bound.
    """
    share_interpreter()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_tcp(host, port, token, on_listening))
    return 0


async def serve_connection(server: WeftServer, reader: asyncio.StreamReader, first: bytes | None = None) -> None:
    """Dispatch messages until the server disconnects or the stream ends, then close the session.

    `first` is a message that was already read.
    """
    _current_server.set(server)
    handler = _ClientLog(server)
    logging.getLogger("weft").addHandler(handler)
    reading = asyncio.ensure_future(_read_messages(server, reader, first))
    server.set_reader_task(reading)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        await server.session.close()
    finally:
        server.is_closed.set()
        logging.getLogger("weft").removeHandler(handler)


async def _serve_stdio() -> int:
    protocol_in, protocol_out = claim_stdio()
    writer = PipeWriter(protocol_out)
    server = WeftServer(Workspaces())
    server.protocol.set_writer(writer)
    try:
        await serve_connection(server, PipeReader(protocol_in, asyncio.get_running_loop()))
    finally:
        writer.drain(DRAIN_WITHIN_S)
    return 1 if server.exit_code is None else server.exit_code


async def _serve_tcp(host: str, port: int, token: str, on_listening: Callable[[str, int], None]) -> None:
    workspaces = Workspaces(separates_sessions=True)
    servers = set[WeftServer]()
    limit = max_sessions()
    authenticator = Authenticator(token, lambda: refusal_of(len(servers), limit))

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await authenticator.authenticate(reader, writer)
            if first is not None:
                server = WeftServer(workspaces)
                server.protocol.set_writer(SocketWriter(writer))
                servers.add(server)
                try:
                    await serve_connection(server, reader, first)
                finally:
                    servers.discard(server)
        except Exception:
            log.exception("A connection failed.")
        finally:
            await close(writer)

    listening = await asyncio.start_server(attend, host, port)
    on_listening(*listening.sockets[0].getsockname()[:2])
    async with listening:
        await listening.serve_forever()


def max_sessions() -> int:
    """The setting of this name in the user's configuration file; 0 for no limit."""
    config, problems = load_config(None)
    for problem in problems:
        log.warning("%s", problem)
    return config.max_sessions


def refusal_of(n_sessions: int, limit: int) -> str:
    """Why one more session is refused, and what to do; "" if it is not."""
    if not limit or n_sessions < limit:
        return ""
    return (
        f"The server has {n_sessions} sessions, the limit of `max_sessions`. Close one, raise the setting in the "
        "configuration file of the server's user, or start another server."
    )


async def _read_messages(server: WeftServer, reader: asyncio.StreamReader, first: bytes | None) -> None:
    protocol = server.protocol
    if first is not None:
        protocol.receive(first)
    while server.exit_code is None and (message := await read_message(reader)) is not None:
        if isinstance(message, TooLong):
            protocol.reject_too_long(message.n_bytes)
        else:
            protocol.receive(message)
        server.session.n_received += 1
        del message
        if server.process_id is not None:
            _watch_process(server.process_id, lambda: server.on_loop(server.disconnect, 1), server.is_closed)
            server.process_id = None
        # Lets a request take its document before the next message may change it.
        await asyncio.sleep(0)
        if not await _is_read(server):
            log.warning("Disconnected a client that did not read its messages for %g s.", READS_WITHIN_S)
            server.disconnect(1)


async def _is_read(server: WeftServer) -> bool:
    """Wait while the client has too much unread; False if that takes too long."""
    until_s = time.monotonic() + READS_WITHIN_S
    while server.protocol.n_unsent_bytes() > MAX_UNSENT_BYTES:
        if time.monotonic() > until_s:
            return False
        await asyncio.sleep(CHECK_BACKLOG_EVERY_S)
    return True


class _ClientLog(logging.Handler):
    """Forwards log records to the client as `window/logMessage`: those of its own messages, and those of workspace
    threads, which clients may share, but not those of other clients' messages."""

    def __init__(self, server: WeftServer) -> None:
        super().__init__()
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        if _current_server.get() not in (self._server, None):
            return
        try:
            message = one_line(record.getMessage(), 1_000)
            if record.exc_info and record.exc_info[0] is not None:  # the traceback stays in the server's log
                message += f" ({record.exc_info[0].__name__})"
            self._server.on_loop(self._server.session.log, message, record.levelno)
        except Exception:
            self.handleError(record)


def _watch_process(process_id: int, on_death: Callable[[], None], is_closed: threading.Event) -> None:
    """Call `on_death` when the process exits, unless `is_closed` is set first.

    A process that is not visible at the start runs in another container: it is not watched.
    """
    if not is_alive(process_id):
        log.info("The client's process %d is not visible, so its exit is not detected.", process_id)
        return

    def watch() -> None:
        while is_alive(process_id):
            if is_closed.wait(CHECK_CLIENT_EVERY_S):
                return
        on_death()

    threading.Thread(target=watch, name="weft-client-watch", daemon=True).start()
