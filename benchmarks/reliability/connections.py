"""Hostile connections to `weft serve --tcp` and to the shared server: access control and denial of service.

Owns the attacks and their counts. A client with the token sends requests meanwhile, and each of its answers is timed.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ...server.shared.relay import READY, SERVE
from ...server.workspace.process import resident_mb
from ..http_server import JsonHandler, serving
from ..lsp_client import SERVER, Client, ServerGone, user_environment, when_ready
from .campaign import Counts, Settings
from .fuzzing import TEXT, framed

QUESTION = "Does a connection without the token get an answer, and does it slow down other clients?"

MUST_BE_ZERO = (
    "admitted",
    "leaked",
    "not_closed",
    "closed_without_an_error",
    "good_client_failures",
    "files_outside_exports",
    "files_overwritten",
    "variables_sent",
    "other_users_admitted",
    "growth_mb_over_limit",
)

FULL, SHORT = (40, 20, 400), (1, 0, 80)
"""Rounds of attacks, slow connections, and connections that send nothing."""


CLOSED_WITHIN_S = 15.0
LIMIT_GROWTH_MB = 40.0
"""While an announced body of 300 MB, and 400 connections that send nothing, are refused."""

NOBODY = 65534

LINE = "THE_PRIVATE_LINE"
VARIABLE, VALUE = "WEFT_CAMPAIGN_VARIABLE", "the-value-of-a-variable"

BRIDGE = """
import socket, sys, threading, os
at = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def up():
    while data := os.read(0, 1 << 16):
        at.sendall(data)
    at.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := at.recv(1 << 16):
    os.write(1, data)
