"""What clients of a model ask over HTTP and how they are answered: one `Client` for each kind of address.

Owns the JSON of OpenAI's completions, Mistral's fill-in-the-middle, llama.cpp's infill and Ollama's generate. Knows no
workspace and no server.

Sources: the API references of OpenAI ("Create completion"), Mistral ("FIM completion") and Ollama (docs/api.md), and
the README of llama.cpp's server ("POST /infill").
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from ...errors import InvalidArgument
from ...version import __version__
from .prompt import CodeAround, read_prompt

MODEL = "weft"

MAX_STOPS = 64

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request: the code around the cursor, and what ends the text. `streams`: as events or lines, not whole.

    `is_preparation`: no text is wanted; clients send such requests so that a model reads a prompt ahead, or loads.
    """

    around: CodeAround
    streams: bool = False
    stops: tuple[str, ...] = ()
    is_preparation: bool = False

    def cut(self, text: str) -> str:
        """The text up to the first of `stops`."""
        return text[: min((at for stop in self.stops if (at := text.find(stop)) >= 0), default=len(text))]


@dataclass(frozen=True, slots=True)
class Client:
    """A kind of address. `read` raises InvalidArgument; `stream` gives the parts of an answer, as bytes."""

    path: str
    read: Callable[[Mapping[str, Any]], Wanted]
    answer: Callable[[str], Json]
    stream: Callable[[str], Iterator[bytes]]
    stream_type: str = "text/event-stream"
    error: Callable[[str], Json] = lambda message: {"error": {"message": message, "type": "invalid_request_error"}}


def model_list() -> Json:
    """OpenAI's list of models."""
    return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}]}


def ollama_tags() -> Json:
    """Ollama's list of models."""
    return {"models": [{"name": f"{MODEL}:latest", "model": f"{MODEL}:latest", "size": 0, "digest": "", **_DETAILS}]}


def ollama_model() -> Json:
    """What Ollama says of a model: it inserts, and takes the code as `prompt` and `suffix`."""
    return {"capabilities": ["completion", "insert"], "template": "{{ .Prompt }}{{ .Suffix }}", **_DETAILS}


def ollama_version() -> Json:
    return {"version": __version__}


_DETAILS: Json = {"details": {"format": "", "family": MODEL, "parameter_size": "", "quantization_level": ""}}


# OpenAI's completions.


def _read_completion(body: Mapping[str, Any]) -> Wanted:
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:  # a batch of one
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise InvalidArgument("`prompt` is not a text. Send the code before the cursor as `prompt`.")
    return _wanted(body, read_prompt(prompt, _text(body, "suffix")))


def _completion(text: str) -> Json:
    choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}  # the index counts no tokens
    return {**_openai_head("cmpl", "text_completion"), "choices": [choice], "usage": usage}


def _stream_completion(text: str) -> Iterator[bytes]:
    head = _openai_head("cmpl", "text_completion")
    for piece, finish in ((text, None), ("", "stop")):
        yield _event({**head, "choices": [{"index": 0, "text": piece, "finish_reason": finish, "logprobs": None}]})
    yield b"data: [DONE]\n\n"


# Mistral's fill-in-the-middle: OpenAI's request, and an answer like one of a chat.


def _fim(text: str) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {**_openai_head("fim", "chat.completion"), "choices": [choice], "usage": usage}


def _stream_fim(text: str) -> Iterator[bytes]:
    head = _openai_head("fim", "chat.completion.chunk")
    for delta, finish in (({"role": "assistant", "content": text}, None), ({"content": ""}, "stop")):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    yield b"data: [DONE]\n\n"


# llama.cpp's infill: the cursor's line is split into `prompt` and the rest of `input_suffix`.


def _read_infill(body: Mapping[str, Any]) -> Wanted:
    around = read_prompt(_text(body, "input_prefix"))
    prefix = around.prefix + _text(body, "prompt")
    return _wanted(body, replace(around, prefix=prefix, suffix=_text(body, "input_suffix")))


def _infill(text: str) -> Json:
    timings = {"prompt_n": 0, "prompt_ms": 0.0, "predicted_n": 0, "predicted_ms": 0.0}
    timings |= {f"{name}_{unit}": 0.0 for name in ("prompt", "predicted") for unit in ("per_token_ms", "per_second")}
    flat = {f"timings/{name}": value for name, value in timings.items()}  # as `response_fields` names them
    return {
        "content": text,
        "stop": True,
        "model": MODEL,
        "truncated": False,
        "tokens_cached": 0,
        "timings": timings,
    } | flat


def _stream_infill(text: str) -> Iterator[bytes]:
    yield _event({"content": text, "stop": False})
    yield _event(_infill(""))


# Ollama's generate.


def _read_generate(body: Mapping[str, Any]) -> Wanted:
    options = body.get("options")
    stops = options.get("stop") if isinstance(options, dict) else None
    around = read_prompt(_text(body, "prompt"), _text(body, "suffix"))
    return _wanted({"stop": stops, "stream": True, **body}, around)


def _generated(text: str) -> Json:
    counts = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_count", "eval_count", "eval_duration"), 0)
    now = datetime.now(timezone.utc).isoformat()
    return {"model": MODEL, "created_at": now, "response": text, "done": True, "done_reason": "stop", **counts}


def _stream_generated(text: str) -> Iterator[bytes]:
    piece = {key: value for key, value in _generated(text).items() if key in ("model", "created_at", "response")}
    yield _line({**piece, "done": False})
    yield _line(_generated(""))


CLIENTS = (
    Client("/v1/completions", _read_completion, _completion, _stream_completion),
    Client("/v1/fim/completions", _read_completion, _fim, _stream_fim),
    Client("/infill", _read_infill, _infill, _stream_infill),
    Client(
        "/api/generate",
        _read_generate,
        _generated,
        _stream_generated,
        "application/x-ndjson",
        lambda message: {"error": message},
    ),
)


def _wanted(body: Mapping[str, Any], around: CodeAround) -> Wanted:
    """The request with the fields that all clients share. `path` is Weft's own, for clients that can send it."""
    stops = body.get("stop") or ()
    stops = (stops,) if isinstance(stops, str) else stops
    if not isinstance(stops, (list, tuple)) or not all(isinstance(stop, str) for stop in stops):
        raise InvalidArgument("`stop` is neither a text nor a list of texts. Send one of them, or leave it out.")
    kept = tuple(stop for stop in stops[:MAX_STOPS] if stop)
    path = _text(body, "path") or around.path
    is_preparation = body.get("n_predict") == 0 or not (around.prefix or around.suffix)
    return Wanted(replace(around, path=path), body.get("stream") is True, kept, is_preparation)


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidArgument(f"`{name}` is not a text. Send a text, or leave it out.")
    return value


def _openai_head(prefix: str, kind: str) -> Json:
    return {"id": f"{prefix}-{uuid4().hex}", "object": kind, "created": int(time.time()), "model": MODEL}


def _event(value: Json) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _line(value: Json) -> bytes:
    return json.dumps(value).encode() + b"\n"
