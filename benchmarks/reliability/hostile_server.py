"""A model server on loopback that attacks its client: slow, endless, huge, broken or poisoned answers.

Speaks enough of three protocols (OpenAI's, Ollama's, llama.cpp's) that Weft takes it for a working model. While
`attack` is empty it answers well. Owns the attacks. Knows no client.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PROTOCOLS = ("openai", "ollama", "llama.cpp")

DRIP_S = 0.3
"""Between two pieces of a slow answer: well below every timeout for one read."""

LONGEST_ATTACK_S = 25.0

POISON = {
    "controls": "a\x00b\x07c\x08d\x7fe\x9bf\x85g",
    "ansi": "\x1b[2J\x1b[31mred\x1b[0m",
    "osc8": "\x1b]8;;file:///etc/passwd\x1b\\open\x1b]8;;\x1b\\",
    "bidi": "user\u202e # nimda \u2066 if admin \u2069 \u200f x",
    "zero_width": "pass\u200bword\u2060x\ufeffy\u200dz",
    "tags": "ok\U000e0041\U000e0042\U000e007f",
    "separators": "one\u2028two\u2029three",
    "surrogates": "a\ud800b\udfffc",
    "command_link": "See [total](command:workbench.action.terminal.new) now.",
    "file_link": "See [total](file:///etc/passwd) and <file:///etc/shadow>.",
    "other_links": "[a](vscode://x/y) [b](javascript:alert(1)) [c](data:text/html,x)",
    "disguised_links": "[d](&#99;ommand:z) [e](<command:q>) [f]( COMMAND:w ) [g](comm\\and:v)",
    "image": "![total](http://127.0.0.1:9/pixel.png?leak) and ![x][y]\n\n[y]: http://127.0.0.1:9/z.png",
    "html": "<img src=http://127.0.0.1:9/p.png><a href='command:x'>total</a><script>alert(1)</script>",
    "references": "[total][1] and [1]\n\n[1]: command:workbench.action.quit",
    "fences": "```\ntotal\n   ```\n[x](command:a)\n- ```\n  b\n[y](command:c)\n",
    "spans": "a ` total\n` [x](command:a) `\n\\\\<b>",
}
"""What a text may hold that must not reach a person or a file as it is."""

ATTACKS = (
    "drip_tokens",
    "drip_comments",
    "drip_bytes",
    "drip_headers",
    "drip_probe",
    "silence",
    "endless_tokens",
    "endless_line",
    "endless_tiny_chunks",
    "endless_comments",
    "huge_event",
    "huge_json",
    "gzip_bomb",
    "long_answer",
    "malformed",
    "invalid_utf8",
    "wrong_type",
    "nested",
    "redirect",
    "error_text",
    "reset",
    "cut",
    *POISON,
)


class HostileServer:
    """Counts what it was asked and what was taken of its attacks; `sink` is where it redirects to."""

    def __init__(self, protocol: str, sink: Sink) -> None:
        self.protocol = protocol
        self.attack = ""
        self.n_attacked = 0
        self.most_bytes = 0  # that one attack could send
        self.sink = sink
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)

            def do_GET(self) -> None:
                outer._answer(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer._answer(self, json.loads(body) if body else {})

            def log_message(self, *_: object) -> None:
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any] | None) -> None:
        path, attack = handler.path, self.attack
        if path in _STREAMS[self.protocol] and body is not None and body.get("stream"):
            if attack:
                self.n_attacked += 1
                self._attack(handler, attack, path)
            else:
                _stream(handler, (self._event(path, text) for text in _good_answer(body)), self._end(path))
        elif attack == "drip_probe":
            self.n_attacked += 1
            self._attack(handler, "drip_headers", path)
        else:
            _json(handler, *self._about(path, body or {}))

    def _about(self, path: str, body: dict[str, Any]) -> tuple[Any, int]:
        """What the server says of its model."""
        template = "{{ if .Suffix }}<PRE>{{ .Prompt }}<SUF>{{ .Suffix }}<MID>{{ else }}{{ .Messages }}{{ end }}"
        content = body.get("content")
        pieces = content if isinstance(content, list) else [content]
        tokens: list[int] = []
        for piece in pieces:
            tokens += [piece] if isinstance(piece, int) else [1 + ord(sign) for sign in piece or ""]
        answers: dict[str, Any] = {
            "/v1/models": {"data": [{"id": "hostile", "max_model_len": 4096}]},
            "/v1/chat/completions": {"choices": [{"message": {"role": "assistant", "content": "hi"}}]},
            "/api/tags": {"models": [{"name": "hostile", "digest": "d"}]},
            "/api/ps": {"models": []},
            "/api/show": {"template": template, "capabilities": ["completion", "insert"], "model_info": {}},
            "/props": {
                "default_generation_settings": {"n_ctx": 4096},
                "model_alias": "hostile",
                "chat_template": "plain",
            },
            "/tokenize": {"tokens": tokens},
        }
        served = {"openai": "/v1", "ollama": "/api", "llama.cpp": ""}[self.protocol]
        if path not in answers or not path.startswith(served) or (served == "" and path.startswith(("/v1", "/api"))):
            return {"error": {"message": "File Not Found"}}, 404
        return answers[path], 200

    def _event(self, path: str, text: str) -> bytes:
        if self.protocol == "ollama":
            piece = {"response": text} if path == "/api/generate" else {"message": {"content": text}}
            return json.dumps({**piece, "done": False}).encode() + b"\n"
        said: dict[str, Any] = {"choices": [{"index": 0, "delta": {"content": text}}]}
        return b"data: " + json.dumps({"content": text} if path == "/completion" else said).encode() + b"\n\n"

    def _end(self, path: str) -> bytes:
        return b'{"done": true}\n' if self.protocol == "ollama" else b"data: [DONE]\n\n"

    def _attack(self, handler: BaseHTTPRequestHandler, attack: str, path: str) -> None:
        sent = _Counted(handler)
        handler.close_connection = True
        try:
            self._send(sent, attack, path)
        except (OSError, TimeoutError):
            pass  # the client closed the connection, which is its right
        finally:
            self.most_bytes = max(self.most_bytes, sent.n)

    def _send(self, to: _Counted, attack: str, path: str) -> None:
        def event(text: str) -> bytes:
            return self._event(path, text)

        if attack in POISON:
            to.head()
            to.write(*(event(piece) for piece in _cut("total = price " + POISON[attack])), self._end(path))
        elif attack == "drip_tokens":
            to.head()
            to.drip(event(" total"))
        elif attack == "drip_comments":
            to.head()
            to.drip(b": keep-alive\n\n")
        elif attack == "drip_bytes":
            to.head()
            to.drip(b"x")
        elif attack == "drip_headers":
            to.raw(b"HTTP/1.1 200 OK\r\n")
            to.drip(b"X-Slow: 1\r\n", chunked=False)
        elif attack == "silence":
            time.sleep(LONGEST_ATTACK_S)
        elif attack == "endless_tokens":
            to.head()
            to.endless(event(" total") * 100)
        elif attack == "endless_line":
            to.head()
            to.endless(b"x" * (1 << 16))
        elif attack == "endless_tiny_chunks":
            to.head()
            to.endless(b"1\r\nx\r\n" * (1 << 13), chunked=False)
        elif attack == "endless_comments":
            to.head()
            to.endless(b": ping\n\n" * (1 << 12))
        elif attack == "huge_event":
            to.head()
            to.write(event("total " * 160_000), event(" more"), self._end(path))
        elif attack == "huge_json":
            to.head(type="application/json")
            to.write(b'{"a": [' + b"[]," * 10_000_000 + b"[]]}\n")
        elif attack == "gzip_bomb":
            to.head(encoding="gzip")
            to.write(_bomb())
        elif attack == "long_answer":
            to.head()
            line = "The function total adds the price of every item to what was there before it. "
            to.write(*(event(word + " ") for word in (line * 2_100).split(" ")), self._end(path))
        elif attack == "malformed":
            to.head()
            to.write(b"data: {broken\n\n", b'{"choices": 3}\n', b"data: []\n\n", b'data: {"choices": [7]}\n\n')
        elif attack == "invalid_utf8":
            to.head()
            to.write(event("total ").replace(b"total", b"to\xff\xfetal"), self._end(path))
        elif attack == "wrong_type":
            to.head(type="image/png")
            to.write(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 64)
        elif attack == "nested":
            to.head()
            to.write(b"data: " + b"[" * 500_000 + b"\n\n", event("total"), self._end(path))
        elif attack == "redirect":
            to.raw(b"HTTP/1.1 307 Moved\r\nLocation: %s/steal\r\nContent-Length: 0\r\n\r\n" % self.sink.url.encode())
        elif attack == "error_text":
            said = {"error": {"message": "".join(POISON.values())}}
            data = json.dumps(said).encode()
            to.raw(b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))
        elif attack == "reset":
            to.head()
            to.write(event("total "))
            to.reset()
        elif attack == "cut":
            to.head()
            to.write(event("total ")[:-20])


class Sink:
    """Where redirects lead: nobody may come here."""

    def __init__(self) -> None:
        self.n_asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.n_asked += 1
                _json(self, {}, 200)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients that go away are expected."""


