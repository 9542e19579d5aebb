"""A simulated llama-server of a fixed speed: `python -m weft.benchmarks.latency.fixed_speed TRUTH`.

Owns a simulated model of fixed prefill and decoding speed, on one device that requests share. It has a prompt cache,
and notices a disconnected client as llama-server does: between two tokens or two batches of the prompt. It knows the
texts that will be typed (TRUTH, a JSON list): it continues a chosen share of the lines correctly, the others with
another line. `GET /log` returns a record of each request, on the clock that all processes of a machine share.

Knows nothing of Weft but the protocol. The first line it prints is its address.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from ..http_server import JsonHandler, LoopbackServer
from ..typist import common_prefix_length

READ_PER_S, WRITTEN_PER_S = 2000.0, 80.0
"""A 1.5B model in 4 bits on a laptop's graphics chip; a choice, not a measurement."""

RIGHT_SHARE = 0.4
BATCH_TOKENS = 256
N_PROMPTS = 4
"""Cached prompts, as in the slots of llama-server."""

CONTEXT_TOKENS = 8192
UNKNOWN = "pass\n"
"""The completion behind an unknown prefix: the self-test of Weft, or a typo."""

KNOWN_BY = (160, 80, 40)
"""Lengths of the text before the cursor that is searched in the true texts, longest first."""

NOT_FOUND = {"error": {"code": 404, "message": "File Not Found"}}

_TOKEN = re.compile(r"\w{1,5}|\s+|[^\w\s]")


def tokens_of(text: str) -> list[str]:
    """About as many tokens as a tokenizer for code makes."""
    return _TOKEN.findall(text)


@dataclass
class ModelRequest:
    """One request at the model. Times are of `time.monotonic`; aborted requests are recorded too."""

    begin_s: float
    end_s: float = 0.0
    n_cached: int = 0  # of the prompt
    n_read: int = 0
    n_written: int = 0
    warm_up: bool = False  # a request for no token
    closed_early: bool = False


class FixedSpeedModel:
    """Thread-safe."""

    def __init__(self, truths: Sequence[str], right_share: float, read_per_s: float, written_per_s: float) -> None:
        self.log: list[ModelRequest] = []
        self._truths = truths
        self._right_share = right_share
        self._read_s, self._write_s = 1 / read_per_s, 1 / written_per_s
        self._device = threading.Lock()
        self._prompts: list[list[str]] = []

    def begin(self, n_predict: int) -> ModelRequest:
        work = ModelRequest(time.monotonic(), warm_up=n_predict == 0)
        self.log.append(work)
        return work

    def answer(
        self,
        work: ModelRequest,
        prompt: str,
        prefix: str,
        n_predict: int,
        stop: Sequence[str],
        is_disconnected: Callable[[], bool],
    ) -> Generator[str, None, None]:
        """The completion, token by token, at the speed of the model; ends when the client disconnects."""
        try:
            if self._read(work, tokens_of(prompt), is_disconnected):
                yield from self._write(work, tokens_of(self._continuation(prefix))[:n_predict], stop, is_disconnected)
        except GeneratorExit:
            work.closed_early = True
            raise
        finally:
            work.end_s = time.monotonic()

    def _read(self, work: ModelRequest, tokens: list[str], is_disconnected: Callable[[], bool]) -> bool:
        """Whether the client stayed until the whole prompt was read. The last token is always read."""
        n_common = max((common_prefix_length(tokens, prompt) for prompt in self._prompts), default=0)
        work.n_cached = min(n_common, len(tokens) - 1)
        while not work.closed_early and work.n_cached + work.n_read < len(tokens):
            n = min(BATCH_TOKENS, len(tokens) - work.n_cached - work.n_read)
            self._compute(n * self._read_s)
            work.n_read += n
            work.closed_early = is_disconnected()
        done = tokens[: work.n_cached + work.n_read]
        prompts = [prompt for prompt in self._prompts if common_prefix_length(prompt, done) < len(prompt)]
        self._prompts = [done, *prompts][:N_PROMPTS]
        return not work.closed_early

    def _write(
        self, work: ModelRequest, tokens: Sequence[str], stop: Sequence[str], is_disconnected: Callable[[], bool]
    ) -> Iterator[str]:
        text = ""
        for token in tokens:
            self._compute(self._write_s)
            work.n_written += 1
            text += token
            ends = [text.find(one) for one in stop if one in text]
            if is_disconnected():
                work.closed_early = True
                return
            yield token if not ends else token[: len(token) - (len(text) - min(ends))]
            if ends:
                return

    def _compute(self, seconds: float) -> None:
        with self._device:
            time.sleep(seconds)

    def _continuation(self, prefix: str) -> str:
        """The true text behind `prefix`, or the continuation of a wrong model."""
        for n in KNOWN_BY:
            for truth in self._truths:
                at = truth.find(prefix[-n:])
                if at >= 0:
                    at += len(prefix[-n:])
                    line_start = truth.rfind("\n", 0, at) + 1
                    rng = Random(truth[line_start - 200 : line_start])
                    return truth[at:] if rng.random() < self._right_share else self._wrong(truth, at)
        return UNKNOWN

    def _wrong(self, truth: str, at: int) -> str:
        """The text in the same column some lines below."""
        line_start = truth.rfind("\n", 0, at) + 1
        further = truth[at:].split("\n")[7:]
        return "\n".join([line[at - line_start :] for line in further[:1]] + further[1:]) or UNKNOWN


