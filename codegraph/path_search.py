"""Bounded max-product path search: up the syntax trees, down to fragments, and along call edges.

Owns the search and its limits. Each step is a few numpy calls for all nodes of all simultaneous searches, which are
numbered by *rows*. Knows the arrays and no scores; `relations` chooses the sources and uses the strengths.

An ancestor passes its strength to its whole subtree, including the part that it was reached from. A path through such
a detour is weaker than the direct path, so the maximum ignores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import (
    Floats,
    Int64s,
    Ints,
    lookup_sorted,
    max_by_key,
    multi_arange,
    row_offsets,
    sum_by_key,
    top_k_per_row,
)
from .graph_arrays import CallEndpoints, GraphArrays, NodeItems, ReachedNodes
from .segmented_graph import SegmentedGraph

# Limits of a search along calls, each per row. With these, 98 % of the ten best fragments are those of the exact
# matrix; benchmarks/results/relations.md has the gain and the cost of larger limits.
MAX_DEFINITIONS = 64  # followed per round
MAX_CALLERS = 16  # of one definition
MAX_EXPANDED = 64  # nodes of calls and definitions per round
MAX_ROUNDS = 4
CUTOFF_GROWTH = 4  # the cutoff for definitions grows by this factor with each round


def with_ancestors(arrays: GraphArrays, start: ReachedNodes, floor: float) -> ReachedNodes:
    """The nodes and their ancestors with strengths of `floor` or more, one per row and node.

    With a floor of 0 the root is always included.
    """
    reached = []
    rows, nodes, values = start
    while len(nodes):
        reached.append(ReachedNodes(rows, nodes, values))
        values = values * arrays.edge[nodes]
        on = ((values > 0) & (values >= floor)).nonzero()[0]
        rows, nodes, values = rows[on], arrays.parent[nodes[on]].astype(np.int64), values[on]
    return merge_reached(reached, arrays.n_nodes)


def fragment_strengths(
    arrays: GraphArrays, up: ReachedNodes, floor: float, at_roots: Floats | None = None
) -> tuple[Int64s, Floats]:
    """Strengths of the reached fragments, weighted by shares: keys (rows * n_fragments + fragment) and strengths.

    Strengths of nodes below the floor are left out. With `at_roots`, the strengths at the root of each file, the
    result is the gain over the strengths that come from there.
    """
    found, rows, values = items_below(arrays, arrays.groups, up, floor)
    at_groups = max_by_key(rows * len(arrays.group_weight) + found, values)
    return _by_fragment(arrays, up, *at_groups, at_roots)


def strengths_in_file(arrays: GraphArrays, nodes: Int64s) -> tuple[Int64s, Floats]:
    """`fragment_strengths` from single nodes, one a row, to all fragments of their files, without a floor."""
    n = len(nodes)
    up = with_ancestors(arrays, ReachedNodes(np.arange(n), nodes.astype(np.int64), np.ones(n)), 0.0)
    return _by_fragment(arrays, up, *_groups_of_chains(arrays, up))


def _groups_of_chains(arrays: GraphArrays, up: ReachedNodes) -> tuple[Int64s, Floats]:
    """The groups of the files, as keys in order, and their strengths; `up` has one node a row, with all ancestors.

    A group has its strength from the innermost ancestor that contains it. So each ancestor passes its own to two runs
    of groups: those before and after the subtree of the next node of its row.
    """
    before, n_groups = arrays.groups.before.astype(np.int64), len(arrays.group_weight)
    first, beyond = before[up.nodes], before[arrays.end[up.nodes]]
    has_next = np.append(up.rows[1:] == up.rows[:-1], False)
    until, since = beyond.copy(), beyond.copy()
    inner = has_next.nonzero()[0]
    until[inner], since[inner] = first[inner + 1], beyond[inner + 1]
    starts, lengths = np.concatenate([first, since]), np.concatenate([until - first, beyond - since])
    order = (np.tile(up.rows, 2) * (n_groups + 1) + starts).argsort(kind="stable")
    starts, lengths, source = starts[order], lengths[order], np.tile(np.arange(len(up.nodes)), 2)[order]
    groups, source = multi_arange(starts, lengths), source.repeat(lengths)
    steps = arrays.depth[arrays.groups.node[groups]] - arrays.depth[up.nodes][source]
    return up.rows[source] * n_groups + groups, up.values[source] * arrays.powers[steps]


def _by_fragment(
    arrays: GraphArrays, up: ReachedNodes, at_group: Int64s, group_values: Floats, at_roots: Floats | None = None
) -> tuple[Int64s, Floats]:
    """Strengths of fragments from those at groups, and at the nodes inside groups that are reached themselves."""
    n_groups, n_fragments = len(arrays.group_weight), arrays.n_fragments
    row, group = np.divmod(at_group, max(n_groups, 1))
    # A cover node that contains a reached node is reached from inside, not through its parent.
    first = arrays.entries_at.before[up.nodes]
    counts = arrays.entries_at.before[up.nodes + 1] - first
    entry = arrays.entries_by_node[multi_arange(first, counts)]
    entry_row, inside = up.rows.repeat(counts), up.values.repeat(counts)
    entry_group = arrays.entry_group[entry]
    outside = lookup_sorted(at_group, group_values, entry_row * n_groups + entry_group)
    if at_roots is not None:
        outside = np.maximum(outside, _from_root(arrays, entry_group, at_roots))
        group_values = np.maximum(group_values - _from_root(arrays, group, at_roots), 0)
    gain = np.maximum(inside - arrays.entry_link[entry] * outside, 0)
    fragments = (arrays.group_fragment[group], arrays.entry_fragment[entry])
    return sum_by_key(
        np.concatenate([row, entry_row]) * n_fragments + np.concatenate(fragments),
        np.concatenate([arrays.group_weight[group] * group_values, arrays.entry_share[entry] * gain]),
    )


def _from_root(arrays: GraphArrays, groups: Ints, at_roots: Floats) -> Floats:
    nodes = arrays.groups.node[groups]
    return at_roots[arrays.fragment_file[arrays.group_fragment[groups]]] * arrays.powers[arrays.depth[nodes]]


def items_below(arrays: GraphArrays, items: NodeItems, up: ReachedNodes, floor: float) -> tuple[Int64s, Int64s, Floats]:
    """Items in the subtrees of the nodes: numbers, rows, and strengths of `floor` or more. An item may occur twice."""
    first = items.before[up.nodes]
    # Most nodes are the last ancestors above the floor, near the root: they reach only their own items.
    beyond = np.where(up.values * arrays.weights.syntax >= floor, arrays.end[up.nodes], up.nodes + 1)
    counts = items.before[beyond] - first
    found = multi_arange(first, counts)
    steps = arrays.depth[items.node[found]] - arrays.depth[up.nodes].repeat(counts)
    values = up.values.repeat(counts) * arrays.powers[steps]
    rows = up.rows.repeat(counts)
    if floor:
        kept = (values >= floor).nonzero()[0]
        found, rows, values = found[kept], rows[kept], values[kept]
    return found, rows, values


class ReachedDefinitions(NamedTuple):
    """Definitions that searches have reached: sorted keys (row * n_definitions + id); strengths; whether by a call."""

    keys: Int64s
    values: Floats
    by_call: NDArray[np.bool_]


def reached_definitions(arrays: GraphArrays, up: ReachedNodes, floor: float, n_definitions: int) -> ReachedDefinitions:
    """Definitions in the subtrees of the nodes, and targets of calls in them."""
    called, rows, strengths = items_below(arrays, arrays.calls.at, up, floor)
    by_call = max_by_key(rows * n_definitions + arrays.calls.definition[called], strengths * arrays.calls.weight)
    defined, rows, strengths = items_below(arrays, arrays.definitions.at, up, floor)
    here = rows * n_definitions + arrays.definitions.definition[defined]
    keys, values = max_by_key(np.concatenate([by_call[0], here]), np.concatenate([by_call[1], strengths]))
    return ReachedDefinitions(keys, values, lookup_sorted(*by_call, keys) == values)


def follow_calls(segmented: SegmentedGraph, start: ReachedDefinitions, cutoff: float) -> list[ReachedNodes]:
    """Follow call edges from definitions, round by round, at strengths of at least `cutoff`.

    Returns, per segment, the nodes that are reached by at least one call, ancestors included.
    """
    n_definitions = max(segmented.n_definitions, 1)
    keys, values, by_call = start
    best: tuple[Int64s, Floats] = (keys[:0], values[:0])
    reached: list[list[ReachedNodes]] = [[] for _ in segmented.segments]
    for round_number in range(MAX_ROUNDS):
        better = ((values >= cutoff * CUTOFF_GROWTH**round_number) & (values > lookup_sorted(*best, keys))).nonzero()[0]
        better = better[top_k_per_row(keys[better] // n_definitions, values[better], MAX_DEFINITIONS)]
        if not len(better):
            break
        keys, values, by_call = keys[better], values[better], by_call[better]
        best = max_by_key(np.concatenate([best[0], keys]), np.concatenate([best[1], values]))
        rows, definitions = np.divmod(keys, n_definitions)
        arrivals = _expand_calls(segmented, rows, definitions, values, by_call, cutoff)
        found = []
        for number, (segment, part) in enumerate(zip(segmented.segments, arrivals, strict=True)):
            if len(part.nodes):
                up = with_ancestors(segment.arrays, part, cutoff)
                reached[number].append(up)
                if round_number + 1 < MAX_ROUNDS:
                    found.append(reached_definitions(segment.arrays, up, cutoff, n_definitions))
        if not found:
            break
        keys, values, by_call = _merge_definitions(found)
    return [
        merge_reached(parts, segment.arrays.n_nodes) for segment, parts in zip(segmented.segments, reached, strict=True)
    ]


def _merge_definitions(parts: Sequence[ReachedDefinitions]) -> ReachedDefinitions:
    if len(parts) == 1:
        return parts[0]
    keys, values = max_by_key(
        np.concatenate([part.keys for part in parts]), np.concatenate([part.values for part in parts])
    )
    by_call = np.zeros(len(keys), bool)
    for part in parts:
        at = keys.searchsorted(part.keys)
        by_call[at] |= part.by_call & (part.values == values[at])
    return ReachedDefinitions(keys, values, by_call)


def _expand_calls(
    segmented: SegmentedGraph,
    rows: Int64s,
    definitions: Int64s,
    values: Floats,
    by_call: NDArray[np.bool_],
    cutoff: float,
) -> list[ReachedNodes]:
    """Per segment, the nodes one call edge further: the definitions, and the callers of each."""
    own_nodes = [
        segment.live(_endpoint_nodes(segment.arrays.definitions, definitions, values, 1))
        for segment in segmented.segments
    ]
    # A removed definition is not followed, though calls of it may remain: see `CodeGraph.overlay`.
    exists = np.zeros(len(definitions), bool)
    for part in own_nodes:
        exists[part.rows] = True
    calling = np.where(exists, values, 0.0)
    parts = []
    for segment, (source, nodes, strengths) in zip(segmented.segments, own_nodes, strict=True):
        new = by_call[source]
        callers = segment.live(_endpoint_nodes(segment.arrays.calls, definitions, calling, MAX_CALLERS))
        parts.append(
            ReachedNodes(
                np.concatenate([source[new], callers.rows]),
                np.concatenate([nodes[new], callers.nodes]),
                np.concatenate([strengths[new], callers.values]),
            )
        )
    # So far the rows are indices of `definitions`.
    owners = rows[np.concatenate([part.rows for part in parts])]
    nodes, strengths = np.concatenate([part.nodes for part in parts]), np.concatenate([part.values for part in parts])
    kept = (strengths >= cutoff).nonzero()[0]
    kept = np.sort(kept[top_k_per_row(owners[kept], strengths[kept], MAX_EXPANDED)])
    split = np.split(kept, kept.searchsorted(row_offsets([len(part.nodes) for part in parts])[1:-1]))
    return [ReachedNodes(owners[some], nodes[some], strengths[some]) for some in split]


def _endpoint_nodes(links: CallEndpoints, definitions: Int64s, values: Floats, at_most: int) -> ReachedNodes:
    """The nodes of the callers of the definitions, or of the definitions; rows are indices into `definitions`."""
    found, source = links.of(definitions, at_most)
    return ReachedNodes(source, links.at.node[found].astype(np.int64), values[source] * links.weight)


def merge_reached(parts: Sequence[ReachedNodes], n_nodes: int) -> ReachedNodes:
    """All reached nodes, each row and node once with its largest strength."""
    if not parts:
        return ReachedNodes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    rows, nodes, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    keys, values = max_by_key(rows * n_nodes + nodes, values)
    return ReachedNodes(*np.divmod(keys, n_nodes), values)
