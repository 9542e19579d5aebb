"""Loopback transport of the shared server, where the system cannot pass file descriptors between processes (Windows).

Owns the address file, the mutual authentication by its token, and the copy of a window's stdin and stdout. Knows no LSP
message. Imports little: each window has a relay process that imports this module.

Every user of the machine, and every page in a browser, reaches a local port. So both sides prove that they know the
token before anything else is sent, and neither sends the token itself: after a server has died, a process of another
user may listen on its port.

Handshake, in lines of ASCII: the client sends `HELLO` and a nonce; the server its proof and another nonce; the client
its proof; the server `WELCOME`, or `REFUSED` at any step. A proof is the HMAC-SHA256, with the token as the key, of the
side's name and the nonce of the other side. Then come the messages of `relay.py`; after `ready` the client sends the
window's input, and the server sends frames: a length (uint32, big-endian), and so many bytes of output. A frame of
length 0 is the last, and is followed by the exit status of the session in one byte.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import stat
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ...errors import UserError

HOST = "127.0.0.1"
HELLO = b"weft-shared-1"
WELCOME = b"welcome"
REFUSED = (
    b"refused: This is the shared server of Weft, and the token is wrong or missing. "
    b"Start `weft serve --shared` as the same user: it reads the token."
)
MAX_LINE_BYTES = 256
EXIT_STATUS_WITHIN_S = 10.0  # how long the server may take to close the session after the editor has exited
_NONCE_BYTES = 16
_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Address:
    """The content of an address file: the port, the token, and the server's process id."""

    port: int
    token: str
    pid: int

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


class Refused(UserError, OSError):
    """The server refused this client. The message is the server's."""


def read_address(path: Path) -> Address | None:
    """The address in a file that only this user can read; None if there is none, or its content is invalid.

    Raises PermissionError if another user owns the file or can access it. On Windows the folder's permissions protect
    it: it is in the user's profile.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077):
                raise PermissionError(f"{path} is accessible to other users")
            found = json.loads(file.read(1 << 12))
        return Address(int(found["port"]), str(found["token"]), int(found["pid"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def connect(address: Address, timeout_s: float) -> socket.socket | None:
    """A connection to the server after both sides are authenticated; None if another process, or none, listens.

    Raises TimeoutError, and Refused.
    """
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect((HOST, address.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if _authenticate(connection, address.token):
            return connection
    except (ConnectionError, OverflowError):  # OverflowError: no such port
        pass
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def proof(token: str, side: str, nonce: bytes) -> bytes:
    """What `side` ("client" or "server") sends to show that it knows the token; `nonce` is the other side's."""
    return hmac.new(token.encode(), side.encode() + b" " + nonce, "sha256").hexdigest().encode()


def new_nonce() -> bytes:
    return os.urandom(_NONCE_BYTES).hex().encode()


def relay_streams(connection: socket.socket) -> int:
    """Copy stdin to the server and its output to stdout, until the session ends. Returns the session's exit status.

    1 if the server ends without one, so that the editor restarts.
    """
    connection.settimeout(None)
    ended = threading.Event()
    threading.Thread(target=_send_input, args=(connection, ended), name="weft-stdin", daemon=True).start()
    try:
        with suppress(OSError):
            while n_bytes := int.from_bytes(_receive(connection, 4), "big"):
                _write_output(_receive(connection, n_bytes))
            return _receive(connection, 1)[0]
        return 1
    finally:
        ended.set()
        connection.close()


def _send_input(connection: socket.socket, ended: threading.Event) -> None:
    with suppress(OSError):
        while data := os.read(0, _READ_BYTES):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        if not ended.wait(EXIT_STATUS_WITHIN_S):
            connection.shutdown(socket.SHUT_RDWR)  # ends the copy of the output


def _write_output(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _authenticate(connection: socket.socket, token: str) -> bool:
    """Whether the other side proves that it knows the token. Raises Refused if it does and refuses this client."""
    ours = new_nonce()
    connection.sendall(HELLO + b" " + ours + b"\n")
    theirs, _, nonce = _read_line(connection).partition(b" ")
    if not hmac.compare_digest(theirs, proof(token, "server", ours)):
        return False
    connection.sendall(proof(token, "client", nonce) + b"\n")
    answer = _read_line(connection)
    if answer != WELCOME:
        raise Refused(answer.decode("ascii", "replace"))
    return True


def _read_line(connection: socket.socket) -> bytes:
    """The next line without its end; a part of one that is too long. Reads no byte after it."""
    line = bytearray()
    while len(line) < MAX_LINE_BYTES and not line.endswith(b"\n"):
        line += _receive(connection, 1)
    return bytes(line).removesuffix(b"\n")


def _receive(connection: socket.socket, n_bytes: int) -> bytes:
    """The next bytes, exactly so many. Raises ConnectionError if the stream ends before."""
    data = bytearray()
    while len(data) < n_bytes:
        received = connection.recv(min(n_bytes - len(data), _READ_BYTES))
        if not received:
            raise ConnectionError("the stream ended")
        data += received
    return bytes(data)
