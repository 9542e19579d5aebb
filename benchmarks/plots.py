"""SVG plots in self-contained HTML pages or files: rows of marks over an axis, and curves.

Owns the drawing and the look. Knows no benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

WIDTH, ROW_HEIGHT, LABELS = 720, 22, 210
"""Of a plot, and of the names left of it, in pixels."""

HEIGHT, LEFT, BOTTOM, LEGEND = 320, 60, 50, 190
"""Of a plot with curves: its height, the space for numbers left and below, and for the names right of it."""

COLOURS = ("#2563a8", "#b4572a", "#3c8d40", "#8a4fb0", "#b59a1f", "#4c9aa3")

_COLOURS_AND_FONTS = """
:root { --ink: #1c2430; --paper: #ffffff; --line: #d5dae1; --mark: #2563a8; --other: #b4572a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde3ea; --paper: #14181d; --line: #38414c; --mark: #74b0ee; --other: #e29a6c; }
}
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .grid { stroke: var(--line); } svg .mark { stroke: var(--mark); fill: var(--mark); }
svg .other { stroke: var(--other); fill: none; stroke-dasharray: 4 3; } svg .paper { fill: var(--paper); }
"""

_STYLE = f"""{_COLOURS_AND_FONTS}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 960px;
  margin: 2rem auto; padding: 0 1rem; }}
svg {{ max-width: 100%; height: auto; display: block; margin: 0.5rem 0 1.5rem; }}
pre {{ overflow-x: auto; background: color-mix(in srgb, var(--line) 30%, var(--paper)); padding: 0.8rem;
  font-size: 12px; }}
