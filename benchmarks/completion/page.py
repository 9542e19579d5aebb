"""One page with plots: exact match by setting, calibration, latency. It needs no other file and no script.

Owns the drawing. What a figure means is in `figures`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from . import figures
from .answering import Row
from .figures import exact_match, mean, percentile
from .report import KINDS, THRESHOLD, Results, described, machine, report

WIDTH, ROW_HEIGHT, LABELS = 720, 22, 210
"""Of a plot, and of the names left of it, in pixels."""

_STYLE = """
:root { --ink: #1c2430; --paper: #ffffff; --line: #d5dae1; --mark: #2563a8; --other: #b4572a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde3ea; --paper: #14181d; --line: #38414c; --mark: #74b0ee; --other: #e29a6c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 960px;
  margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; display: block; margin: 0.5rem 0 1.5rem; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .grid { stroke: var(--line); } svg .mark { stroke: var(--mark); fill: var(--mark); }
svg .other { stroke: var(--other); fill: none; stroke-dasharray: 4 3; }
pre { overflow-x: auto; background: color-mix(in srgb, var(--line) 30%, var(--paper)); padding: 0.8rem;
  font-size: 12px; }
"""


def html_page(results: Sequence[Results], against: str, words: str = "") -> str:
    """The whole page; `words` say what the machine is."""
    body = [f"<h1>Completions on RepoEval's tasks</h1><p>{escape(described(machine(words)))}</p>"]
    for result in results:
        body.append(f"<h2>{escape(result.title)}</h2>")
        for kind, title in KINDS.items():
            settings = result.of(kind)
            if settings:
                n_tasks = len(next(iter(settings.values())))
                body.append(f"<h3>{title}: exact match of {n_tasks}, with 95 % intervals</h3>{_matches(settings)}")
                body.append(f"<h3>{title}: milliseconds, 5 to 95 %, the middle half, the median</h3>{_times(settings)}")
        for setting, rows in result.of("line").items():
            if setting == "weft" and (bins := figures.reliability(rows)):
                body.append(f"<h3>Confidence against share right, tenths of the line tasks</h3>{_reliability(bins)}")
        body.append(f"<h3>All figures</h3><pre>{escape(report(result, against))}</pre>")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>weft bench completion</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><style>{_STYLE}</style></head><body>{"".join(body)}</body></html>\n'
    )


def _matches(settings: Mapping[str, Sequence[Row]]) -> str:
    ranges = {name: figures.interval(rows, exact_match) for name, rows in settings.items()}
    top = 5 * math.ceil(max(high for _, high in ranges.values()) / 5) or 5
    marks = []
    for number, (name, rows) in enumerate(settings.items()):
        middle = mean(map(exact_match, rows))
        low, at, high = (_across(value / top) for value in (ranges[name][0], middle, ranges[name][1]))
        y = _down(number)
        marks += [_line(low, y, high, y), f'<circle class="mark" cx="{at:.1f}" cy="{y}" r="4"/>', _name(name, y)]
        marks.append(f'<text x="{high + 8:.1f}" y="{y + 4}">{middle:.1f}</text>')
    return _plot(len(settings), [(share / 5, f"{top * share / 5:g} %") for share in range(6)], marks)


def _times(settings: Mapping[str, Sequence[Row]]) -> str:
    spread = {
        name: [percentile((row.ms for row in rows), share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
        for name, rows in settings.items()
    }
    # Whole powers of ten around everything.
    first = math.floor(math.log10(max(1e-2, min(times[0] for times in spread.values()))))
    last = max(first + 1, math.ceil(math.log10(max(1e-2, *(times[-1] for times in spread.values())))))

    def across(milliseconds: float) -> float:
        return _across((math.log10(max(milliseconds, 10.0**first)) - first) / (last - first))

    marks = []
    for number, (name, times) in enumerate(spread.items()):
        y = _down(number)
        low, quarter, middle, three_quarters, high = map(across, times)
        marks += [_line(low, y, high, y), _line(quarter, y, three_quarters, y, width=6), _name(name, y)]
        marks += [_line(middle, y - 7, middle, y + 7), f'<text x="{high + 8:.1f}" y="{y + 4}">{times[2]:.1f}</text>']
    ticks = [((power - first) / (last - first), f"{10.0**power:g}") for power in range(first, last + 1)]
    return _plot(len(settings), ticks, marks)


def _reliability(bins: Sequence[figures.Bin]) -> str:
    size, left = 320, 60

    def at(x: float, y: float) -> tuple[float, float]:
        return left + size * x, 20 + size * (1 - y)

    parts = []
    for tenth in range(0, 11, 2):
        (x, low), (_, high) = at(tenth / 10, 0), at(tenth / 10, 1)
        (first, y), (last, _) = at(0, tenth / 10), at(1, tenth / 10)
        parts += [_line(x, low, x, high, "grid"), _line(first, y, last, y, "grid")]
        parts.append(f'<text x="{x}" y="{low + 18}" text-anchor="middle">{10 * tenth} %</text>')
        parts.append(f'<text x="{first - 8}" y="{y + 4}" text-anchor="end">{10 * tenth} %</text>')
    parts += [_line(*at(0, 0), *at(1, 1), "other"), _line(*at(THRESHOLD, 0), *at(THRESHOLD, 1), "other")]
    for each in bins:
        x, y = at(each.confidence, each.right)
        parts.append(
            f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{each.n} of {each.confidence:.0%}: '
            f"{each.right:.0%} right</title></circle>"
        )
    x, y = at(0.5, 0)
    parts.append(f'<text x="{x}" y="{y + 38}" text-anchor="middle">confidence; dashed: the default threshold</text>')
    return f'<svg viewBox="0 0 {left + size + 40} {size + 70}" width="{left + size + 40}">{"".join(parts)}</svg>'


def _plot(n_rows: int, ticks: Iterable[tuple[float, str]], marks: Iterable[str]) -> str:
    """Rows of marks over an axis whose ticks stand at shares of the width."""
    height = n_rows * ROW_HEIGHT + 40
    axis = []
    for share, text in ticks:
        x = _across(share)
        axis.append(_line(x, 10, x, height - 25, "grid"))
        axis.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{text}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">{"".join(axis)}{"".join(marks)}</svg>'


def _across(share: float) -> float:
    return LABELS + share * (WIDTH - LABELS - 60)


def _down(row: int) -> int:
    return 20 + row * ROW_HEIGHT


def _name(name: str, y: float) -> str:
    return f'<text x="{LABELS - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "mark", width: int = 1) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {place} stroke-width="{width}"/>'
