"""A relay between an editor and the real server: records the messages, and interferes on the orders of a test.

`relay.py FOLDER ARGUMENT…` runs `weft ARGUMENT…`. `FOLDER/wire.jsonl` has every message of `serve`, one per line.
`FOLDER/orders.json`, read anew for each message, may hold
  blank: methods whose responses are replaced by empty ones
  fill: for each method, fields that its results have instead of those of the server
  hold: methods whose responses are dropped
  late: methods whose responses are passed on when the order is cancelled
  freeze: stops the server (SIGSTOP) after a status of this kind, until the order is cancelled

All other messages are passed on unchanged.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

EMPTY = {"textDocument/inlineCompletion": {"items": []}, "weft/complete": {"items": []}}
"""The empty response of a method; null for all others."""


class Relay:
    def __init__(self, folder: Path, command: list[str]) -> None:
        self._folder = folder
        self._asked: dict[Any, str] = {}  # methods by the ids of pending requests
        self._writing, self._sending = threading.Lock(), threading.Lock()
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._note("relay", {"method": "started", "params": {"pid": self._server.pid, "arguments": command[3:]}})

    def run(self) -> int:
        """Relays until the server exits; returns its exit status."""
        assert self._server.stdin is not None and self._server.stdout is not None
        # A daemon: it may block on input from the editor after the server has exited.
        threading.Thread(target=self._to_server, args=(sys.stdin.buffer, self._server.stdin), daemon=True).start()
        while (message := read_message(self._server.stdout)) is not None:
            self._to_editor(message)
        status = self._server.wait()
        self._note("relay", {"method": "ended", "params": {"pid": self._server.pid, "status": status}})
        return status

    def _to_server(self, source: BinaryIO, sink: BinaryIO) -> None:
        while (body := read_message(source)) is not None:
            message = json.loads(body)
            if "id" in message and "method" in message:
                self._asked[message["id"]] = message["method"]
            self._note("editor", message)
            try:
                write_message(sink, body)
            except OSError:  # the server has exited; the editor sees the end of the stream
                return
        sink.close()

    def _to_editor(self, body: bytes) -> None:
        message, orders = json.loads(body), self._orders()
        method = "" if "method" in message else self._asked.pop(message.get("id"), "")
        if method in orders.get("hold", ()):
            self._note("held", {**message, "answers": method})
            return
        if method in orders.get("blank", ()) and "result" in message:
            message["result"] = EMPTY.get(method)
            body = json.dumps(message).encode()
        if method in orders.get("fill", {}) and message.get("result") is not None:
            message["result"].update(orders["fill"][method])
            body = json.dumps(message).encode()
        if method in orders.get("late", ()):
            self._note("held", {**message, "answers": method})
            threading.Thread(target=self._pass_on_late, args=(method, message, body), daemon=True).start()
            return
        self._pass_on(method, message, body)
        if message.get("method") == "weft/didChangeStatus":
            self._freeze_at(message["params"]["kind"])

    def _pass_on(self, method: str, message: dict[str, Any], body: bytes) -> None:
        self._note("server", {**message, "answers": method} if method else message)
        with self._sending:
            write_message(sys.stdout.buffer, body)

    def _pass_on_late(self, method: str, message: dict[str, Any], body: bytes) -> None:
        while method in self._orders().get("late", ()):
            time.sleep(0.02)
        self._pass_on(method, message, body)

    def _freeze_at(self, kind: str) -> None:
        if self._orders().get("freeze") == kind:
            os.kill(self._server.pid, signal.SIGSTOP)
            self._note("relay", {"method": "frozen", "params": {"kind": kind}})
            while self._orders().get("freeze") == kind:
                time.sleep(0.02)
            os.kill(self._server.pid, signal.SIGCONT)

    def _orders(self) -> dict[str, Any]:
        try:
            orders: dict[str, Any] = json.loads((self._folder / "orders.json").read_text())
        except FileNotFoundError:
            return {}
        return orders

    def _note(self, sender: str, message: dict[str, Any]) -> None:
        line = json.dumps({"from": sender, "server": self._server.pid, "message": message}) + "\n"
        # One write per line, because the relays of several windows share the file.
        with self._writing, (self._folder / "wire.jsonl").open("ab", buffering=0) as file:
            file.write(line.encode())


def read_message(source: BinaryIO) -> bytes | None:
    """The body of the next message; None at the end."""
    length = 0
    while line := source.readline():
        if line == b"\r\n":
            body = source.read(length)
            return body if len(body) == length else None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None


def write_message(sink: BinaryIO, body: bytes) -> None:
    sink.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sink.flush()


if __name__ == "__main__":
    arguments = [sys.executable, "-m", "weft", *sys.argv[2:]]
    if "serve" not in arguments:  # `--version`, which needs no relay
        os.execv(sys.executable, arguments)
    # Without cleanup: Python aborts when a thread still reads stdin.
    os._exit(Relay(Path(sys.argv[1]), arguments).run())
