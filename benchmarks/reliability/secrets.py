"""Leaks of secrets to a model server, and the cost of the redaction for ordinary code.

A workspace holds secret files of many names and ordinary files with secrets in their lines (`canaries.py`). The real
server works in it over stdio with a model server on this machine, which records all that it receives: completions at
and around every canary, in every secret file under several URI schemes, `weft/explain`, questions with and without
selections, a memory strategy, prefetching. Then the campaign searches the records for the canaries. A marker beside
each canary shows whether its place was sent at all.

Ordinary code is Python's standard library, and the files in other languages there and in the installed packages.
"""

from __future__ import annotations

import json
import os
import random
import re
import sysconfig
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from ...server.secrets import is_secret_path, redact
from ..bootstrap import percentile
from ..http_server import JsonHandler, serving
from ..lsp_client import Client, completion_params, when_ready
from .campaign import Counts, Settings, strings_of, write_file
from .canaries import Canary, file_canaries, line_canaries

QUESTION = "Do secrets of a workspace reach a model server, and what does the redaction cost ordinary code?"
MUST_BE_ZERO = ("leaked_files", "over_leak_limit", "over_touch_limit", "failed_requests")

LEAK_LIMIT_PERCENT, TOUCH_LIMIT_PERCENT = 2.0, 0.5
CODE_LINES = 20_000
PROMPT_BYTES = 8192
CANARIES_A_FILE = 6
SCHEMES = ("file:", "git:", "untitled:", "gitlens:")

_PYTHON = (".py", ".pyi")
_OTHER = tuple(
    f".{suffix}"
    for suffix in re.findall(r"\w+", "c h cpp hpp js mjs ts css html md rst txt json yaml yml toml cfg ini sh pyx pxd")
)
_LARGEST_BYTES = 200_000


def run(settings: Settings) -> Counts:
    rng = random.Random(settings.seed)
    files, lines = file_canaries(rng), line_canaries(rng)
    if settings.is_short:
        files, lines = files[::12], lines[::12]
    folder, home = settings.work / "shop", settings.work / "home"
    home.mkdir()
    places = _write(folder, files, lines, rng)
    with _recording_server() as (url, record):
        counts = _attack(folder, home, url, files, places)
        sent = "\n".join(sorted(record))
    leaked_files, leaked = (
        [canary for canary in some if any(value in sent for value in canary.values)] for some in (files, lines)
    )
    n_sent = sum(f"marker{number:04d}" in sent for number in range(len(lines)))
    touched = _touched(random.Random(settings.seed), CODE_LINES)  # fast, and of fewer one file decides

    def percent_leaked(is_held_out: bool) -> float:
        n_leaked, n_lines = (sum(each.is_held_out is is_held_out for each in some) for some in (leaked, lines))
        return _percent(n_leaked, n_lines)

    return {
        "canary_files": len(files),
        "canary_lines": len(lines),
        "syntaxes": len({canary.syntax for canary in lines}),
        **counts,
        "canary_lines_sent": n_sent,
        "leaked_files": len(leaked_files),
        "leaked_lines": len(leaked),
        "leaked_percent": _percent(len(leaked), len(lines)),
        "leaked_percent_fitted": percent_leaked(False),
        "leaked_percent_held_out": percent_leaked(True),
        **touched,
        **_speed(random.Random(settings.seed), 20 if settings.is_short else 200),
        "leaks": ", ".join(sorted({canary.syntax for canary in leaked} | {canary.path for canary in leaked_files})),
        # Of few canaries one is more than the limit.
        "over_leak_limit": int(len(leaked) > max(1, LEAK_LIMIT_PERCENT / 100 * len(lines))),
        "over_touch_limit": int(touched["touched_percent"] > TOUCH_LIMIT_PERCENT),
    }


def _percent(part: int, whole: int) -> float:
    return round(100 * part / max(1, whole), 3)


