"""Writes the counts of the last full run into docs/reliability.md: `python -m weft.benchmarks.reliability.page`.

Reads benchmarks/results/reliability.jsonl, which `weft bench reliability --write-results` writes. A test compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..command import RESULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"

_GENERATED = re.compile(r"(<!-- generated: counts -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    PAGE.write_text(page(PAGE.read_text("utf-8"), last_run()), "utf-8")


def last_run() -> dict[str, Any]:
    """The report of the last full run."""
    report: dict[str, Any] = json.loads((RESULTS / "reliability.jsonl").read_text("utf-8"))
    return report


def page(text: str, report: Mapping[str, Any]) -> str:
    """The page with its counts as they should be."""
    rows = "\n".join(_row(row) for row in report["rows"])
    table = f"| campaign | minutes | counts | failed |\n|---|---|---|---|\n{rows}"
    made = f"{report['date']}, {report['machine']}."
    return _GENERATED.sub(lambda found: f"{found[1]}{made}\n\n{table}\n{found[2]}", text)


def _row(row: Mapping[str, Any]) -> str:
    shown = {name: value if isinstance(value, str) else f"{value:,}" for name, value in row["counts"].items()}
    counts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())
    return f"| {row['campaign']} | {row['seconds'] / 60:.1f} | {counts} | {', '.join(row['failed']) or 'nothing'} |"


if __name__ == "__main__":
    main()
