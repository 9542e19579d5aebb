"""Control client of the shared server: status and stop over its local socket.

Owns the commands `status` and `stop` and the path of the log. Knows no LSP message.
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
    """Status of a running server: process id, open windows and workspaces, uptime and memory."""

    pid: int
    windows: int
    workspaces: int
    uptime_s: float
    memory_mb: float

    def line(self) -> bytes:
        """The status as one line of JSON, as sent over the socket."""
        return json.dumps(asdict(self)).encode() + b"\n"


def running_server() -> SharedServer | None:
    """The server of this user and installation; None if none runs. Raises SharedServerUnavailable."""
    endpoint = shared_endpoint()
    connection = connect(endpoint)
    if connection is None:
        return None
    with connection:
        return _query(connection, STATUS, endpoint)


def stop_server() -> SharedServer | None:
    """Stop the server and wait for its process to exit; None if none runs.

    Raises SharedServerUnavailable if it does not exit in time.
    """
    endpoint = shared_endpoint()
    connection = connect(endpoint)
    if connection is None:
        return None
    with connection:
        status = _query(connection, STOP, endpoint)
        connection.settimeout(GONE_WITHIN_S)
        try:
            connection.recv(1)  # returns at end of stream: the server keeps its end open until its process exits
        except TimeoutError:
            raise SharedServerUnavailable(f"The shared server did not stop. {kill_hint(endpoint)}") from None
        except ConnectionError:
            pass
    return status


def log_file(endpoint: SharedEndpoint) -> Path:
    return cache_folder() / "log" / f"shared-{endpoint.identity}.log"


def _query(connection: socket.socket, command: bytes, endpoint: SharedEndpoint) -> SharedServer:
    connection.settimeout(ANSWER_WITHIN_S)
    try:
        connection.sendall(command)
        with connection.makefile("rb") as lines:
            return SharedServer(**json.loads(lines.readline(1 << 16)))
    except (OSError, ValueError, TypeError) as error:
        raise SharedServerUnavailable(f"The shared server does not respond. {kill_hint(endpoint)}") from error
