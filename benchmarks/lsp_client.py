"""LSP clients for benchmarks: of a process over stdio, or of a server behind a socket, with the time of each message.

Owns the process or the socket, the environment and the JSON-RPC framing. A thread reads, so that the time of a message
is that of its arrival. Knows no benchmark.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, TypeVar

from ..errors import UserError

SERVER = (sys.executable, "-m", "weft", "serve")

SILENT_FOR_S = 60.0
"""A server that sends no message for so long after a request has hung."""

READY_WITHIN_S = 300.0


_C = TypeVar("_C", bound="Connection")


class Arrived(NamedTuple):
    """A message, and the time (`time.monotonic`) of its last byte."""

    at_s: float
    message: dict[str, Any]


class ServerGone(UserError):
    """The server ended, or sends nothing."""


class Connection:
    """A conversation with a server over two streams, initialized and not yet indexed."""

    def __init__(
        self,
        streams: tuple[BinaryIO, BinaryIO],
        folder: Path,
        settings: Mapping[str, Any],
        encodings: Sequence[str],
        more_capabilities: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.arrived: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self._in, self._out = streams  # of the server
        self._n_requests = 0
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "textDocument": {"inlineCompletion": {"dynamicRegistration": False}},
            **more_capabilities,
        }
        params = {
            "processId": os.getpid(),
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
            "capabilities": capabilities,
            "initializationOptions": {"weft": dict(settings)},
        }
        self.encoding: str = self.ask("initialize", params)["capabilities"]["positionEncoding"]
        self.notify("initialized", {})

    def __enter__(self: _C) -> _C:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open_document(self, uri: str, text: str, language: str = "python") -> None:
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change_document(self, uri: str, version: int, *changes: Mapping[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def notify(self, method: str, params: object) -> float:
        """Send a notification; the time at which it was sent."""
        return self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object) -> tuple[int, float]:
        """Send a request; its number, which its response repeats, and the time."""
        self._n_requests += 1
        message = {"jsonrpc": "2.0", "id": self._n_requests, "method": method, "params": params}
        return self._n_requests, self._send(message)

    def ask(self, method: str, params: object = None) -> Any:
        """The result of a request; messages that arrive before it are dropped. Raises ServerGone."""
        number, _ = self.request(method, params)
        while True:
            message = self.next(SILENT_FOR_S).message
            if message.get("id") == number and "method" not in message:
                if error := message.get("error"):
                    raise ServerGone(f"{method} failed: {error.get('message')} Look at the log of the server.")
                return message.get("result")

    def next(self, within_s: float) -> Arrived:
        """The next message; requests to the client get the result null. Raises ServerGone."""
        arrived = self.next_or_none(within_s)
        if arrived is None:
            raise ServerGone("The server sent no message in time. Look at its log.")
        return arrived

    def next_or_none(self, within_s: float) -> Arrived | None:
        """The same, None when no message arrives in time. Raises ServerGone when the server ended."""
        until = time.monotonic() + within_s
        while True:
            try:
                arrived = self.arrived.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if arrived is None:
                raise ServerGone(self._why_gone())
            if "method" in arrived.message and "id" in arrived.message:
                self._send({"jsonrpc": "2.0", "id": arrived.message["id"], "result": None})
                continue
            return arrived

    def send_bytes(self, data: bytes) -> None:
        """Send bytes unchanged; they need not be messages."""
        self._in.write(data)
        self._in.flush()

    def close(self) -> None:
        """Shutdown and exit as editors do."""
        with suppress(ServerGone, OSError):
            self.ask("shutdown")
            self.notify("exit", None)
            self._wait_for_end()
        self._end()

    def _wait_for_end(self) -> None:
        """Wait until the server has ended the conversation, within `SILENT_FOR_S`."""

    def _end(self) -> None:
        with suppress(OSError):  # the rest of the buffer is lost
            self._in.close()

    def _why_gone(self) -> str:
        return "The server closed the connection. Look at its log."

    def _send(self, message: Mapping[str, Any]) -> float:
        body = json.dumps(message, ensure_ascii=False).encode("utf-8")
        at_s = time.monotonic()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return at_s

    def _read(self) -> None:
        try:
            while True:
                length = 0
                while (line := self._out.readline()).strip():
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                body = self._out.read(length) if line else b""
                if not body:
                    break
                at_s = time.monotonic()
                self.arrived.put(Arrived(at_s, json.loads(body)))
        finally:
            self.arrived.put(None)
            self._out.close()


class Client(Connection):
    """A running server of its own. Its caches and settings are in `home`."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        settings: Mapping[str, Any] = MappingProxyType({}),
        encodings: Sequence[str] = ("utf-16",),
        command: Sequence[str] = SERVER,
        more_capabilities: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._log = (home / "server.log").open("w+b")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=user_environment(home),
            cwd=home,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        streams = (self._process.stdin, self._process.stdout)
        super().__init__(streams, folder, settings, encodings, more_capabilities)  # type: ignore[arg-type]

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> list[dict[str, Any]]:
        """End the process as a crash does; the messages that were not read yet."""
        self._end()
        return [arrived.message for arrived in iter(self.arrived.get, None) if arrived is not None]

    def _wait_for_end(self) -> None:
        with suppress(subprocess.TimeoutExpired):  # then it is killed
            self._process.wait(SILENT_FOR_S)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        super()._end()
        self._log.close()

    def _why_gone(self) -> str:
        self._log.seek(0)
        last_words = self._log.read().decode("utf-8", "replace")[-2000:]
        return f"The server ended with {self._process.wait()}. {last_words}"


class SocketClient(Connection):
    """A client of a server that serves several, over a connected socket."""

    def __init__(
        self,
        connected: socket.socket,
        folder: Path,
        settings: Mapping[str, Any] = MappingProxyType({}),
        encodings: Sequence[str] = ("utf-16",),
    ) -> None:
        self._socket = connected
        super().__init__((connected.makefile("wb", 0), connected.makefile("rb")), folder, settings, encodings)  # type: ignore[arg-type]

    def _wait_for_end(self) -> None:
        while self.next_or_none(SILENT_FOR_S) is not None:
            pass

    def _end(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        super()._end()
        self._socket.close()


def user_environment(home: Path) -> dict[str, str]:
    """The environment of a user whose settings, caches and data are all in `home`."""
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    return {**os.environ, **dict.fromkeys(homes, str(home))}


def completion_params(uri: str, line: int, character: int, *, invoked: bool) -> dict[str, Any]:
    """Parameters of `textDocument/inlineCompletion`."""
    return {
        "textDocument": {"uri": uri},
        "position": {"line": line, "character": character},
        "context": {"triggerKind": 1 if invoked else 2},
    }


def when_ready(client: Connection) -> dict[str, Any]:
    """The server's status once the index is built and every model is open. Raises ServerGone, and UserError."""
    until_s = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until_s:
        status: dict[str, Any] = client.ask("weft/status")
        states = [model["state"] for model in status.get("models", ())]
        if status["state"] == "ready" and "opening" not in states:
            if "down" in states or "aside" in states:
                notes = [model["note"] for model in status["models"]]
                raise UserError(f"The model can't be used. Correct its settings: {' '.join(notes)}")
            return status
        time.sleep(0.1)
    raise ServerGone("The server was not ready in time. Look at its log.")
