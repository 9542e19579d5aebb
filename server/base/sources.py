"""Where the files of a base are read: a folder, an address (https) or an object store (fsspec).

Owns requests: addresses, limits of bytes and time, conditional requests and ranges. A request names a file of the base
and nothing of the workspace. Knows no format and no hash.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import time
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from ...errors import ControlFlow, UserError

if TYPE_CHECKING:
    import httpx  # else imported on use: it takes 0.1 s, and each process that builds an index imports this module

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 10.0

OBJECT_STORES = ("s3", "gs", "file", "memory")
"""Schemes that are read through fsspec."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_BLOCK_BYTES = 1 << 20


class BaseUnavailable(ControlFlow):
    """The base could not be read. The message is a reason."""


class InvalidBase(UserError):
    """The setting `base` names nothing that can be a base."""


class Content(NamedTuple):
    """A file of a base; `data` is None if it is unchanged. `etag` identifies its content, "" if nothing does."""

    data: bytes | None
    etag: str


class Source(Protocol):
    """The files of a base behind an address."""

    def read(self, name: str, max_bytes: int, until_s: float, etag: str = "") -> Content:
        """The content of a file, unless it still has this `etag`.

        `until_s` is the time of `time.monotonic` at which the request ends. Raises BaseUnavailable.
        """
        ...


def is_remote(address: str) -> bool:
    """Whether an address is a URL and not the path of a folder."""
    return "://" in address


