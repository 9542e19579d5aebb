"""The HTTP server of one workspace, until it is stopped by a signal."""

from __future__ import annotations

import socket
from collections.abc import Callable

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
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=BACKLOG) as listener:
        app = CompletionApp(workspace, token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=CLOSE_WITHIN_S,
        )
        on_listen(*listener.getsockname()[:2])
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            app.close()
