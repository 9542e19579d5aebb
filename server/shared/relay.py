"""Relay process of an editor window: passes its stdin and stdout to the shared server as file descriptors.

Owns the start of the server if none runs. Knows no LSP message: the server reads them from the window's own pipe
without a copy. Imports little: each window has one such process.

Handshake: the relay sends `serve`, the server replies `ready`, the relay sends the two descriptors, and the server
sends the exit status at the end. The descriptors are sent only after the reply: if the shared server is unavailable, or
replies `full!`, the window falls back to a server of its own, and no other process holds its pipes.

On loopback there are no descriptors to send: after `ready` the relay copies the two streams (`loopback.py`).
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from contextlib import suppress

from .endpoint import SharedEndpoint, SharedServerUnavailable, connect, kill_hint, locked, shared_endpoint
from .loopback import EXIT_STATUS_WITHIN_S, relay_streams

READY_WITHIN_S = 30.0  # includes the time in which a new server loads its libraries
LOOK_AGAIN_AFTER_S = 0.02  # for the address of a server that starts
ATTEMPTS = 3  # a server may exit while a relay connects to it; a retry starts a new one
SERVE, READY, FULL = b"serve\n", b"ready\n", b"full!\n"
SERVER_COMMAND = [sys.executable, *(["-I"] if sys.flags.isolated else []), "-m", __name__.partition(".")[0], "serve"]


def relay() -> int:
    """Serve this window and return its exit status. Raises SharedServerUnavailable before the descriptors are sent."""
    endpoint = shared_endpoint()
    for _ in range(ATTEMPTS):
        connection = connect(endpoint) or _start(endpoint)
        if _is_ready(connection, endpoint):
            if endpoint.uses_loopback:
                return relay_streams(connection)
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
            endpoint.server_file.unlink(missing_ok=True)  # a server that was killed leaves it
            connection = _start_on_loopback(endpoint) if endpoint.uses_loopback else _start_on_socket(endpoint)
    except OSError as error:
        raise SharedServerUnavailable(
            f"The shared server cannot be started: {error}. Start Weft without --shared."
        ) from error
    if connection is None:
        raise SharedServerUnavailable(f"The shared server did not start.{_startup_error(endpoint)}")
    return connection


def _start_on_socket(endpoint: SharedEndpoint) -> socket.socket | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        # Listening starts before the server does: clients wait in the backlog, and see the end of a failed one.
        listening.bind(str(endpoint.socket))
        os.chmod(endpoint.socket, 0o600)
        listening.listen(64)
        _launch(listening.fileno(), endpoint)
        return connect(endpoint)


def _start_on_loopback(endpoint: SharedEndpoint) -> socket.socket | None:
    """Start a server and wait until it has written its address; None if it ends before. Raises OSError."""
    import subprocess

    flags = ("CREATE_NO_WINDOW", "CREATE_NEW_PROCESS_GROUP")  # of Windows: an editor's Ctrl+C ends only its own window
    with open(os.open(endpoint.startup_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as startup_log:
        process = subprocess.Popen(
            [*SERVER_COMMAND, "--loopback-listener"],
            stdin=subprocess.DEVNULL,
            stdout=startup_log,
            stderr=startup_log,
            cwd=endpoint.folder,  # imports no module from the editor's working directory
            creationflags=sum(getattr(subprocess, flag, 0) for flag in flags),
            start_new_session=sys.platform != "win32",
        )
    until_s = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until_s:
        has_ended = process.poll() is not None
        connection = connect(endpoint)
        if connection is not None or has_ended:
            return connection
        time.sleep(LOOK_AGAIN_AFTER_S)
    process.kill()
    raise SharedServerUnavailable(
        f"The shared server did not start within {READY_WITHIN_S:.0f} s. Start Weft without --shared."
    )


def _launch(listening: int, endpoint: SharedEndpoint) -> None:
    """Start the server with a double fork, so that an editor that kills the relay's process group does not end it."""
    command = [*SERVER_COMMAND, "--listener", str(listening)]
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
