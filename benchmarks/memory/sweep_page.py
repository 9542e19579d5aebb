"""One page with the curves of a sweep: what is measured over the budget, over alpha and over w_rel.

Owns the drawing; needs no other file and no script. Knows no data set and no metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from ...memory.fragrel.sweep import Row, Setting

WIDTH, HEIGHT, LEFT, BOTTOM, LEGEND = 720, 320, 60, 50, 190
COLOURS = ("#2563a8", "#b4572a", "#3c8d40", "#8a4fb0", "#b59a1f", "#4c9aa3")

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #ffffff; --line: #d5dae1; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --paper: #14181d; --line: #38414c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 960px;
  margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .grid { stroke: var(--line); }
"""

Points = Sequence[tuple[float, float]]


def html_page(title: str, rows: Sequence[Row]) -> str:
    """The whole page; a plot where at least two values of a setting differ."""
    plots = [
        ("words of evidence", _curves(rows, _by_budget, lambda setting: float(setting.budget_words))),
        ("alpha", _curves(_context(rows), _by_w_rel, lambda setting: setting.alpha)),
        ("w_rel", _curves(_context(rows), _by_alpha, lambda setting: setting.w_rel)),
    ]
    body = [f"<h2>Over {name}</h2>{plot(curves, name)}" for name, curves in plots if curves]
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>weft bench memory sweep</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><h1>FragRel</h1><p>{escape(title)}</p>{''.join(body)}</body></html>\n"
    )


def plot(curves: Mapping[str, Points], below: str) -> str:
    """Curves over one axis, as SVG; the values are percents, and the axis begins where they do."""
    across = [x for points in curves.values() for x, _ in points]
    upwards = [y for points in curves.values() for _, y in points]
    low, high = 5 * (min(upwards) // 5), min(100.0, 5 * (max(upwards) // 5 + 1))
    left, right = min(across), max(across)

    def at(x: float, y: float) -> tuple[float, float]:
        share_x = (x - left) / ((right - left) or 1)
        share_y = (y - low) / ((high - low) or 1)
        return LEFT + share_x * (WIDTH - LEFT - LEGEND), 15 + (1 - share_y) * (HEIGHT - BOTTOM - 15)

    parts = list[str]()
    for value in (low, (low + high) / 2, high):
        (x1, y), (x2, _) = at(left, value), at(right, value)
        parts.append(f'<line class="grid" x1="{x1:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x1 - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in sorted(set(across)):
        x, y = at(value, low)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{value:g}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - LEGEND) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(below)}</text>'
    )
    for number, (name, points) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [at(x, y) for x, y in sorted(points)]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), (_, value) in zip(places, sorted(points), strict=True):
            label = f"<title>{escape(name)}: {value:.2f}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{label}</circle>')
        y = 24 + 20 * number
        parts.append(f'<rect x="{WIDTH - LEGEND + 20}" y="{y - 9}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - LEGEND + 38}" y="{y + 1}">{escape(name)}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">{"".join(parts)}</svg>'


def _curves(
    rows: Sequence[Row], name: Callable[[Setting], str], value: Callable[[Setting], float]
) -> dict[str, list[tuple[float, float]]]:
    curves: dict[str, dict[float, float]] = {}
    for row in rows:
        curves.setdefault(name(row.setting), {}).setdefault(value(row.setting), row.mean)
    return {name: list(points.items()) for name, points in curves.items() if len(points) > 1}


def _context(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.setting.kind == "context"]


def _by_budget(setting: Setting) -> str:
    return f"C{setting.segment_words} {setting.kind}"


def _by_w_rel(setting: Setting) -> str:
    return f"{setting.budget_words:,} C{setting.segment_words}, w_rel {setting.w_rel:g}"


def _by_alpha(setting: Setting) -> str:
    return f"{setting.budget_words:,} C{setting.segment_words}, alpha {setting.alpha:g}"
