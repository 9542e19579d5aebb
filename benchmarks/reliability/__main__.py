"""`weft bench reliability [NAME …]`: campaigns of faults and load, with counts that must be 0.

Exit status: 0 nothing failed, 1 a count that must be 0 is not.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ...errors import UserError
from ..command import Report, command_parser, run_command
from ..tables import markdown
from .campaign import SEED, Campaign, Settings, failures

CAMPAIGNS = ("freshness", "messages", "connections", "secrets", "hostile_models", "damage")


def load_campaign(name: str) -> Campaign:
    """The campaign of this name, which is a module beside this one."""
    return cast(Campaign, importlib.import_module(f"{__package__}.{name}"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser(
        "weft bench reliability", __doc__, "seed", "machine", "write-results", seed={"default": SEED}
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CAMPAIGNS))
    parser.add_argument("--short", action="store_true", help="the form of the tests: a few seconds each")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    if unknown := [name for name in options.names if name not in CAMPAIGNS]:
        raise UserError(f"Unknown campaign `{unknown[0]}`. Choose from {', '.join(CAMPAIGNS)}.")
    rows = [_run(name, options) for name in options.names or CAMPAIGNS]
    status = 1 if any(row["failed"] for row in rows) else 0
    text = "\n\n".join(map(_table, rows))
    return Report("reliability", text, {"short": options.short, "rows": rows}, "Reliability campaigns", status=status)


def _run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    campaign = load_campaign(name)
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-campaign-") as work:
        counts = campaign.run(Settings(Path(work).resolve(), options.short, options.seed))
    seconds = round(time.monotonic() - started_s, 1)
    return {"campaign": name, "seconds": seconds, "counts": dict(counts), "failed": failures(campaign, counts)}


def _table(row: dict[str, Any]) -> str:
    name, failed = row["campaign"], ", ".join(row["failed"]) or "nothing"
    cells = [[each, f"{n:,}" if isinstance(n, int) else str(n)] for each, n in row["counts"].items()]
    head = f"## {name}\n\n{load_campaign(name).QUESTION} {row['seconds']} s; failed: {failed}."
    return f"{head}\n\n{markdown(('count', 'value'), cells)}"


if __name__ == "__main__":
    raise SystemExit(main())
