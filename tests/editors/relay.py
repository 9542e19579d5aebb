"""Stand between an editor and the real server, note what they say, and be in the way when a test asks for it.

`relay.py FOLDER ARGUMENT…` runs `weft ARGUMENT…`. Every message of a `serve` goes to `FOLDER/wire.jsonl`, a line each.
`FOLDER/orders.json`, read anew for each message, may hold
  blank: methods whose answers are emptied before the editor gets them
  hold: methods whose answers do not come
  freeze: the server stands still after it has sent a status of this kind, until the order is taken back

Owns nothing of Weft: what it passes on is the real server's, byte for byte.
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
"""How an answer without content looks; null for every other method."""


class Relay:
    def __init__(self, folder: Path, command: list[str]) -> None:
        self._folder = folder
        self._asked: dict[Any, str] = {}  # method by the id of what the editor asked
        self._writing = threading.Lock()
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._note("relay", {"method": "started", "params": {"pid": self._server.pid, "arguments": command[3:]}})

    def run(self) -> int:
        """Until the server has ended; its exit status."""
        assert self._server.stdin is not None and self._server.stdout is not None
        # A daemon: nobody reads what an editor says to a server that is gone.
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
            except OSError:  # the server died; the editor learns it by the end of what it reads
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
        self._note("server", {**message, "answers": method} if method else message)
        write_message(sys.stdout.buffer, body)
        if message.get("method") == "weft/didChangeStatus":
            self._freeze_at(message["params"]["kind"])

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
        # One write of one line, so that relays of several windows share the file.
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
    if "serve" not in arguments:  # a question about the version, which a person's terminal would see as well
        os.execv(sys.executable, arguments)
    # At once: a thread that still reads stdin would make Python abort at a usual end.
    os._exit(Relay(Path(sys.argv[1]), arguments).run())
