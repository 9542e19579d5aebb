"""One server: a request with a JSON body, an answer as one value or as events, and what is said when it fails.

Owns the connections, the reading of event streams, limits of time and bytes, and how a request is cut. Knows no model,
no prompt and no protocol. Only the configured address is asked: redirects are not followed.

Nothing that a server sends holds a request for ever or fills the memory: the total time is limited by the `Cancel` of
a request (`TimeLimit`), which shuts the socket down; the bytes of an answer are counted as they come; compressed
answers are refused, since a few bytes may unfold to gigabytes.

A connection is kept between two requests where the server keeps it. One that was cut or broke is never used again.

A stream that breaks off in the middle yields what came, then raises ModelUnreachable: whoever wants the beginning
has it, and nobody takes it for the whole.
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

_EXCERPT_CHARACTERS = 300
_LONGEST_REFUSAL_BYTES = 1 << 14
_LONGEST_LINE_BYTES = 1 << 20
LONGEST_VALUE_BYTES = 8 << 20
"""Of a JSON answer. Vocabularies are longer, and are asked for with a limit of their own."""
_MOST_CONTAINERS = 200_000
"""Lists and objects in one JSON answer: an empty list takes three bytes on the wire and 64 in memory."""
LONGEST_STREAM_BYTES = 64 << 20
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")

_KEPT_S = 30.0  # an idle connection; routers between here and a server forget one after a minute
_MOST_KEPT = 4
_END_S = 0.2  # for the end of a body after the last event of a stream
_LOADING_S = 0.25  # between two looks at a server that loads its model

_OVERFLOW = re.compile(
    r"exceed\w*[^.]{0,60}\bcontext\b"  # llama.cpp, llama-cpp-python
    r"|\bcontext[ _]length[ _]exceed|input length exceeds"  # OpenAI's code, Ollama
    r"|longer than the context length"  # Ollama
    r"|maximum (context|model) length|max_tokens must be at least 1, got -"  # OpenAI, vLLM, Mistral
    r"|`inputs` (tokens \+ `max_new_tokens` )?must (be|have)"  # TGI
    r"|exceed_context_size",
    re.IGNORECASE,
)


class Refused(ModelUnreachable):
    """The server answered with an error. `status` is 200 where it did so in the middle of a stream."""

    def __init__(self, message: str, status: int, said: str) -> None:
        super().__init__(message)
        self.status = status
        self.said = said


class ContextOverflow(Refused):
    """The prompt and what may be written are more than the server's context holds. A shorter prompt may do."""


class NotJson(ModelUnreachable):
    """The server answered with something else."""


class NothingSaid(ModelUnreachable):
    """The stream ended well and held no event."""


