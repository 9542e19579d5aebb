"""A model server on loopback that attacks its client: slow, endless, huge, broken or poisoned answers.

Implements enough of three protocols (OpenAI, Ollama, llama.cpp) to pass as a working model. While `attack` is empty it
answers well. Owns the attacks. Knows no client.
"""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache
from typing import Any

from ..http_server import JsonHandler, serving

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
"""Contents of a text that must not reach an editor, a terminal or a file unchanged."""


class HostileServer:
    """Attacks every stream while `attack` names one; redirects lead to `/steal` at `url`, and are counted."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.attack = ""
        self.most_bytes = 0  # the most that one attack could send
        self.n_redirected = 0
        outer = self

        class HostileHandler(JsonHandler):
            def setup(self) -> None:
                super().setup()
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)

            def do_GET(self) -> None:
                outer._answer(self, None)

            def do_POST(self) -> None:
                outer._answer(self, self.json_body())

        class Sink(JsonHandler):
            def do_GET(self) -> None:
                outer.n_redirected += 1
                self.send_json({})

            do_POST = do_GET

        stack = ExitStack()
        self.url, self.sink_url = (stack.enter_context(serving(each)) for each in (HostileHandler, Sink))
        self.close = stack.close

    def _answer(self, handler: JsonHandler, body: dict[str, Any] | None) -> None:
        path = handler.path
        to = _Victim(handler, lambda text: self._event(path, text), self._end(), self.sink_url)
        if path in _STREAMS[self.protocol] and body is not None and body.get("stream"):
            if self.attack:
                self._attack(to, self.attack)
            else:
                to.send(to.event(_good_answer(body)), to.end)
        elif self.attack == "drip_probe":
            self._attack(to, "drip_headers")
        else:
            handler.send_json(*self._about(path, body or {}))

    def _about(self, path: str, body: dict[str, Any]) -> tuple[Any, int]:
        """The description of the model that a request without a stream gets."""
        template = "{{ if .Suffix }}<PRE>{{ .Prompt }}<SUF>{{ .Suffix }}<MID>{{ else }}{{ .Messages }}{{ end }}"
        content = body.get("content") or []
        tokens: list[int] = []
        for piece in content if isinstance(content, list) else [content]:
            tokens += [piece] if isinstance(piece, int) else [1 + ord(sign) for sign in piece]
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

    def _end(self) -> bytes:
        return b'{"done": true}\n' if self.protocol == "ollama" else b"data: [DONE]\n\n"

    def _attack(self, to: _Victim, attack: str) -> None:
        to.handler.close_connection = True
        with suppress(OSError):  # the client may close the connection
            if attack in POISON:
                text = f"total = price {POISON[attack]}"
                to.send(*(to.event(text[at : at + 3]) for at in range(0, len(text), 3)), to.end)
            else:
                _ATTACKS[attack](to)
        self.most_bytes = max(self.most_bytes, to.n)


class _Victim:
    """The connection of a client, and how many bytes were written to it."""

    def __init__(self, handler: JsonHandler, event: Callable[[str], bytes], end: bytes, sink_url: str) -> None:
        self.handler, self.event, self.end, self.sink_url = handler, event, end, sink_url
        self._socket: socket.socket = handler.connection
        self._socket.settimeout(LONGEST_ATTACK_S)
        self.n = 0

    def raw(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            n = self._socket.send(view[: 1 << 16])
            self.n += n
            view = view[n:]

    def send(self, *pieces: bytes, type: bytes = b"text/event-stream", encoding: bytes = b"identity") -> None:
        """A whole response in chunks."""
        self.raw(_HEAD % (type, encoding))
        for piece in pieces:
            self.raw(_chunk(piece))
        self.raw(b"0\r\n\r\n")

    def repeat(self, data: bytes, pause_s: float = 0.0, head: bytes = b"") -> None:
        """The same bytes again and again behind a head, by default that of a response in chunks."""
        self.raw(head or _HEAD % (b"text/event-stream", b"identity"))
        until_s = time.monotonic() + LONGEST_ATTACK_S
        while time.monotonic() < until_s:
            self.raw(data)
            time.sleep(pause_s)

    def reset(self) -> None:
        """A response, and a reset of its connection."""
        self.send(self.event("total "))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self._socket.close()


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Encoding: %b\r\nTransfer-Encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _long_answer(to: _Victim) -> None:
    line = "The function total adds the price of every item to what was there before it. "
    to.send(*(to.event(word + " ") for word in (line * 2_100).split(" ")), to.end)


def _error_text(to: _Victim) -> None:
    data = json.dumps({"error": {"message": "".join(POISON.values())}}).encode()
    to.raw(b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    """1 GiB of event lines in a megabyte: gzip files may follow each other."""
    return gzip.compress(b"data: x\n" * (1 << 20), 6) * 128


_MALFORMED = (b"data: {broken\n\n", b'{"choices": 3}\n', b"data: []\n\n", b'data: {"choices": [7]}\n\n')
_REDIRECT = b"HTTP/1.1 307 Moved\r\nLocation: %s/steal\r\nContent-Length: 0\r\n\r\n"

_ATTACKS: Mapping[str, Callable[[_Victim], None]] = {
    "drip_tokens": lambda to: to.repeat(_chunk(to.event(" total")), DRIP_S),
    "drip_comments": lambda to: to.repeat(_chunk(b": keep-alive\n\n"), DRIP_S),
    "drip_bytes": lambda to: to.repeat(_chunk(b"x"), DRIP_S),
    "drip_headers": lambda to: to.repeat(b"X-Slow: 1\r\n", DRIP_S, head=b"HTTP/1.1 200 OK\r\n"),
    "drip_probe": lambda to: None,  # drips the headers of a description: see `_answer`
    "silence": lambda to: time.sleep(LONGEST_ATTACK_S),
    "endless_tokens": lambda to: to.repeat(_chunk(to.event(" total") * 100)),
    "endless_line": lambda to: to.repeat(_chunk(b"x" * (1 << 16))),
    "endless_tiny_chunks": lambda to: to.repeat(_chunk(b"x") * (1 << 13)),
    "endless_comments": lambda to: to.repeat(_chunk(b": ping\n\n" * (1 << 12))),
    "huge_event": lambda to: to.send(to.event("total " * 160_000), to.event(" more"), to.end),
    "huge_json": lambda to: to.send(b'{"a": [' + b"[]," * 10_000_000 + b"[]]}\n", type=b"application/json"),
    "gzip_bomb": lambda to: to.send(_bomb(), encoding=b"gzip"),
    "long_answer": _long_answer,
    "malformed": lambda to: to.send(*_MALFORMED),
    "invalid_utf8": lambda to: to.send(to.event("total ").replace(b"total", b"to\xff\xfetal"), to.end),
    "wrong_type": lambda to: to.send(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 64, type=b"image/png"),
    "nested": lambda to: to.send(b"data: " + b"[" * 500_000 + b"\n\n", to.event("total"), to.end),
    "redirect": lambda to: to.raw(_REDIRECT % to.sink_url.encode()),
    "error_text": _error_text,
    "reset": _Victim.reset,
    "cut": lambda to: to.send(to.event("total ")[:-20]),
}

ATTACKS = (*_ATTACKS, *POISON)

_STREAMS = {
    "openai": ("/v1/completions", "/v1/chat/completions"),
    "ollama": ("/api/generate", "/api/chat"),
    "llama.cpp": ("/completion", "/v1/chat/completions"),
}


def _good_answer(body: dict[str, Any]) -> str:
    """An answer that passes the self-test: its known middles, and one word otherwise."""
    asked = json.dumps(body, ensure_ascii=False).replace('\\"', '"')
    return next((middle for opening, middle in _KNOWN.items() if opening in asked), "total")


_KNOWN = {
    "def greet(": "name",
    "area(width, ": "height",
    "total = 0": "index",
    "numbers = [": "9",
    "return a - ": "b",
    "__name__ == ": '"__main__"',
}
