"""Endpoint of the shared server: a Unix domain socket, or a loopback port and a token, in a folder of this user alone.

Owns the choice between the two, the folder, the file names in it, the lock, and the check of the peer's user id. Knows
no message. Imports little: each editor window has a relay process that imports this module.

The names of the files hold a hash of everything that a server takes from its start: the version and location of Weft,
the interpreter, and the environment variables that change its behaviour. Windows that differ in these share no server.
"""

from __future__ import annotations

import errno
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
from . import loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# In bytes. The limit of Linux is 107, that of macOS 103.
LONGEST_SOCKET_NAME = 100
CONNECT_WITHIN_S = 5.0
TRANSPORT_VARIABLE = "WEFT_SHARED_TRANSPORT"
LOOPBACK, UNIX = "loopback", "unix"

_VARIABLES = (
    *("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
    *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
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
    uses_loopback: bool = False

    @property
    def socket(self) -> Path:
        return self._file("socket")

    @property
    def address(self) -> Path:
        """The loopback port and the token of the server, see `loopback.Address`."""
        return self._file("address")

    @property
    def server_file(self) -> Path:
        """The file by which windows find the server; it exists while one runs, and after one was killed."""
        return self.address if self.uses_loopback else self.socket

    @property
    def lock(self) -> Path:
        """Locked while a process starts the server. With a Unix socket, its content is the server's process id."""
        return self._file("lock")

    @property
    def startup_log(self) -> Path:
        """The server's stderr until it opens its log; explains a failed start."""
        return self._file("stderr")

    def _file(self, suffix: str) -> Path:
        return self.folder / f"{__version__}-{self.identity}.{suffix}"


def shared_endpoint() -> SharedEndpoint:
    """The endpoint of this installation and user, in a private folder. Raises SharedServerUnavailable."""
    return SharedEndpoint(_identity(), _private_folder(), _uses_loopback())


def connect(endpoint: SharedEndpoint) -> socket.socket | None:
    """A connection to the server; None if none listens.

    Raises SharedServerUnavailable if the server belongs to another user or does not accept the connection.
    """
    try:
        return _connect_on_loopback(endpoint) if endpoint.uses_loopback else _connect_on_socket(endpoint)
    except OSError as error:
        raise SharedServerUnavailable(
            f"The shared server refused a connection ({error}). {kill_hint(endpoint)}"
        ) from error


def _connect_on_socket(endpoint: SharedEndpoint) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_WITHIN_S)
    try:
        connection.connect(str(endpoint.socket))
    except (FileNotFoundError, ConnectionError):
        connection.close()
        return None
    except OSError:
        connection.close()
        raise
    if not is_same_user(connection):
        connection.close()
        raise SharedServerUnavailable(f"{endpoint.socket} belongs to another user. Remove it.")
    return connection


def _connect_on_loopback(endpoint: SharedEndpoint) -> socket.socket | None:
    try:
        address = loopback.read_address(endpoint.address)
    except PermissionError as error:
        raise SharedServerUnavailable(f"{error}. Remove it.") from error
    if address is None:
        return None
    try:
        return loopback.connect(address, CONNECT_WITHIN_S)
    except TimeoutError:
        from ..workspace.process import is_alive

        if is_alive(address.pid):
            raise
        return None  # the server was killed, and another program has its port


def is_same_user(connection: socket.socket) -> bool:
    """Whether the peer runs as this user; True where the system cannot report it: the folder is private."""
    if sys.platform != "linux":
        return True
    _, user, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def kill_hint(endpoint: SharedEndpoint) -> str:
    """The next step for a server that runs and does not respond."""
    pid = _process_id(endpoint)
    if pid is None:
        return "End its process."
    return f"End its process: {'taskkill /F /PID' if sys.platform == 'win32' else 'kill'} {pid}"


def _process_id(endpoint: SharedEndpoint) -> int | None:
    try:
        if not endpoint.uses_loopback:
            return int(endpoint.lock.read_text())
        address = loopback.read_address(endpoint.address)
    except (OSError, ValueError):
        return None
    return None if address is None else address.pid


@contextmanager
def locked(endpoint: SharedEndpoint) -> Iterator[None]:
    """Hold the start lock exclusively; waits for a process that holds it."""
    while True:
        with open(os.open(endpoint.lock, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file, _locked_file(file.fileno()):
            if file_id_at(endpoint.lock) == file_id(os.fstat(file.fileno())):
                yield
                return
            # A server that exited has removed the file meanwhile, so this lock protects nothing: lock the new file.


@contextmanager
def _locked_file(descriptor: int) -> Iterator[None]:
    """Hold an exclusive lock on an open file, which also ends with the process."""
    if sys.platform == "win32":
        import msvcrt

        _wait_for_lock(descriptor, lambda: msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1))
        try:
            yield
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield  # closing the file ends the lock


def _wait_for_lock(descriptor: int, lock_first_byte: Callable[[], None]) -> None:
    while True:
        os.lseek(descriptor, 0, os.SEEK_SET)  # locks begin at the position in the file
        try:
            lock_first_byte()
            return
        except OSError as error:
            if error.errno not in (errno.EDEADLK, errno.EACCES):  # how Windows reports ten seconds without success
                raise


def file_id_at(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None if there is none."""
    try:
        return file_id(os.lstat(path))
    except OSError:
        return None


def file_id(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _uses_loopback() -> bool:
    """Whether the server listens on a loopback port. WEFT_SHARED_TRANSPORT chooses where both transports exist."""
    chosen = os.environ.get(TRANSPORT_VARIABLE, "")
    has_sockets = hasattr(socket, "AF_UNIX") and hasattr(socket, "send_fds")
    if chosen not in ("", LOOPBACK, UNIX) or (chosen == UNIX and not has_sockets):
        raise SharedServerUnavailable(
            f"{TRANSPORT_VARIABLE} is {chosen!r}, which this system does not have. Set it to {LOOPBACK}, or remove it."
        )
    return chosen == LOOPBACK or not has_sockets


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
    """A folder in the user's runtime directory; in /tmp if there is none, or its path is too long for a socket.

    On Windows, a folder in the user's profile, whose permissions it inherits.
    """
    if not hasattr(os, "getuid"):
        return _folder_in_profile()
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


def _folder_in_profile() -> Path:
    local = os.environ.get("LOCALAPPDATA")
    folder = (Path(local) if local else Path.home() / "AppData" / "Local") / "weft" / "run"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SharedServerUnavailable(
            f"{folder} cannot be created: {error.strerror}. Set LOCALAPPDATA to a folder that you own."
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
