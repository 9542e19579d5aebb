"""The replays as a table: for a terminal, and as the committed page.

Owns the columns and the page's words. Knows no replay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).resolve().parent.parent / "results"

Row = Mapping[str, Any]

COLUMNS: dict[str, Callable[[Row], str]] = {
    "workspace": lambda row: f"{row['lines']:,} lines",
    "editor": lambda row: row["editor"],
    "model": lambda row: row["model"],
    "keys": lambda row: str(row["keys"]),
    "sent": lambda row: str(row["sent"]),
    "superseded": lambda row: str(row["superseded"]),
    "unanswered": lambda row: str(row["unanswered"]),
    "errors": lambda row: str(row["errors"]),
    "with text": lambda row: str(sum(n for kind, n in row["kinds"].items() if kind != "empty")),
    "hits": lambda row: _percent(row["hit_share"]),
    "overhead p50 ms": lambda row: _ms(row["overhead"], "p50"),
    "p95": lambda row: _ms(row["overhead"], "p95"),
    "hits p50": lambda row: _ms(row["hits"], "p50"),
    "hits p95": lambda row: _ms(row["hits"], "p95"),
    "after last key p50": lambda row: _ms(row["after_last_key"], "p50"),
    "after last key p95": lambda row: _ms(row["after_last_key"], "p95"),
    "characters saved": lambda row: _percent(row["saved_share"]),
}

KIND_COLUMNS = ("model", "joined", "speculated", "cache", "typed-through", "empty")

TOKEN_COLUMNS = {
    "requests": "requests",
    "closed early": "closed_early",
    "warm-ups": "warm_ups",
    "prompt tokens read": "read",
    "from its cache": "from_cache",
    "written": "written",
    "answered with": "answered",
}

EXPLAINED = {
    "workspace": "Weft as it stood before the edits, alone, beside networkx, or beside four large packages; nothing in "
    "it gives the edits away.",
    "editor": "VS Code sends and asks at every change and cancels what it asked before; Neovim asks when the cursor "
    "has rested for 200 ms.",
    "model": "`embedded` is the workspace model that Weft has without any configuration; `fixed` is made up, behind "
    "HTTP in a process of its own, with a fixed speed.",
    "sent, superseded, unanswered, errors": "Requests; those that the next key overtook; those never answered, which "
    "must be none; those answered with an error although nobody cancelled them.",
    "overhead": "From a request to its answer. With the embedded model that is all of it, for empty answers as well; "
    "with another one, of answers with a text, what is left without the time that the model computed and the wait for "
    "the next key.",
    "hits": "Answers with a text that asked no model (kept from before, or the rest of what is being typed), as a "
    "share of all with a text, and their time.",
    "after last key": "From a key to the completion, with the editor's own wait.",
    "characters saved": "Taken from completions, of all that were written. Somebody takes four of five completions "
    "that are just what was meant, when they were seen for a quarter of a second.",
}
"""The columns that are not plain."""


def print_table(report: Row) -> None:
    console = Console(width=230)
    console.print(_table(f"latency, {report['machine']}", [[*COLUMNS], *_cells(report)]))
    console.print(_table("overhead by kind of answer, p50 / p95 ms (answers)", [*_kinds(report)]))
    if len(tokens := [*_tokens(report)]) > 1:
        console.print(_table("tokens of the fixed model", tokens))


def write_results(report: Row) -> None:
    """`benchmarks/results/latency.md`, with the JSON line beside it."""
    parts = [
        "# Latency while somebody types",
        "",
        f"`weft bench latency` on {report['machine']}; {report['seconds']:g} s of typing each. Read ratios before "
        "milliseconds.",
        "Real edits of Weft's own history are typed again, with bursts, pauses, typos, deletions and file switches, "
        "into the real server over stdio.",
        "",
        *_markdown([[*COLUMNS], *_cells(report)]),
        "",
        *(f"- **{name}**: {meaning}" for name, meaning in EXPLAINED.items()),
        "",
        "## By kind of answer",
        "",
        "Overhead p50 / p95 in ms, and how many.",
        "",
        *_markdown([*_kinds(report)]),
        "",
    ]
    if len(tokens := [*_tokens(report)]) > 1:
        parts += ["## The fixed model's work, in tokens", "", *_markdown(tokens), ""]
    parts += ["## Why nothing was shown", "", *_markdown([*_reasons(report)]), ""]
    parts += ["## Steps of a request, as the server tells them", "", *_markdown([*_steps(report)]), ""]
    (RESULTS / "latency.md").write_text("\n".join(parts), encoding="utf-8")
    (RESULTS / "latency.jsonl").write_text(json.dumps(report) + "\n", encoding="utf-8")


def _cells(report: Row) -> list[list[str]]:
    return [[cell(row) for cell in COLUMNS.values()] for row in report["rows"]]


def _kinds(report: Row) -> list[list[str]]:
    return [["replay", *KIND_COLUMNS]] + [
        [_name(row), *(_pair(row["overhead_by_kind"].get(kind)) for kind in KIND_COLUMNS)] for row in report["rows"]
    ]


def _tokens(report: Row) -> list[list[str]]:
    rows = [row for row in report["rows"] if "tokens" in row]
    return [["replay", *TOKEN_COLUMNS, "thrown away"]] + [
        [
            _name(row),
            *(f"{row['tokens'][key]:,}" for key in TOKEN_COLUMNS.values()),
            _percent(row["tokens"]["thrown_away_share"]),
        ]
        for row in rows
    ]


def _reasons(report: Row) -> list[list[str]]:
    reasons = sorted({reason for row in report["rows"] for reason in row["empty"]})
    return [["replay", *reasons]] + [
        [_name(row), *(str(row["empty"].get(reason, 0)) for reason in reasons)] for row in report["rows"]
    ]


def _steps(report: Row) -> list[list[str]]:
    steps = sorted({step for row in report["rows"] for step in row["steps"]})
    return [["replay", *steps]] + [
        [_name(row), *(_pair(row["steps"].get(step)) for step in steps)] for row in report["rows"]
    ]


def _name(row: Row) -> str:
    return f"{row['size']}, {row['editor']}, {row['model']}"


def _pair(percentiles: Row | None) -> str:
    if percentiles is None:
        return "-"
    return f"{_ms(percentiles, 'p50')} / {_ms(percentiles, 'p95')} ({percentiles['n']})"


def _ms(percentiles: Row | None, which: str) -> str:
    if percentiles is None:
        return "-"
    return f"{percentiles[which]:.0f}" if percentiles[which] >= 100 else f"{percentiles[which]:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _table(title: str, cells: list[list[str]]) -> Table:
    table = Table(*cells[0], title=title, title_justify="left")
    for row in cells[1:]:
        table.add_row(*row)
    return table


def _markdown(cells: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|---" * len(cells[0]) + "|", *lines[1:]]
