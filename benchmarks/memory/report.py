"""What a run prints: a table for people, one JSON line for machines, a page where it is wanted.

Owns the layout, and the interval of a mean. Knows no measurement.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from ... import __version__
from ..machine import processor
from ..plots import document
from ..repoeval.metrics import mean, paired_interval


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is to the left and the others to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


Range = tuple[float, float, float]
"""The low end of a 95 % interval, the value, and the high end."""


def interval(strata: Mapping[str, Sequence[float]]) -> Range:
    """The mean over strata, with a bootstrap that draws again within each stratum."""
    return difference(strata, {name: [0.0] * len(values) for name, values in strata.items()})


def difference(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> Range:
    """The same of `first - second`, whose values belong to the same questions in the same order."""
    low, high = paired_interval(first, second)
    return low, mean(map(mean, first.values())) - mean(map(mean, second.values())), high


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def with_interval(values: Range) -> str:
    low, middle, high = values
    return f"{percent(middle)} [{percent(low)}, {percent(high)}]"


def signed(values: Range) -> str:
    low, middle, high = (100 * value for value in values)
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"


def say(what: str, title: str, text: str, results: object, *, machine: str, html: Path | None, plots: str = "") -> None:
    """Print the table and the JSON line; write the page."""
    measured = {
        "benchmark": f"memory {what}",
        "weft": __version__,
        "python": platform.python_version(),
        "machine": machine or processor(),
        "what": title,
        "results": results,
    }
    print(f"{title}\n\n{text}\n")
    print(json.dumps(measured, ensure_ascii=False, sort_keys=True))
    if html:
        body = f"<h1>{escape(title)}</h1>{plots}<h2>All figures</h2><pre>{escape(text)}</pre>"
        html.write_text(document(f"weft bench memory {what}", body), encoding="utf-8")
