"""`python -m weft.benchmarks.latency.windows`: memory, attach time and cache-hit latency of a shared server.

Two windows on one workspace, with two servers and with one shared server. Knows no typing: requests for cached
completions alternate between the windows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...server.shared.control import running_server, stop_server
from ...server.workspace.process import resident_mb
from ..command import Report, command_parser, run_command
from ..histories import OWN_REPOSITORY
from ..lsp_client import SERVER, Client, completion_params, user_environment, when_ready
from ..tables import markdown
from .edited_workspaces import EDITED, PINNED, make_workspace

N_HITS = 400
ALONE, SHARED = SERVER, (*SERVER, "--shared")
NEW = "from .config import Config\n\ndef fresh(config: Config) -> None:\n    conf"
LINE, CHARACTER = 3, len("    conf")

Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.latency.windows", __doc__, "work", "machine")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    folder = make_workspace("20k", options.work, OWN_REPOSITORY, PINNED).folder
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.environ.update(user_environment(home))
        with _window(folder, home, ALONE) as (first, _):
            when_ready(first)  # caches the index, so that the following starts are alike
        with (
            _window(folder, home, ALONE) as (one, alone_s),
            _window(folder, home, ALONE) as (two, _),
            _window(folder, home, SHARED) as (left, first_s),
            _window(folder, home, SHARED) as (right, next_s),
        ):
            windows = [one, two, left, right]
            lines = max({when_ready(window)["lines"] for window in windows})
            hits = _hits(folder, windows)
            server = running_server()
            assert server is not None and (server.windows, server.workspaces) == (2, 1)
            relays = [left.pid, right.pid]
            rows: list[Figures] = [
                _row("two servers", [one.pid, two.pid], alone_s, alone_s, hits[:2]),
                _row("one shared server", [server.pid, *relays], first_s, next_s, hits[2:]),
                {"windows": "of that, the two relays", **_memory(relays)},
            ]
        stop_server()
    text = markdown([*COLUMNS], [[cell(row) for cell in COLUMNS.values()] for row in rows])
    return Report("windows", text, {"lines": lines, "rows": rows}, f"Two windows on {lines:,} lines")


@contextmanager
def _window(folder: Path, home: Path, command: tuple[str, ...]) -> Iterator[tuple[Client, float]]:
    """A window, and the seconds from its start to the answer of `initialize`."""
    began_s = time.monotonic()
    with Client(folder, home, command=command) as client:
        yield client, time.monotonic() - began_s


def _hits(folder: Path, windows: list[Client]) -> list[list[float]]:
    """Seconds of each hit by window. Windows alternate, so that other load on the machine affects all alike."""
    uri = (folder / EDITED / "fresh.py").as_uri()
    asked = completion_params(uri, LINE, CHARACTER, invoked=True)
    for window in windows:
        window.open_document(uri, NEW)
        assert window.ask("textDocument/inlineCompletion", asked)["items"], "the request has no completion to cache"
    seconds: list[list[float]] = [[] for _ in windows]
    for _ in range(N_HITS):
        for window, durations in zip(windows, seconds, strict=True):
            number, sent_s = window.request("textDocument/inlineCompletion", asked)
            while (arrived := window.next(10.0)).message.get("id") != number:
                pass
            durations.append(arrived.at_s - sent_s)
    return seconds


def _row(name: str, pids: list[int], first_s: float, next_s: float, hits: list[list[float]]) -> Figures:
    return {
        "windows": name,
        **_memory(pids),
        "first_attached_s": round(first_s, 2),
        "next_attached_s": round(next_s, 2),
        "hit_p50_ms": round(1e3 * statistics.median([taken_s for window in hits for taken_s in window]), 2),
    }


def _memory(pids: list[int]) -> Figures:
    """Resident and proportional memory; the latter divides shared pages among processes. 0 where not reported."""
    return {
        "resident_mb": round(sum(resident_mb(pid) or 0.0 for pid in pids)),
        "proportional_mb": round(sum(map(_proportional_mb, pids))),
    }


def _proportional_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("Pss:")), 0.0)


COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "two windows": lambda row: row["windows"],
    "resident MB": lambda row: f"{row['resident_mb']:,}",
    "proportional MB": lambda row: f"{row['proportional_mb']:,}",
    "first attached s": lambda row: str(row.get("first_attached_s", "")),
    "next attached s": lambda row: str(row.get("next_attached_s", "")),
    "hit p50 ms": lambda row: str(row.get("hit_p50_ms", "")),
}


if __name__ == "__main__":
    raise SystemExit(main())
