"""`weft stats`, `weft bench` and `weft doctor`: counters, measurements and checks."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from ...errors import UserError
from ...llm.installation import clone_command
from ..completion.stats import forget_stats, read_stats, stats_folder, summary_json
from ..config import load_config
from ..output.doctor import examine, findings_json
from .common import existing_folder
from .exit_status import NOTHING_TO_SHOW
from .parser import BENCHMARKS
from .terminal import Terminal


def stats(options: argparse.Namespace) -> int:
    if options.days < 1:
        raise UserError(f"--days {options.days} is too small. Give at least 1, which is today.")
    terminal = Terminal(quiet=options.json)
    config, problems = load_config()
    terminal.notes([str(problem) for problem in problems])
    folder = stats_folder(config.cache_dir)
    if options.reset:
        n_files = forget_stats(folder)
        if options.json:
            terminal.json({"forgotten": n_files})
        else:
            terminal.say("Deleted all counters." if n_files else "There are no counters.")
        return 0
    summary = read_stats(folder, options.days)
    if options.json:
        terminal.json({"days": options.days, **summary_json(summary)})
    else:
        terminal.stats(summary, options.days)
    return 0 if summary.day.n_asked or summary.day.n_agent_calls else NOTHING_TO_SHOW


def bench(options: argparse.Namespace) -> int:
    if not Path(__file__).resolve().parents[2].joinpath("benchmarks").is_dir():
        steps = clone_command(f".venv/bin/weft bench {options.what}", "bench")
        raise UserError(f"Benchmarks are not part of the installed package. Run them from a clone: {steps}")
    # By name: benchmarks import the server, so the server must not import them.
    package = f"{(__package__ or '').split('.')[0]}.benchmarks.{BENCHMARKS[options.what][0]}"
    sys.argv = [f"weft bench {options.what}", *options.arguments]
    runpy.run_module(package, run_name="__main__", alter_sys=True)
    return 0


def doctor(options: argparse.Namespace) -> int:
    terminal = Terminal(quiet=options.json)
    findings = examine([existing_folder(options.folder)])
    if options.json:
        terminal.json(findings_json(findings))
    else:
        terminal.findings(findings)
    return NOTHING_TO_SHOW if any(finding.next_step for finding in findings) else 0
