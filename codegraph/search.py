"""Strengths from a few nodes outwards: up the syntax trees, down to fragments, and along calls.

Owns the steps of a search, each as a few numpy calls over all points at once. Knows one layout at a time and decides
nothing: which points to follow, and how far, is for `relations` to say.

Everything rests on one observation: every ancestor of a point may offer its whole subtree, the part that the point
itself came from included. What is reached by such a detour is reached stronger without, and the maximum forgets it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cover import ranges
from .layout import Floats, Items, Layout, Links, Points


def points(nodes: NDArray[np.integer], values: Floats) -> Points:
    """The points of a single search."""
    return Points(np.zeros(len(nodes), np.int64), nodes.astype(np.int64), values)


def joined(parts: list[Points]) -> Points:
    """All points of several lists; nodes may then stand twice."""
    return Points(*(np.concatenate([part[i] for part in parts]) for i in range(3))) if parts else _NOWHERE


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
        rows, nodes, values = rows[on], layout.parent[nodes[on]], values[on]
    rows, nodes, values = joined(reached)
    keys, values = strongest_per(rows * layout.n_nodes + nodes, values)
    return Points(*np.divmod(keys, layout.n_nodes), values) if len(keys) else _NOWHERE


def below(
    layout: Layout, items: Items, up: Points, floor: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """What hangs below the points, as item numbers, rows and strengths of `floor` or more; an item may come twice."""
    first = items.before[up.nodes]
    counts = items.before[layout.end[up.nodes]] - first
    found = ranges(first, counts)
    source = np.repeat(np.arange(len(counts)), counts)
    steps = layout.depth[items.node[found]] - layout.depth[up.nodes][source]
    values = up.values[source] * layout.powers[steps]
    kept = np.flatnonzero(values >= floor)
    return found[kept], up.rows[source[kept]], values[kept]


def definitions_in_reach(
    layout: Layout, up: Points, floor: float, n_definitions: int
) -> tuple[NDArray[np.int64], Floats]:
    """Definitions that the points reach by syntax, or by syntax and one call: rows * n_definitions + number, strengths."""
    keys, values = [], []
    for links in (layout.calls, layout.definitions):
        found, rows, strengths = below(layout, links.at, up, floor)
        keys.append(rows * n_definitions + links.definition[found])
        values.append(strengths * links.weight)
    return strongest_per(np.concatenate(keys), np.concatenate(values))


def linked(links: Links, definitions: NDArray[np.int64], values: Floats, at_most: int) -> Points:
    """Where the definitions stand, or are called from: `at_most` places of each, the strongest. Rows index `definitions`."""
    found, source = links.of(definitions, at_most)
    return Points(source, links.at.node[found].astype(np.int64), values[source] * links.weight)


def spread(layout: Layout, up: Points) -> tuple[NDArray[np.int64], Floats]:
    """Strength of every fragment that the points reach, by shares: rows * n_fragments + fragment, strengths.

    Exact when the points hold the root of each file that they touch: then nothing in it is left out.
    """
    found, rows, values = below(layout, layout.groups, up, 0.0)
    n_groups, n_fragments = len(layout.group_weight), layout.n_fragments
    at_group, group_values = strongest_per(rows * n_groups + found, values)
    row, group = np.divmod(at_group, max(n_groups, 1))
    targets = [row * n_fragments + layout.group_fragment[group]]
    parts = [layout.group_weight[group] * group_values]
    # A cover node that a point lies in is reached from inside, not through its parent.
    first = layout.entries_at.before[up.nodes]
    counts = layout.entries_at.before[up.nodes + 1] - first
    entry = layout.entries_by_node[ranges(first, counts)]
    source = np.repeat(np.arange(len(counts)), counts)
    from_parent = np.searchsorted(at_group, up.rows[source] * n_groups + layout.entry_group[entry])
    through = _at(group_values, at_group, from_parent, up.rows[source] * n_groups + layout.entry_group[entry])
    gain = np.maximum(up.values[source] - layout.entry_link[entry] * through, 0)
    targets.append(up.rows[source] * n_fragments + layout.entry_fragment[entry])
    parts.append(layout.entry_share[entry] * gain)
    return sum_per(np.concatenate(targets), np.concatenate(parts))


def strongest_per(keys: NDArray[np.integer], values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The distinct keys in order, and the largest value of each."""
    order, first = _runs(keys)
    return keys[order[first]], np.maximum.reduceat(values[order], first) if len(first) else values


def sum_per(keys: NDArray[np.integer], values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The distinct keys in order, and the sum of the values of each."""
    order, first = _runs(keys)
    return keys[order[first]], np.add.reduceat(values[order], first) if len(first) else values


def _runs(keys: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    return order, np.flatnonzero(np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]]))


def _at(values: Floats, keys: NDArray[np.int64], places: NDArray[np.int64], wanted: NDArray[np.int64]) -> Floats:
    """Values by key, 0 where a key is missing; `places` are where the keys would stand."""
    if not len(keys):
        return np.zeros(len(wanted))
    places = np.minimum(places, len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0.0)


_NOWHERE = Points(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
