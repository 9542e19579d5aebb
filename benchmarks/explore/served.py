"""The real `weft explore` on a folder, and the places of the folder that the benchmark opens.

Owns the process, requests of views without a browser, and the choice of places by hashes. Knows no browser.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

END_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: its address, which ends with a slash, views as JSON, and its processor time."""

    address: str
    pid: int

    def cpu_ms(self) -> float:
        """Processor time of the process so far, in milliseconds. Source: clock_getcpuclockid(3) of Linux."""
        return 1e3 * time.clock_gettime(~self.pid << 3 | 2)

    def view(self, name: str, **arguments: Any) -> dict[str, Any]:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.address}api/{name}", json.dumps(arguments).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file with a definition in it, and the folder of the file. Lines are 1-based."""

    folder: str
    path: str
    symbol: str
    line: int


@contextmanager
def served(folder: Path, environment: Mapping[str, str], *options: str) -> Iterator[Served]:
    """Run `weft explore` on a folder, until the end of the block."""
    package = (__package__ or "").split(".")[0]
    command = [sys.executable, "-m", package, "explore", "--no-open", *options, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment))
    assert process.stdout is not None
    try:
        yield Served(process.stdout.readline().strip(), process.pid)
    finally:
        process.terminate()
        process.wait(END_WITHIN_S)
        process.stdout.close()


def choose(source: Served, n: int) -> list[Chosen]:
    """At most `n` different definitions: from the top, each level is left by the box whose hash is the least.

    Files without a definition, and those on the top level, are passed over.
    """
    found: dict[Chosen, None] = {}
    levels: dict[str, list[dict[str, Any]]] = {}
    for number in range(4 * n):
        chosen = _descend(source, levels, number)
        if chosen is not None:
            found[chosen] = None
        if len(found) == n:
            break
    return list(found)


def _descend(source: Served, levels: dict[str, list[dict[str, Any]]], number: int) -> Chosen | None:
    path, folder, kind = "", "", "folder"
    while kind == "folder":
        if path not in levels:
            levels[path] = source.view("map", path=path)["nodes"]
        wanted = [node for node in levels[path] if node["kind"] == "folder" or node["definitions"]]
        if not wanted:
            return None
        node = min(wanted, key=lambda each: sha256(f"{number}:{each['path']}".encode()).digest())
        folder, path, kind = path, node["path"], node["kind"]
    definitions = source.view("map", path=path)["nodes"]
    if not folder or not definitions:
        return None
    node = min(definitions, key=lambda each: sha256(f"{number}:{each['name']}".encode()).digest())
    return Chosen(folder, path, node["name"], node["line"])
