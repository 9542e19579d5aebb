"""An HTTP client for one model server: JSON requests, JSON or event-stream responses, and error messages.

Owns the connection pool, the parsing of event streams, the limits of time and bytes, and cancellation. Knows no model,
no prompt and no protocol. Sends requests to the configured address only: redirects are not followed.

A hostile server can neither block a request nor fill the memory. The `Cancel` of a request (`TimeLimit`) limits its
total time and shuts the socket down; the bytes of a response are counted as they arrive; compressed responses are
rejected, since a few bytes may expand to gigabytes.

Connections are reused (HTTP keep-alive), except after an error or a cancellation.

A stream that ends in the middle yields the events so far, then raises ModelUnreachable.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import httpx

from ..protocol import Cancel, ModelCancelled, ModelMissing, ModelUnreachable

_MAX_DETAIL_CHARACTERS = 300
_MAX_ERROR_BYTES = 1 << 14
_MAX_LINE_BYTES = 1 << 20
# Of a JSON response. Vocabularies are longer, and have a limit of their own.
MAX_VALUE_BYTES = 8 << 20
# Lists and objects in one JSON response: an empty list takes three bytes on the wire and 64 in memory.
_MAX_CONTAINERS = 200_000
MAX_STREAM_BYTES = 64 << 20
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

_KEEPALIVE_S = 30.0  # routers drop an idle connection after a minute
_MAX_IDLE_CONNECTIONS = 4
_DRAIN_S = 0.2  # for the end of a body after the last event of a stream
_LOADING_POLL_S = 0.25  # between two requests to a server that loads its model

_OVERFLOW = re.compile(
    r"exceed\w*[^.]{0,60}\bcontext\b"  # llama.cpp, llama-cpp-python
    r"|\bcontext[ _]length[ _]exceed|input length exceeds"  # OpenAI's code, Ollama
    r"|longer than the context length"  # Ollama
    r"|maximum (context|model) length|max_tokens must be at least 1, got -"  # OpenAI, vLLM, Mistral
    r"|`inputs` (tokens \+ `max_new_tokens` )?must (be|have)"  # TGI
    r"|exceed_context_size",
    re.IGNORECASE,
)


class ErrorResponse(ModelUnreachable):
    """The server returned an error. `status` is 200 for an error within a stream; `detail` is the server's text."""

    def __init__(self, message: str, status: int, detail: str) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


class ContextOverflow(ErrorResponse):
    """The prompt and `max_new_tokens` exceed the server's context. A shorter prompt may fit."""


class NotJson(ModelUnreachable):
    """The response is not JSON."""


class EmptyStream(ModelUnreachable):
    """The stream ended without an error and without an event."""


