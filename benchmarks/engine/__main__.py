"""`python -m weft.benchmarks.engine` prints a table and one JSON line.

Owns the order of the measurements: each in a fresh process with a cache folder of its own, repeated, medians kept.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .trees import TREES, tree

COLUMNS = {
    "lines": "lines",
    "cold_s": "cold s",
    "lines_per_s": "cold lines/s",
    "warm_s": "warm s",
    "warm_ratio": "cold/warm",
    "jump_p50_ms": "query p50 ms",
    "jump_p95_ms": "p95",
    "typing_p50_ms": "typing p50",
    "typing_p95_ms": "p95",
    "edit_p50_ms": "edit p50",
    "edit_p95_ms": "p95",
    "during_p50_ms": "while indexing p50",
    "during_p95_ms": "p95",
    "first_answer_s": "first answer s",
    "memory_mb": "memory MB",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m weft.benchmarks.engine", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(__file__).resolve().parent.parent / ".work")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(TREES))
    parser.add_argument("--runs", type=int, default=3, help="repetitions of cold and warm start; medians are shown")
    arguments = parser.parse_args()
    rows = {name: measure_tree(tree(name, arguments.work), arguments.runs) for name in arguments.trees}
    table = Table(title=f"engine, {os.cpu_count()} cores, Python {sys.version.split()[0]}", title_justify="left")
    table.add_column("tree")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for name, row in rows.items():
        table.add_row(name, *(_shown(row.get(key)) for key in COLUMNS))
    Console(width=200).print(table)
    print(json.dumps({"benchmark": "engine", "cores": os.cpu_count(), "trees": rows}))


def measure_tree(folder: Path, runs: int) -> dict[str, float]:
    """All figures of one tree."""
    colds: list[dict[str, float]] = []
    warms: list[dict[str, float]] = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            colds.append(_measure("cold", folder, cache))
            warms.append(_measure("warm", folder, cache))
            queries = _measure("query", folder, cache) if len(colds) == runs else {}
    row = {key: statistics.median(run[key] for run in colds) for key in colds[0]}
    row["cold_s"] = row.pop("seconds")
    row["warm_s"] = statistics.median(run["seconds"] for run in warms)
    row["warm_ratio"] = row["cold_s"] / row["warm_s"]
    memory = max(row["memory_mb"], queries["memory_mb"], *(run["memory_mb"] for run in warms))
    row.update(queries)
    row["memory_mb"] = memory
    with tempfile.TemporaryDirectory() as cache:
        row.update(_measure("during", folder, cache))
    return row


def _measure(mode: str, folder: Path, cache: str) -> dict[str, float]:
    command = [sys.executable, "-m", f"{__package__}.measure", mode, str(folder)]
    environment = {**os.environ, "WEFT_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    main()
