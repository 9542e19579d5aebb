"""`weft serve --http`: completions of a workspace for clients that take the address of a model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...errors import UserError
from .common import index_to_serve, open_workspace, workspace_folder
from .extras import missing_extra
from .serve import choose_token, parse_address, warn_if_reachable, written_address
from .terminal import Terminal


def serve_http(options: argparse.Namespace) -> int:
    try:
        from ..http_api import serve_http as serve
    except ModuleNotFoundError as error:
        raise missing_extra(error, "http") from error
    host, port = parse_address(options.http)
    token, shown_token = choose_token(options.token_file)
    terminal = Terminal()
    folder = workspace_folder(None if options.folder == Path() else options.folder, terminal)
    with open_workspace(folder, terminal, options) as workspace:
        index_to_serve(workspace, terminal, options, folder.name)
        workspace.watch()
        workspace.keep_models_ready(terminal.hint)

        def tell(host: str, port: int) -> None:
            address = written_address(host, port)
            print(f"weft: completions for {folder} on http://{address}", file=sys.stderr)
            print(f"weft: the token is {shown_token}", file=sys.stderr)
            print(
                "weft: clients send it as their API key; for those without one, "
                f"the address is http://{address}/token/TOKEN",
                file=sys.stderr,
            )
            warn_if_reachable(host, "The token gives access to completions from all of this folder.")
            sys.stderr.flush()

        try:
            serve(workspace, host, port, token, tell)
        except OSError as error:
            raise UserError(f"Can't listen on {options.http}: {error.strerror}. Choose another port.") from error
    return 0
