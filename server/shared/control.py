"""What is known of the shared server from outside: whether it runs, for how many windows, and how it is ended.

Owns the words `status` and `stop` of the talk with it, and where its log is. Knows no message of an editor.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from ..workspace.store import cache_folder
from .endpoint import SharedEndpoint, SharedServerUnavailable, connect, kill_hint, shared_endpoint

STATUS, STOP = b"status\n", b"stop\n"

ANSWER_WITHIN_S = 3.0
GONE_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True)
class SharedServer:
    """A running server: its process, the windows and workspaces that are open in it, and for how long it runs."""

    pid: int
    windows: int
    workspaces: int
    uptime_s: float
    memory_mb: float

    def line(self) -> bytes:
        """As it goes over the socket."""
        return json.dumps(asdict(self)).encode() + b"\n"


def running_server() -> SharedServer | None:
    """The server of this user and installation; None when there is none. Raises SharedServerUnavailable when it can't be status."""
    endpoint = shared_endpoint()
    connection = connect(endpoint)
    if connection is None:
        return None
    with connection:
        return _query(connection, STATUS, endpoint)


def stop_server() -> SharedServer | None:
    """Have the server end, and wait until it has; None when there was none. Raises SharedServerUnavailable when it does not end."""
    endpoint = shared_endpoint()
    connection = connect(endpoint)
    if connection is None:
        return None
    with connection:
        status = _query(connection, STOP, endpoint)
        connection.settimeout(GONE_WITHIN_S)
        try:
            connection.recv(1)  # nothing comes: the server holds its side until its process ends
        except TimeoutError:
            raise SharedServerUnavailable(f"The shared server is still there. {kill_hint(endpoint)}") from None
        except ConnectionError:
            pass
    return status


def log_file(endpoint: SharedEndpoint) -> Path:
    return log_folder() / f"shared-{endpoint.identity}.log"


def log_folder() -> Path:
    return cache_folder() / "log"


def _query(connection: socket.socket, command: bytes, endpoint: SharedEndpoint) -> SharedServer:
    connection.settimeout(ANSWER_WITHIN_S)
    try:
        connection.sendall(command)
        with connection.makefile("rb") as lines:
            return SharedServer(**json.loads(lines.readline(1 << 16)))
    except (OSError, ValueError, TypeError) as error:
        raise SharedServerUnavailable(f"The shared server does not answer. {kill_hint(endpoint)}") from error
