"""Tables and JSON figures of loss and recall.

Owns the layout. Knows no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from ..bootstrap import interval, mean
from ..tables import markdown, percent, with_interval
from .measure import Measurement

Rows = Sequence[Measurement]
Cells = Mapping[tuple[str, int], Rows]
"""The rows of each method and length, in their order."""

BEYOND = "*"
"""Marks a figure with positions beyond those that the base model was trained on."""

N_DEPTHS = 5


def tables(rows: Rows) -> str:
    """Loss, recall, size of the memory and seconds by length; recall by depth of the fact at each length."""
    cells = _cells(rows)
    n_questions = sum(len(row.right) for row in next(iter(cells.values())))
    parts = [
        "Next-token loss, nats per token.",
        _by_length(cells, lambda of: f"{fmean(row.loss for row in of):.3f}"),
        f"Recall of facts, % [95 % interval]; {n_questions} questions a cell.",
        _by_length(cells, lambda of: with_interval(interval({str(row.text): row.right for row in of}))),
        "Tokens whose keys and values are cached, and their bytes in float32.",
        _by_length(cells, _memory_size),
        "Seconds to read a text.",
        _by_length(cells, lambda of: f"{fmean(row.seconds for row in of):.1f}"),
    ]
    shares = [f"{100 * n // N_DEPTHS}-{100 * (n + 1) // N_DEPTHS} %" for n in range(N_DEPTHS)]
    for length in sorted({row.length for row in rows}):
        lines = [[method, *map(percent, by_depth(of))] for (method, its), of in cells.items() if its == length]
        parts += [f"Recall by depth of the fact in texts of {length:,} tokens, %.", markdown(("", *shares), lines)]
    return "\n\n".join(parts)


def figures(rows: Rows) -> dict[str, dict[str, Any]]:
    """By method and length."""
    found: dict[str, dict[str, Any]] = {}
    for (method, length), of in _cells(rows).items():
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
    return [mean(part) for part in parts]


def _cells(rows: Rows) -> Cells:
    cells: dict[tuple[str, int], list[Measurement]] = {}
    for row in rows:
        cells.setdefault((row.method, row.length), []).append(row)
    return cells


def _by_length(cells: Cells, cell: Callable[[Rows], str]) -> str:
    lengths = sorted({length for _, length in cells})
    lines = []
    for method in dict.fromkeys(method for method, _ in cells):
        of_method = [cells.get((method, length), ()) for length in lengths]
        shown = [cell(of) + (BEYOND if any(row.beyond for row in of) else "") if of else "-" for of in of_method]
        lines.append([method, *shown])
    return markdown(("", *(f"{length:,}" for length in lengths)), lines)


def _memory_size(rows: Rows) -> str:
    return f"{max(row.kept_tokens for row in rows):,} ({max(row.kept_bytes for row in rows) / 1e6:.2f} MB)"