class Endpoint:
    """The address of a server. Thread-safe; concurrent requests use separate connections.

    `read_timeout_s` applies before the first piece, between two pieces, and while the server loads its model.
    `api_key_variable` names the environment variable with the API key, which appears in no message.
    """

    def __init__(
        self, url: str, *, connect_timeout_s: float = 2.0, read_timeout_s: float = 30.0, api_key_variable: str = ""
    ) -> None:
        self.url = url.rstrip("/")
        self._host = _host(url)
        self._api_key_variable = api_key_variable
        self._api_key = _api_key(api_key_variable)
        self._timeout = httpx.Timeout(read_timeout_s, connect=connect_timeout_s)
        self._read_timeout_s = read_timeout_s
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()

    @property
    def local(self) -> bool:
        """Whether the address is one of this machine."""
        return self._host in _LOCAL_HOSTS

    def get(self, path: str, cancel: Cancel) -> Any:
        """The JSON value at `path`. Raises ModelUnreachable, ErrorResponse and ModelCancelled."""
        with self._response("GET", path, None, cancel) as response:
            return response.value(MAX_VALUE_BYTES)

    def post(self, path: str, body: Mapping[str, object], cancel: Cancel, *, max_bytes: int = MAX_VALUE_BYTES) -> Any:
        """The JSON response to `body`. Raises ModelUnreachable, ErrorResponse and ModelCancelled."""
        with self._response("POST", path, body, cancel) as response:
            return response.value(max_bytes)

    def events(
        self, path: str, body: Mapping[str, object], cancel: Cancel, *, max_bytes: int = MAX_STREAM_BYTES
    ) -> Generator[dict[str, Any], None, None]:
        """The JSON objects of a streamed response: server-sent events ("data: {…}") or one object a line.

        Other lines are skipped. A cancellation closes the connection at once, so that the server stops decoding, and
        ends the stream without an error. Raises ModelUnreachable, also after more than `max_bytes`, and ErrorResponse.
        """
        try:
            with self._response("POST", path, body, cancel) as response:
                lines = response.lines(max_bytes)
                for line in lines:
                    if cancel.cancelled:
                        return
                    if line.strip() == b"data: [DONE]":
                        response.drain(lines)
                        break
                    if (event := _event(line)) is None:
                        continue
                    if "error" in event:
                        raise self._error(path, 200, _error_text(event))
                    response.n_events += 1
                    yield event
                if not response.n_events and not cancel.cancelled:
                    raise EmptyStream(
                        f"{self.url + path} returned a stream without completions. Check the address and the backend."
                    )
        except ModelCancelled:
            return

    def close(self) -> None:
        """Close the idle connections. Running requests continue."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _response(
        self, method: str, path: str, body: Mapping[str, object] | None, cancel: Cancel
    ) -> Iterator[_Response]:
        """A response with status 200, to be read inside the block. Errors inside the block become ModelErrors."""
        content = None if body is None else _json(body)
        response: _Response | None = None
        try:
            response = self._request_when_loaded(method, path, content, cancel)
            yield response
        except httpx.HTTPError as error:
            if not cancel.cancelled:
                has_events = response is not None and response.n_events > 0
                raise ModelUnreachable(self._transport_message(path, error, has_events)) from error
            raise ModelCancelled("The request was cancelled.") from error
        except ModelUnreachable as error:
            if cancel.cancelled:  # a cut connection looks like a malformed response
                raise ModelCancelled("The request was cancelled.") from error
            raise
        finally:
            if response is not None:
                self._release(response.close(), cancel)
        if cancel.cancelled:
            raise ModelCancelled("The request was cancelled.")

    def _request_when_loaded(self, method: str, path: str, content: bytes | None, cancel: Cancel) -> _Response:
        """The response with status 200; polls a server that still loads its model."""
        until = time.monotonic() + self._read_timeout_s
        while True:
            response = self._request(method, path, content, cancel)
            status = response.http.status_code
            if status == 200:
                return response
            try:
                error = self._error(path, status, response.error_text(), response.http)
            finally:
                self._release(response.close(), cancel)
            is_loading = status == 503 and "loading model" in error.detail.lower()
            if not is_loading or time.monotonic() >= until:
                raise error
            if cancel.wait(_LOADING_POLL_S):
                raise ModelCancelled("The request was cancelled.")

    def _request(self, method: str, path: str, content: bytes | None, cancel: Cancel) -> _Response:
        """The head of a response. Retries on a new connection when the server had closed an idle one."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None:
            try:
                return self._send(connection, method, path, content, cancel)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                if cancel.cancelled or connection.is_new:
                    raise
            self.close()  # the server closed the other idle connections, too
        # A proxy from the environment is for other machines only.
        return self._send(_Connection(self._timeout, not self.local), method, path, content, cancel)

    def _send(
        self, connection: _Connection, method: str, path: str, content: bytes | None, cancel: Cancel
    ) -> _Response:
        headers = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        forget = cancel.on_cancel(connection.cut)
        try:
            http = connection.send(method, self.url + path, content, headers)
        except BaseException:
            forget()
            connection.close()
            raise
        response = _Response(connection, http, forget)
        encoding = http.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            response.close().close()
            raise ModelUnreachable(
                f"{self.url + path} sent a compressed response ({encoding[:20]}), which was not requested. Switch "
                "compression off at the server, or at the proxy before it."
            )
        return response

    def _release(self, connection: _Connection, cancel: Cancel) -> None:
        """Reuse the connection, or close it."""
        with self._lock:
            # A cancellation at this moment may still cut the connection, although its callback was removed.
            if not (connection.is_cut or cancel.cancelled) and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _error(self, path: str, status: int, detail: str, http: httpx.Response | None = None) -> ErrorResponse:
        url = self.url + path
        detail = detail.replace(self._api_key, "…") if self._api_key else detail  # a server may repeat the key
        overflows = status in (200, 400, 413, 422, 500) and _OVERFLOW.search(detail)
        detail = detail[:_MAX_DETAIL_CHARACTERS]
        reason = f": {detail}" if detail else "."
        if status == 200:
            message = f"{url} stopped with an error{reason} Look at the server's log."
        elif http is not None and http.has_redirect_location:
            target = http.headers["location"]
            message = f"{url} redirects to {target}; redirects are not followed. Set `url` to that address."
        elif status in (401, 403) and self._api_key:
            message = f"{url} rejected the key in {self._api_key_variable} (HTTP {status}). Check the key."
        elif status in (401, 403):
            message = f"{url} rejected a request without a key (HTTP {status}). Set `api_key_variable`."
        elif status == 404:
            message = f"{url} does not exist (HTTP 404){reason} Check the address and the backend."
        elif status == 429:
            message = f"{url} is rate-limited (HTTP 429){reason} Send fewer requests, or raise the server's limit."
        else:
            message = f"{url} returned HTTP {status}{reason} Look at the server's log."
        return (ContextOverflow if overflows else ErrorResponse)(message, status, detail)

    def _transport_message(self, path: str, error: httpx.HTTPError, has_events: bool) -> str:
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
            return f"No connection to {self.url}. Start the server there, or correct the address."
        if isinstance(error, httpx.TimeoutException):
            return (
                f"{self.url + path} sent nothing for {self._read_timeout_s:g} s. Raise `timeout_ms` of the model, or "
                "use a smaller model."
            )
        when = "in the middle of its response" if has_events else "before its response"
        return f"{self.url + path} closed the connection {when}. Look at the server's log."


