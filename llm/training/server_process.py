"""A llama-server process for a measurement, on a free port.

Knows no model and no measurement. Needs no torch.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from socket import socket

import httpx

from ..protocol import ModelUnreachable

READY_WITHIN_S = 120


@contextmanager
def running_server(command: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The address and the process id of a ready server, which is ended afterwards. Raises ModelUnreachable."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log)
        try:
            _wait_for(url, server)
            yield url, server.pid
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < ends and server.poll() is None:
        try:
            if httpx.get(f"{url}/health", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise ModelUnreachable(f"The server at {url} did not start. Run it by hand to see the error.")
