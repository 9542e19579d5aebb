"""`weft bench engine`: time and memory of cold and warm start, queries and edits, on pinned trees.

Owns the order of the measurements: each in a new process with an empty cache folder, repeated, as medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..command import Report, command_parser, run_command
from ..tables import markdown
from .timing import in_fresh_process
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
    "private_mb": "private MB after cold",
    "warm_private_mb": "after warm",
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench engine", __doc__, "work", "machine")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(TREES))
    parser.add_argument("--runs", type=int, default=3, help="repetitions of cold and warm start, for medians")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    rows = {name: measure_tree(tree(name, options.work), options.runs) for name in options.trees}
    cells = [[name, *(_shown(row.get(key)) for key in COLUMNS)] for name, row in rows.items()]
    return Report("engine", markdown(["tree", *COLUMNS.values()], cells), {"trees": rows})


def measure_tree(folder: Path, runs: int) -> dict[str, float]:
    """All figures of one tree."""
    colds, warms, queries = list[dict[str, float]](), list[dict[str, float]](), dict[str, float]()
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            colds.append(_in_process("cold", folder, cache))
            warms.append(_in_process("warm", folder, cache))
            if len(colds) == runs:
                queries = _in_process("query", folder, cache)
    row = {key: statistics.median(run[key] for run in colds) for key in colds[0]}
    row["cold_s"] = row.pop("seconds")
    row["warm_s"] = statistics.median(run["seconds"] for run in warms)
    row["warm_private_mb"] = statistics.median(run["private_mb"] for run in warms)
    row["warm_ratio"] = row["cold_s"] / row["warm_s"]
    memory = max(row["memory_mb"], queries["memory_mb"], *(run["memory_mb"] for run in warms))
    with tempfile.TemporaryDirectory() as cache:
        return row | queries | {"memory_mb": memory} | _in_process("during", folder, cache)


def _in_process(mode: str, folder: Path, cache: str) -> dict[str, float]:
    return dict(in_fresh_process(f"{__package__}.measure", mode, str(folder), WEFT_CACHE_DIR=cache))


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