"""
"""Connects the pipes of a client to a port."""


def run(settings: Settings) -> Counts:
    rng = random.Random(settings.seed)
    n_rounds, n_slow, n_half_open = SHORT if settings.is_short else FULL
    counts: Counter[str] = Counter()
    work = settings.work
    home, folder = work / "home", work / "project"
    home.mkdir()
    folder.mkdir()
    (folder / "private.py").write_text(f"{LINE} = 1\n" + TEXT)
    with _tcp_server(home) as server, server.client(folder, home) as good:
        when_ready(good)
        with _asking(good, counts):
            before_mb = resident_mb(server.pid) or 0.0
            for _ in range(n_rounds):
                for first, has_header in _first_bytes(server, folder, rng):
                    counts["attacks"] += 1
                    _check_reply(*_reply_to(server.port, first), has_header, counts)
            _slow(server, n_slow, counts)
            _half_open(server, n_half_open, folder, home, counts)
            growth_mb = round((resident_mb(server.pid) or 0.0) - before_mb, 1)
        _exports(good, work, counts)
        _variables(server, folder, home, counts, 1 if settings.is_short else 5)
        counts["leaked"] += server.log().count(server.token)
    _other_users(folder, home, counts)
    done = (
        *("attacks", "slow_connections", "half_open_connections", "exports_tried", "clients_naming_variables"),
        *("requests_at_their_server", "other_users_tried", "good_client_answers", "good_client_slowest_ms"),
    )
    failed = {name: counts[name] for name in MUST_BE_ZERO[:-1]}
    over = max(0.0, round(growth_mb - LIMIT_GROWTH_MB, 1))
    return {**{name: counts[name] for name in done}, "growth_mb": growth_mb, **failed, MUST_BE_ZERO[-1]: over}


@dataclass(frozen=True, slots=True)
class _TcpServer:
    """A running `weft serve --tcp`."""

    pid: int
    port: int
    token: str
    log_file: Path

    def client(self, folder: Path, home: Path, settings: dict[str, Any] | None = None) -> Client:
        """A client that sends the token."""
        command = (sys.executable, "-c", BRIDGE, str(self.port))
        return Client(folder, home, {"token": self.token, **(settings or {})}, command=command)

    def log(self) -> str:
        """The log without the lines of the start, which hold the token."""
        return "\n".join(self.log_file.read_text("utf-8", "replace").splitlines()[3:])


@contextmanager
def _tcp_server(home: Path) -> Iterator[_TcpServer]:
    log, command = home / "tcp.log", [*SERVER, "--tcp", "127.0.0.1:0"]
    environment = {**user_environment(home), VARIABLE: VALUE}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=out, env=environment, cwd=home)
    try:
        until_s = time.monotonic() + 60
        while len(lines := log.read_text().splitlines()) < 3 and time.monotonic() < until_s:
            time.sleep(0.02)
        yield _TcpServer(process.pid, int(lines[0].rpartition(":")[2]), lines[1].split()[-1], log)
    finally:
        process.kill()
        process.wait()


@contextmanager
def _asking(good: Client, counts: Counter[str]) -> Iterator[None]:
    """A client with the token sends requests meanwhile."""
    stop = threading.Event()

    def ask() -> None:
        try:
            while not stop.wait(0.02):
                started_s = time.monotonic()
                good.ask("weft/status")
                took_ms = round((time.monotonic() - started_s) * 1e3)
                counts["good_client_answers"] += 1
                counts["good_client_slowest_ms"] = max(counts["good_client_slowest_ms"], took_ms)
        except (ServerGone, OSError):
            counts["good_client_failures"] += 1

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        stop.set()
        asking.join()


def _first_bytes(server: _TcpServer, folder: Path, rng: random.Random) -> Iterator[tuple[bytes, bool]]:
    """The first bytes of a hostile connection, and whether they hold a header that the server can answer."""

    def call(method: str, id: Any = 1, **params: Any) -> bytes:
        return framed(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())

    root = {"rootUri": folder.as_uri(), "capabilities": {}}
    status, hello = call("weft/status"), call("initialize", **root)
    token = server.token
    wrong = [None, "", "x", token[:-1], token + "x", token.swapcase(), [token], {"token": token}, 5, True, "\ud800"]
    for given in wrong:
        for options in ({"token": given}, {"weft": {"token": given}}, {"settings": {"token": token}}, [token]):
            yield call("initialize", initializationOptions=options, **root) + status, True
    yield hello + hello + status, True
    yield call("initialize", id=None, initializationOptions={"token": "x"}, **root), True
    for method in ("weft/status", "shutdown", "weft/conversations", "textDocument/didOpen", "exit", token):
        yield call(method) + hello, True
    yield framed(b'{"jsonrpc": "2.0", "method": "initialized", "params": {}}') + status, True
    for body in (b"", b"[]", b"null", b"{", b"\xff", b"[" * 50_000, b"NaN", rng.randbytes(200)):
        yield framed(body), True
    for start in (b"POST / HTTP/1.1", b"GET / HTTP/1.1", b"OPTIONS * HTTP/1.1", b"PRI * HTTP/2.0", b"GET /"):
        yield start + b"\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(hello) + hello, True
    yield b"Host: localhost\r\n" + hello, True
    yield b"Content-Length: 300000000\r\n\r\n" + b"x" * 2_000_000, True
    yield b"Content-Length: 99999999999999999\r\n\r\n", True
    yield b"X: " + b"x" * 1_000_000 + b"\r\n\r\n", True
    yield b"X: y\r\n" * 100_000, True
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500) + b"\n" * 9_000, True
    yield b"", False
    yield b"Content-Length: 50\r\n\r\n{", False


def _reply_to(port: int, data: bytes) -> tuple[bytes, bool]:
    """The reply, and whether the server closed the connection in time."""
    came = b""
    with socket.create_connection(("127.0.0.1", port), timeout=CLOSED_WITHIN_S) as at, suppress(OSError):
        with suppress(BrokenPipeError, ConnectionResetError):
            at.sendall(data)
            at.shutdown(socket.SHUT_WR)
        try:
            while more := at.recv(1 << 16):
                came += more
        except TimeoutError:
            return came, False
    return came, True


def _check_reply(came: bytes, is_closed: bool, has_header: bool, counts: Counter[str]) -> None:
    counts["admitted"] += b'"result"' in came
    counts["leaked"] += LINE.encode() in came or b"capabilities" in came
    counts["not_closed"] += not is_closed
    counts["closed_without_an_error"] += has_header and b'"error"' not in came and not came.startswith(b"HTTP/1.1 400")


def _slow(server: _TcpServer, n: int, counts: Counter[str]) -> None:
    """Clients that send one byte every half second, until the server closes the connection."""

    def send_slowly() -> None:
        counts["slow_connections"] += 1
        started_s = time.monotonic()
        with socket.create_connection(("127.0.0.1", server.port)) as at:
            try:
                while time.monotonic() - started_s < CLOSED_WITHIN_S:
                    at.sendall(b"C")
                    time.sleep(0.5)
            except OSError:
                return
        counts["not_closed"] += 1

    with ThreadPoolExecutor(max(1, n)) as pool:
        for _ in range(n):
            pool.submit(send_slowly)


def _half_open(server: _TcpServer, n: int, folder: Path, home: Path, counts: Counter[str]) -> None:
    """Many connections that send nothing; a client with the token connects beside them."""
    with ExitStack() as held:
        for _ in range(n):
            held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        counts["half_open_connections"] += n
        try:
            with server.client(folder, home) as other:
                other.ask("weft/status")
        except (ServerGone, OSError):
            counts["good_client_failures"] += 1


def _exports(good: Client, work: Path, counts: Counter[str]) -> None:
    """Export paths of a client with the token: only files in the folder of exports are written, each once."""
    existing = work / "there.jsonl"
    existing.write_text("kept")
    names = [str(existing), str(work / "new.jsonl"), "../new.jsonl", "a/new.jsonl", "..", "~/new.jsonl", "said\0.jsonl"]
    for name in names:
        for overwrite in (False, True):
            counts["exports_tried"] += 1
            with suppress(ServerGone):
                good.ask("weft/conversations", {"action": "export", "file": name, "overwrite": overwrite})
    counts["files_outside_exports"] += len({*work.rglob("new.jsonl")})
    counts["files_overwritten"] += existing.read_text() != "kept"
    written = Path(good.ask("weft/conversations", {"action": "export", "file": "said.jsonl"})["file"])
    written.write_text("kept")
    with suppress(ServerGone):
        good.ask("weft/conversations", {"action": "export", "file": "said.jsonl"})
    counts["files_overwritten"] += written.read_text() != "kept"


def _variables(server: _TcpServer, folder: Path, home: Path, counts: Counter[str], n: int) -> None:
    """Clients with the token whose settings name a variable of the server's environment and a model server."""
    came: list[str] = []

    class TokenHandler(JsonHandler):
        def do_POST(self) -> None:
            came.append(f"{self.path} {self.headers} {self.body()!r}")
            self.send_bytes(b"", 404)

        do_GET = do_POST

    with serving(TokenHandler) as url:
        model = {"backend": "openai", "url": url, "name": "m"}
        key = {"api_key_variable": VARIABLE}
        embeddings = {"embeddings": "api", "embeddings_url": url, "embeddings_model": "m"}
        hostile: tuple[dict[str, Any], ...] = (
            {"model": [model, {**model, **key}], "memory": {**embeddings, "embeddings_key_variable": VARIABLE}},
            {"model": [{**model, **key}]},
            {"model": {**model, **key}},
            {"model": [{**model, "name": f"${{env:{VARIABLE}}}"}]},
            {"model": [{**model, "url": f"{url}/${VARIABLE}"}]},
        )
        for settings in hostile[:n]:
            counts["clients_naming_variables"] += 1
            try:
                with server.client(folder, home, settings) as client:
                    client.ask("weft/ask", {"question": "where is price_of?"})
                    client.ask("weft/doctor")
            except ServerGone:
                counts["good_client_failures"] += 1
    counts["requests_at_their_server"] += len(came)
    counts["variables_sent"] += sum(VALUE in each for each in came)


