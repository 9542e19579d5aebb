"""HAProxy and nginx in front of servers on this machine, for tests with the configurations of the documents."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

OPTIONS = {"haproxy": ("-f",), "nginx": ("-e", "stderr", "-c")}
"""Options of each before the name of its configuration file."""

STARTED_WITHIN_S = 20.0


@contextlib.contextmanager
def proxy(name: str, folder: Path, configuration: str, **values: object) -> Iterator[int]:
    """The port of a running proxy. `configuration` is formatted with `port`, `folder` and the values."""
    binary = os.environ.get(f"WEFT_{name.upper()}") or shutil.which(name)
    if binary is None:
        pytest.skip(f"no {name}: install it, or set WEFT_{name.upper()} to its path")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = folder / f"{name}.conf"
    file.write_text(configuration.format(port=port, folder=folder, **values))
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([binary, *OPTIONS[name], str(file)], stdout=log, stderr=log, cwd=folder)
    try:
        _wait_for(port, process, folder / f"{name}.log")
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until_s = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < until_s:
        if process.poll() is not None and 'unknown directive "stream"' in log.read_text():
            pytest.skip("nginx has no stream module: install it, and let WEFT_NGINX be a script that loads it")
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text())
