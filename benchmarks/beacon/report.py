"""Tables and JSON figures of loss and recall.

Owns the layout. Knows no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from ..bootstrap import interval
from ..tables import markdown, percent, with_interval
from .measure import Measurement

Rows = Sequence[Measurement]

BEYOND = "*"
"""Marks a figure with positions beyond those that the base model was trained on."""

N_DEPTHS = 5


def tables(rows: Rows) -> str:
    """Loss, recall, size of the memory and seconds by length; recall by depth of the fact at each length."""
    lengths = sorted({row.length for row in rows})
    parts = [
        "Next-token loss, nats per token.",
        _by_length(rows, lengths, lambda of: f"{fmean(row.loss for row in of):.3f}"),
        f"Recall of facts, % [95 % interval]; {_questions(rows)} questions a cell.",
        _by_length(rows, lengths, lambda of: with_interval(interval({str(row.text): row.right for row in of}))),
        "Tokens whose keys and values are cached, and their bytes in float32.",
        _by_length(rows, lengths, _memory_size),
        "Seconds to read a text.",
        _by_length(rows, lengths, lambda of: f"{fmean(row.seconds for row in of):.1f}"),
    ]
    for length in lengths:
        of_length = [row for row in rows if row.length == length]
        shares = [f"{100 * n // N_DEPTHS}-{100 * (n + 1) // N_DEPTHS} %" for n in range(N_DEPTHS)]
        parts.append(f"Recall by depth of the fact in texts of {length:,} tokens, %.")
        parts.append(
            markdown(("", *shares), [[method, *map(percent, by_depth(of))] for method, of in _by_method(of_length)])
        )
    return "\n\n".join(parts)


def figures(rows: Rows) -> dict[str, dict[str, Any]]:
    """By method and length."""
    found: dict[str, dict[str, Any]] = {}
    for method, of_method in _by_method(rows):
        for length in sorted({row.length for row in of_method}):
            of = [row for row in of_method if row.length == length]
            right = [value for row in of for value in row.right]
            found.setdefault(method, {})[str(length)] = {
                "loss": round(fmean(row.loss for row in of), 4),
                "recall": round(fmean(right), 4),
                "n": len(right),
                "by_depth": [round(share, 4) for share in by_depth(of)],
                "kept_tokens": max(row.kept_tokens for row in of),
                "kept_bytes": max(row.kept_bytes for row in of),
                "beyond": any(row.beyond for row in of),
                "seconds": round(fmean(row.seconds for row in of), 2),
            }
    return found


def by_depth(rows: Rows) -> list[float]:
    """Recall of facts in each part of the text, the first part first; nan for a part without a question."""
    parts: list[list[bool]] = [[] for _ in range(N_DEPTHS)]
    for row in rows:
        for depth, right in zip(row.depths, row.right, strict=True):
            parts[int(depth * N_DEPTHS)].append(right)
    return [fmean(part) if part else float("nan") for part in parts]


def _by_length(rows: Rows, lengths: Sequence[int], cell: Callable[[Rows], str]) -> str:
    lines = []
    for method, of_method in _by_method(rows):
        cells = []
        for length in lengths:
            of = [row for row in of_method if row.length == length]
            cells.append(cell(of) + (BEYOND if any(row.beyond for row in of) else "") if of else "-")
        lines.append([method, *cells])
    return markdown(("", *(f"{length:,}" for length in lengths)), lines)


def _by_method(rows: Rows) -> list[tuple[str, list[Measurement]]]:
    """In the order of the rows."""
    names = dict.fromkeys(row.method for row in rows)
    return [(name, [row for row in rows if row.method == name]) for name in names]


def _memory_size(rows: Rows) -> str:
    return f"{max(row.kept_tokens for row in rows):,} ({max(row.kept_bytes for row in rows) / 1e6:.2f} MB)"


def _questions(rows: Rows) -> int:
    first = rows[0]
    return sum(len(row.right) for row in rows if (row.method, row.length) == (first.method, first.length))
