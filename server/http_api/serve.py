"""HTTP applications on a port, until they are stopped by a signal: completions of a workspace, and any other one."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Literal

import uvicorn

from ..workspace.workspace import Workspace
from .app import CompletionApp

BACKLOG = 64
CLOSE_WITHIN_S = 2


def serve_http(
    workspace: Workspace, host: str, port: int, token: str, on_listen: Callable[[str, int], None] = lambda *_: None
) -> None:
    """Serve completions of an indexed workspace until ctrl-C or SIGTERM. Raises OSError if the port cannot be used.

    `on_listen` receives the address; port 0 takes any free port.
    """
    app = CompletionApp(workspace, token)
    try:
        run_app(app, host, port, on_listen)
    finally:
        app.close()


def run_app(
    app: Callable[..., Any],
    host: str,
    port: int,
    on_listen: Callable[[str, int], None],
    *,
    lifespan: Literal["on", "off"] = "off",
) -> None:
    """Run an ASGI application as `serve_http` does. With `lifespan` it is told of the start and the end."""
    with listen_on(host, port) as listener:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan=lifespan,
            server_header=False,
            timeout_graceful_shutdown=CLOSE_WITHIN_S,
        )
        on_listen(*listener.getsockname()[:2])
        uvicorn.Server(config).run(sockets=[listener])


def listen_on(host: str, port: int) -> socket.socket:
    """A listening socket whose connections send each part of an answer at once.

    Otherwise the body of a short answer waits for the client's delayed ACK, 40 ms. Raises OSError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
