"""Hostile model servers and documents: stalled requests, memory exhaustion, and injection through text.

The real server on stdio asks hostile model servers of three protocols on loopback (`hostile_server.py`): for each
attack one question, one invoked completion and one automatic completion, all at once. Then, without a model, it answers
from hostile documents and completes beside trojan source lines. Limits are low, so that slow answers exceed them.
An independent parser checks Markdown; the Unicode category decides about a character.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..lsp_client import Client, ServerGone, completion_params, user_environment, when_ready
from .campaign import Counts, Settings, strings_of, write_file
from .hostile_server import ATTACKS, POISON, PROTOCOLS, HostileServer

QUESTION = "Can text from a hostile model server or document stall, exhaust or act on an editor?"
MUST_BE_ZERO = (
    "unanswered",
    "over_limit",
    "unsafe_texts",
    "unsafe_completions",
    "redirects_followed",
    "attacks_beyond_bytes",
    "not_recovered",
    "process_ends",
)

INVOKED_S, AUTOMATIC_S, ASK_S = 1.5, 1.0, 2.0
"""The limits in the settings; an answer that takes `GRACE_S` longer is over its limit."""

TIMEOUT_MS = 2_000
"""For one read: longer than the pauses of a slow answer, so that only a total limit ends it."""

GRACE_S = 1.0
GIVE_UP_S = 6.0
RECOVER_WITHIN_S = 15.0

MOST_BYTES = 12_000_000
"""The most that one attack may send: the longest value, and the buffers of both ends."""

SHORT_ATTACKS = ("drip_tokens", "redirect", "command_link")

SETTINGS: dict[str, Any] = {
    "completion": {"max_seconds": INVOKED_S, "deadline_ms": int(AUTOMATIC_S * 1e3), "debounce_ms": 0},
    "chat": {"max_seconds": ASK_S},
}

_WRONG = "wrong in "

CODE = '''"""Prices."""


def total(items):
    """The price of all items."""
    return sum(price(item) for item in items)


def price(item):
    """The price of one item."""
    return item.amount * item.count
'''


def run(settings: Settings) -> Counts:
    attacks, protocols = (SHORT_ATTACKS, PROTOCOLS[:1]) if settings.is_short else (ATTACKS, PROTOCOLS)
    with ThreadPoolExecutor(len(protocols)) as pool:
        attacked = pool.map(lambda protocol: _attacked(settings, protocol, attacks), protocols)
        counts = _hostile_documents(settings)
        growth_mb = list[float]()
        for found, grown in attacked:
            counts.update(found)
            growth_mb.append(grown)
    names = ("attacks", "requests", "answered_with_text", "documents_asked", *MUST_BE_ZERO)
    wrong = sorted(name.removeprefix(_WRONG) for name in counts if name.startswith(_WRONG))
    return {
        **{name: counts[name] for name in names},
        "most_memory_growth_mb": round(max(growth_mb), 1),
        "wrong_in": ", ".join(wrong) or "nothing",
    }


class _CheckedServer:
    """A server under attack, with counts of violations."""

    def __init__(self, work: Path, models: Sequence[Mapping[str, Any]], counts: Counter[str]) -> None:
        self.folder, self._home = work / "shop", work / "home"
        self._home.mkdir()
        self._settings = {**SETTINGS, "model": models}
        self._counts = counts
        self._start()

    def _start(self) -> None:
        self._client = Client(self.folder, self._home, self._settings)
        when_ready(self._client)

    def __enter__(self) -> _CheckedServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def memory_mb(self) -> float:
        """Peak resident memory of the process."""
        status = Path(f"/proc/{self._client.pid}/status").read_text(encoding="ascii", errors="replace")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._client.ask("weft/status")
        self._check_strings(status)
        return status

    def show(self, name: str, text: str, version: int) -> None:
        uri = (self.folder / name).as_uri()
        if version == 1:
            self._client.open_document(uri, text)
        else:
            self._client.change_document(uri, version, {"text": text})

    def question(self, question: str) -> tuple[str, dict[str, Any], float]:
        tokens = {"partialResultToken": "part", "workDoneToken": "work"}
        return "weft/ask", {"question": question, "remember": False, **tokens}, ASK_S

    def completion(self, name: str, text: str, *, invoked: bool) -> tuple[str, dict[str, Any], float]:
        lines = text.split("\n")
        line, character = len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2
        params = completion_params((self.folder / name).as_uri(), line, character, invoked=invoked)
        return "textDocument/inlineCompletion", params, INVOKED_S if invoked else AUTOMATIC_S

    def ask_all(self, requests: list[tuple[str, dict[str, Any], float]]) -> list[Any]:
        """The results, None for a request without an answer; violations are counted."""
        try:
            return self._send_all(requests)
        except (ServerGone, OSError):
            self._counts["process_ends"] += 1
            self._start()
            return [None] * len(requests)

    def _send_all(self, requests: list[tuple[str, dict[str, Any], float]]) -> list[Any]:
        waiting: dict[int, tuple[int, float, float]] = {}
        results: list[Any] = [None] * len(requests)
        for place, (method, params, limit_s) in enumerate(requests):
            number, at_s = self._client.request(method, params)
            waiting[number] = place, at_s, limit_s
        self._counts["requests"] += len(requests)
        partial = ""
        until_s = time.monotonic() + max(limit_s for _, _, limit_s in requests) + GIVE_UP_S
        while waiting and time.monotonic() < until_s:
            arrived = self._client.next_or_none(0.5)
            if arrived is None:
                continue
            message = arrived.message
            if "method" in message:
                value = message.get("params", {}).get("value", {})
                if message["method"] == "$/progress" and message["params"].get("token") == "part":
                    partial = "" if value.get("restart") else partial + value.get("text", "")
                self._check_strings(message["params"])
            elif message.get("id") in waiting:
                place, at_s, limit_s = waiting.pop(message["id"])
                self._counts["over_limit"] += arrived.at_s - at_s > limit_s + GRACE_S
                results[place] = message.get("result")
                self._check(requests[place][0], message, partial)
        for number in waiting:
            self._counts["unanswered"] += 1
            self._client.notify("$/cancelRequest", {"id": number})
        return results

    def _check(self, method: str, message: dict[str, Any], partial: str) -> None:
        result = message.get("result")
        if method == "weft/ask" and result:
            self._counts["answered_with_text"] += bool(result["text"].strip())
            for text in (result["text"], partial):
                self._counts["unsafe_texts"] += any(map(_is_forbidden, text)) or bool([*_active_content(text)])
            self._check_strings({"notes": result["notes"], "model": result["model"]})
        elif method == "textDocument/inlineCompletion" and result:
            texts = [item["insertText"] for item in result["items"]]
            self._counts["answered_with_text"] += bool(texts)
            self._counts["unsafe_completions"] += sum(any(map(_is_forbidden, text)) for text in texts)
        elif "error" in message:
            self._check_strings(message["error"])

    def _check_strings(self, value: Any) -> None:
        """Check plain text for an editor at any depth; citations and URIs are data."""
        for text in strings_of(value, without=("citation", "uri")):
            self._counts["unsafe_texts"] += any(map(_is_forbidden, text))


def _attacked(settings: Settings, protocol: str, attacks: tuple[str, ...]) -> tuple[Counter[str], float]:
    """The counts of one server under each attack of one protocol, and the most that its memory grew."""
    counts: Counter[str] = Counter()
    work = _shop(settings.work / protocol.replace(".", "-"))
    with closing(HostileServer(protocol)) as hostile:
        model = {"backend": protocol, "url": hostile.url, "timeout_ms": TIMEOUT_MS}
        with _CheckedServer(work, [model], counts) as server:
            before_mb = server.memory_mb
            for number, attack in enumerate(attacks, 1):
                wrong_before = sum(counts[name] for name in MUST_BE_ZERO)
                _attack(server, hostile, attack, number)
                counts["attacks"] += 1
                counts["not_recovered"] += not _recovers(server, number)
                if sum(counts[name] for name in MUST_BE_ZERO) > wrong_before:
                    counts[f"{_WRONG}{protocol} {attack}"] = 1
            counts["attacks_beyond_bytes"] = int(hostile.most_bytes > MOST_BYTES)
            counts["redirects_followed"] = hostile.n_redirected
            return counts, server.memory_mb - before_mb


def _shop(work: Path) -> Path:
    """A folder with the workspace `shop`."""
    write_file(work / "shop" / "shop.py", CODE)
    return work


def _attack(server: _CheckedServer, hostile: HostileServer, attack: str, number: int) -> None:
    texts = {name: f"from shop import price\n\n\n{name}_{number} = pri" for name in ("asked", "typed")}
    for name, text in texts.items():
        server.show(f"{name}.py", text, number)
    hostile.attack = attack
    server.ask_all(
        [
            server.question("What does total add up?"),
            server.completion("asked.py", texts["asked"], invoked=True),
            server.completion("typed.py", texts["typed"], invoked=False),
        ]
    )
    if attack == "drip_probe":
        time.sleep(0.5)
    hostile.attack = ""


def _recovers(server: _CheckedServer, number: int) -> bool:
    """Whether the model answers again once its server behaves."""
    until_s = time.monotonic() + RECOVER_WITHIN_S
    text = f"from shop import price\n\n\nagain_{number} = pri"
    server.show("again.py", text, number)
    while time.monotonic() < until_s:
        try:
            if server.status()["models"][0]["state"] == "ready":
                server.ask_all([server.completion("again.py", text, invoked=True)])
                return True
        except ServerGone:
            return False
        time.sleep(0.1)
    return False


def _hostile_documents(settings: Settings) -> Counter[str]:
    """Answers from documents, and completions from lines, that hold what a model's answers held."""
    counts: Counter[str] = Counter()
    work = _shop(settings.work / "documents")
    folder = work / "shop"
    for name, poison in POISON.items():
        topic, text = name.replace("_", ""), poison.encode("utf-8", "replace").decode()
        document = f"# The {topic} price\n\nThe {topic} price is {text}\n\nMore of the {topic} price.\n"
        write_file(folder / f"{topic}.md", document)
        value = text.replace("\n", " ").replace('"', "'")
        line = f'{topic}_level = "{value}"\n'
        write_file(folder / f"{topic}_code.py", f"{line}\n\ndef f():\n    pass\n\n\n{line}")
    with _CheckedServer(work, [{"backend": "workspace"}], counts) as server:
        for number, name in enumerate([*POISON][: 3 if settings.is_short else None], 1):
            topic = name.replace("_", "")
            text = f'import os\n\n\n{topic}_level = "'
            server.show("typed.py", text, number)
            server.ask_all(
                [server.question(f"What is the {topic} price?"), server.completion("typed.py", text, invoked=True)]
            )
            counts["documents_asked"] += 1
        topics = ["osc8", "bidi", "controls"][: 1 if settings.is_short else 3]
        counts["unsafe_texts"] += _terminal(folder, work / "home", topics)
    return counts


def _terminal(folder: Path, home: Path, topics: list[str]) -> int:
    """How many answers of `weft ask` hold a terminal control sequence."""
    n_unsafe = 0
    for topic in topics:
        asked = subprocess.run(
            [sys.executable, "-m", "weft", "ask", f"What is the {topic} price?"],
            cwd=folder,
            env=user_environment(home),
            capture_output=True,
            timeout=60,
            check=False,
        )
        said = (asked.stdout + asked.stderr).decode("utf-8", "replace")
        n_unsafe += topic not in said or any(map(_is_forbidden, said))
    return n_unsafe


def _is_forbidden(character: str) -> bool:
    category = unicodedata.category(character)
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in "\t\n"


def _active_content(markdown: str) -> Iterator[str]:
    """Active content in an editor that renders all of Markdown."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    tokens: list[Token] = parser.parse(markdown)
    while tokens:
        token = tokens.pop()
        tokens += token.children or ()
        if token.type in ("html_inline", "html_block", "image"):
            yield token.content
        if token.type == "link_open" and not str(token.attrs["href"]).lower().startswith(("http://", "https://")):
            yield str(token.attrs["href"])
