"""One editor window at the shared server: hands the window's stdin and stdout over, and waits until it is done.

Owns the start of the server when there is none. Knows no message of an editor: the server reads them from the
window's own pipe, so nothing stands between the two. Imports little: each window has such a process.

The talk with the server is one word of ours, `ready` from it, then the open files; in the end it says the exit status.
The files are sent only to a server that has answered: whoever serves a window by itself then shares its pipes with
nobody.
"""

from __future__ import annotations

import os
import select
import socket
import sys
from contextlib import suppress

from .endpoint import SharedEndpoint, SharedServerUnavailable, connect, kill_hint, locked, shared_endpoint

READY_WITHIN_S = 30.0
"""A server that starts loads its libraries first."""

EXIT_STATUS_WITHIN_S = 10.0
"""How long the server may take to end the session of an editor that is gone."""

ATTEMPTS = 3
"""A server may end in the moment in which we connect; the next one will not."""

SERVE, READY = b"serve\n", b"ready\n"


def relay() -> int:
    """The exit status for this window. Raises SharedServerUnavailable as long as nothing was handed over."""
    endpoint = shared_endpoint()
    for _ in range(ATTEMPTS):
        connection = connect(endpoint) or _start(endpoint)
        if _is_ready(connection, endpoint):
            socket.send_fds(connection, [b"."], [0, 1])
            return _exit_status(connection)
        connection.close()
    raise SharedServerUnavailable(f"The shared server does not start.{_startup_error(endpoint)}")


def _is_ready(connection: socket.socket, endpoint: SharedEndpoint) -> bool:
    connection.settimeout(READY_WITHIN_S)
    try:
        connection.sendall(SERVE)
        return connection.recv(len(READY)) == READY
    except TimeoutError:
        raise SharedServerUnavailable(f"The shared server does not answer. {kill_hint(endpoint)}") from None
    except ConnectionError:
        return False


def _exit_status(connection: socket.socket) -> int:
    """What the server says in the end; 1 when it ends without a word, so that the editor starts anew."""
    # The server holds the window's stdout now: who reads it there sees its end with the server's.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    waiting.register(0, 0)  # says only when the editor is gone; what it writes is the server's
    connection.settimeout(EXIT_STATUS_WITHIN_S)
    if not any(source == connection.fileno() for source, _ in waiting.poll()):
        waiting.unregister(0)
        if not waiting.poll(1e3 * EXIT_STATUS_WITHIN_S):
            return 1
    with suppress(OSError, ValueError):
        return int(connection.recv(16))
    return 1


def _start(endpoint: SharedEndpoint) -> socket.socket:
    """A connection to a server that is started now, unless somebody else did that in this moment."""
    try:
        with locked(endpoint):
            connection = connect(endpoint)
            if connection is not None:
                return connection
            endpoint.socket.unlink(missing_ok=True)  # a server that was killed leaves it
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
                # It listens before there is a server: who connects waits for it, and sees the end of one that fails.
                listening.bind(str(endpoint.socket))
                os.chmod(endpoint.socket, 0o600)
                listening.listen(64)
                _launch(listening.fileno(), endpoint)
                connection = connect(endpoint)
    except OSError as error:
        raise SharedServerUnavailable(f"The shared server cannot be started: {error}") from error
    if connection is None:
        raise SharedServerUnavailable(f"The shared server does not start.{_startup_error(endpoint)}")
    return connection


def _launch(listening: int, endpoint: SharedEndpoint) -> None:
    """The server's process, which is no child of ours: an editor that ends us with all our children spares it."""
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
        os.chdir("/")  # no folder is held, and none that an editor is in is searched for modules
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
        said = endpoint.startup_log.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f" It said: {said[-500:]}" if said else ""
