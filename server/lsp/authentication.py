"""Authentication of TCP clients by a token, with limits on connections that are not authenticated yet.

Owns the check of the first message of a connection: it must be `initialize` with the token, within a time and a size;
otherwise the connection is rejected and closed. Also owns the token file that clients of the same user read. A local
port is reachable by every user of the machine and by every page in its browsers. Knows no session.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import json
import logging
import os
import re
import secrets
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import ControlFlow, UserError
from .json_text import read_json
from .log_limit import one_line
from .transport import MAX_HEADER_BYTES, read_length

log = logging.getLogger("weft.lsp")

MAX_FIRST_MESSAGE_BYTES = 1 << 20
FIRST_MESSAGE_WITHIN_S = 10.0
# Open connections that have not sent the token. One more closes the oldest, so that a flood does not block clients.
MAX_UNAUTHENTICATED = 64
CLOSED_WITHIN_S = 2.0
DROPPED_WITHIN_S = 1.0
TOKEN_BYTES = 32

_HTTP = re.compile(
    rb"\A\s*(?:[A-Z]{3,10} \S* ?HTTP/|(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|PRI) |"
    rb"(?:host|user-agent|origin|referer|accept|connection|upgrade)[ \t]*:)",
    re.IGNORECASE,
)

_HTTP_ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
)
_HTTP_TEXT = b"This is a language server, not an HTTP server.\n"

_INVALID_REQUEST, _NOT_INITIALIZED, _REQUEST_FAILED = -32600, -32002, -32803


class _Rejected(ControlFlow):
    """The connection gets this response and is closed. The message goes to the log."""

    def __init__(self, why: str, answer: bytes) -> None:
        super().__init__(why)
        self.answer = answer


class UnsafeTokenFile(UserError):
    """The file is not safe for a token. The message states the reason and the next step."""


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def load_or_create_token(path: Path) -> str:
    """The token in a file that only its owner can read; creates the file with a new token if there is none.

    Raises UnsafeTokenFile for a file that other users can read or replace, OSError if it cannot be read or written.
    """
    no_follow = getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | no_follow, 0o600)
    except FileExistsError:
        pass
    else:
        token = new_token()
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(token + "\n")
        return token
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise UnsafeTokenFile(f"{path} is not a regular file. Give another path.")
    with open(os.open(path, os.O_RDONLY | no_follow), "rb") as found:
        status = os.fstat(found.fileno())
        is_private = os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
        if not is_private:
            raise UnsafeTokenFile(f"{path} is readable by other users. Remove it, or run: chmod 600 {path}")
        token = found.read(1_000).decode("ascii", "replace").strip()
    if not re.fullmatch(r"[\w-]{32,}", token, re.ASCII):
        raise UnsafeTokenFile(f"{path} contains no token of at least 32 letters and digits. Remove it for a new one.")
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; False for a host name other than localhost."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


class Authenticator:
    """Authenticates the connections to one port. `refusal` tells why no further client is served; "" if one is."""

    def __init__(self, token: str, refusal: Callable[[], str] = lambda: "") -> None:
        self._token = token.encode()
        self._refusal = refusal
        self._unauthenticated: dict[asyncio.StreamWriter, None] = {}  # the oldest first

    async def authenticate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """The client's `initialize` message with the token removed; None for a connection that was rejected."""
        if len(self._unauthenticated) >= MAX_UNAUTHENTICATED:
            oldest = next(iter(self._unauthenticated))
            del self._unauthenticated[oldest]
            oldest.transport.abort()
        self._unauthenticated[writer] = None
        try:
            return await asyncio.wait_for(self._read(reader), FIRST_MESSAGE_WITHIN_S)
        except _Rejected as rejected:
            log.warning("Refused a connection: %s", one_line(rejected))
            await _reject(reader, writer, rejected.answer)
        except asyncio.TimeoutError:
            log.warning("Refused a connection: no initialize within %g s.", FIRST_MESSAGE_WITHIN_S)
            why = f"No initialize request was received within {FIRST_MESSAGE_WITHIN_S:g} s."
            await _reject(reader, writer, _error(None, _NOT_INITIALIZED, why))
        except (asyncio.IncompleteReadError, OSError):
            pass  # the client closed the connection
        finally:
            self._unauthenticated.pop(writer, None)
        return None

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        length = await read_length(reader, MAX_HEADER_BYTES, _reject_http)
        if length is None:
            raise _rejection(None, f"The header is longer than {MAX_HEADER_BYTES} bytes.")
        if length > MAX_FIRST_MESSAGE_BYTES:
            raise _rejection(None, f"The first message has {length} bytes; the limit is {MAX_FIRST_MESSAGE_BYTES}.")
        return self._checked(await reader.readexactly(length))

    def _checked(self, body: bytes) -> bytes:
        try:
            message = read_json(body)
        except (ValueError, RecursionError):
            raise _rejection(None, "The first message is not valid JSON.") from None
        if not isinstance(message, dict) or message.get("method") != "initialize" or "id" not in message:
            raise _rejection(message, "The first message must be an initialize request.", _NOT_INITIALIZED)
        given = _take_token(message.get("params"))
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token):
            state = "wrong" if given else "missing"
            raise _rejection(message, f"The token is {state}. Send it in initializationOptions.token.")
        if why := self._refusal():
            raise _rejection(message, why, _REQUEST_FAILED)
        return json.dumps(message).encode()


async def _reject(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes) -> None:
    """Send a response and half-close. Input is drained for a moment: closing a socket with unread input resets the
    connection, and the response would be lost."""
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        writer.write(answer)
        writer.write_eof()
        await asyncio.wait_for(_drop(reader), DROPPED_WITHIN_S)


async def _drop(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass


async def close(writer: asyncio.StreamWriter) -> None:
    """Close the connection after pending output is sent, within a time limit."""
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), CLOSED_WITHIN_S)
    writer.transport.abort()


def _take_token(params: Any) -> str:
    """Remove the token from the parameters and return it: no later code sees it."""
    options = params.get("initializationOptions") if isinstance(params, Mapping) else None
    nested = options.get("weft") if isinstance(options, Mapping) else None
    found = ""
    for table in (options, nested):
        if isinstance(table, dict):
            token = table.pop("token", None)
            found = found or (token if isinstance(token, str) else "")
    return found


def _reject_http(line: bytes) -> None:
    if _HTTP.match(line):
        raise _Rejected("it sent an HTTP request", _HTTP_ANSWER % (len(_HTTP_TEXT), _HTTP_TEXT))


def _rejection(message: Any, why: str, code: int = _INVALID_REQUEST) -> _Rejected:
    given = message.get("id") if isinstance(message, dict) else None
    is_id = isinstance(given, str | int | float) and not isinstance(given, bool)
    return _Rejected(why, _error(given if is_id else None, code, why))


def _error(message_id: Any, code: int, text: str) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
