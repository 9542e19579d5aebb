"""Models behind an HTTP endpoint: llama.cpp's server, and servers that speak OpenAI's completions.

Owns the requests' bodies, the connection, the reading of event streams, and what is said when it fails.
Knows no weights, no index and no editor. Only the configured address is asked: redirects are not followed.

A stream that breaks off in the middle yields what came, then raises ModelUnreachable: whoever wants the beginning
has it, and nobody takes it for the whole.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any

import httpx

from .lexer import plain_line_breaks
from .prompts import (
    BLOCK_SHARE,
    SUFFIX_SHARE,
    FimTokens,
    build_prompt,
    choose_blocks,
    file_block,
    fit_prefix,
    fit_suffix,
    stable_order,
)
from .protocol import Cancel, CompletionRequest, ModelInfo, ModelMissing, ModelUnreachable, Piece, PromptFragment
from .streaming import LastPrompts, cut_stream

BYTES_PER_TOKEN = 2.5  # tokenizers for code need 3 to 4; too many tokens counted is safer than too few

_EXCERPT_BYTES = 200
_LONGEST_LINE_BYTES = 1 << 20
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")

_Fragments = tuple[PromptFragment, ...]


class Endpoint:
    """One address that answers a POST with a stream of events; each stream has a connection of its own.

    `read_timeout_s` counts before the first piece and between two. `api_key_variable` names an environment variable;
    the key is read from nowhere else and appears in no message.
    """

    def __init__(
        self,
        url: str,
        *,
        connect_timeout_s: float = 2.0,
        read_timeout_s: float = 30.0,
        api_key_variable: str = "",
    ) -> None:
        self.url = url
        self._host = _host(url)
        self._api_key_variable = api_key_variable
        self._api_key = _api_key(api_key_variable)
        self._timeout = httpx.Timeout(read_timeout_s, connect=connect_timeout_s)

    @property
    def local(self) -> bool:
        """Whether the address is one of this machine."""
        return self._host in _OWN_HOSTS

    def events(self, body: Mapping[str, object], cancel: Cancel) -> Generator[dict[str, Any], None, None]:
        """The JSON objects of the stream that answers `body`. Lines that are none are passed over.

        When cancelled the connection is cut at once, so that the server stops writing, and the stream ends quietly.
        Raises ModelUnreachable.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates become "?"
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        wire = _Wire()
        forget = cancel.on_cancel(wire.cut)
        n_events = 0
        try:
            # A proxy from the environment is for other machines.
            with (
                httpx.Client(verify=_tls(), timeout=self._timeout, trust_env=not self.local) as client,
                client.stream(
                    "POST", self.url, content=content, headers=headers, extensions={"trace": wire.watch}
                ) as response,
            ):
                self._check_status(response)
                for line in _lines(response):
                    if cancel.cancelled or line.strip() == b"data: [DONE]":
                        return
                    if (event := _event(line)) is None:
                        continue
                    if "error" in event:
                        raise ModelUnreachable(f"{self.url} stopped with an error: {self._clean(str(event['error']))}")
                    n_events += 1
                    yield event
        except httpx.HTTPError as error:
            if not cancel.cancelled:
                raise ModelUnreachable(self._reason(error, n_events)) from error
        finally:
            forget()
        if not n_events and not cancel.cancelled:
            raise ModelUnreachable(f"{self.url} answers, but not with completions. Check the address and the backend.")

    def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == 200:
            return
        if response.has_redirect_location:
            target = response.headers["location"]
            raise ModelUnreachable(f"{self.url} redirects to {target}; redirects are not followed. Configure that one.")
        if status in (401, 403):
            key = f"the key in {self._api_key_variable}" if self._api_key else "a request without api_key_variable"
            raise ModelUnreachable(f"{self.url} refuses {key} ({status}).")
        if status == 404:
            raise ModelUnreachable(f"{self.url} is not there (404). Check the address and the backend.")
        said = b"".join(islice(response.iter_bytes(_EXCERPT_BYTES), 1)).decode("utf-8", "replace")
        raise ModelUnreachable(f"{self.url} answers {status}: {self._clean(said)} Look at the server's log.")

    def _reason(self, error: httpx.HTTPError, n_events: int) -> str:
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
            return f"Nothing answers at {self.url}. Start the server there, or correct the address."
        if isinstance(error, httpx.TimeoutException):
            return f"{self.url} was silent for {self._timeout.read:g} s. Raise read_timeout_s, or use a smaller model."
        where = "in the middle of an answer" if n_events else "before it answered"
        return f"{self.url} broke off {where}. Look at the server's log."

    def _clean(self, said: str) -> str:
        """What a server said, without the key, should it repeat it."""
        return said.replace(self._api_key, "…") if self._api_key else said


