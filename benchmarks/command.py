"""One runner for the commands of the benchmarks: common options, exit statuses, a table, one JSON line, a page, files.

A command is an argument parser and a function from its options to a `Report`. Owns the name of the machine and the
folders of archives, rows and committed results. Knows no benchmark.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..llm import ModelError
from ..llm.installation import install_command
from ..memory.embedding import KINDS
from ..server.cli.exit_status import CANNOT_BE_DONE, INTERRUPTED
from ..version import __version__
from .models import model_option
from .plots import document
from .tables import aligned

WORK = Path(__file__).resolve().parent / ".work"
RESULTS = Path(__file__).resolve().parent / "results"

_OPTIONS: dict[str, dict[str, Any]] = {
    "work": {"type": Path, "default": WORK, "metavar": "DIR", "help": "folder for archives, their trees and rows"},
    "trees": {"type": Path, "metavar": "DIR", "help": "checkouts to use instead of the archives, by repository"},
    "repos": {"nargs": "+", "metavar": "REPO", "help": "parts of repository names; all by default"},
    "limit": {"type": int, "metavar": "N", "help": "at most N tasks or questions, spread over the data"},
    "seed": {"type": int, "default": 0, "metavar": "N"},
    "model": {"type": model_option("none"), "default": "none", "metavar": "BACKEND[=WHERE]"},
    "context": {"type": int, "default": 4096, "metavar": "TOKENS", "help": "tokens of prompt and answer (4096)"},
    "embeddings": {"choices": KINDS[:-2], "default": "auto", "help": "for dense scores and relations of meaning"},
    "machine": {"default": "", "metavar": "WORDS", "help": "description of this machine, for the results"},
    "html": {"type": Path, "metavar": "FILE", "help": "also write a page with plots and all figures"},
    "write-results": {"action": "store_true", "help": "also write the table and the JSON line to benchmarks/results"},
}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a command: Markdown for people, figures for machines."""

    benchmark: str
    text: str
    results: Mapping[str, Any]
    title: str = ""
    plots: str = ""  # HTML
    notes: str = ""  # Markdown that only the written page has
    command: str = ""  # to be repeated, for the written page; the command's name if not set
    status: int = 0


def command_parser(name: str, about: str | None, *common: str, **changed: Mapping[str, Any]) -> argparse.ArgumentParser:
    """A parser with some of the common options; `changed` are other settings of these options."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=name, description=about, formatter_class=formatter)
    for option in common:
        parser.add_argument(f"--{option}", **{**_OPTIONS[option], **changed.get(option, {})})
    return parser


def run_command(
    parser: argparse.ArgumentParser,
    measure: Callable[[argparse.Namespace], Report | int],
    arguments: Sequence[str] | None = None,
) -> int:
    """Parse, measure, print; the exit status. `measure` returns a status alone when there is nothing to print."""
    options = parser.parse_args(arguments)
    try:
        report = measure(options)
    except (UserError, ModelError, OSError) as error:
        say(str(error))
        return CANNOT_BE_DONE
    except ImportError as error:
        say(f"{error.name} is not installed. Run: {install_command('bench', 'train')}")
        return CANNOT_BE_DONE
    except KeyboardInterrupt:
        say("Interrupted. Run the same command to continue from the cached rows.")
        return INTERRUPTED
    if isinstance(report, int):
        return report
    measured = measured_on(getattr(options, "machine", ""))
    line = json.dumps({"benchmark": report.benchmark, **measured, **report.results}, ensure_ascii=False, sort_keys=True)
    text = "\n\n".join(filter(None, [report.title, report.text]))
    print(f"{aligned(text) if sys.stdout.isatty() else text}\n")
    print(line)
    if getattr(options, "html", None):
        body = f"<h1>{escape(report.title)}</h1>{report.plots}<h2>All figures</h2><pre>{escape(report.text)}</pre>"
        options.html.write_text(document(parser.prog, body), encoding="utf-8")
    if getattr(options, "write_results", False):
        _write_results(parser.prog, report, measured, line)
    return report.status


def measured_on(machine: str = "") -> dict[str, object]:
    """Versions and machine of a measurement; `machine` is a description that replaces the detected one."""
    return {
        "weft": __version__,
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "machine": machine or machine_name(),
        "cores": os.cpu_count(),
    }


def machine_name() -> str:
    """Description of the machine, for figures of speed."""
    return f"{os.cpu_count()} logical cores of {_processor()}, {platform.system()}, Python {platform.python_version()}"


def say(text: str) -> None:
    """Print progress to stderr."""
    print(text, file=sys.stderr, flush=True)


def _write_results(program: str, report: Report, measured: Mapping[str, object], line: str) -> None:
    made = f"{measured['date']}, Weft {measured['weft']}: {measured['machine']}."
    head = f"# {report.title}\n\n```\n{report.command or program}\n```\n\n{made}"
    text = "\n\n".join(filter(None, [head, report.text, report.notes]))
    (RESULTS / f"{report.benchmark}.md").write_text(f"{text}\n", encoding="utf-8")
    (RESULTS / f"{report.benchmark}.jsonl").write_text(f"{line}\n", encoding="utf-8")


def _processor() -> str:
    """The name of the processor, or its architecture where the system reports no more."""
    with suppress(OSError):
        if found := re.search(
            r"^model name.*?: *(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE
        ):
            return found[1]
    return platform.processor() or platform.machine()


def rounded(results: object) -> object:
    """The same values for a JSON line: four digits, null for NaN."""
    if isinstance(results, dict):
        return {name: rounded(value) for name, value in results.items()}
    if isinstance(results, list):
        return [rounded(value) for value in results]
    if isinstance(results, float):
        return None if math.isnan(results) else round(results, 4)
    return results
