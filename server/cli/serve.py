"""`weft serve`: the language server on stdin and stdout, on a TCP port, or shared by all windows of this user.

Imports late: `--shared` and `--stop` start within milliseconds, because they load no engine.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from ...errors import UserError
from .exit_status import NOTHING_TO_SHOW


def serve(options: argparse.Namespace) -> int:
    if options.shared:
        from ..shared.endpoint import SharedServerUnavailable
        from ..shared.relay import relay

        try:
            return relay()
        except SharedServerUnavailable as reason:
            print(f"weft: no shared server, so this window starts its own. {reason}", file=sys.stderr)
    elif options.stop:
        return _stop_shared()

    from ..lsp import serve_shared, serve_stdio
    from ..lsp.log_limit import RateLimit

    logging.getLogger("weft").setLevel(logging.INFO)  # the client receives the log as messages
    limit = RateLimit()
    for name in ("weft", "weft.lsp"):
        logging.getLogger(name).addFilter(limit)
    if options.listener is not None:
        status = serve_shared(options.listener)
    elif options.tcp is not None:
        status = _serve_tcp(options.tcp, options.token_file)
    else:
        status = serve_stdio()
    # Threads that wait for a model must not keep the process alive after its last client left.
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def _serve_tcp(address: str, token_file: Path | None) -> int:
    from ..lsp import UnsafeTokenFile, is_loopback, load_or_create_token, new_token, serve_tcp

    host, port = _parse_address(address)
    try:
        token = new_token() if token_file is None else load_or_create_token(token_file)
    except UnsafeTokenFile as error:
        raise UserError(f"--token-file: {error}") from error
    except OSError as error:
        raise UserError(f"--token-file: {token_file}: {error.strerror}. Give another file.") from error

    def tell(host: str, port: int) -> None:
        print(f"weft: listening on {host}:{port}", file=sys.stderr)
        print(f"weft: the token is {token if token_file is None else f'in {token_file}'}", file=sys.stderr)
        print("weft: clients send it as initializationOptions.token", file=sys.stderr)
        if not is_loopback(host):
            print(
                f"weft: warning: {host} is reachable from other machines, without encryption. The token gives access "
                "to all your files. Listen on 127.0.0.1 and forward the port with ssh.",
                file=sys.stderr,
            )
        sys.stderr.flush()

    try:
        return serve_tcp(host, port, token, tell)
    except OSError as error:
        raise UserError(f"Can't listen on {address}: {error.strerror}. Choose another port.") from error


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UserError(f"{text} is not an address. Give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _stop_shared() -> int:
    from ..shared.control import stop_server
    from ..shared.endpoint import SharedServerUnavailable

    try:
        stopped = stop_server()
    except SharedServerUnavailable as error:
        raise UserError(str(error)) from error
    if stopped is None:
        print("No shared server is running.")
        return NOTHING_TO_SHOW
    print(f"Stopped the shared server (process {stopped.pid}).")
    return 0
