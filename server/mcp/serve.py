"""The transports of the MCP server: stdio, and streamable HTTP on loopback with a token.

Owns who may connect over HTTP. Host and Origin headers are checked by the SDK, against DNS rebinding.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from starlette.responses import JSONResponse

from ..agents.backend import Backend
from ..http_api.serve import run_app
from .server import mcp_server

PATH = "/mcp"

NO_TOKEN = (
    "No valid token. Send the header `Authorization: Bearer TOKEN` with the token that `weft mcp --http` printed."
)


def serve_stdio(backend: Backend) -> None:
    """Serve one agent over stdin and stdout, until it closes them."""
    anyio.run(_serve_stdio, backend)


async def _serve_stdio(backend: Backend) -> None:
    server = mcp_server(backend)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def serve_http(
    backend: Backend, host: str, port: int, token: str, on_listen: Callable[[str, int], None] = lambda *_: None
) -> None:
    """Serve agents until ctrl-C or SIGTERM; `host` is a loopback address. Raises OSError if the port cannot be used."""
    app = mcp_server(backend).streamable_http_app(streamable_http_path=PATH, host=host)
    run_app(WithToken(app, token), host, port, on_listen, lifespan="on")


class WithToken:
    """An ASGI application that answers only requests with the token, before anything else of them is read."""

    def __init__(self, app: Callable[..., Any], token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"").removeprefix(b"Bearer ").strip()
            if not hmac.compare_digest(given, self._token):
                refusal = {"error": "invalid_token", "error_description": NO_TOKEN}
                await JSONResponse(refusal, 401, {"www-authenticate": "Bearer"})(scope, receive, send)
                return
        await self._app(scope, receive, send)