def _other_users(folder: Path, home: Path, counts: Counter[str]) -> None:
    """Another user connects to the shared server, with its socket and the folders above open to all."""
    if not hasattr(os, "getuid") or os.getuid() != 0:
        return
    with ExitStack() as stack:
        # The name of a socket has a limit, so its folder is not below `home`.
        runtime = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-", dir="/tmp")))
        stack.enter_context(patch.dict(os.environ, XDG_RUNTIME_DIR=str(runtime)))
        environment = {**os.environ, "HOME": str(home)}
        stack.callback(subprocess.run, [*SERVER, "--stop"], capture_output=True, env=environment, check=False)
        with Client(folder, home, command=(*SERVER, "--shared")) as client:
            client.ask("weft/status")
            (endpoint,) = runtime.glob("weft/*.socket")
            for path in (runtime, endpoint.parent, endpoint):
                path.chmod(0o777)
            for _ in range(5):
                counts["other_users_tried"] += 1
                counts["other_users_admitted"] += _is_admitted(endpoint)
            client.ask("weft/status")
            endpoint.parent.chmod(0o700)


def _is_admitted(endpoint: Path) -> bool:
    """Whether the server answers a process of another user."""
    child = os.fork()
    if child == 0:
        is_admitted = 0
        with suppress(BaseException):
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with socket.socket(socket.AF_UNIX) as at:
                at.settimeout(5)
                at.connect(str(endpoint))
                at.sendall(SERVE)
                is_admitted = int(at.recv(64) == READY)
        os._exit(is_admitted)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
