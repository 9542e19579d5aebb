"""Tables of latency replays.

Owns the columns and their descriptions on the written page. Knows no replay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..tables import markdown
from .figures import KINDS

Figures = Mapping[str, Any]

COLUMNS: dict[str, Callable[[Figures], str]] = {
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
    "next edits p50 / p95 ms": lambda row: _pair(row.get("next_edits")),
    "processor s": lambda row: "-" if row.get("processor_s") is None else f"{row['processor_s']:.1f}",
}

TOKEN_COLUMNS: dict[str, Callable[[Figures], str]] = {
    "requests": lambda tokens: f"{tokens['requests']:,}",
    "closed early": lambda tokens: f"{tokens['closed_early']:,}",
    "warm-ups": lambda tokens: f"{tokens['warm_ups']:,}",
    "prompt tokens read": lambda tokens: f"{tokens['read']:,}",
    "from its cache": lambda tokens: f"{tokens['from_cache']:,}",
    "written": lambda tokens: f"{tokens['written']:,}",
    "answered with": lambda tokens: f"{tokens['answered']:,}",
    "thrown away": lambda tokens: _percent(tokens["thrown_away_share"]),
}

EXPLAINED = {
    "workspace": "Weft before the edits, alone, beside networkx, or beside four large packages; none of them contains "
    "the edits.",
    "editor": 'VS Code sends each change with a request and cancels its previous request; "+next" asks for next edits '
    "with each request, too; Neovim sends a request when the cursor has rested for 200 ms.",
    "model": "`embedded` is the workspace model, the default without configuration; `fixed` is simulated, behind "
    "HTTP in a process of its own, with a fixed speed.",
    "sent, superseded, unanswered, errors": "All requests; requests overtaken by the next key; requests without an "
    "answer, which must be none; requests with an error that were not cancelled.",
    "overhead": "From a request to its answer. With the embedded model this is the whole time, also for empty answers. "
    "With another model it is, for answers with a text, the time without the model's computation and the debounce.",
    "hits": "Answers with a text that called no model (cached, or the rest of the text that is being typed), as a "
    "share of all with a text, and their time.",
    "after last key": "From a key to the completion, including the editor's own wait.",
    "characters saved": "Accepted from completions, as a share of all characters. The simulated user accepts four of "
    "five correct completions that were visible for a quarter of a second.",
    "next edits": "Times and number of the answers to `weft/nextEdit` that no key overtook.",
    "processor s": "Processor time of the server while it was typed.",
}
"""The columns whose names need an explanation."""


def tables(rows: Sequence[Figures]) -> str:
    """All replays: overall, by kind of answer, tokens of the simulated model, reasons for empty answers, and steps."""
    parts = [
        markdown([*COLUMNS], [[cell(row) for cell in COLUMNS.values()] for row in rows]),
        "## Overhead by source of the answer\n\np50 / p95 in ms, and the number of answers.",
        _by_replay(KINDS, rows, lambda row, kind: _pair(row["overhead_by_kind"].get(kind))),
    ]
    if counted := [row for row in rows if "tokens" in row]:
        parts.append("## The simulated model's work, in tokens")
        parts.append(_by_replay([*TOKEN_COLUMNS], counted, lambda row, name: TOKEN_COLUMNS[name](row["tokens"])))
    reasons = sorted({reason for row in rows for reason in row["empty"]})
    parts += ["## Why nothing was shown", _by_replay(reasons, rows, lambda row, why: str(row["empty"].get(why, 0)))]
    steps = sorted({step for row in rows for step in row["steps"]})
    parts.append("## Steps of a request, as the server reports them")
    parts.append(_by_replay(steps, rows, lambda row, step: _pair(row["steps"].get(step))))
    return "\n\n".join(parts)


def notes(seconds: float) -> str:
    """The description of the columns on the written page."""
    explained = "\n".join(f"- **{name}**: {meaning}" for name, meaning in EXPLAINED.items())
    return (
        f"## Columns\n\n{seconds:g} s of typing each. Ratios are more reliable than milliseconds.\n"
        "Real edits of Weft's own history are replayed with bursts, pauses, typos, deletions and file switches "
        f"on the real server over stdio.\n\n{explained}"
    )


def _by_replay(names: Sequence[str], rows: Sequence[Figures], cell: Callable[[Figures, str], str]) -> str:
    """A line for each replay."""
    lines = [[f"{row['size']}, {row['editor']}, {row['model']}", *(cell(row, name) for name in names)] for row in rows]
    return markdown(["replay", *names], lines)


def _pair(percentiles: Figures | None) -> str:
    if percentiles is None:
        return "-"
    return f"{_ms(percentiles, 'p50')} / {_ms(percentiles, 'p95')} ({percentiles['n']})"


def _ms(percentiles: Figures | None, which: str) -> str:
    if percentiles is None:
        return "-"
    return f"{percentiles[which]:.0f}" if percentiles[which] >= 100 else f"{percentiles[which]:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
