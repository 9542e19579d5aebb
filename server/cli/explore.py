"""`weft explore`: a page to look inside of a workspace, on a loopback port."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ...errors import UserError
from ..workspace.projects import project_folder
from .common import index_to_serve, open_workspace, split_location, workspace_folder
from .extras import import_or_offer
from .mcp import loopback_address
from .serve import written_address
from .terminal import Terminal

if TYPE_CHECKING:
    from ..explore.sources import ViewSource
    from ..workspace.workspace import Workspace


def explore(options: argparse.Namespace) -> int:
    terminal = Terminal()
    with import_or_offer("explore", terminal):
        from ..explore.app import serve_explore
    from ..lsp import new_token

    host, port = loopback_address(options.address)
    folder, fragment = _folder_and_fragment(options, terminal)
    token = new_token()

    def tell(host: str, port: int) -> None:
        page = f"http://{written_address(host, port)}/{token}/"
        if options.address_file is not None:
            _write_private(options.address_file, page)
            at_end.callback(options.address_file.unlink, missing_ok=True)
        address = page + fragment
        print(address, flush=True)
        print("weft: everyone with this address can read the indexed files; ctrl-C ends it", file=sys.stderr)
        if options.open and _has_display():
            # A browser in the terminal would wait for its end.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True, name="weft-browser").start()

    with _signals_exit(), ExitStack() as at_end, _views(folder, terminal, options) as views:
        try:
            serve_explore(views, host, port, token, tell)
        except OSError as error:
            raise UserError(f"Can't listen on {options.address}: {error.strerror}. Choose another port.") from error
    return 0


@contextmanager
def _signals_exit() -> Iterator[None]:
    """While the page is served, SIGTERM and a closed terminal end the command as ctrl-C does, with what it leaves."""
    signals = [each for name in ("SIGTERM", "SIGHUP") if (each := getattr(signal, name, None)) is not None]
    before = {each: signal.signal(each, lambda number, _: sys.exit(128 + number)) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _folder_and_fragment(options: argparse.Namespace, terminal: Terminal) -> tuple[Path, str]:
    """The folder to show, and what follows the address of the page to show the place of `--at`; "" for the map."""
    given = None if options.folder == Path() else options.folder
    if options.at is None:
        return workspace_folder(given, terminal), ""
    path, line, _ = split_location(options.at)
    path = path.resolve()
    folder = workspace_folder(project_folder(path) if given is None else given, terminal)
    if not path.is_relative_to(folder):
        raise UserError(f"{path} is not below {folder}. Give a file of this folder, or the folder of the file.")
    place = {"path": path.relative_to(folder).as_posix(), "line": line + 1}
    return folder, f"#/file?{urlencode(place)}"


def _write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read. Raises UserError if it exists or cannot be written."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"--address-file: {path}: {error.strerror}. Give a path where no file is.") from error


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
        index_to_serve(workspace, terminal, options, folder.name)
        workspace.watch()
        # The first symbol of the page would wait for it.
        filling = threading.Thread(target=_fill_name_tables, args=(workspace,), name="weft-explore-names")
        filling.start()
        try:
            yield workspace_views(workspace)
        finally:
            filling.join()


def _fill_name_tables(workspace: Workspace) -> None:
    """Build the index of names of each folder, by a lookup."""
    for index in workspace.indexes().values():
        index.names.definitions("")


def _has_display() -> bool:
    """Whether a browser has a window to open in; a browser in the terminal would take this one."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
