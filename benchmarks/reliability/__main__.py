"""`weft bench reliability [NAME …]`, or `python -m weft.benchmarks.reliability`: a table and one JSON line.

Exit status: 0 nothing failed, 1 a count that must be 0 is not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from ..machine import machine
from .campaign import SEED, Campaign, Settings, failures

CAMPAIGNS = ("freshness", "messages", "connections", "secrets", "hostile_models", "damage")


def load_campaign(name: str) -> Campaign:
    """The campaign of this name, which is a module beside this one."""
    return cast(Campaign, importlib.import_module(f"{__package__}.{name}"))


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in CAMPAIGNS]
    if unknown:
        parser.error(f"no campaign is called {unknown[0]}; there are {', '.join(CAMPAIGNS)}")
    rows = [_run(name, options) for name in options.names or CAMPAIGNS]
    report = {"benchmark": "reliability", "machine": machine(), "short": options.short, "rows": rows}
    _print_table(rows)
    print(json.dumps(report))
    return 1 if any(row["failed"] for row in rows) else 0


def _run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    campaign = load_campaign(name)
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-campaign-") as work:
        counts = campaign.run(Settings(Path(work).resolve(), options.short, options.seed))
    seconds = round(time.monotonic() - started_s, 1)
    return {"campaign": name, "seconds": seconds, "counts": dict(counts), "failed": failures(campaign, counts)}


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = Table("campaign", "seconds", "counts", "failed")
    for row in rows:
        counts = "\n".join(
            f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}"
            for name, value in row["counts"].items()
        )
        table.add_row(row["campaign"], str(row["seconds"]), counts, ", ".join(row["failed"]) or "nothing")
    Console(highlight=False).print(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="weft bench reliability", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CAMPAIGNS))
    parser.add_argument("--short", action="store_true", help="a few seconds each, as the tests run them")
    parser.add_argument("--seed", type=int, default=SEED)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
