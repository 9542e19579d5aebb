"""`weft serve` with a socket that reports the indexed texts, for campaigns.

A connection to the socket gets one JSON object, a hash of each indexed text by its path. The server itself is the real
one, without knowledge of this.

    python -m weft.benchmarks.reliability.probe SOCKET
"""

from __future__ import annotations

import json
import socket
import socketserver
import sys
import threading
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ...server.cli import main
from ...server.workspace import workspace as workspace_module
from ...server.workspace.workspace import Workspace


def texts_of(workspace: Workspace) -> dict[str, str]:
    """A hash of each indexed text, by its path in its folder."""
    return {path: hash_of(text) for folder in workspace._folders for path, text in folder.snapshot.index.texts.items()}


def hash_of(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest()


def serve_texts(path: Path, opened: list[Workspace]) -> None:
    class TextHandler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(json.dumps(texts_of(opened[-1]) if opened else {}).encode())

    server = socketserver.UnixStreamServer(str(path), TextHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def ask_texts(path: Path) -> dict[str, str]:
    """The indexed texts of the server at this socket; empty while it has no workspace."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return {}
        parts = iter(lambda: connection.recv(1 << 20), b"")
        texts: dict[str, str] = json.loads(b"".join(parts) or b"{}")
        return texts


if __name__ == "__main__":
    opened: list[Workspace] = []
    start = Workspace.__init__

    def note(self: Workspace, *arguments: Any, **options: Any) -> None:
        start(self, *arguments, **options)
        opened.append(self)

    workspace_module.Workspace.__init__ = note  # type: ignore[method-assign]
    serve_texts(Path(sys.argv[1]), opened)
    raise SystemExit(main(["serve"]))