def _handler(model: FixedSpeedModel) -> type[JsonHandler]:
    numbers: dict[str, int] = {}

    class Handler(JsonHandler):
        def do_GET(self) -> None:
            match self.path:
                case "/log":
                    self.send_json([asdict(work) for work in model.log])
                case "/props":
                    settings = {"n_ctx": CONTEXT_TOKENS}
                    self.send_json({"model_path": "fixed-speed.gguf", "default_generation_settings": settings})
                case "/health":
                    self.send_json({"status": "ok"})
                case _:
                    self.send_json(NOT_FOUND, 404)

        def do_POST(self) -> None:
            body = self.json_body()
            match self.path:
                case "/tokenize":
                    self.send_json({"tokens": self._numbers(body.get("content", ""))})
                case "/infill":
                    self._infill(body)
                case _:
                    self.send_json(NOT_FOUND, 404)

        def _numbers(self, content: str | list[str | int]) -> list[int]:
            found = []
            for part in [content] if isinstance(content, str) else content:
                if isinstance(part, str):
                    found += [numbers.setdefault(token, len(numbers)) for token in tokens_of(part)]
                else:
                    found.append(part)
            return found

        def _infill(self, body: dict[str, Any]) -> None:
            extra = "".join(f"{one['filename']}\n{one['text']}\n" for one in body.get("input_extra", ()))
            prefix = body.get("input_prefix", "")
            prompt = f"{extra}{body.get('input_suffix', '')}{prefix}"  # llama.cpp with --spm-infill: the prefix last
            if not body.get("stream"):  # the probe for FIM support
                self.send_json({"content": ""})
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            n_predict = body.get("n_predict", 64)
            work = model.begin(n_predict)
            first_s = 0.0
            stop = body.get("stop", ())
            with closing(model.answer(work, prompt, prefix, n_predict, stop, self._is_disconnected)) as pieces:
                for piece in pieces:
                    first_s = first_s or time.monotonic()
                    self._event({"content": piece, "stop": False})
            if work.closed_early:
                self.close_connection = True
                return
            first_s = first_s or work.end_s
            timings = {
                "prompt_n": work.n_read,
                "prompt_ms": 1e3 * (first_s - work.begin_s),
                "predicted_n": max(0, work.n_written - 1),
                "predicted_ms": 1e3 * (work.end_s - first_s),
            }
            self._event({"content": "", "stop": True, "stop_type": "limit", "timings": timings})
            self.wfile.write(b"0\r\n\r\n")

        def _is_disconnected(self) -> bool:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable)  # a waiting client sends nothing, so readable means closed

        def _event(self, value: dict[str, Any]) -> None:
            data = b"data: " + json.dumps(value).encode() + b"\n\n"
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    return Handler


def add_speed_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reads", type=float, default=READ_PER_S, help="tokens a second of the simulated model")
    parser.add_argument("--writes", type=float, default=WRITTEN_PER_S, help="tokens a second of the simulated model")
    parser.add_argument("--right", type=float, default=RIGHT_SHARE, help="share of lines that it knows")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m weft.benchmarks.latency.fixed_speed", description=__doc__)
    parser.add_argument("truth", type=Path, help="JSON list of the texts that will be typed")
    add_speed_options(parser)
    options = parser.parse_args()
    truths = json.loads(options.truth.read_text(encoding="utf-8"))
    model = FixedSpeedModel(truths, options.right, options.reads, options.writes)
    server = LoopbackServer(_handler(model))
    print(server.url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