class HttpModel(ABC):
    """What the endpoints share. A `CodeModel`. `count_tokens` is an upper estimate: no server is asked."""

    def __init__(self, endpoint: Endpoint, info: ModelInfo, fim: FimTokens | None = None) -> None:
        self._endpoint = endpoint
        self._info = info
        self._fim = fim
        self._last_prompts = LastPrompts()

    @property
    def info(self) -> ModelInfo:
        return self._info

    def count_tokens(self, text: str) -> int:
        return int(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield text as it arrives; probabilities are not asked for."""
        body, shown = self._body(request, self._last_prompts.of(request.path))
        self._last_prompts.remember(request.path, shown)
        events = self._endpoint.events(body, cancel)
        pieces = (Piece(text) for event in events if (text := self._text(event)))
        special = self._fim.all if self._fim else ()
        try:
            yield from cut_stream(islice(pieces, request.max_new_tokens), request, special)
        finally:
            events.close()  # at the end of the line the server is told to stop, not when the memory is collected

    def close(self) -> None:  # noqa: B027
        """Nothing is held open between two requests."""

    @abstractmethod
    def _body(self, request: CompletionRequest, previous: _Fragments) -> tuple[dict[str, object], _Fragments]:
        """The request's JSON, and the fragments it shows in its order."""

    @abstractmethod
    def _text(self, event: dict[str, Any]) -> str:
        """The text of one event; empty when it has none."""


class LlamaCppInfill(HttpModel):
    """`/infill` of llama.cpp's server, which knows its model's fill-in-the-middle tokens itself."""

    def __init__(self, url: str, *, context_tokens: int, **options: Any) -> None:
        endpoint = Endpoint(url.rstrip("/") + "/infill", **options)
        super().__init__(
            endpoint, _info("llama.cpp", endpoint, context_tokens, fills_middle=True, repository_level=True)
        )

    def _body(self, request: CompletionRequest, previous: _Fragments) -> tuple[dict[str, object], _Fragments]:
        budget = max(0, self.info.context_tokens - request.max_new_tokens)

        def cost(fragment: PromptFragment) -> int:
            return self.count_tokens(file_block(fragment, request.language))

        chosen = choose_blocks(request.fragments, cost, int(budget * BLOCK_SHARE))
        shown = stable_order(chosen, previous)
        left = budget - sum(map(cost, shown))
        suffix = fit_suffix(plain_line_breaks(request.suffix), self.count_tokens, int(left * SUFFIX_SHARE))
        prefix = fit_prefix(plain_line_breaks(request.prefix), self.count_tokens, left - self.count_tokens(suffix))
        # The server writes on from `prompt`: with the begun line there it is read after the suffix, as one piece.
        before, line_break, begun_line = prefix.rpartition("\n")
        body: dict[str, object] = {
            "input_extra": [{"filename": fragment.paths[0], "text": fragment.text} for fragment in shown],
            "input_prefix": before + line_break,
            "prompt": begun_line,
            "input_suffix": suffix,
        }
        return {**body, **_llama_cpp_options(request)}, shown

    def _text(self, event: dict[str, Any]) -> str:
        return _string(event.get("content"))


class LlamaCppCompletion(HttpModel):
    """`/completion` of llama.cpp's server: Weft writes the prompt, with `fim` the middle is filled."""

    def __init__(self, url: str, *, fim: FimTokens | None = None, context_tokens: int, **options: Any) -> None:
        endpoint = Endpoint(url.rstrip("/") + "/completion", **options)
        level = fim is not None and fim.repository_level
        super().__init__(endpoint, _info("llama.cpp", endpoint, context_tokens, fim is not None, level), fim)

    def _body(self, request: CompletionRequest, previous: _Fragments) -> tuple[dict[str, object], _Fragments]:
        prompt = build_prompt(request, self._fim, self.count_tokens, self.info.context_tokens, previous)
        return {"prompt": prompt.text, **_llama_cpp_options(request)}, prompt.fragments

    def _text(self, event: dict[str, Any]) -> str:
        return _string(event.get("content"))


class OpenAICompletion(HttpModel):
    """`/v1/completions` as OpenAI defined it: vLLM, llama.cpp, Ollama, LM Studio and many others serve it.

    With `accepts_suffix` the server fills the middle; else `fim` does, when its tokens are given; else only the code
    before the cursor is read.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        accepts_suffix: bool = False,
        fim: FimTokens | None = None,
        context_tokens: int,
        **options: Any,
    ) -> None:
        base = url.rstrip("/").removesuffix("/completions")
        endpoint = Endpoint(f"{base}/completions" if base.endswith("/v1") else f"{base}/v1/completions", **options)
        self._model = model
        self._accepts_suffix = accepts_suffix
        fim = None if accepts_suffix else fim
        level = fim is not None and fim.repository_level
        info = _info("openai", endpoint, context_tokens, accepts_suffix or fim is not None, level, model)
        super().__init__(endpoint, info, fim)

    def _body(self, request: CompletionRequest, previous: _Fragments) -> tuple[dict[str, object], _Fragments]:
        context_tokens = self.info.context_tokens
        options: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_new_tokens,
            "temperature": 0,
            "stream": True,
            "stop": _stops(request)[:_OPENAI_STOPS],
        }
        if self._accepts_suffix:
            room = int(max(0, context_tokens - request.max_new_tokens) * SUFFIX_SHARE)
            suffix = fit_suffix(plain_line_breaks(request.suffix), self.count_tokens, room)
            options["suffix"] = suffix
            context_tokens -= self.count_tokens(suffix)
        prompt = build_prompt(request, self._fim, self.count_tokens, context_tokens, previous)
        return {"prompt": prompt.text, **options}, prompt.fragments

    def _text(self, event: dict[str, Any]) -> str:
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        return _string(first.get("text")) if isinstance(first, dict) else ""


_OPENAI_STOPS = 4  # the most that the protocol allows; the others are cut here


class _Wire:
    """The socket below one request, to be cut by another thread.

    Closing a response from outside does not wake a thread that waits for it; shutting the socket down does, also
    before the first byte of an answer.
    """

    def __init__(self) -> None:
        self._stream: Any = None
        self._cut = False
        self._lock = threading.Lock()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx's trace: notes each connection as it is made, the TLS one after the plain one."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._stream = info["return_value"]
            if self._cut:
                self.cut()

    def cut(self) -> None:
        with self._lock:
            self._cut = True
            stream = self._stream
        if stream is not None:
            with suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def _host(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ModelMissing(f"{url!r} is no address ({error}). Write it as http://host:port.") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ModelMissing(f"{url!r} is no address. Write it as http://host:port.")
    return parsed.host


def _api_key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelMissing(f"The environment variable {variable} is not set. Put the key of the endpoint there.")
    return key


@lru_cache(maxsize=1)
def _tls() -> Any:
    # Reading the certificates takes longer than a local completion; once is enough.
    return httpx.create_ssl_context()


def _lines(response: httpx.Response) -> Iterator[bytes]:
    """The lines of a body. JSON may hold U+2028 and its like, so only "\\n" ends a line."""
    rest = b""
    for block in response.iter_bytes():
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST_LINE_BYTES:
            raise ModelUnreachable(f"{response.url} sends a line without end. Check the address and the backend.")
    yield rest


def _event(line: bytes) -> dict[str, Any] | None:
    """The JSON object on one line of an event stream, or on a line alone; None for anything else."""
    text = line.strip().removeprefix(b"data:").removeprefix(b"error:")
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return {"error": value} if line.startswith(b"error:") else value


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _stops(request: CompletionRequest) -> list[str]:
    return [*(["\n"] if request.single_line else []), *request.stop]


def _llama_cpp_options(request: CompletionRequest) -> dict[str, object]:
    return {
        "n_predict": request.max_new_tokens,
        "temperature": 0,
        "stream": True,
        "cache_prompt": True,
        "stop": _stops(request),
    }


def _info(
    backend: str,
    endpoint: Endpoint,
    context_tokens: int,
    fills_middle: bool,
    repository_level: bool,
    name: str = "",
) -> ModelInfo:
    notes = () if fills_middle else ("no fill-in-the-middle tokens are configured: the suffix is not used",)
    return ModelInfo(
        name=name or endpoint.url,
        backend=backend,
        context_tokens=context_tokens,
        fills_middle=fills_middle,
        repository_level=repository_level,
        local=endpoint.local,
        notes=notes,
    )