class _Counted:
    """One connection under attack, and how many bytes went into it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._socket: socket.socket = handler.connection
        self._socket.settimeout(LONGEST_ATTACK_S)
        self.n = 0

    def raw(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            n = self._socket.send(view[: 1 << 16])
            self.n += n
            view = view[n:]

    def head(self, type: str = "text/event-stream", encoding: str = "identity") -> None:
        self.raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Encoding: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
            % (type.encode(), encoding.encode())
        )

    def write(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.raw(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.raw(b"0\r\n\r\n")

    def drip(self, piece: bytes, *, chunked: bool = True) -> None:
        self._repeat(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece, DRIP_S)

    def endless(self, piece: bytes, *, chunked: bool = True) -> None:
        self._repeat(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece, 0.0)

    def reset(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self._socket.close()

    def _repeat(self, data: bytes, pause_s: float) -> None:
        until_s = time.monotonic() + LONGEST_ATTACK_S
        while time.monotonic() < until_s:
            self.raw(data)
            time.sleep(pause_s)


_STREAMS = {
    "openai": ("/v1/completions", "/v1/chat/completions"),
    "ollama": ("/api/generate", "/api/chat"),
    "llama.cpp": ("/completion", "/v1/chat/completions"),
}


def _good_answer(body: dict[str, Any]) -> Iterator[str]:
    """What passes the self-test: known middles, and a word otherwise."""
    asked = json.dumps(body, ensure_ascii=False).replace('\\"', '"')
    yield next((middle for opening, middle in _KNOWN.items() if opening in asked), "total")


_KNOWN = {
    "def greet(": "name",
    "area(width, ": "height",
    "total = 0": "index",
    "numbers = [": "9",
    "return a - ": "b",
    "__name__ == ": '"__main__"',
}


def _stream(handler: BaseHTTPRequestHandler, events: Iterator[bytes], end: bytes) -> None:
    to = _Counted(handler)
    to.head()
    to.write(*events, end)


def _json(handler: BaseHTTPRequestHandler, value: Any, status: int) -> None:
    data = json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def _cut(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(0, len(text), 3)]


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    """1 GiB of event lines in a megabyte: gzip files may follow each other."""
    return gzip.compress(b"data: x\n" * (1 << 20), 6) * 128
