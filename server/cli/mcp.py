"""`weft mcp`: the tools for agents, over stdio or on a loopback port."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UserError
from ..config import load_config
from .common import index_to_serve, open_workspace, workspace_folder
from .extras import missing_extra
from .serve import choose_token, parse_address, written_address
from .terminal import Terminal

if TYPE_CHECKING:
    from ..agents.backend import Backend


def mcp(options: argparse.Namespace) -> int:
    try:
        from ..mcp import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        raise missing_extra(error, "mcp") from error
    terminal = Terminal(quiet=True)  # stdout belongs to the protocol
    folder = workspace_folder(None if options.folder == Path() else options.folder, terminal)
    if options.http is None:
        with _backend(folder, terminal, options) as backend:
            serve_stdio(backend)
        return 0
    host, port = loopback_address(options.http)
    token, shown_token = choose_token(options.token_file)

    def tell(host: str, port: int) -> None:
        print(f"weft: tools for agents in {folder} on http://{written_address(host, port)}/mcp", file=sys.stderr)
        print(f"weft: the token is {shown_token}", file=sys.stderr)
        print("weft: agents send it as the header `Authorization: Bearer TOKEN`", file=sys.stderr)
        sys.stderr.flush()

    with _backend(folder, terminal, options) as backend:
        try:
            serve_http(backend, host, port, token, tell)
        except OSError as error:
            raise UserError(f"Can't listen on {options.http}: {error.strerror}. Choose another port.") from error
    return 0


def loopback_address(text: str) -> tuple[str, int]:
    """HOST:PORT of this machine alone. Raises UserError for another one."""
    from ..lsp import is_loopback

    host, port = parse_address(text)
    if not is_loopback(host):
        raise UserError(
            f"{host} is reachable from other machines. Use 127.0.0.1, and forward the port with ssh if needed."
        )
    return host, port


@contextmanager
def _backend(folder: Path, terminal: Terminal, options: argparse.Namespace) -> Iterator[Backend]:
    """The editors' shared server with `agents.unsaved_buffers`, else a workspace of this process."""
    from ..agents.backend import WorkspaceBackend

    config, _ = load_config(folder)
    if config.agents.unsaved_buffers:
        from ..agents.shared_backend import SharedBackend

        with closing(SharedBackend(folder)) as shared:
            yield shared
        return
    with open_workspace(folder, terminal, options) as workspace:
        yield WorkspaceBackend(workspace, partial(index_to_serve, workspace, terminal, options, folder.name))
