"""Markdown tables and their cells.

Owns the layout. Knows no figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .bootstrap import Range


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its first column left-aligned and the others right-aligned."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def aligned(text: str) -> str:
    """The same Markdown with padded columns, for a terminal."""
    done, table = list[str](), list[list[str]]()
    for line in [*text.split("\n"), ""]:
        if line.startswith("| "):
            table.append(line[2:-2].split(" | "))
            continue
        widths = [max(map(len, column)) for column in zip(*table, strict=False)]
        for cells in table:
            first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
            done.append(f"| {' | '.join([cells[0].ljust(len(first)), *others])} |")
        table.clear()
        done.append(line)
    return "\n".join(done[:-1])


def number(value: float | None, pattern: str = "{:.1f}") -> str:
    """A cell; "-" for a missing figure."""
    return "-" if value is None or math.isnan(value) else pattern.format(value)


def percent(share: float | None) -> str:
    return number(None if share is None else 100 * share)


def with_interval(values: Range) -> str:
    """A share with its interval, in percent."""
    low, middle, high = values
    return f"{percent(middle)} [{percent(low)}, {percent(high)}]"


def signed(values: Range) -> str:
    """A difference of shares with its interval, in percent."""
    low, middle, high = (100 * value for value in values)
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"


def bracketed(interval: tuple[float, float]) -> str:
    """The interval of a difference behind a figure; nothing where there is none."""
    return "" if math.isnan(interval[0]) else " [{:+.1f}, {:+.1f}]".format(*interval)


def or_none(value: float, digits: int = 2) -> float | None:
    """Rounded for JSON, which has no NaN."""
    return None if math.isnan(value) else round(value, digits)
