"""One address: a request with a JSON body, an answer as one value or as events, and what is said when it fails.

Owns the connection, the reading of event streams, time limits, and how a request is cut. Knows no model and no prompt.
Only the configured address is asked: redirects are not followed.

A stream that breaks off in the middle yields what came, then raises ModelUnreachable: whoever wants the beginning
has it, and nobody takes it for the whole.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any

import httpx

from ..protocol import Cancel, ModelMissing, ModelUnreachable

_EXCERPT_BYTES = 200
_LONGEST_LINE_BYTES = 1 << 20
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")


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
