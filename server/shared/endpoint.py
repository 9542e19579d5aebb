"""Endpoint of the shared server: a Unix domain socket in a folder that only this user can access.

Owns the folder, the file names in it, and the check of the peer's user id. Knows no message. Imports little: each
editor window has a relay process that imports this module.

The socket's name holds a hash of everything that a server takes from its start: the version and location of Weft, the
interpreter, and the environment variables that change its behaviour. Windows that differ in these share no server.
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

from ...errors import UserError
from ...version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

# In bytes. The limit of Linux is 107, that of macOS 103.
LONGEST_SOCKET_NAME = 100
CONNECT_WITHIN_S = 5.0

_VARIABLES = (
    *("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
    *("PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_BEGINNINGS = ("WEFT_", "HF_", "CUDA_", "OLLAMA_")
_ENDINGS = ("_PROXY", "_KEY", "_TOKEN")
# Prefixes of desktop and editor variables: their tokens differ between windows and reach no model.
_OF_DESKTOPS = ("XDG_", "VSCODE_")


class SharedServerUnavailable(UserError):
    """No shared server can be used. The message states the reason and the next step, if there is one."""


@dataclass(frozen=True)
class SharedEndpoint:
    """Paths of one shared server's files. `identity` distinguishes the servers of a user."""

    identity: str
    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / f"{__version__}-{self.identity}.socket"

    @property
    def lock(self) -> Path:
        """Locked while a process starts the server. Its content is the process id of the server."""
        return self.folder / f"{__version__}-{self.identity}.lock"

    @property
    def startup_log(self) -> Path:
        """The server's stderr until it opens its log; explains a failed start."""
        return self.folder / f"{__version__}-{self.identity}.stderr"


def shared_endpoint() -> SharedEndpoint:
    """The endpoint of this installation and user, in a private folder. Raises SharedServerUnavailable."""
    if not can_share():
        raise SharedServerUnavailable(
            "This system has no Unix domain sockets that pass file descriptors. Start Weft without --shared."
        )
    return SharedEndpoint(_identity(), _private_folder())


def can_share() -> bool:
    """Whether this system supports Unix domain sockets with file-descriptor passing."""
    return hasattr(socket, "AF_UNIX") and hasattr(socket, "send_fds")


def connect(endpoint: SharedEndpoint) -> socket.socket | None:
    """A connection to the server; None if none listens.

    Raises SharedServerUnavailable if the server belongs to another user or does not accept the connection.
    """
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
            f"The shared server refused a connection ({error}). {kill_hint(endpoint)}"
        ) from error
    if not is_same_user(connection):
        connection.close()
        raise SharedServerUnavailable(f"{endpoint.socket} belongs to another user. Remove it.")
    return connection


def is_same_user(connection: socket.socket) -> bool:
    """Whether the peer runs as this user; True where the system cannot report it: the folder is private."""
    if sys.platform != "linux":
        return True
    _, user, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def kill_hint(endpoint: SharedEndpoint) -> str:
    """The next step for a server that runs and does not respond."""
    try:
        return f"End its process: kill {int(endpoint.lock.read_text())}"
    except (OSError, ValueError):
        return "End its process."


@contextmanager
def locked(endpoint: SharedEndpoint) -> Iterator[None]:
    """Hold the start lock exclusively; waits for a process that holds it."""
    import fcntl

    while True:
        with open(os.open(endpoint.lock, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if file_id_at(endpoint.lock) == file_id(os.fstat(file.fileno())):
                yield
                return
            # A server that exited has removed the file meanwhile, so this lock protects nothing: lock the new file.


def file_id_at(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None if there is none."""
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
    """Whether a variable changes a server's behaviour: its file locations, its routes to models, or their keys."""
    if name in _VARIABLES or name.startswith(_BEGINNINGS):
        return True
    return name.endswith(_ENDINGS) and not name.startswith(_OF_DESKTOPS)


def _private_folder() -> Path:
    """A folder in the user's runtime directory; in /tmp if there is none, or its path is too long for a socket."""
    user = os.getuid()
    named = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}", "weft")
    longest = len(os.fsencode(SharedEndpoint("x" * 16, named).socket))
    folder = named if named.parent.is_dir() and longest <= LONGEST_SOCKET_NAME else Path(f"/tmp/weft-{user}")
    try:
        _make_private(folder)
    except OSError as error:
        raise SharedServerUnavailable(
            f"{folder} cannot be created: {error.strerror}. Set XDG_RUNTIME_DIR to a folder that you own."
        ) from error
    return folder


def _make_private(folder: Path) -> None:
    """Raises OSError, or SharedServerUnavailable for a folder that another user owns or can access."""
    if os.lstat(folder.parent).st_uid not in (0, os.getuid()):
        raise SharedServerUnavailable(
            f"{folder.parent} belongs to another user. Set XDG_RUNTIME_DIR to a folder of yours."
        )
    folder.mkdir(mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SharedServerUnavailable(f"{folder} is accessible to other users. Remove it, or run: chmod 700 {folder}")
