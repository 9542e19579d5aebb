"""Where the editors of one user meet at one server, and that nobody else can stand there.

Owns the folder and the names in it, and who may be talked to. Knows no message. Imports little: a process for each
editor window imports this.

Who meets there agrees on everything that a server has from its start: the version and endpoint of Weft, the interpreter,
and the environment as far as it changes what Weft does. Others have another name and never meet.
"""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import struct
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ... import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_SOCKET_NAME = 100
"""In bytes. Linux takes 107, macOS 103."""

CONNECT_WITHIN_S = 5.0

_VARIABLES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "PYTHONPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_BEGINNINGS = ("WEFT_", "HF_", "CUDA_", "OLLAMA_")
_ENDINGS = ("_PROXY", "_KEY", "_TOKEN")
_OF_DESKTOPS = ("XDG_", "VSCODE_")
"""Whose tokens are new for each window and of no use to a model."""


class SharedServerUnavailable(Exception):
    """There can be no shared server here. The message says why, and the next step where there is one."""


@dataclass(frozen=True)
class SharedEndpoint:
    """The files of one shared server. `identity` names it among those of this user."""

    identity: str
    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / f"{__version__}-{self.identity}.socket"

    @property
    def lock(self) -> Path:
        """Held by who starts the server. Its text is the number of the server's process."""
        return self.folder / f"{__version__}-{self.identity}.lock"

    @property
    def startup_log(self) -> Path:
        """What a server wrote on its stderr before it had a log, so that a failed start can be explained."""
        return self.folder / f"{__version__}-{self.identity}.stderr"


def shared_endpoint() -> SharedEndpoint:
    """Of this installation and this user, in a folder that only this user can enter. Raises SharedServerUnavailable."""
    if not can_share():
        raise SharedServerUnavailable("This system has no local sockets that pass on open files.")
    return SharedEndpoint(_identity(), _private_folder())


def can_share() -> bool:
    """Whether this system has what it takes."""
    return hasattr(socket, "AF_UNIX") and hasattr(socket, "send_fds")


def connect(endpoint: SharedEndpoint) -> socket.socket | None:
    """A connection to the server; None when there is none. Raises SharedServerUnavailable when it is not ours or does not answer."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_WITHIN_S)
    try:
        connection.connect(str(endpoint.socket))
    except (FileNotFoundError, ConnectionError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise SharedServerUnavailable(
            f"The shared server takes no connection ({error}). {kill_hint(endpoint)}"
        ) from error
    if not is_same_user(connection):
        connection.close()
        raise SharedServerUnavailable(f"{endpoint.socket} belongs to somebody else. Remove it.")
    return connection


def is_same_user(connection: socket.socket) -> bool:
    """Whether the other side is; True where the system does not tell, since nobody else can enter the folder."""
    if sys.platform != "linux":
        return True
    _, user, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def kill_hint(endpoint: SharedEndpoint) -> str:
    """The next step when a server is there and of no use."""
    try:
        return f"End its process: kill {int(endpoint.lock.read_text())}"
    except (OSError, ValueError):
        return "End its process."


@contextmanager
def locked(endpoint: SharedEndpoint) -> Iterator[None]:
    """Alone in starting the server; waits for who does that now."""
    import fcntl

    while True:
        with open(os.open(endpoint.lock, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if file_id_at(endpoint.lock) == file_id(os.fstat(file.fileno())):
                yield
                return
            # A server that ended has removed it meanwhile; who comes now locks another one.


def file_id_at(path: Path) -> tuple[int, int] | None:
    """What stands at a path, whatever its name; None when nothing does."""
    try:
        return file_id(os.lstat(path))
    except OSError:
        return None


def file_id(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _identity() -> str:
    facts = [sys.executable, str(Path(__file__).resolve().parent)]
    facts += [f"{name}={value}" for name, value in sorted(os.environ.items()) if _matters(name.upper())]
    return hashlib.blake2b("\0".join(facts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _matters(name: str) -> bool:
    """Whether a variable changes what a server does: where its files are, how it reaches models, and with what keys."""
    if name in _VARIABLES or name.startswith(_BEGINNINGS):
        return True
    return name.endswith(_ENDINGS) and not name.startswith(_OF_DESKTOPS)


def _private_folder() -> Path:
    """In the system's folder for such things; below /tmp where there is none, or its name is too long for sockets."""
    user = os.getuid()
    named = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}", "weft")
    longest = len(os.fsencode(SharedEndpoint("x" * 16, named).socket))
    folder = named if named.parent.is_dir() and longest <= LONGEST_SOCKET_NAME else Path(f"/tmp/weft-{user}")
    try:
        _make_private(folder)
    except OSError as error:
        raise SharedServerUnavailable(
            f"{folder} cannot be made: {error.strerror}. Set XDG_RUNTIME_DIR to a folder of yours."
        ) from error
    return folder


def _make_private(folder: Path) -> None:
    """Raises OSError, or SharedServerUnavailable for a folder that others own or can enter."""
    if os.lstat(folder.parent).st_uid not in (0, os.getuid()):
        raise SharedServerUnavailable(f"{folder.parent} belongs to somebody else.")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SharedServerUnavailable(f"{folder} is not a folder of yours alone. Remove it, or: chmod 700 {folder}")
