"""Plots of a parameter sweep, over the budget, over alpha and over w_rel.

Owns which curves there are. How they are drawn is `benchmarks.plots`'s; knows no data set and no metric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..plots import curves_plot
from .fragrel_sweep import SweepRow, SweepSetting


def plots(rows: Sequence[SweepRow]) -> str:
    """HTML with a plot for each setting of which a curve has at least two values."""
    drawn = [
        ("words of evidence", _curves(rows, _by_budget, lambda setting: float(setting.budget_words))),
        ("alpha", _curves(_context(rows), _by_w_rel, lambda setting: setting.alpha)),
        ("w_rel", _curves(_context(rows), _by_alpha, lambda setting: setting.w_rel)),
    ]
    return "".join(f"<h2>Over {name}</h2>{curves_plot(curves, name)}" for name, curves in drawn if curves)


def _curves(
    rows: Sequence[SweepRow], name: Callable[[SweepSetting], str], value: Callable[[SweepSetting], float]
) -> dict[str, list[tuple[float, float]]]:
    curves: dict[str, dict[float, float]] = {}
    for row in rows:
        curves.setdefault(name(row.setting), {}).setdefault(value(row.setting), row.mean)
    return {name: list(points.items()) for name, points in curves.items() if len(points) > 1}


def _context(rows: Sequence[SweepRow]) -> list[SweepRow]:
    return [row for row in rows if row.setting.kind == "context"]


def _by_budget(setting: SweepSetting) -> str:
    return f"C{setting.segment_words} {setting.kind}"


def _by_w_rel(setting: SweepSetting) -> str:
    return f"{setting.budget_words:,} C{setting.segment_words}, w_rel {setting.w_rel:g}"


def _by_alpha(setting: SweepSetting) -> str:
    return f"{setting.budget_words:,} C{setting.segment_words}, alpha {setting.alpha:g}"