"""


def document(title: str, body: str) -> str:
    """The whole page around a body, which is HTML already."""
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><style>{_STYLE}</style></head><body>{body}</body></html>\n'
    )


def ranges_plot(ranges: Mapping[str, tuple[float, float, float]]) -> str:
    """A row for each name with low end, value and high end, in percent."""
    top = 5 * math.ceil(max(high for _, _, high in ranges.values()) / 5) or 5
    marks = []
    for number, (name, values) in enumerate(ranges.items()):
        y = down(number)
        low, at, high = (across(value / top) for value in values)
        marks += [line(low, y, high, y), f'<circle class="mark" cx="{at:.1f}" cy="{y}" r="4"/>', name_at(name, y)]
        marks.append(f'<text x="{high + 8:.1f}" y="{y + 4}">{values[1]:.1f}</text>')
    return rows_plot(len(ranges), [(share / 5, f"{top * share / 5:g} %") for share in range(6)], marks)


def curves_plot(
    curves: Mapping[str, Sequence[tuple[float, float]]], below: str, names: Mapping[float, str] = {}
) -> str:
    """Curves over one axis with a title; `names` replace numbers there. Values are in percent."""
    horizontal = [x for points in curves.values() for x, _ in points]
    vertical = [y for points in curves.values() for _, y in points]
    low, high = 5 * (min(vertical) // 5), min(100.0, 5 * (max(vertical) // 5 + 1))
    first, last = min(horizontal), max(horizontal)

    def at(x: float, y: float) -> tuple[float, float]:
        share_x, share_y = (x - first) / ((last - first) or 1), (y - low) / ((high - low) or 1)
        return LEFT + share_x * (WIDTH - LEFT - LEGEND), 15 + (1 - share_y) * (HEIGHT - BOTTOM - 15)

    parts = list[str]()
    for value in (low, (low + high) / 2, high):
        (start, y), (end, _) = at(first, value), at(last, value)
        parts.append(line(start, y, end, y, "grid"))
        parts.append(f'<text x="{start - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in sorted(set(horizontal)):
        x, y = at(value, low)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{names.get(value, f"{value:g}")}</text>')
    middle = (LEFT + WIDTH - LEGEND) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(below)}</text>')
    for number, (name, points) in enumerate(curves.items()):
        parts += _curve(number, name, [(*at(x, value), f"{value:.2f}") for x, value in sorted(points)])
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">{"".join(parts)}</svg>'


def growth_plot(curves: Mapping[str, Sequence[tuple[float, float]]], below: str, beside: str) -> str:
    """Curves over two logarithmic axes with titles, for values above 0.

    A dashed line begins at the first point of the first curve and grows as the values below do: what grows faster is
    steeper.
    """
    horizontal = [x for points in curves.values() for x, _ in points]
    vertical = [y for points in curves.values() for _, y in points]
    first, last = min(horizontal), max(horizontal)
    decades = range(math.floor(math.log10(min(vertical))), math.ceil(math.log10(max(vertical))) + 1)
    low, high = 10.0 ** decades[0], 10.0 ** decades[-1]

    def at(x: float, y: float) -> tuple[float, float]:
        share_x, share_y = _log_share(x, first, last), _log_share(y, low, high)
        return LEFT + share_x * (WIDTH - LEFT - LEGEND), 30 + (1 - share_y) * (HEIGHT - BOTTOM - 30)

    parts = [f'<text x="8" y="16">{escape(beside)}</text>']
    for decade in decades:
        (start, y), (end, _) = at(first, 10.0**decade), at(last, 10.0**decade)
        parts.append(line(start, y, end, y, "grid"))
        parts.append(f'<text x="{start - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:,.10g}</text>')
    for value in sorted(set(horizontal)):
        x, y = at(value, low)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{value:.3g}</text>')
    middle = (LEFT + WIDTH - LEGEND) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(below)}</text>')
    x, y = min(next(iter(curves.values())))
    reached = min(last, x * high / y)
    parts.append(line(*at(x, y), *at(reached, y * reached / x), "other"))
    for number, (name, points) in enumerate(curves.items()):
        marks = [(*at(x, value), f"{value:,.3g}") for x, value in sorted(points)]
        parts += _curve(number, name, marks)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">{"".join(parts)}</svg>'


def picture(plot: str) -> str:
    """A plot as the text of an SVG file, readable on a light and on a dark page."""
    head, _, content = plot.partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f'{head}><style>{_COLOURS_AND_FONTS}</style><rect width="100%" height="100%" class="paper"/>{content}\n'


def rows_plot(n_rows: int, ticks: Iterable[tuple[float, str]], marks: Iterable[str]) -> str:
    """Rows of marks over an axis; ticks are at shares of the width."""
    height = n_rows * ROW_HEIGHT + 40
    axis = []
    for share, text in ticks:
        x = across(share)
        axis.append(line(x, 10, x, height - 25, "grid"))
        axis.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{text}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">{"".join(axis)}{"".join(marks)}</svg>'


def across(share: float) -> float:
    return LABELS + share * (WIDTH - LABELS - 60)


def down(row: int) -> int:
    return 20 + row * ROW_HEIGHT


def name_at(name: str, y: float) -> str:
    return f'<text x="{LABELS - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "mark", width: int = 1) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {place} stroke-width="{width}"/>'


def _curve(number: int, name: str, marks: Sequence[tuple[float, float, str]]) -> Iterator[str]:
    """A curve with its points in pixels, each with its value, and its name beside the plot."""
    colour = COLOURS[number % len(COLOURS)]
    points_of_line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in marks)
    yield f'<polyline points="{points_of_line}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y, value in marks:
        label = f"<title>{escape(name)}: {value}</title>"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{label}</circle>'
    y = 24 + 20 * number
    yield f'<rect x="{WIDTH - LEGEND + 20}" y="{y - 9}" width="12" height="12" fill="{colour}"/>'
    yield f'<text x="{WIDTH - LEGEND + 38}" y="{y + 1}">{escape(name)}</text>'


def _log_share(value: float, low: float, high: float) -> float:
    """Where a value is between two others, on a logarithmic scale."""
    return math.log(value / low) / (math.log(high / low) or 1)
