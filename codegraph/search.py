"""Strengths from a few nodes outwards: up the syntax trees, down to fragments, and along calls.

Owns the search, each step of it a few numpy calls for all points of all searches at once, and its bounds. Searches that
run side by side are told apart by *rows*. Knows layouts, no scores; what is a source, and what the strengths are good
for, is for `relations` to say.

Everything rests on one observation: every ancestor of a point may offer its whole subtree, the part that the point
itself came from included. What is reached by such a detour is reached stronger without it, and the maximum forgets it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Floats, Longs, look_up, ranges, strongest_in_rows, strongest_per, sum_per
from .layout import Items, Layout, Links, Points
from .layouts import Layouts

# What bounds a search along calls, each per row. With these, benchmarks/engine/relations.py finds 9.9 of the 10 best
# fragments of the exact matrix (benchmarks/results/relations.md).
MAX_DEFINITIONS = 128  # followed per round, the strongest
MAX_CALLERS = 64  # of one definition
MAX_ARRIVALS = 256  # at calls and definitions, per round, the strongest
MAX_ROUNDS = 4


def climb(layout: Layout, start: Points, floor: float) -> Points:
    """The points and their ancestors as far as they are reached at `floor` or more; the strongest per row and node.

    With a floor of 0 the root is always reached.
    """
    reached = []
    rows, nodes, values = start
    while len(nodes):
        reached.append(Points(rows, nodes, values))
        values = values * layout.edge[nodes]
        on = np.flatnonzero((values > 0) & (values >= floor))
        rows, nodes, values = rows[on], layout.parent[nodes[on]].astype(np.int64), values[on]
    return strongest_points(reached, layout.n_nodes)


def spread(layout: Layout, up: Points, floor: float = 0.0) -> tuple[Longs, Floats]:
    """Strength of every fragment that the points reach, by shares: rows * n_fragments + fragment, strengths.

    Exact when the points hold the root of each file that they touch, and the floor is 0: then nothing is left out.
    Otherwise what is reached below the floor counts nothing.
    """
    found, rows, values = below(layout, layout.groups, up, floor)
    n_groups, n_fragments = len(layout.group_weight), layout.n_fragments
    at_group, group_values = strongest_per(rows * n_groups + found, values)
    row, group = np.divmod(at_group, max(n_groups, 1))
    # A cover node that a point lies in is reached from inside, not through its parent.
    first = layout.entries_at.before[up.nodes]
    counts = layout.entries_at.before[up.nodes + 1] - first
    entry = layout.entries_by_node[ranges(first, counts)]
    source = np.repeat(np.arange(len(counts)), counts)
    through = look_up(at_group, group_values, up.rows[source] * n_groups + layout.entry_group[entry])
    gain = np.maximum(up.values[source] - layout.entry_link[entry] * through, 0)
    return sum_per(
        np.concatenate(
            [
                row * n_fragments + layout.group_fragment[group],
                up.rows[source] * n_fragments + layout.entry_fragment[entry],
            ]
        ),
        np.concatenate([layout.group_weight[group] * group_values, layout.entry_share[entry] * gain]),
    )


def below(layout: Layout, items: Items, up: Points, floor: float) -> tuple[Longs, Longs, Floats]:
    """What hangs below the points, as item numbers, rows and strengths of `floor` or more; an item may come twice."""
    first = items.before[up.nodes]
    counts = items.before[layout.end[up.nodes]] - first
    found = ranges(first, counts)
    steps = layout.depth[items.node[found]] - np.repeat(layout.depth[up.nodes], counts)
    values = np.repeat(up.values, counts) * layout.powers[steps]
    rows = np.repeat(up.rows, counts)
    if floor:
        kept = np.flatnonzero(values >= floor)
        found, rows, values = found[kept], rows[kept], values[kept]
    return found, rows, values


def definitions_in_reach(layout: Layout, up: Points, floor: float, n_definitions: int) -> tuple[Longs, Floats]:
    """Definitions that the points reach by syntax, or by syntax and a call: rows * n_definitions + number, strengths."""
    keys, values = [], []
    for links in (layout.calls, layout.definitions):
        found, rows, strengths = below(layout, links.at, up, floor)
        keys.append(rows * n_definitions + links.definition[found])
        values.append(strengths * links.weight)
    return strongest_per(np.concatenate(keys), np.concatenate(values))


def follow_calls(layouts: Layouts, keys: Longs, values: Floats, cutoff: float) -> list[Points]:
    """Where calls lead from definitions on, as long as the strength is at least `cutoff`.

    Definitions come as in `definitions_in_reach`, with the strength at which each is reached. Returns, per view, the
    nodes reached by way of them, ancestors included.
    """
    n_definitions = max(layouts.names.n_definitions, 1)
    best: tuple[Longs, Floats] = (np.zeros(0, np.int64), np.zeros(0))
    reached: list[list[Points]] = [[] for _ in layouts.views]
    for turn in range(MAX_ROUNDS):
        better = np.flatnonzero((values >= cutoff) & (values > look_up(*best, keys)))
        better = better[strongest_in_rows(keys[better] // n_definitions, values[better], MAX_DEFINITIONS)]
        keys, values = keys[better], values[better]
        if not len(keys):
            break
        best = strongest_per(np.concatenate([best[0], keys]), np.concatenate([best[1], values]))
        arrivals = _arrivals(layouts, *np.divmod(keys, n_definitions), values, cutoff)
        found = []
        for number, (view, part) in enumerate(zip(layouts.views, arrivals, strict=True)):
            if len(part.nodes):
                up = climb(view.layout, part, cutoff)
                reached[number].append(up)
                if turn + 1 < MAX_ROUNDS:
                    found.append(definitions_in_reach(view.layout, up, cutoff, n_definitions))
        if not found:
            break
        keys, values = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(found) > 1:
            keys, values = strongest_per(keys, values)
    return [strongest_points(parts, view.layout.n_nodes) for view, parts in zip(layouts.views, reached, strict=True)]


def _arrivals(layouts: Layouts, rows: Longs, definitions: Longs, values: Floats, cutoff: float) -> list[Points]:
    """Per view, where definitions stand and where they are called, with the strengths at which a search gets there."""
    homes = [view.live(_linked(view.layout.definitions, definitions, values, 1)) for view in layouts.views]
    # A definition that is gone leads nowhere, though calls of it may stay: see `CodeGraph.overlay`.
    standing = np.zeros(len(definitions), bool)
    for home in homes:
        standing[home.rows] = True
    values = np.where(standing, values, 0.0)
    parts = []
    for view, home in zip(layouts.views, homes, strict=True):
        callers = view.live(_linked(view.layout.calls, definitions, values, MAX_CALLERS))
        parts.append(Points(*(np.concatenate(column) for column in zip(home, callers, strict=True))))
    # Here the rows are still those of `definitions`.
    merged = Points(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    kept = np.flatnonzero(merged.values >= cutoff)
    kept = np.sort(kept[strongest_in_rows(rows[merged.rows[kept]], merged.values[kept], MAX_ARRIVALS)])
    bounds = np.searchsorted(kept, np.cumsum([0, *(len(part.nodes) for part in parts)]))
    return [
        Points(rows[merged.rows[some]], merged.nodes[some], merged.values[some])
        for some in np.split(kept, bounds[1:-1])
    ]


def _linked(links: Links, definitions: Longs, values: Floats, at_most: int) -> Points:
    """Where calls of the definitions, or they themselves, stand; rows are indices into `definitions`."""
    found, source = links.of(definitions, at_most)
    return Points(source, links.at.node[found].astype(np.int64), values[source] * links.weight)


def strongest_points(parts: Sequence[Points], n_nodes: int) -> Points:
    """All points, each row and node once."""
    if not parts:
        return Points(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    rows, nodes, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    keys, values = strongest_per(rows * n_nodes + nodes, values)
    return Points(*np.divmod(keys, n_nodes), values)
