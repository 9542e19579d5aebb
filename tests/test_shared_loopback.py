"""The shared server on a loopback port, as on Windows: the address file, the token, and what is simulated of Windows.

`test_shared_server.py` runs the same windows over loopback as over Unix sockets.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from weft.server.lsp import host as hosting
from weft.server.lsp.loopback_host import FramedWriter, authenticate, listen_on_loopback
from weft.server.shared import endpoint as placing
from weft.server.shared import log_file as logging_to
from weft.server.shared import loopback
from weft.server.shared import relay as relaying
from weft.server.shared.endpoint import (
    TRANSPORT_VARIABLE,
    SharedEndpoint,
    SharedServerUnavailable,
    connect,
    kill_hint,
    locked,
    shared_endpoint,
)

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="files have no POSIX permissions")


@pytest.fixture
def place(tmp_path_factory):
    return SharedEndpoint("test", tmp_path_factory.mktemp("run"), uses_loopback=True)


class Listener:
    """Another program on a port: answers every line with `answer`; with None it says nothing."""

    def __init__(self, answer: bytes | None) -> None:
        self.received: list[bytes] = []
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.received.append(connection.recv(1000))
            if self._answer is None:
                connection.recv(1)  # until the client gives up
            else:
                connection.sendall(self._answer)
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listening():
    """`listening(answer)`: another program on a port."""
    opened: list[Listener] = []

    def listen(answer: bytes | None) -> Listener:
        opened.append(Listener(answer))
        return opened[-1]

    yield listen
    for each in opened:
        each.close()


def write_address(place: SharedEndpoint, **changed: Any) -> None:
    facts = {"port": 1, "token": "t" * 40, "pid": os.getpid()}
    place.address.write_text(json.dumps({**facts, **changed}))
    place.address.chmod(0o600)


def test_a_frame_waits_for_no_acknowledgement(place):
    listener, _ = listen_on_loopback(place)
    with listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# The token.


def test_only_a_client_that_knows_the_token_is_served(place):
    async def story():
        listener, token = listen_on_loopback(place)
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        results = []

        async def serve():
            for _ in range(5):
                connection, _ = await loop.sock_accept(listener)
                with connection:
                    try:
                        results.append(await authenticate(connection, token))
                    except ConnectionError:
                        results.append("gone")

        def as_client():
            assert os.name == "nt" or stat.S_IMODE(place.address.stat().st_mode) == 0o600
            connection = connect(place)
            connection.close()
            address = loopback.read_address(place.address)
            assert address == loopback.Address(listener.getsockname()[1], token, os.getpid())
            # A client with another token does not believe the server either.
            wrong = loopback.Address(address.port, "w" * 40, address.pid)
            assert loopback.connect(wrong, 5) is None
            answers = []
            for lines in (b"GET / HTTP/1.1\r\n", b"serve\n", b"%s abc\n%s\n" % (loopback.HELLO, b"0" * 64)):
                with socket.create_connection(("127.0.0.1", address.port)) as intruder:
                    intruder.sendall(lines)
                    intruder.settimeout(5)
                    answers.append(intruder.makefile("rb").read())
            return answers

        serving = asyncio.ensure_future(serve())
        answers = await asyncio.to_thread(as_client)
        await serving
        listener.close()
        assert results == [True, "gone", False, False, False]
        assert all(token.encode() not in answer for answer in answers)
        assert all(answer.endswith(loopback.REFUSED + b"\n") for answer in answers)
        assert b"Start `weft serve --shared`" in loopback.REFUSED

    asyncio.run(story())


def test_a_client_that_is_refused_is_told_with_the_answer_of_the_server(place, monkeypatch):
    def refuse(*_):
        raise loopback.Refused("refused: why")

    monkeypatch.setattr(loopback, "_authenticate", refuse)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        write_address(place, port=listener.getsockname()[1])
        with pytest.raises(SharedServerUnavailable, match=r"refused: why.*End its process"):
            connect(place)


@needs_modes
def test_a_file_that_others_can_read_is_not_used(place):
    write_address(place)
    place.address.chmod(0o644)
    with pytest.raises(SharedServerUnavailable, match=r"accessible to other users. Remove it"):
        connect(place)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": 1}', '{"port": "x", "token": "", "pid": 1}'])
def test_a_file_without_an_address_is_replaced(place, content):
    place.address.write_text(content)
    place.address.chmod(0o600)
    assert connect(place) is None


# What a server that was killed leaves.


def test_a_port_that_nobody_has_is_a_stale_address(place):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    write_address(place, port=port)
    assert connect(place) is None
    write_address(place, port=1 << 20)
    assert connect(place) is None


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"0" * 64 + b" nonce\n", b"x" * 5000])
def test_another_program_on_the_port_is_not_believed_and_learns_no_token(place, listening, answer):
    other = listening(answer)
    write_address(place, port=other.port)
    assert connect(place) is None
    assert b"t" * 40 not in b"".join(other.received) and other.received[0].startswith(loopback.HELLO)


def test_a_silent_program_on_the_port_of_a_dead_server_is_passed_over(place, listening, monkeypatch):
    monkeypatch.setattr(placing, "CONNECT_WITHIN_S", 0.05)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write_address(place, port=listening(None).port, pid=gone.pid)
    assert connect(place) is None
    write_address(place, port=listening(None).port)  # this process lives, and does not answer
    with pytest.raises(SharedServerUnavailable, match=f"End its process: .*{os.getpid()}"):
        connect(place)


def test_a_server_that_does_not_start_is_told_with_what_it_said(place, monkeypatch):
    monkeypatch.setattr(relaying, "shared_endpoint", lambda: place)
    failing = [sys.executable, "-c", "import sys; sys.exit('ImportError: no module named weft')"]
    monkeypatch.setattr(relaying, "SERVER_COMMAND", failing)
    with pytest.raises(SharedServerUnavailable, match="no module named weft"):
        relaying.relay()


def test_a_server_that_writes_no_address_is_ended(place, monkeypatch):
    monkeypatch.setattr(relaying, "READY_WITHIN_S", 0.1)
    monkeypatch.setattr(relaying, "SERVER_COMMAND", [sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(SharedServerUnavailable, match="did not start within"):
        relaying._start(place)


def test_connections_without_a_token_are_few(place, monkeypatch):
    monkeypatch.setattr(hosting, "MAX_UNAUTHENTICATED", 2)
    monkeypatch.setattr(hosting, "IDLE_SHUTDOWN_AFTER_S", 60)

    async def story():
        listener, token = listen_on_loopback(place)
        host = hosting._LoopbackHost(place, listener, token)
        running = asyncio.ensure_future(host.run())
        port = listener.getsockname()[1]
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        assert await asyncio.wait_for(silent[0][0].read(), 10) == b""  # the oldest gives way
        connection = await asyncio.to_thread(connect, place)
        assert connection is not None
        connection.close()
        host._stop()
        for _, writer in silent:
            writer.close()
        await asyncio.wait_for(running, 20)
        assert not place.address.exists()

    asyncio.run(story())


# Windows.


@pytest.mark.skipif(not hasattr(socket, "send_fds"), reason="this system has one transport")
def test_the_transport_is_that_of_the_system_or_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv(TRANSPORT_VARIABLE, "pipes")
    with pytest.raises(SharedServerUnavailable, match="Set it to loopback"):
        shared_endpoint()
    monkeypatch.delenv(TRANSPORT_VARIABLE)
    assert not shared_endpoint().uses_loopback
    monkeypatch.delattr(socket, "send_fds")
    assert shared_endpoint().uses_loopback


def test_without_user_ids_the_folder_is_in_the_profile(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "getuid", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert shared_endpoint().folder == tmp_path / "local" / "weft" / "run"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "file"))
    with pytest.raises(SharedServerUnavailable, match="Set LOCALAPPDATA"):
        shared_endpoint()


def test_the_lock_of_windows_is_waited_for_and_released(place, monkeypatch):
    calls: list[tuple[str, int]] = []
    busy = [OSError(errno.EDEADLK, "Resource deadlock avoided")]  # after ten seconds

    def locking(descriptor: int, mode: str, n_bytes: int) -> None:
        calls.append((mode, os.lseek(descriptor, 0, os.SEEK_CUR)))
        os.lseek(descriptor, 1, os.SEEK_CUR)
        if busy:
            raise busy.pop()

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_LOCK="lock", LK_UNLCK="unlock"))
    monkeypatch.setattr(sys, "platform", "win32")
    with locked(place):
        assert calls == [("lock", 0), ("lock", 0)]
    assert calls[2:] == [("unlock", 0)]
    busy.append(OSError(errno.EBADF, "Bad file descriptor"))
    with pytest.raises(OSError, match="Bad file"), locked(place):
        pass


def test_the_hint_of_windows_names_its_command(place, monkeypatch):
    write_address(place, pid=4711)
    monkeypatch.setattr(sys, "platform", "linux")
    assert kill_hint(place) == "End its process: kill 4711"
    monkeypatch.setattr(sys, "platform", "win32")
    assert kill_hint(place) == "End its process: taskkill /F /PID 4711"


def test_a_log_that_cannot_be_renamed_is_copied_and_emptied(tmp_path):
    log, old = tmp_path / "a.log", tmp_path / "a.log.1"
    with log.open("ab") as stdout:  # as standard output of the server and of its child processes
        stdout.write(b"before\n")
        stdout.flush()
        logging_to.copy_and_empty(str(log), str(old))
        stdout.write(b"after\n")
    assert (old.read_bytes(), log.read_bytes()) == (b"before\n", b"after\n")
    assert os.name == "nt" or stat.S_IMODE(old.stat().st_mode) == 0o600


def test_output_is_framed_and_ends_with_the_exit_status():
    async def story():
        received = bytearray()

        async def read(reader, writer):
            received.extend(await reader.read())
            writer.close()

        server = await asyncio.start_server(read, "127.0.0.1", 0)
        _, stream = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer = FramedWriter(stream)
        writer.write(b"ab")
        await writer.finish(7, 5)
        server.close()
        await asyncio.sleep(0.1)
        assert bytes(received) == b"\0\0\0\2ab\0\0\0\0\7"

    asyncio.run(story())
