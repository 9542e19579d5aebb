"""`weft explore`: a page to look inside of a workspace, on a loopback port."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UserError
from ...llm.installation import install_command
from .common import index_with_consent, open_workspace, workspace_folder
from .mcp import loopback_address
from .terminal import Terminal

if TYPE_CHECKING:
    from ..explore.sources import ViewSource


def explore(options: argparse.Namespace) -> int:
    try:
        from ..explore.app import serve_explore
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed. Install the extra: {install_command('explore')}") from error
    from ..lsp import new_token

    host, port = loopback_address(options.address)
    terminal = Terminal()
    folder = workspace_folder(None if options.folder == Path() else options.folder, terminal)
    token = new_token()

    def tell(host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}/{token}/"
        print(address, flush=True)
        print("weft: everyone with this address can read the indexed files; ctrl-C ends it", file=sys.stderr)
        if options.open and _has_display():
            # A browser in the terminal would wait for its end.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True, name="weft-browser").start()

    with _views(folder, terminal, options) as views:
        try:
            serve_explore(views, host, port, token, tell)
        except OSError as error:
            raise UserError(f"Can't listen on {options.address}: {error.strerror}. Choose another port.") from error
    return 0


@contextmanager
def _views(folder: Path, terminal: Terminal, options: argparse.Namespace) -> Iterator[ViewSource]:
    """The views of the editors' shared server with `--unsaved`, else of a workspace of this process."""
    from ..explore.sources import shared_views, workspace_views

    if options.unsaved:
        from ..agents.shared_backend import SharedBackend

        with closing(SharedBackend(folder)) as shared:
            yield shared_views(shared)
        return
    with open_workspace(folder, terminal, options) as workspace:
        index_with_consent(workspace, terminal, options, folder.name)
        workspace.watch()
        yield workspace_views(workspace)


def _has_display() -> bool:
    """Whether a browser has a window to open in; a browser in the terminal would take this one."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
