"""An LSP client over stdio: messages to the real server's process, with the time each came or went.

Owns the pipes and the JSON-RPC framing. A thread reads, so that an answer's time is when it came, not when it was read.
Knows no document.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, BinaryIO, NamedTuple

from ...errors import UserError

SERVER = (sys.executable, "-m", "weft", "serve")

SILENT_FOR_S = 60.0
"""A server that says nothing for so long, and was asked, has hung."""

READY_WITHIN_S = 300.0


class Arrived(NamedTuple):
    """A message and the time (`time.monotonic`) its last byte was there."""

    at_s: float
    message: dict[str, Any]


class ServerGone(UserError):
    """The server ended, or is silent."""


class Client:
    """A running server, initialized and not yet indexed. `home` keeps its caches and settings apart from the user's."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        settings: Mapping[str, Any],
        encodings: Sequence[str],
        command: Sequence[str] = SERVER,
        more_capabilities: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
        self.arrived: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self._log = (home / "server.log").open("w+b")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **dict.fromkeys(homes, str(home))},
            cwd=home,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._out: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._n_requests = 0
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "textDocument": {"inlineCompletion": {"dynamicRegistration": False}},
            **more_capabilities,
        }
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        result = self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folder.as_uri(),
                "workspaceFolders": folders,
                "capabilities": capabilities,
                "initializationOptions": {"weft": dict(settings)},
            },
        )
        self.encoding: str = result["capabilities"]["positionEncoding"]
        self.notify("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def notify(self, method: str, params: object) -> float:
        """Send a notification; the time it was handed over."""
        return self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object) -> tuple[int, float]:
        """Send a request: its number, by which the answer that will arrive is known, and the time."""
        self._n_requests += 1
        message = {"jsonrpc": "2.0", "id": self._n_requests, "method": method, "params": params}
        return self._n_requests, self._send(message)

    def ask(self, method: str, params: object = None) -> Any:
        """The result of a request, for when nothing else is going on: what arrives before it is passed over."""
        number, _ = self.request(method, params)
        while True:
            message = self.next(SILENT_FOR_S).message
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise ServerGone(
                        f"{method} failed: {message['error'].get('message')} Look at the log of the server."
                    )
                return message.get("result")

    def next(self, within_s: float) -> Arrived:
        """The next message but for questions to the client, which are answered with null. Raises ServerGone."""
        arrived = self.next_or_none(within_s)
        if arrived is None:
            raise ServerGone("The server sent no message in time. Look at its log.")
        return arrived

    def next_or_none(self, within_s: float) -> Arrived | None:
        """The same, None when nothing arrives in time. Raises ServerGone when the server ended."""
        until = time.monotonic() + within_s
        while True:
            try:
                arrived = self.arrived.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if arrived is None:
                raise ServerGone(f"The server ended with {self._process.wait()}. {self._last_words()}")
            if "method" in arrived.message and "id" in arrived.message:
                self._send({"jsonrpc": "2.0", "id": arrived.message["id"], "result": None})
                continue
            return arrived

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are, messages or not."""
        self._in.write(data)
        self._in.flush()

    def close(self) -> None:
        """Shutdown and exit as editors do; killed when it takes too long."""
        try:
            self.ask("shutdown")
            self.notify("exit", None)
            self._process.wait(SILENT_FOR_S)
        except (ServerGone, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):  # what was not sent yet
            self._in.close()
        self._log.close()

    def kill(self) -> list[dict[str, Any]]:
        """End the process as a crash does; what it had sent and nobody had read."""
        self._process.kill()
        self._process.wait()
        sent = []
        while (arrived := self.arrived.get()) is not None:
            sent.append(arrived.message)
        with suppress(OSError):  # what was not sent yet goes nowhere
            self._in.close()
        self._log.close()
        return sent

    def _last_words(self) -> str:
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")[-2000:]

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


def when_ready(client: Client) -> dict[str, Any]:
    """The server's status once all is indexed and every model has been opened."""
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
