"""A server for many clients: `weft serve --tcp` with its token, or the shared server of `weft serve --shared`.

Owns the process, how clients connect, and its processor time and private memory. Knows no typing.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from ...server.shared.control import running_server, stop_server
from ...server.shared.endpoint import connect, shared_endpoint
from ...server.shared.relay import READY, SERVE
from ..lsp_client import SERVER, SILENT_FOR_S, Client, ServerGone, SocketClient, user_environment

Transport = Literal["tcp", "shared"]

STARTS_WITHIN_S = 60.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ServedCheckout:
    """A running server. `connect` gives a client that is initialized, for one kind of editor's encodings."""

    pid: int
    connect: Callable[[Sequence[str]], SocketClient]

    def processor_s(self) -> float:
        """Processor time of the process so far, in seconds. Source: proc(5), fields 14 and 15 of `stat`."""
        return processor_s(self.pid)

    def private_mb(self) -> float:
        """Memory of the process alone, without the pages of mapped files, in MB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("RssAnon:"))

    def n_threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))


def processor_s(pid: int) -> float:
    """Processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


@contextmanager
def serving_checkout(
    transport: Transport, folder: Path, home: Path, settings: Mapping[str, Any]
) -> Iterator[ServedCheckout]:
    """The server of a folder, with its caches and settings in `home`. Raises ServerGone."""
    serving = _serving_tcp if transport == "tcp" else _serving_shared
    with serving(folder, home, settings) as served:
        yield served


@contextmanager
def _serving_tcp(folder: Path, home: Path, settings: Mapping[str, Any]) -> Iterator[ServedCheckout]:
    log = home / "tcp.log"
    with log.open("wb") as out:
        command = [*SERVER, "--tcp", "127.0.0.1:0"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=out, env=user_environment(home), cwd=home)
    try:
        port, token = _address(log)

        def new_client(encodings: Sequence[str]) -> SocketClient:
            connected = socket.create_connection(("127.0.0.1", port))
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return SocketClient(connected, folder, {"token": token, **settings}, encodings)

        yield ServedCheckout(process.pid, new_client)
    finally:
        process.kill()
        process.wait()


def _address(log: Path) -> tuple[int, str]:
    """The port and the token that the server prints. Raises ServerGone."""
    until_s = time.monotonic() + STARTS_WITHIN_S
    while len(lines := log.read_text().splitlines()) < 3:
        if time.monotonic() > until_s:
            raise ServerGone(f"The server did not start: {log.read_text()[-500:]} Run `weft serve --tcp` by hand.")
        time.sleep(0.02)
    return int(lines[0].rpartition(":")[2]), lines[1].split()[-1]


@contextmanager
def _serving_shared(folder: Path, home: Path, settings: Mapping[str, Any]) -> Iterator[ServedCheckout]:
    with patch.dict(os.environ, user_environment(home)):
        # The first window starts the server and is idle. The others connect as a relay process does.
        with Client(folder, home, settings, command=(*SERVER, "--shared")):
            found = running_server()
            if found is None:
                raise ServerGone(f"The window has a server of its own. See {home / 'server.log'}.")
            yield ServedCheckout(found.pid, lambda encodings: _shared_client(folder, settings, encodings))
        stop_server()


def _shared_client(folder: Path, settings: Mapping[str, Any], encodings: Sequence[str]) -> SocketClient:
    relay = connect(shared_endpoint())
    if relay is None:
        raise ServerGone("The shared server has ended. Look at its log.")
    relay.sendall(SERVE)
    if relay.recv(len(READY)) != READY:
        raise ServerGone("The shared server refused a window. Look at its log.")
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(relay, [b"."], [theirs.fileno(), theirs.fileno()])
    return _SharedClient(relay, ours, folder, settings, encodings)


class _SharedClient(SocketClient):
    """A client of the shared server; its connection to the server's socket stays open as long."""

    def __init__(self, relay: socket.socket, *given: Any) -> None:
        self._relay = relay
        super().__init__(*given)

    def _wait_for_end(self) -> None:
        self._relay.settimeout(SILENT_FOR_S)
        self._relay.recv(16)  # the exit status

    def _end(self) -> None:
        super()._end()
        self._relay.close()
