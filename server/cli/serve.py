"""`weft serve`: the language server on stdin and stdout, on a TCP port, or shared by all windows of this user.

`--http` is in serve_http.py.

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

    if options.http is not None:
        from .serve_http import serve_http

        return serve_http(options)

    from ..lsp import serve_shared, serve_shared_on_loopback, serve_stdio
    from ..lsp.log_limit import RateLimit

    logging.getLogger("weft").setLevel(logging.INFO)  # the client receives the log as messages
    limit = RateLimit()
    for name in ("weft", "weft.lsp"):
        logging.getLogger(name).addFilter(limit)
    if options.listener is not None:
        status = serve_shared(options.listener)
    elif options.loopback_listener:
        status = serve_shared_on_loopback()
    elif options.tcp is not None:
        status = _serve_tcp(options.tcp, options.token_file)
    else:
        status = serve_stdio()
    # Threads that wait for a model must not keep the process alive after its last client left.
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def choose_token(file: Path | None) -> tuple[str, str]:
    """The token of `--token-file`, else a new one; and how it is shown."""
    from ..lsp import UnsafeTokenFile, load_or_create_token, new_token

    if file is None:
        token = new_token()
        return token, token
    try:
        return load_or_create_token(file), f"in {file}"
    except UnsafeTokenFile as error:
        raise UserError(f"--token-file: {error}") from error
    except OSError as error:
        raise UserError(f"--token-file: {file}: {error.strerror}. Give another file.") from error


def warn_if_reachable(host: str, danger: str) -> None:
    """Say that other machines reach an address; `danger`: a sentence about the token."""
    from ..lsp import is_loopback

    if not is_loopback(host):
        print(
            f"weft: warning: {host} is reachable from other machines, without encryption. {danger} "
            "Listen on 127.0.0.1 and forward the port with ssh.",
            file=sys.stderr,
        )


def parse_address(text: str) -> tuple[str, int]:
    """HOST:PORT; the host is 127.0.0.1 when it is left out."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UserError(f"{text} is not an address. Give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


def written_address(host: str, port: int) -> str:
    """The same as it stands in a URL, with brackets around an address of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _serve_tcp(address: str, token_file: Path | None) -> int:
    from ..lsp import serve_tcp

    host, port = parse_address(address)
    token, shown_token = choose_token(token_file)

    def tell(host: str, port: int) -> None:
        print(f"weft: listening on {host}:{port}", file=sys.stderr)
        print(f"weft: the token is {shown_token}", file=sys.stderr)
        print("weft: clients send it as initializationOptions.token", file=sys.stderr)
        warn_if_reachable(host, "The token gives access to all your files.")
        sys.stderr.flush()

    try:
        return serve_tcp(host, port, token, tell)
    except OSError as error:
        raise UserError(f"Can't listen on {address}: {error.strerror}. Choose another port.") from error


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
