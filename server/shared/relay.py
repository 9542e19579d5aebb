"""Relay process of an editor window: passes its stdin and stdout to the shared server as file descriptors.

Owns the start of the server if none runs. Knows no LSP message: the server reads them from the window's own pipe
without a copy. Imports little: each window has one such process.

Handshake: the relay sends `serve`, the server replies `ready`, the relay sends the two descriptors, and the server
sends the exit status at the end. The descriptors are sent only after the reply: if the shared server is unavailable, or
replies `full!`, the window falls back to a server of its own, and no other process holds its pipes.
"""

from __future__ import annotations

import os
import select
import socket
import sys
from contextlib import suppress

from .endpoint import SharedEndpoint, SharedServerUnavailable, connect, kill_hint, locked, shared_endpoint

READY_WITHIN_S = 30.0  # includes the time in which a new server loads its libraries
EXIT_STATUS_WITHIN_S = 10.0  # how long the server may take to close the session after the editor has exited
ATTEMPTS = 3  # a server may exit while a relay connects to it; a retry starts a new one
SERVE, READY, FULL = b"serve\n", b"ready\n", b"full!\n"


def relay() -> int:
    """Serve this window and return its exit status. Raises SharedServerUnavailable before the descriptors are sent."""
    endpoint = shared_endpoint()
    for _ in range(ATTEMPTS):
        connection = connect(endpoint) or _start(endpoint)
        if _is_ready(connection, endpoint):
            socket.send_fds(connection, [b"."], [0, 1])
            return _exit_status(connection)
        connection.close()
    raise SharedServerUnavailable(f"The shared server did not start.{_startup_error(endpoint)}")


def _is_ready(connection: socket.socket, endpoint: SharedEndpoint) -> bool:
    connection.settimeout(READY_WITHIN_S)
    try:
        connection.sendall(SERVE)
        answer = connection.recv(len(READY))
    except TimeoutError:
        raise SharedServerUnavailable(f"The shared server does not respond. {kill_hint(endpoint)}") from None
    except ConnectionError:
        return False
    if answer == FULL:
        raise SharedServerUnavailable(
            "The shared server has as many windows as the setting `max_sessions` allows. Close one, or raise it."
        )
    return answer == READY


def _exit_status(connection: socket.socket) -> int:
    """The exit status that the server sends; 1 if it exits without one, so that the editor restarts."""
    # The server owns the window's stdout now: closing ours lets the editor see the end of the stream with the server's.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    waiting.register(0, 0)  # reports hang-up only; the editor's input belongs to the server
    connection.settimeout(EXIT_STATUS_WITHIN_S)
    if not any(source == connection.fileno() for source, _ in waiting.poll()):
        waiting.unregister(0)
        if not waiting.poll(1e3 * EXIT_STATUS_WITHIN_S):
            return 1
    with suppress(OSError, ValueError):
        return int(connection.recv(16))
    return 1


def _start(endpoint: SharedEndpoint) -> socket.socket:
    """Start a server and connect to it, or connect to one that another process has started meanwhile."""
    try:
        with locked(endpoint):
            connection = connect(endpoint)
            if connection is not None:
                return connection
            endpoint.socket.unlink(missing_ok=True)  # a server that was killed leaves it
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
                # Listening starts before the server does: clients wait in the backlog, and see the end of a failed one.
                listening.bind(str(endpoint.socket))
                os.chmod(endpoint.socket, 0o600)
                listening.listen(64)
                _launch(listening.fileno(), endpoint)
                connection = connect(endpoint)
    except OSError as error:
        raise SharedServerUnavailable(
            f"The shared server cannot be started: {error}. Start Weft without --shared."
        ) from error
    if connection is None:
        raise SharedServerUnavailable(f"The shared server did not start.{_startup_error(endpoint)}")
    return connection


def _launch(listening: int, endpoint: SharedEndpoint) -> None:
    """Start the server with a double fork, so that an editor that kills the relay's process group does not end it."""
    flags = ["-I"] if sys.flags.isolated else []
    package = __name__.partition(".")[0]
    command = [sys.executable, *flags, "-m", package, "serve", "--listener", str(listening)]
    startup_log = os.open(endpoint.startup_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    child = os.fork()
    if child:
        os.close(startup_log)
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")  # holds no folder open, and imports no module from the editor's working directory
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(startup_log, 1)
        os.dup2(startup_log, 2)
        os.set_inheritable(listening, True)
        os.closerange(3, listening)
        os.closerange(listening + 1, 1024)
        os.execv(sys.executable, command)
    finally:
        os._exit(127)


def _startup_error(endpoint: SharedEndpoint) -> str:
    try:
        output = endpoint.startup_log.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f" Its output: {output[-500:]}" if output else ""
