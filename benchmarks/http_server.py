"""HTTP servers on loopback for benchmarks: a handler that reads and writes JSON, and a server in a thread.

Owns what every server shares: framing of a response, no log, no trace of a client that disconnects. Knows no protocol.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def json_body(self) -> Any:
        return json.loads(self.body() or b"{}")

    def send_json(self, value: object, status: int = 200) -> None:
        self.send_bytes(json.dumps(value).encode(), status)

    def send_bytes(self, data: bytes, status: int = 200, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[JsonHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """A client may disconnect at any time."""


@contextmanager
def serving(handler: type[JsonHandler]) -> Iterator[str]:
    """The address of a server that runs meanwhile in a thread."""
    with LoopbackServer(handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server.url
        finally:
            server.shutdown()