class Endpoint:
    """The address of a server. For several threads; each request has a connection of its own.

    `read_timeout_s` counts before the first piece and between two, and while the server loads its model.
    `api_key_variable` names an environment variable; the key is read from nowhere else and appears in no message.
    """

    def __init__(
        self,
        url: str,
        *,
        connect_timeout_s: float = 2.0,
        read_timeout_s: float = 30.0,
        api_key_variable: str = "",
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
        return self._host in _OWN_HOSTS

    def get(self, path: str, cancel: Cancel) -> Any:
        """The JSON value at `path`. Raises ModelUnreachable, Refused and ModelCancelled."""
        with self._answer("GET", path, None, cancel) as answer:
            return answer.value(LONGEST_VALUE_BYTES)

    def post(
        self, path: str, body: Mapping[str, object], cancel: Cancel, *, max_bytes: int = LONGEST_VALUE_BYTES
    ) -> Any:
        """The JSON value that answers `body`. Raises ModelUnreachable, Refused and ModelCancelled."""
        with self._answer("POST", path, body, cancel) as answer:
            return answer.value(max_bytes)

    def events(
        self, path: str, body: Mapping[str, object], cancel: Cancel, *, max_bytes: int = LONGEST_STREAM_BYTES
    ) -> Generator[dict[str, Any], None, None]:
        """The JSON objects of the stream that answers `body`, each on a line, with or without "data:" before it.

        Lines that are none are passed over. When cancelled the connection is cut at once, so that the server stops
        writing, and the stream ends quietly. Raises ModelUnreachable, also when more than `max_bytes` come, and
        Refused.
        """
        try:
            with self._answer("POST", path, body, cancel) as answer:
                lines = answer.lines(max_bytes)
                for line in lines:
                    if cancel.cancelled:
                        return
                    if line.strip() == b"data: [DONE]":
                        answer.finish(lines)
                        break
                    if (event := _event(line)) is None:
                        continue
                    if "error" in event:
                        raise self._refusal(path, 200, _said(event))
                    answer.n_events += 1
                    yield event
                if not answer.n_events and not cancel.cancelled:
                    raise NothingSaid(
                        f"{self.url + path} answers, but not with completions. Check the address and the backend."
                    )
        except ModelCancelled:
            return

    def close(self) -> None:
        """Let go of the kept connections. What is running goes on."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _answer(self, method: str, path: str, body: Mapping[str, object] | None, cancel: Cancel) -> Iterator[_Answer]:
        """An answer with status 200, to be read inside the block. What goes wrong there is named as a ModelError."""
        content = None if body is None else _json(body)
        answer: _Answer | None = None
        try:
            answer = self._ask_until_loaded(method, path, content, cancel)
            yield answer
        except httpx.HTTPError as error:
            if not cancel.cancelled:
                raise ModelUnreachable(self._reason(path, error, answer is not None and answer.n_events > 0)) from error
            raise ModelCancelled("The request was cancelled.") from error
        except ModelUnreachable as error:
            if cancel.cancelled:  # what was cut looks like a broken answer
                raise ModelCancelled("The request was cancelled.") from error
            raise
        finally:
            if answer is not None:
                self._take_back(answer.end(), cancel)
        if cancel.cancelled:
            raise ModelCancelled("The request was cancelled.")

    def _ask_until_loaded(self, method: str, path: str, content: bytes | None, cancel: Cancel) -> _Answer:
        """The answer of a server that has its model: one that still loads it is waited for."""
        until = time.monotonic() + self._read_timeout_s
        while True:
            answer = self._ask(method, path, content, cancel)
            status = answer.response.status_code
            if status == 200:
                return answer
            try:
                refusal = self._refusal(path, status, answer.refusal(), answer.response)
            finally:
                self._take_back(answer.end(), cancel)
            is_loading = status == 503 and "loading model" in refusal.said.lower()
            if not is_loading or time.monotonic() >= until:
                raise refusal
            if cancel.wait(_LOADING_S):
                raise ModelCancelled("The request was cancelled.")

    def _ask(self, method: str, path: str, content: bytes | None, cancel: Cancel) -> _Answer:
        """The head of an answer. A kept connection that the server had closed meanwhile is replaced by a new one."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None:
            try:
                return self._ask_on(connection, method, path, content, cancel)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                if cancel.cancelled or connection.is_new:
                    raise
            self.close()  # the others were to the same server
        # A proxy from the environment is for other machines.
        return self._ask_on(_Connection(self._timeout, not self.local), method, path, content, cancel)

    def _ask_on(
        self, connection: _Connection, method: str, path: str, content: bytes | None, cancel: Cancel
    ) -> _Answer:
        headers = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        forget = cancel.on_cancel(connection.cut)
        try:
            response = connection.send(method, self.url + path, content, headers)
        except BaseException:
            forget()
            connection.close()
            raise
        answer = _Answer(connection, response, forget)
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            answer.end().close()
            raise ModelUnreachable(
                f"{self.url + path} answers compressed ({encoding[:20]}), which was not asked for. Switch compression "
                "off at the server, or at the proxy before it."
            )
        return answer

    def _take_back(self, connection: _Connection, cancel: Cancel) -> None:
        with self._lock:
            # Who cancels at this moment may be about to cut it, though it was told that this is over.
            if not (connection.is_cut or cancel.cancelled) and len(self._idle) < _MOST_KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _refusal(self, path: str, status: int, said: str, response: httpx.Response | None = None) -> Refused:
        url = self.url + path
        said = said.replace(self._api_key, "…") if self._api_key else said  # should the server repeat it
        overflows = status in (200, 400, 413, 422, 500) and _OVERFLOW.search(said)
        said = said[:_EXCERPT_CHARACTERS]
        if status == 200:
            message = f"{url} stopped with an error: {said}"
        elif response is not None and response.has_redirect_location:
            target = response.headers["location"]
            message = f"{url} redirects to {target}; redirects are not followed. Configure that one."
        elif status in (401, 403):
            key = f"the key in {self._api_key_variable}" if self._api_key else "a request without api_key_variable"
            message = f"{url} refuses {key} ({status})."
        elif status == 404:
            message = f"{url} is not there (404). Check the address and the backend. {said}".rstrip()
        elif status == 429:
            message = f"{url} is asked too much (429): {said} Ask less, or add capacity."
        else:
            message = f"{url} answers {status}: {said} Look at the server's log."
        return (ContextOverflow if overflows else Refused)(message, status, said)

    def _reason(self, path: str, error: httpx.HTTPError, is_in_the_middle: bool) -> str:
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
            return f"Nothing answers at {self.url}. Start the server there, or correct the address."
        if isinstance(error, httpx.TimeoutException):
            silent_s = f"{self._read_timeout_s:g} s"
            return f"{self.url + path} was silent for {silent_s}. Raise read_timeout_s, or use a smaller model."
        where = "in the middle of an answer" if is_in_the_middle else "before it answered"
        return f"{self.url + path} broke off {where}. Look at the server's log."


class _Connection:
    """One connection at a time, kept between requests, to be cut by another thread.

    Closing a response from outside does not wake a thread that waits for it; shutting the socket down does, also
    before the first byte of an answer.
    """

    def __init__(self, timeout: httpx.Timeout, trust_env: bool) -> None:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEPT_S)
        self._client = httpx.Client(verify=_tls(), timeout=timeout, trust_env=trust_env, limits=limits)
        self._stream: Any = None
        self._lock = threading.Lock()
        self.is_cut = False
        self.is_new = True

    def send(self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> httpx.Response:
        """The head of the answer; the body is still to be read."""
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
        """httpx's trace: notes each connection as it is made, the TLS one after the plain one."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self.is_new = True
            with self._lock:
                self._stream = info["return_value"]
            if self.is_cut:
                self.cut()


class _Answer:
    """A response whose body is being read, on its connection."""

    def __init__(self, connection: _Connection, response: httpx.Response, forget: Callable[[], None]) -> None:
        self.response = response
        self.n_events = 0
        self._connection = connection
        self._forget = forget

    def value(self, max_bytes: int) -> Any:
        body = bytearray()
        for block in self.response.iter_raw():
            body += block
            if len(body) > max_bytes:
                raise ModelUnreachable(f"{self.response.url} sends more than an answer. Check the address.")
        if body.count(b"[") + body.count(b"{") > _MOST_CONTAINERS:
            raise ModelUnreachable(f"{self.response.url} sends no answer that can be read. Check the address.")
        try:
            return json.loads(body.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            url = self.response.url
            raise NotJson(f"{url} answers, but not with JSON. Check the address and the backend.") from error

    def lines(self, max_bytes: int) -> Iterator[bytes]:
        """The lines of the body. JSON may hold U+2028 and its like, so only "\\n" ends a line."""
        url = self.response.url
        rest: list[bytes] = []  # of the line that has no end yet; joined once, for blocks may be one byte long
        n_rest = n_bytes = 0
        for block in self.response.iter_raw():
            n_bytes += len(block)
            if n_bytes > max_bytes:
                raise ModelUnreachable(f"{url} sends more than was asked for. Check the address and the backend.")
            first, *further = block.split(b"\n")
            rest.append(first)
            n_rest += len(first)
            if further:
                yield b"".join(rest)
                yield from further[:-1]
                rest, n_rest = [further[-1]], len(further[-1])
            if n_rest > _LONGEST_LINE_BYTES:
                raise ModelUnreachable(f"{url} sends a line without end. Check the address and the backend.")
        yield b"".join(rest)

    def refusal(self) -> str:
        """What the server says about its error."""
        body = bytearray()
        for block in self.response.iter_raw():
            body += block
            if len(body) > _LONGEST_REFUSAL_BYTES:
                break
        text = body[:_LONGEST_REFUSAL_BYTES].decode("utf-8", "replace")
        try:
            return _said(json.loads(text)) or text
        except (ValueError, RecursionError):
            return text

    def finish(self, lines: Iterator[bytes]) -> None:
        """Read the end of the body, so that the connection can be used again; not for long."""
        timer = threading.Timer(_END_S, self._connection.cut)
        timer.daemon = True
        timer.start()
        with suppress(httpx.HTTPError):
            for _ in lines:
                pass
        timer.cancel()

    def end(self) -> _Connection:
        """The connection, with nothing more to read: one with half a body left is closed and made anew when asked."""
        self._forget()
        self.response.close()
        return self._connection


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
    if not (key.isascii() and key.isprintable()):  # the library's own complaint would show it
        raise ModelMissing(f"The key in {variable} has characters that can't be sent. Copy it once more.")
    return key


@lru_cache(maxsize=1)
def _tls() -> Any:
    # Reading the certificates takes longer than a local completion; once is enough.
    return httpx.create_ssl_context()


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates become "?"


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


def _said(value: Any) -> str:
    """The words of an error in the shapes that servers give it; empty when there are none."""
    while isinstance(value, dict):
        value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), None)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
