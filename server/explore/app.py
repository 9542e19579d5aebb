"""The page over HTTP on loopback: the token in the path, the headers that keep requests on this machine, the views.

Owns who may ask. The views are those of `views.py`, computed by a `ViewSource` in threads.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ...errors import InvalidArgument, WeftError
from ...llm import Cancel
from ..http_api.app import TooLarge, json_body
from ..http_api.serve import run_app
from .sources import ViewSource

PAGE = Path(__file__).parent / "page"
"""The static files of the page."""

MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every answer: nothing is loaded from elsewhere, and no address with the token leaves the page or is stored."""

HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names in the Host header; another one is a page elsewhere whose name leads here (DNS rebinding)."""

NO_TOKEN = "No valid token in the address. Open the whole address that `weft explore` printed.\n"
FOREIGN_HOST = "Weft answers this machine alone. Open the address that `weft explore` printed.\n"


def serve_explore(
    views: ViewSource, host: str, port: int, token: str, on_listen: Callable[[str, int], None] = lambda *_: None
) -> None:
    """Serve the page until ctrl-C or SIGTERM; `host` is a loopback address. Raises OSError if the port cannot be used.

    `on_listen` receives the address; port 0 takes any free port.
    """
    run_app(ExploreApp(views, token), host, port, on_listen)


class ExploreApp:
    """The ASGI application for clients with the token: `/TOKEN/`, its files, and `/TOKEN/api/VIEW` by POST."""

    def __init__(self, views: ViewSource, token: str) -> None:
        self._views = views
        self._token = token.encode()
        self._starlette = Starlette(
            routes=[
                Route("/{token}/", self._file, methods=["GET"]),
                Route("/{token}/api/{view}", self._view, methods=["POST"]),
                Route("/{token}/{name}", self._file, methods=["GET"]),
            ]
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI entry: refuses foreign hosts and requests without the token, before anything else is read."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        app = self._starlette if refusal is None else refusal
        await app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Mapping[str, Any]) -> Response | None:
        headers = dict(scope["headers"])
        if _host_name(headers.get(b"host", b"").decode("latin-1")) not in HOSTS:
            return PlainTextResponse(FOREIGN_HOST, 403)
        given = scope["path"].split("/")[1].encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._token):
            return PlainTextResponse(NO_TOKEN, 401)
        return None

    async def _file(self, request: Request) -> Response:
        """A file of the page by its name; there are no folders."""
        name = request.path_params.get("name", "index.html")
        if name not in {each.name for each in PAGE.iterdir()}:
            return PlainTextResponse("There is no such file.\n", 404)
        path = PAGE / name
        return FileResponse(path, media_type=MEDIA_TYPES.get(path.suffix, "application/octet-stream"))

    async def _view(self, request: Request) -> Response:
        try:
            found = await self._run(request, request.path_params["view"], await json_body(request))
        except InvalidArgument as error:
            return JSONResponse({"error": str(error)}, 413 if isinstance(error, TooLarge) else 400)
        except WeftError as error:
            return JSONResponse({"error": str(error)}, 500)
        return JSONResponse(found)

    async def _run(self, request: Request, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """A view, computed in a thread; it is cancelled when the page drops the request. Raises WeftError."""
        cancel = Cancel()

        async def cancel_when_gone() -> None:
            await request.receive()  # after the body, only the end of the connection comes
            cancel.cancel()

        waiting = asyncio.create_task(cancel_when_gone())
        try:
            return await run_in_threadpool(self._views, name, arguments, cancel)
        finally:
            waiting.cancel()


def _host_name(host: str) -> str:
    """The name or address in a Host header, without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _with_headers(send: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *own]}
        await send(message)

    return send_with_headers