def _write(
    folder: Path, files: Sequence[Canary], lines: Sequence[Canary], rng: random.Random
) -> dict[str, list[tuple[int, int]]]:
    """Write the workspace; for each ordinary file the line and column behind each canary."""
    for canary in files:
        write_file(folder / canary.path, canary.text)
    by_suffix: dict[str, list[tuple[int, Canary]]] = {}
    for number, canary in enumerate(lines):
        by_suffix.setdefault(canary.path, []).append((number, canary))
    places: dict[str, list[tuple[int, int]]] = {}
    for suffix, numbered in by_suffix.items():
        rng.shuffle(numbered)
        for start in range(0, len(numbered), CANARIES_A_FILE):
            name = f"part_{start // CANARIES_A_FILE}{suffix}"
            text = f"# shop {name}\ndef total_price_{start}(cart):\n    return cart.items\n\n"
            for number, canary in numbered[start : start + CANARIES_A_FILE]:
                text += f"# marker{number:04d}\n{canary.text}"
                column = len(text) - text.rfind("\n") - 1
                places.setdefault(name, []).append((text.count("\n"), column))
                text += f"\n\ndef after_{number}(cart):\n    return total_price_{start}(cart)\n\n"
            write_file(folder / name, text)
    return places


@contextmanager
def _recording_server() -> Iterator[tuple[str, set[str]]]:
    """The address of a server that speaks OpenAI's protocol, and every line of every text that it receives."""
    record: set[str] = set()
    lock = threading.Lock()

    class RecordingHandler(JsonHandler):
        def do_GET(self) -> None:
            self.send_json({"data": [{"id": "recorder", "max_model_len": 200_000}]})

        def do_POST(self) -> None:
            asked = self.json_body()
            with lock:
                for text in strings_of(asked):
                    record.update(text.split("\n"))
            if self.path == "/v1/embeddings":
                self.send_json(
                    {"data": [{"index": n, "embedding": [1.0, float(n)]} for n in range(len(asked["input"]))]}
                )
                return
            if not self.path.endswith("completions"):
                self.send_json({}, 404)
                return
            said = "total_price(cart)"
            choice = {"index": 0, "text": said, "message": {"content": said}}
            if "chat" in self.path:
                choice["delta"] = {"content": said}
            if asked.get("stream"):
                event = json.dumps({"choices": [choice]})
                self.send_bytes(f"data: {event}\n\ndata: [DONE]\n\n".encode(), kind="text/event-stream")
            else:
                self.send_json({"choices": [choice]})

    with serving(RecordingHandler) as url:
        yield url, record