class _Connection:
    """A keep-alive connection for one request at a time; another thread can cut it.

    Closing an httpx response does not wake a thread that waits for it. Shutting the socket down does, also before the
    first byte of a response.
    """

    def __init__(self, timeout: httpx.Timeout, trust_env: bool) -> None:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEPALIVE_S)
        self._client = httpx.Client(verify=_tls(), timeout=timeout, trust_env=trust_env, limits=limits)
        self._stream: Any = None
        self._lock = threading.Lock()
        self.is_cut = False
        self.is_new = True

    def send(self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> httpx.Response:
        """The head of the response; the body is not read yet."""
        self.is_new = False
        request = self._client.build_request(
            method, url, content=content, headers=headers, extensions={"trace": self._watch}
        )
        return self._client.send(request, stream=True)

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True
            stream = self._stream
        if stream is not None:
            with suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._client.close()

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """The trace callback of httpx: stores each new connection, for TLS the plain and then the encrypted one."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.is_new = True
            with self._lock:
                self._stream = info["return_value"]
            if self.is_cut:
                self.cut()


class _Response:
    """A response whose body is being read, with its connection."""

    def __init__(self, connection: _Connection, http: httpx.Response, forget: Callable[[], None]) -> None:
        self.http = http
        self.n_events = 0
        self._connection = connection
        self._forget = forget

    def value(self, max_bytes: int) -> Any:
        body = bytearray()
        for block in self.http.iter_raw():
            body += block
            if len(body) > max_bytes:
                raise ModelUnreachable(
                    f"{self.http.url} sent more than {max_bytes >> 20} MiB in one response. Check the address."
                )
        if body.count(b"[") + body.count(b"{") > _MAX_CONTAINERS:
            raise ModelUnreachable(f"{self.http.url} sent JSON with too many values. Check the address.")
        try:
            return json.loads(body.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise NotJson(
                f"{self.http.url} returned something other than JSON. Check the address and the backend."
            ) from error

    def lines(self, max_bytes: int) -> Iterator[bytes]:
        """The lines of the body. JSON may contain U+2028 and similar characters, so only "\\n" ends a line."""
        url = self.http.url
        rest: list[bytes] = []  # of the incomplete line; joined once, since blocks may be one byte long
        n_rest = n_bytes = 0
        for block in self.http.iter_raw():
            n_bytes += len(block)
            if n_bytes > max_bytes:
                raise ModelUnreachable(f"{url} sent more than was requested. Check the address and the backend.")
            first, *further = block.split(b"\n")
            rest.append(first)
            n_rest += len(first)
            if further:
                yield b"".join(rest)
                yield from further[:-1]
                rest, n_rest = [further[-1]], len(further[-1])
            if n_rest > _MAX_LINE_BYTES:
                raise ModelUnreachable(
                    f"{url} sent a line of more than {_MAX_LINE_BYTES >> 20} MiB. Check the address and the backend."
                )
        yield b"".join(rest)

    def error_text(self) -> str:
        """The server's description of its error."""
        body = bytearray()
        for block in self.http.iter_raw():
            body += block
            if len(body) > _MAX_ERROR_BYTES:
                break
        text = body[:_MAX_ERROR_BYTES].decode("utf-8", "replace")
        try:
            return _error_text(json.loads(text)) or text
        except (ValueError, RecursionError):
            return text

    def drain(self, lines: Iterator[bytes]) -> None:
        """Read the rest of the body, for at most `_DRAIN_S`, so that the connection can be reused."""
        timer = threading.Timer(_DRAIN_S, self._connection.cut)
        timer.daemon = True
        timer.start()
        with suppress(httpx.HTTPError):
            for _ in lines:
                pass
        timer.cancel()

    def close(self) -> _Connection:
        """End the response; httpx reconnects if a part of the body is unread."""
        self._forget()
        self.http.close()
        return self._connection


def _host(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ModelMissing(f"{url!r} is not a valid address ({error}). Write it as http://host:port.") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ModelMissing(f"{url!r} is not a valid address. Write it as http://host:port.")
    return parsed.host


def _api_key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelMissing(
            f"The environment variable {variable} is not set. Set it to the API key, where the editor is started."
        )
    if not (key.isascii() and key.isprintable()):  # the message of httpx would show the key
        raise ModelMissing(f"The key in {variable} has characters that an HTTP header can't contain. Copy it again.")
    return key


@lru_cache(maxsize=1)
def _tls() -> Any:
    # Reading the certificates takes longer than a local completion.
    return httpx.create_ssl_context()


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates become "?"


def _event(line: bytes) -> dict[str, Any] | None:
    """The JSON object of one line, with or without the field name of an event stream; None for anything else."""
    text = line.strip().removeprefix(b"data:").removeprefix(b"error:")
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return {"error": value} if line.startswith(b"error:") else value


def _error_text(value: Any) -> str:
    """The text of an error in the JSON forms of the known servers; empty when there is none."""
    while isinstance(value, dict):
        value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), None)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
