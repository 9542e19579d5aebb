"""Structured fuzzing of JSON-RPC: valid messages of every method, mutated messages, and bytes that are no message.

Owns the generator and the rule for the number of answers to a message. Knows no process. One seeded generator draws all
random numbers, so a seed identifies a sequence of messages.
"""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

N_DOCUMENTS = 30
"""The client owns open texts, so the generator bounds them; other growth is the server's."""

QUESTIONS = ("what calls price_of?", "where is total computed?", "/where price_of", "/explain price_of", "and where?")

TEXT = "from price import price_of\n\ndef checkout(basket):\n    total = price_of(basket)\n    return to\n"


# Values of every JSON type at its limits, invalid identifiers, invalid messages.

NASTY_STRINGS: tuple[str, ...] = (
    *("", " ", "\0", "\ud800", "a\udfff.py", "\u202e\u2066", "\x1b[31m", "x" * 100_000),
    *("%", "%zz%00", "../../../../etc/passwd", "file://host/share", "file:///nonexistent/%00/x.py"),
    *("untitled:", "http://[::1", "__class__", "\n" * 500, "é" * 300, "😀" * 300, "def f():\n\treturn (\n"),
    *("'; DROP TABLE turns; --", '"*', "NaN", "/where", "/explain \ud800"),
)

NASTY_NUMBERS: tuple[float | int, ...] = (
    *(0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63, 2**64, 10**40, -(10**40)),
    *(0.5, -0.0, 1e308, 5e-324, float("nan"), float("inf")),
)