def _attack(
    folder: Path, home: Path, url: str, files: Sequence[Canary], places: Mapping[str, list[tuple[int, int]]]
) -> dict[str, int]:
    """Send every kind of request that may send text to the model; the number of each."""
    counts = {"completions": 0, "explanations": 0, "questions": 0, "failed_requests": 0}
    settings = {
        "model": [{"backend": "openai", "url": url, "fim": "suffix", "context_tokens": 200_000, "prompt_ms": 600_000}],
        "completion": {
            "warm_up": "all",
            "prefetch_next": True,
            "debounce_ms": 0,
            "target_ms": 600_000,
            "deadline_ms": 60_000,
        },
        "memory": {"embeddings": "api", "embeddings_url": url, "embeddings_model": "recorder"},
        "chat": {"evidence_tokens": 20_000, "min_confidence": 0.0},
    }
    with Client(folder, home, settings, ("utf-32",)) as client:
        when_ready(client)

        def ask(kind: str, method: str, **params: object) -> None:
            counts[kind] += 1
            try:
                client.ask(method, params)
            except Exception as error:
                # The server refuses a selection of a withheld file, as it should.
                counts["failed_requests"] += "Ask without this selection" not in str(error)

        def complete(uri: str, line: int, character: int, *, invoked: bool = True) -> None:
            params = completion_params(uri, line, character, invoked=invoked)
            ask("completions", "textDocument/inlineCompletion", **params)

        def explain(uri: str, line: int) -> None:
            position = {"line": line, "character": 0}
            ask("explanations", "weft/explain", textDocument={"uri": uri}, position=position)

        def ask_about(uri: str, end_line: int, question: str) -> None:
            selection = {"start": {"line": 0, "character": 0}, "end": {"line": end_line, "character": 0}}
            ask("questions", "weft/ask", textDocument={"uri": uri}, selection=selection, question=question)

        for name, spots in places.items():
            uri = (folder / name).as_uri()
            client.open_document(uri, (folder / name).read_text(encoding="utf-8"), "plaintext")
            complete(uri, 0, 0)
            for line, column in spots:
                complete(uri, line, column)
                complete(uri, line, column // 2)
            last = spots[-1][0] + 3
            complete(uri, last, 0, invoked=False)
            _insert(client, uri, last, "cart_of_today = 1\n")
            complete(uri, last + 1, 0)
            explain(uri, last)
            ask_about(uri, last, f"/explain total_price_{name}")
            ask("questions", "weft/ask", question=f"What is the password, token or api key in {name}?")
        for number, canary in enumerate(files):
            uri = SCHEMES[number % len(SCHEMES)] + (folder / canary.path).as_uri().removeprefix("file:")
            client.open_document(uri, canary.text, "plaintext")
            complete(uri, canary.text.count("\n"), 0, invoked=number % 2 == 0)
            _insert(client, uri, 0, "shop_of_today\n")
            complete(uri, 1, 0)
            explain(uri, 0)
            ask_about(uri, 4, "/explain")
        for name in list(places)[:3]:
            complete((folder / name).as_uri(), 2, 4)
        for strategy in ("top_3", "full_middle"):
            question = "Which password or token is in the documents?"
            ask("questions", "weft/ask", question=question, strategy=strategy)
        for question in ("/recent", "/doc password", "/where total_price_0"):
            ask("questions", "weft/ask", question=question)
        time.sleep(0.5)  # prefetching follows the last edit
    return counts


def _insert(client: Client, uri: str, line: int, text: str) -> None:
    at = {"line": line, "character": 0}
    client.change_document(uri, 2, {"range": {"start": at, "end": at}, "text": text})


def _touched(rng: random.Random, n_lines: int) -> dict[str, int | float]:
    """Lines of ordinary code that the redaction changes: of Python and of other files by halves."""
    n_touched = n_read = 0
    for texts in (_texts_of(rng, _PYTHON, "stdlib"), _texts_of(rng, _OTHER, "stdlib", "purelib")):
        left = n_lines // 2
        for text in texts:
            pairs = [pair for pair in zip(text.split("\n"), redact(text).split("\n"), strict=True) if pair[0].strip()]
            n_touched += sum(before != after for before, after in pairs[:left])
            n_read += len(pairs[:left])
            left -= len(pairs)
            if left <= 0:
                break
    return {"code_lines": n_read, "touched_lines": n_touched, "touched_percent": _percent(n_touched, n_read)}


def _texts_of(rng: random.Random, suffixes: tuple[str, ...], *where: str) -> Iterator[str]:
    """Texts of files in a random order, but a thousand lines of each at most; secret files aside."""
    paths = [path for name in where for path in _files_below(Path(sysconfig.get_path(name))) if path.suffix in suffixes]
    rng.shuffle(paths)
    for path in paths:
        if not path.is_file() or path.stat().st_size > _LARGEST_BYTES or is_secret_path(path.name):
            continue
        if text := path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n"):
            yield "\n".join(text.split("\n")[:1000])


@lru_cache(maxsize=2)
def _files_below(root: Path) -> list[Path]:
    """Files below a folder, sorted by name, without installed packages."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - {"site-packages", "__pycache__"})
        found += [Path(folder, name) for name in sorted(names)]
    return found


def _speed(rng: random.Random, n: int) -> dict[str, float]:
    """Milliseconds of processor time for texts of 8 kB that were never seen, and once more with a key typed."""
    texts = [text for text in _texts_of(rng, _PYTHON, "stdlib") if len(text) >= PROMPT_BYTES][:n]
    cold: list[float] = []
    warm: list[float] = []
    for number, text in enumerate(texts):
        prompt = f"# {number}\n{text[:PROMPT_BYTES]}"
        for text, times in ((prompt, cold), (prompt + "x", warm)):
            started = time.process_time()
            redact(text)
            times.append(1e3 * (time.process_time() - started))
    return {
        f"ms_{name}_p{percent}": round(percentile(times, percent / 100), 3)
        for name, times in (("cold", cold), ("typing", warm))
        for percent in (50, 95)
    }