def shown_address(address: str) -> str:
    """The address without a user, a password and a signature."""
    if not is_remote(address):
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return "of no valid URL"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def source_of(address: str) -> Source:
    """The source at a URL. Raises InvalidBase, and BaseUnavailable if a package is missing."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        raise InvalidBase("The setting `base` is not a valid URL. Set a folder, or a URL with https://.") from None
    if parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK):
        return _HttpSource(parts)
    if parts.scheme in OBJECT_STORES:
        return _ObjectStore(address, parts.scheme)
    raise InvalidBase(
        f"base = {shown_address(address)!r} has the scheme {parts.scheme!r}, which is not read. Set a folder, or a URL "
        "with https://, s3:// or gs://."
    )


class _HttpSource:
    """Files behind https, or behind http on this machine. Redirects are not followed."""

    def __init__(self, parts: SplitResult) -> None:
        import httpx

        user = (unquote(parts.username or ""), unquote(parts.password or ""))
        self._address = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        self._new_client = partial(
            httpx.Client,
            auth=user if parts.username else None,
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            headers={"Accept-Encoding": "identity", "User-Agent": "weft"},
            trust_env=parts.scheme == "https",
        )
        self._client = self._new_client()

    def read(self, name: str, max_bytes: int, until_s: float, etag: str = "") -> Content:
        """See `Source`. After a lost connection the rest is requested, as a range.

        A request that brings nothing is sent once more, over a connection of its own: the server may have closed one
        that was kept open.
        """
        import httpx

        url = self._address._replace(path=f"{self._address.path.rstrip('/')}/{name}").geturl()
        data = bytearray()
        brought_nothing = False
        for _ in range(_ATTEMPTS):
            n_before = len(data)
            try:
                if brought_nothing:
                    with self._new_client() as client:
                        found = self._request(client, url, data, max_bytes, until_s, etag)
                else:
                    found = self._request(self._client, url, data, max_bytes, until_s, etag)
            except httpx.ConnectError as error:
                raise BaseUnavailable("it is not reachable") from error
            except httpx.TimeoutException as error:
                raise BaseUnavailable("it does not answer in time") from error
            except httpx.TransportError as error:
                if len(data) == n_before and brought_nothing:
                    raise BaseUnavailable("it closed the connection") from error
                brought_nothing = len(data) == n_before
                continue
            if found is not None:
                return found
        raise BaseUnavailable("it closed the connection several times")

    def _request(
        self, client: httpx.Client, url: str, data: bytearray, max_bytes: int, until_s: float, etag: str
    ) -> Content | None:
        """One request; `data` grows by what arrives. None if a range is not supported: `data` is empty again."""
        headers = {"Range": f"bytes={len(data)}-"} if data else ({"If-None-Match": etag} if etag else {})
        with client.stream("GET", url, headers=headers) as response:
            if response.status_code == HTTPStatus.NOT_MODIFIED and etag:
                return Content(None, etag)
            if data and response.status_code == HTTPStatus.OK:
                data.clear()
            is_rest = bool(data) and response.status_code == HTTPStatus.PARTIAL_CONTENT
            if is_rest and not response.headers.get("content-range", "").startswith(f"bytes {len(data)}-"):
                raise BaseUnavailable("it sent another range than requested")
            if response.status_code != HTTPStatus.OK and not is_rest:
                raise BaseUnavailable(_http_problem(response))
            if response.headers.get("content-encoding", "identity") != "identity":
                raise BaseUnavailable("it sent compressed data, which is not read")
            for block in response.iter_raw():
                data += block
                if len(data) > max_bytes:
                    raise BaseUnavailable(f"it sent more than {max_bytes:,} bytes")
                if time.monotonic() > until_s:
                    raise BaseUnavailable("it is too slow")
            return Content(bytes(data), response.headers.get("etag", "")[:_MAX_ETAG])


_ATTEMPTS = 4
_MAX_ETAG = 200


def _http_problem(response: httpx.Response) -> str:
    if response.has_redirect_location:
        return "it redirects to another address, which is not followed"
    if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"it refuses the request (HTTP {response.status_code})"
    if response.status_code == HTTPStatus.NOT_FOUND:
        return f"{response.url.path.rpartition('/')[2]} is not there (HTTP 404)"
    return f"it answers with HTTP {response.status_code}"


class _ObjectStore:
    """Files in an object store, through fsspec."""

    def __init__(self, address: str, scheme: str) -> None:
        try:
            fsspec: Any = importlib.import_module("fsspec")
            self._files = fsspec.filesystem(scheme)
        except (ImportError, ValueError) as error:
            from ...llm.installation import install_command

            command = install_command("base")
            raise BaseUnavailable(f"{scheme}:// needs packages that are not installed ({command})") from error
        self._folder = self._files._strip_protocol(address).rstrip("/")

    def read(self, name: str, max_bytes: int, until_s: float, etag: str = "") -> Content:
        """See `Source`."""
        path = f"{self._folder}/{name}"
        data = bytearray()
        try:
            about: Mapping[str, Any] = self._files.info(path)
            found = _etag_of(about)
            if etag and found == etag:
                return Content(None, etag)
            with closing(self._files.open(path, "rb")) as file:
                while block := file.read(_BLOCK_BYTES):
                    data += block
                    if len(data) > max_bytes:
                        raise BaseUnavailable(f"it has more than {max_bytes:,} bytes")
                    if time.monotonic() > until_s:
                        raise BaseUnavailable("it is too slow")
        except BaseUnavailable:
            raise
        except FileNotFoundError as error:
            raise BaseUnavailable(f"{name} is not there") from error
        except Exception as error:  # each store raises errors of its own client
            raise BaseUnavailable(f"it can't be read: {type(error).__name__}: {error}"[:_MAX_REASON]) from error
        return Content(bytes(data), found)


_MAX_REASON = 200


def _etag_of(about: Mapping[str, Any]) -> str:
    """What identifies the content of an object; "" if the store says nothing."""
    known = [f"{name}={about[name]}" for name in ("ETag", "etag", "generation", "mtime", "created") if about.get(name)]
    return hashlib.blake2b(" ".join(known).encode(), digest_size=16).hexdigest() if known else ""


def is_private(path: Path) -> bool:
    """Whether this user or the administrator owns a file and no other user can write to it.

    Such a file may be mapped: a mapped file that another user truncates ends the process.
    """
    status = path.stat()
    if not hasattr(os, "geteuid"):
        return False
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
