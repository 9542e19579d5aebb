"""`python -m weft.benchmarks.engine.switches`: a switch of branches whose content is known, against its first analysis.

A pinned tree becomes a git repository with two branches, which differ in one line of each of the first `--files`
Python files. Owns the repository and the order of the measurements. Each time is that of an index run in a new process
or after a checkout, from the comparison with the disk until the index equals it:

- cold: the first branch, from nothing, with the worker processes.
- first switch: the second branch, whose changed files are analysed.
- switch back and forth: both branches are known. Medians.
- known content: the first branch from nothing but the stored analyses, as for another clone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...server.config import Config
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, run_command
from ..tables import markdown
from .timing import in_fresh_process, processor_s
from .trees import TREES, tree

BRANCHES = ("main", "work")
N_SWITCHES = 4
STEPS = ("cold", "first_switch", "switch_back", "known_content")


def make_repository(source: Path, folder: Path, n_files: int) -> int:
    """Make the repository, with `main` checked out; the number of files that differ."""
    shutil.copytree(source, folder)
    _git(folder, "init", "-q", "-b", BRANCHES[0])
    _commit(folder)
    _git(folder, "checkout", "-q", "-b", BRANCHES[1])
    changed = sorted(folder.rglob("*.py"))[:n_files]
    for path in changed:
        text = path.read_bytes()
        middle = text.find(b"\n", len(text) // 2) + 1
        path.write_bytes(text[:middle] + b"# A line of the other branch.\n" + text[middle:])
    _commit(folder)
    _git(folder, "checkout", "-q", BRANCHES[0])
    return len(changed)


def measure(folder: Path, step: str) -> dict[str, float]:
    """Seconds and processor seconds of one step, in this process; `folder` is a repository with `main` checked out."""
    times = list[tuple[float, float]]()
    with Workspace([folder], Config()) as workspace:
        times.append(_indexed(workspace))
        lines = sum(index.n_lines for index in workspace.indexes().values())
        if step == "switches":
            for number in range(N_SWITCHES + 1):
                _git(folder, "checkout", "-q", BRANCHES[(number + 1) % 2])
                times.append(_indexed(workspace))
            _git(folder, "checkout", "-q", BRANCHES[0])
    if step == "known":
        return {"known_content_s": times[0][0], "known_content_cpu_s": times[0][1]}
    back_s, back_cpu_s = (statistics.median(values) for values in zip(*times[2:], strict=True))
    return {
        "lines": lines,
        "cold_s": times[0][0],
        "cold_cpu_s": times[0][1],
        "first_switch_s": times[1][0],
        "first_switch_cpu_s": times[1][1],
        "switch_back_s": back_s,
        "switch_back_cpu_s": back_cpu_s,
    }


def measure_tree(source: Path, n_files: int) -> dict[str, float]:
    """All figures of one tree."""
    with tempfile.TemporaryDirectory() as work:
        folder, cache = Path(work, source.name), Path(work, "cache")
        row: dict[str, float] = {"files": make_repository(source, folder, n_files)}
        for step in ("switches", "known"):
            row |= in_fresh_process(__spec__.name, step, str(folder), WEFT_CACHE_DIR=str(cache))
            shutil.rmtree(cache / "indexes")
    row["ratio"] = row["first_switch_s"] / row["switch_back_s"]
    row["cpu_ratio"] = row["first_switch_cpu_s"] / row["switch_back_cpu_s"]
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.engine.switches", __doc__, "work", "machine", "write-results")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=["networkx", "million"])
    parser.add_argument("--files", type=int, default=3000, help="at most so many files differ (3000)")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    rows = {name: measure_tree(tree(name, options.work), options.files) for name in options.trees}
    columns = ["tree", "lines", "changed files", *(f"{step.replace('_', ' ')} s (CPU s)" for step in STEPS)]
    cells = [
        [
            name,
            f"{row['lines']:,.0f}",
            f"{row['files']:,.0f}",
            *(f"{row[f'{step}_s']:.2f} ({row[f'{step}_cpu_s']:.2f})" for step in STEPS),
            f"{row['ratio']:.0f} ({row['cpu_ratio']:.0f})",
        ]
        for name, row in rows.items()
    ]
    table = markdown([*columns, "first switch / switch back"], cells)
    return Report("branch-switch", table, {"trees": rows}, "Switches of branches", notes=_NOTES)


_NOTES = f"""\
One line differs in each changed file. A time is that of one index run, from the comparison with the disk until the
index equals it, without the checkout itself; in parentheses the processor time of the process and its workers, until
the index is also saved.

- **cold**: the first branch from nothing.
- **first switch**: the changed files are read, analysed and merged.
- **switch back**: the changed files are read and hashed, and the index that the branch had is loaded; the median of
  {N_SWITCHES} switches.
- **known content**: the first branch from stored analyses alone, as in another clone: read, hashed and merged.
"""


def _indexed(workspace: Workspace) -> tuple[float, float]:
    before_s = processor_s()
    report = workspace.index()
    return report.seconds, processor_s() - before_s


def _commit(folder: Path) -> None:
    _git(folder, "add", ".")
    _git(folder, "-c", "user.name=weft", "-c", "user.email=weft@example.com", "commit", "-q", "-m", "files")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    if sys.argv[1:2] in (["switches"], ["known"]):
        print(json.dumps(measure(Path(sys.argv[2]), sys.argv[1])))
        raise SystemExit
    raise SystemExit(main())
