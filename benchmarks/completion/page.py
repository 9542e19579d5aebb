"""Plots of a run: exact match by setting, calibration, latency.

Owns the choice of plots. Drawing is in `benchmarks/plots`, definitions of figures in `figures`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from ..bootstrap import mean, percentile
from ..plots import across, down, line, name_at, ranges_plot, rows_plot
from . import figures
from .answering import THRESHOLD, CompletionRow
from .figures import exact_match
from .report import KINDS, ModelResults


def plots(results: Sequence[ModelResults]) -> str:
    """HTML."""
    body = []
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
    return "".join(body)


def _matches(settings: Mapping[str, Sequence[CompletionRow]]) -> str:
    ranges = {name: figures.interval(rows, exact_match) for name, rows in settings.items()}
    return ranges_plot(
        {name: (low, mean(map(exact_match, settings[name])), high) for name, (low, high) in ranges.items()}
    )


def _times(settings: Mapping[str, Sequence[CompletionRow]]) -> str:
    spread = {
        name: [percentile((row.ms for row in rows), share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
        for name, rows in settings.items()
    }
    # Whole powers of ten around everything.
    first = math.floor(math.log10(max(1e-2, min(times[0] for times in spread.values()))))
    last = max(first + 1, math.ceil(math.log10(max(1e-2, *(times[-1] for times in spread.values())))))

    def place(milliseconds: float) -> float:
        return across((math.log10(max(milliseconds, 10.0**first)) - first) / (last - first))

    marks = []
    for number, (name, times) in enumerate(spread.items()):
        y = down(number)
        low, quarter, middle, three_quarters, high = map(place, times)
        marks += [line(low, y, high, y), line(quarter, y, three_quarters, y, width=6), name_at(name, y)]
        marks += [line(middle, y - 7, middle, y + 7), f'<text x="{high + 8:.1f}" y="{y + 4}">{times[2]:.1f}</text>']
    ticks = [((power - first) / (last - first), f"{10.0**power:g}") for power in range(first, last + 1)]
    return rows_plot(len(settings), ticks, marks)


def _reliability(bins: Sequence[figures.Bin]) -> str:
    size, left = 320, 60

    def at(x: float, y: float) -> tuple[float, float]:
        return left + size * x, 20 + size * (1 - y)

    parts = []
    for tenth in range(0, 11, 2):
        (x, low), (_, high) = at(tenth / 10, 0), at(tenth / 10, 1)
        (first, y), (last, _) = at(0, tenth / 10), at(1, tenth / 10)
        parts += [line(x, low, x, high, "grid"), line(first, y, last, y, "grid")]
        parts.append(f'<text x="{x}" y="{low + 18}" text-anchor="middle">{10 * tenth} %</text>')
        parts.append(f'<text x="{first - 8}" y="{y + 4}" text-anchor="end">{10 * tenth} %</text>')
    parts += [line(*at(0, 0), *at(1, 1), "other"), line(*at(THRESHOLD, 0), *at(THRESHOLD, 1), "other")]
    for each in bins:
        x, y = at(each.confidence, each.right)
        parts.append(
            f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{each.n} of {each.confidence:.0%}: '
            f"{each.right:.0%} right</title></circle>"
        )
    x, y = at(0.5, 0)
    parts.append(f'<text x="{x}" y="{y + 38}" text-anchor="middle">confidence; dashed: the default threshold</text>')
    return f'<svg viewBox="0 0 {left + size + 40} {size + 70}" width="{left + size + 40}">{"".join(parts)}</svg>'
