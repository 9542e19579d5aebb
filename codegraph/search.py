"""Strengths from a few nodes outwards: up the syntax trees, down to fragments, and along calls.

Owns the search, each step of it a few numpy calls for all points of all searches at once, and its bounds. Searches that
run side by side are told apart by *rows*. Knows layouts, no scores; what is a source, and what the strengths are good
for, is for `relations` to say.

Everything rests on one observation: every ancestor of a point may offer its whole subtree, the part that the point
itself came from included. What is reached by such a detour is reached stronger without it, and the maximum forgets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats, Longs, Numbers, bounds, look_up, ranges, strongest_in_rows, strongest_per, sum_per
from .layout import Items, Layout, Links, Points
from .layouts import Layouts

# What bounds a search along calls, each per row. With these, 98 % of the ten best fragments are those of the exact
# matrix; what larger bounds bring and cost is in benchmarks/results/relations.md.
MAX_DEFINITIONS = 64  # followed per round, the strongest
MAX_CALLERS = 16  # of one definition
MAX_ARRIVALS = 64  # at calls and definitions, per round, the strongest
MAX_ROUNDS = 4
FADING = 4  # with each round, only definitions so many times stronger are followed


def climb(layout: Layout, start: Points, floor: float) -> Points:
    """The points and their ancestors as far as they are reached at `floor` or more; the strongest per row and node.

    With a floor of 0 the root is always reached.
    """
    reached = []
    rows, nodes, values = start
    while len(nodes):
        reached.append(Points(rows, nodes, values))
        values = values * layout.edge[nodes]
        on = ((values > 0) & (values >= floor)).nonzero()[0]
        rows, nodes, values = rows[on], layout.parent[nodes[on]].astype(np.int64), values[on]
    return strongest_points(reached, layout.n_nodes)


def spread(layout: Layout, up: Points, floor: float, at_roots: Floats | None = None) -> tuple[Longs, Floats]:
    """Strength of every fragment that the points reach, by shares: rows * n_fragments + fragment, strengths.

    Where a node is reached below the floor, that counts nothing. With `at_roots`, strengths at the root of each file,
    the result is what the points add to what comes in from there.
    """
    found, rows, values = below(layout, layout.groups, up, floor)
    n_groups, n_fragments = len(layout.group_weight), layout.n_fragments
    at_group, group_values = strongest_per(rows * n_groups + found, values)
    row, group = np.divmod(at_group, max(n_groups, 1))
    # A cover node that a point lies in is reached from inside, not through its parent.
    first = layout.entries_at.before[up.nodes]
    counts = layout.entries_at.before[up.nodes + 1] - first
    entry = layout.entries_by_node[ranges(first, counts)]
    entry_row, inside = up.rows.repeat(counts), up.values.repeat(counts)
    entry_group = layout.entry_group[entry]
    outside = look_up(at_group, group_values, entry_row * n_groups + entry_group)
    if at_roots is not None:
        outside = np.maximum(outside, _from_root(layout, entry_group, at_roots))
        group_values = np.maximum(group_values - _from_root(layout, group, at_roots), 0)
    gain = np.maximum(inside - layout.entry_link[entry] * outside, 0)
    fragments = (layout.group_fragment[group], layout.entry_fragment[entry])
    return sum_per(
        np.concatenate([row, entry_row]) * n_fragments + np.concatenate(fragments),
        np.concatenate([layout.group_weight[group] * group_values, layout.entry_share[entry] * gain]),
    )


def _from_root(layout: Layout, groups: Numbers, at_roots: Floats) -> Floats:
    nodes = layout.groups.node[groups]
    return at_roots[layout.fragment_file[layout.group_fragment[groups]]] * layout.powers[layout.depth[nodes]]


def below(layout: Layout, items: Items, up: Points, floor: float) -> tuple[Longs, Longs, Floats]:
    """What hangs below the points, as item numbers, rows and strengths of `floor` or more; an item may come twice."""
    first = items.before[up.nodes]
    # Most points are the last of a climb, and near the root: all that they reach is what hangs at themselves.
    beyond = np.where(up.values * layout.weights.syntax >= floor, layout.end[up.nodes], up.nodes + 1)
    counts = items.before[beyond] - first
    found = ranges(first, counts)
    steps = layout.depth[items.node[found]] - layout.depth[up.nodes].repeat(counts)
    values = up.values.repeat(counts) * layout.powers[steps]
    rows = up.rows.repeat(counts)
    if floor:
        kept = (values >= floor).nonzero()[0]
        found, rows, values = found[kept], rows[kept], values[kept]
    return found, rows, values


class Reached(NamedTuple):
    """Definitions that searches have reached: row * n_definitions + number, in order; strengths; whether by a call."""

    keys: Longs
    values: Floats
    by_call: NDArray[np.bool_]


def definitions_in_reach(layout: Layout, up: Points, floor: float, n_definitions: int) -> Reached:
    """Definitions below the points, and those that calls below the points lead to."""
    called, rows, strengths = below(layout, layout.calls.at, up, floor)
    by_call = strongest_per(rows * n_definitions + layout.calls.definition[called], strengths * layout.calls.weight)
    defined, rows, strengths = below(layout, layout.definitions.at, up, floor)
    here = rows * n_definitions + layout.definitions.definition[defined]
    keys, values = strongest_per(np.concatenate([by_call[0], here]), np.concatenate([by_call[1], strengths]))
    return Reached(keys, values, look_up(*by_call, keys) == values)


def follow_calls(layouts: Layouts, start: Reached, cutoff: float) -> list[Points]:
    """Where calls lead from definitions on, as long as the strength is at least `cutoff`.

    Returns, per view, the nodes that are reached by at least one call, ancestors included.
    """
    n_definitions = max(layouts.names.n_definitions, 1)
    keys, values, by_call = start
    best: tuple[Longs, Floats] = (keys[:0], values[:0])
    reached: list[list[Points]] = [[] for _ in layouts.views]
    for turn in range(MAX_ROUNDS):
        better = ((values >= cutoff * FADING**turn) & (values > look_up(*best, keys))).nonzero()[0]
        better = better[strongest_in_rows(keys[better] // n_definitions, values[better], MAX_DEFINITIONS)]
        if not len(better):
            break
        keys, values, by_call = keys[better], values[better], by_call[better]
        best = strongest_per(np.concatenate([best[0], keys]), np.concatenate([best[1], values]))
        rows, definitions = np.divmod(keys, n_definitions)
        arrivals = _arrivals(layouts, rows, definitions, values, by_call, cutoff)
        found = []
        for number, (view, part) in enumerate(zip(layouts.views, arrivals, strict=True)):
            if len(part.nodes):
                up = climb(view.layout, part, cutoff)
                reached[number].append(up)
                if turn + 1 < MAX_ROUNDS:
                    found.append(definitions_in_reach(view.layout, up, cutoff, n_definitions))
        if not found:
            break
        keys, values, by_call = _merged(found)
    return [strongest_points(parts, view.layout.n_nodes) for view, parts in zip(layouts.views, reached, strict=True)]


def _merged(parts: Sequence[Reached]) -> Reached:
    if len(parts) == 1:
        return parts[0]
    keys, values = strongest_per(
        np.concatenate([part.keys for part in parts]), np.concatenate([part.values for part in parts])
    )
    by_call = np.zeros(len(keys), bool)
    for part in parts:
        at = keys.searchsorted(part.keys)
        by_call[at] |= part.by_call & (part.values == values[at])
    return Reached(keys, values, by_call)


def _arrivals(
    layouts: Layouts, rows: Longs, definitions: Longs, values: Floats, by_call: NDArray[np.bool_], cutoff: float
) -> list[Points]:
    """Per view, where a search gets by one more edge of a call: to the definitions, and to the calls of each."""
    homes = [view.live(_linked(view.layout.definitions, definitions, values, 1)) for view in layouts.views]
    # A definition that is gone leads nowhere, though calls of it may stay: see `CodeGraph.overlay`.
    standing = np.zeros(len(definitions), bool)
    for home in homes:
        standing[home.rows] = True
    calling = np.where(standing, values, 0.0)
    parts = []
    for view, (source, nodes, strengths) in zip(layouts.views, homes, strict=True):
        new = by_call[source]
        callers = view.live(_linked(view.layout.calls, definitions, calling, MAX_CALLERS))
        parts.append(
            Points(
                np.concatenate([source[new], callers.rows]),
                np.concatenate([nodes[new], callers.nodes]),
                np.concatenate([strengths[new], callers.values]),
            )
        )
    # Up to here the rows are indices of `definitions`.
    owners = rows[np.concatenate([part.rows for part in parts])]
    nodes, strengths = np.concatenate([part.nodes for part in parts]), np.concatenate([part.values for part in parts])
    kept = (strengths >= cutoff).nonzero()[0]
    kept = np.sort(kept[strongest_in_rows(owners[kept], strengths[kept], MAX_ARRIVALS)])
    split = np.split(kept, kept.searchsorted(bounds([len(part.nodes) for part in parts])[1:-1]))
    return [Points(owners[some], nodes[some], strengths[some]) for some in split]


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