NASTY_VALUES: tuple[Any, ...] = (
    *NASTY_STRINGS,
    *NASTY_NUMBERS,
    *(None, True, False, [], {}, [[]], [None], {"": None}, {"id": []}, [[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]),
    *({"class": 1, "def": {"_x": 2}, "a b": []}, [0] * 1000, {str(number): number for number in range(200)}),
)

NASTY_IDS: tuple[Any, ...] = (
    *(None, True, False, [], {}, [1], {"id": 1}),
    *(0, -1, 0.5, 1.0, 1e300, 2**31, 2**64, 10**100),
    *("", "1", "\ud800", "\0", "x" * 5_000),
)
"""Identifiers of requests: JSON-RPC allows strings, numbers and, discouraged, null."""

NO_MESSAGES: tuple[bytes, ...] = (
    *(b"[]", b"null", b"5", b'"x"', b"{", b"", b"\xff\xfe", b"[" * 20_000, b'{"a":' * 5_000, b"NaN", b"[{}]"),
    *(b"1" * 5_000, b'{"id": 1e999, "method": 5}'),
)
"""Bodies that are not JSON objects."""

GARBAGE: tuple[bytes, ...] = (
    *(b"\r\n\r\n", b"hello\r\n", b"Content-Type: x\r\n", b"Content-Length: many\r\n\r\n"),
    *(b"Content-Length: -5\r\n\r\n", b": :\n", b"GET / HTTP/1.1\r\n"),
    *(b"\0" * 100 + b"\n", b"x" * 100_000 + b"\n"),
)
"""Bytes between messages that hold no header."""


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """Bytes to send, and the identifiers (as JSON) of their answers, one each."""

    data: bytes
    answers: tuple[str, ...] = ()


class Fuzzer:
    """An endless sequence of messages for a server that was initialized with `folder`."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self._n_ids = 0
        self._recent_ids: list[Any] = []
        names = [f"part_{number}.py" for number in range(6)] + [f"new_{number}.py" for number in range(N_DOCUMENTS - 8)]
        self._uris = [(folder / name).as_uri() for name in names] + ["untitled:Untitled-1", "git:/x/.env"]

    def __iter__(self) -> Iterator[Fuzzed]:
        kinds: tuple[tuple[Callable[[], Fuzzed], int], ...] = (
            (lambda: _fuzzed(self._message()), 40),
            (self._mutated, 38),
            (self._wrong_envelope, 8),
            (self._response, 6),
            (self._cancel, 4),
            (self._no_message, 2),
            (self._garbage, 2),
        )
        makers, weights = zip(*kinds, strict=True)
        while True:
            yield self._random.choices(makers, weights)[0]()

    # Messages.

    def _mutated(self) -> Fuzzed:
        message = self._message()
        for _ in range(self._random.choice((1, 1, 1, 2, 4))):
            if "params" in message:
                message["params"] = self._mutate(message["params"], folders="workspaceFolders" in str(message)[:60])
        return _fuzzed(message)

    def _wrong_envelope(self) -> Fuzzed:
        message = self._message()
        choice = self._random.choice
        match self._random.randrange(8):
            case 0:
                message["jsonrpc"] = choice(["1.0", "", None, 2, 2.0, [], {}, "2.0 "])
            case 1:
                message["id"] = choice(NASTY_IDS)
            case 2:
                message |= {"method": choice(NASTY_VALUES), "id": self._id()}
            case 3:
                message["id"] = choice(self._recent_ids or [1])  # an answered or running one
            case 4:
                del message["jsonrpc"]
            case 5:
                message["method"] = choice(["", "no/such", "weft/", "$/no", "initialize", "textDocument/hover"])
            case 6:
                message["params"] = choice(NASTY_VALUES)
            case _:
                message[choice(NASTY_STRINGS)] = choice(NASTY_VALUES)
        return _fuzzed(message)

    def _response(self) -> Fuzzed:
        ids = [*NASTY_IDS, self._id(), *(self._recent_ids[-3:] or [1])]
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._random.choice(ids)}
        if self._random.random() < 0.5:
            message["result"] = self._random.choice(NASTY_VALUES)
        else:
            error = {"code": -32601, "message": "no"}
            message["error"] = self._random.choice([error, *NASTY_VALUES])
        return _fuzzed(message)

    def _cancel(self) -> Fuzzed:
        expected = self._random.choice([*NASTY_IDS, *(self._recent_ids[-3:] or [1]), *self._recent_ids[-3:]])
        return _fuzzed({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": expected}})

    def _no_message(self) -> Fuzzed:
        """A body that is not a JSON object."""
        body = self._random.choice((*NO_MESSAGES, self._random.randbytes(40)))
        return Fuzzed(framed(body), answers_of(body))

    def _garbage(self) -> Fuzzed:
        """Bytes between two messages that are not a header. They hold no length, so the next message can be found."""
        junk = self._random.randbytes(30).replace(b":", b";") + b"\n"
        return Fuzzed(self._random.choice([*GARBAGE, junk, b"no end of line"]))

    # Parts.

    def _message(self) -> dict[str, Any]:
        rows = self._methods()
        method, params, is_request, _ = self._random.choices(rows, [row[3] for row in rows])[0]
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if is_request:
            message["id"] = self._id()
        if params is not None:
            message["params"] = copy.deepcopy(params)
        return message

    def _methods(self) -> list[tuple[str, Any, bool, float]]:
        """Methods with parameters, whether they are requests, and how often each is drawn."""
        uri = self._random.choice(self._uris)
        document = {"uri": uri}
        position = {"line": self._random.randrange(8), "character": self._random.randrange(30)}
        at = {"textDocument": document, "position": position}
        version = {"uri": uri, "version": self._random.randrange(1 << 20)}
        item = {"id": f"c-{self._random.randrange(50)}"}
        opened = {"uri": uri, "languageId": "python", "version": 1, "text": TEXT * self._random.randrange(1, 40)}
        change = {"range": {"start": position, "end": position}, "text": self._random.choice(["x", "\n", "", "to"])}
        whole = {"text": TEXT * self._random.randrange(1, 20)}
        question = {"question": self._random.choice(QUESTIONS), "partialResultToken": self._random.choice(["t", 5])}
        settings = {"settings": {"weft": {"completion": {"max_new_tokens": self._random.randrange(8, 12)}}}}
        watched = {"changes": [{"uri": uri, "type": self._random.randrange(1, 4)}]}
        command = {"command": "weft.didAccept", "arguments": [item]}
        conversations = {"action": self._random.choice(["list", "get", "search", "delete"]), "text": "x", "limit": 5}
        trigger = {"triggerKind": self._random.choice([1, 2])}
        return [
            ("textDocument/didOpen", {"textDocument": opened}, False, 8),
            ("textDocument/didChange", {"textDocument": version, "contentChanges": [change]}, False, 16),
            ("textDocument/didChange", {"textDocument": version, "contentChanges": [whole]}, False, 3),
            ("textDocument/didClose", {"textDocument": document}, False, 6),
            ("textDocument/inlineCompletion", {**at, "context": trigger}, True, 12),
            ("textDocument/completion", {**at, "context": {"triggerKind": 1}}, True, 4),
            ("weft/complete", {**at, "candidates": 2}, True, 1),
            ("weft/explain", at, True, 1),
            ("weft/status", None, True, 6),
            ("weft/stats", None, True, 6),
            ("weft/pause", {"paused": self._random.random() < 0.3}, True, 1),
            ("weft/conversations", conversations, True, 5),
            ("weft/conversations", {"action": "export", "file": "said.jsonl"}, True, 0.2),
            ("weft/ask", {**question, "textDocument": document, "remember": False}, True, 1),
            ("weft/doctor", None, True, 0.02),
            ("weft/didShow", item, False, 3),
            ("weft/didAccept", item, False, 3),
            ("weft/didPartiallyAccept", {**item, "acceptedLength": 3}, False, 3),
            ("weft/didReject", item, False, 3),
            ("workspace/executeCommand", command, True, 4),
            ("workspace/didChangeWatchedFiles", watched, False, 3),
            ("workspace/didChangeConfiguration", settings, False, 0.3),
            ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}}, False, 0.2),
            ("window/workDoneProgress/cancel", {"token": "t"}, False, 1),
            ("$/setTrace", {"value": "off"}, False, 1),
            ("textDocument/hover", at, True, 2),
            ("no/such/method", {"a": {"b": [1, {"c": 2}]}}, True, 2),
            ("no/such/notification", {"a": {"b": 1}}, False, 2),
        ]

    def _id(self) -> Any:
        self._n_ids += 1
        chosen: Any = self._n_ids if self._random.random() < 0.7 else f"id-{self._n_ids}"
        self._recent_ids = [*self._recent_ids[-20:], chosen]
        return chosen

    def _mutate(self, value: Any, *, folders: bool) -> Any:
        """`value` with one node, at a random depth, replaced, removed or doubled."""
        if isinstance(value, dict) and value and self._random.random() < 0.8:
            key = self._random.choice(list(value))
            draw = self._random.random()
            if draw < 0.1:
                return {name: each for name, each in value.items() if name != key}
            if draw < 0.2:
                return {**value, self._random.choice(NASTY_STRINGS): self._random.choice(NASTY_VALUES)}
            return {**value, key: self._mutate(value[key], folders=folders)}
        if isinstance(value, list) and value and self._random.random() < 0.8:
            index = self._random.randrange(len(value))
            return [*value[:index], self._mutate(value[index], folders=folders), *value[index:]]
        return copy.deepcopy(self._random.choice(NASTY_VALUES))


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answers_of(body: bytes) -> tuple[str, ...]:
    """The identifiers, as JSON, of the answers to a body: JSON-RPC 2.0, one object a message."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return ("null",)
    if not isinstance(message, dict):
        return ("null",)
    is_response = "method" not in message and ("result" in message or "error" in message)
    if "id" not in message or is_response:
        return ()
    given = message["id"]
    is_valid = isinstance(given, str | int | float) and not isinstance(given, bool)
    return (json.dumps(given),) if is_valid else ("null",)


def _fuzzed(message: Any) -> Fuzzed:
    body = json.dumps(message).encode()
    return Fuzzed(framed(body), answers_of(body))


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value
