"""Relations inside files, by syntax alone: W x = A K A^T x in linear time (Eq. 8 without calls and directories).

Owns the shortcut from nodes to groups. Between two groups at nodes p and q, W is the product of their weights and
K[p, q], whatever nodes they consist of, except where a node of one fragment is, or contains, a node of the other. Those
few pairs are the *band*: fragments slide, so they stand near the diagonal. Knows one layout and no scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import Floats, ranges, sums_at
from .forest import Forest, distances

if TYPE_CHECKING:
    from .layout import Layout


class Inside:
    """W inside the files of a layout. Immutable."""

    __slots__ = ("_band", "_forest", "_fragment", "_n_fragments", "_position", "_weight", "self_weight")

    def __init__(self, layout: Layout) -> None:
        groups, w = layout.groups, layout.weights.syntax
        # Nodes without a group at or below them lead nowhere.
        used = groups.before[layout.end] > groups.before[:-1]
        number = np.cumsum(used, dtype=np.int32) - 1
        parent = layout.parent[used]
        self._forest = Forest(np.where(parent >= 0, number[parent], -1).astype(np.int32), w)
        self._position = self._forest.position[number[groups.node]]
        self._fragment, self._weight = layout.group_fragment, layout.group_weight
        self._n_fragments = layout.n_fragments
        self._band = _band(layout)
        self.self_weight = self._band[0] + _between_own_groups(layout)  # W[i, i], (n_fragments,)

    def product(self, x: Floats) -> Floats:
        """W x; x and the result have shape (n_fragments,)."""
        below = sums_at(self._position, self._weight * x[self._fragment], len(self._forest))
        strengths = self._forest.sums(below)[self._position]
        total = sums_at(self._fragment, self._weight * strengths, self._n_fragments)
        total += self._band[0] * x
        for offset, band in enumerate(self._band[1:], start=1):
            total[:-offset] += band[:-offset] * x[offset:]
            total[offset:] += band[:-offset] * x[:-offset]
        return total


def _band(layout: Layout) -> Floats:
    """What W misses when it is computed from groups, shape (n_offsets, n_fragments): band[o, i] completes W[i, i + o].

    For nodes g over h (or the same), d edges apart, K is w ** d, but from group to group it seems to be w * w ** d * w.
    """
    at, w = layout.entries_at, layout.weights.syntax
    # Entries here go by node. A root is its own group, so nothing is missing there.
    upper = np.flatnonzero(layout.parent[at.node] >= 0)
    first = at.before[at.node[upper]]
    counts = at.before[layout.end[at.node[upper]]] - first
    lower, upper = ranges(first, counts), np.repeat(upper, counts)
    steps = layout.depth[at.node[lower]] - layout.depth[at.node[upper]]
    g, h = layout.entries_by_node[upper], layout.entries_by_node[lower]
    i, j = layout.entry_fragment[g], layout.entry_fragment[h]
    missing = (1 - w * w) * layout.powers[steps] * layout.entry_share[g] * layout.entry_share[h]
    # Two entries at one node meet twice.
    once = (steps > 0) | (i <= j)
    offsets, starts = np.abs(i - j).astype(np.int64)[once], np.minimum(i, j)[once]
    n_offsets, n_fragments = int(offsets.max(initial=0)) + 1, layout.n_fragments
    flat = sums_at(offsets * n_fragments + starts, missing[once], n_offsets * n_fragments)
    return flat.reshape(n_offsets, n_fragments)


def _between_own_groups(layout: Layout) -> Floats:
    """For each fragment, the sum over all pairs of its groups: both weights and the strength between their nodes."""
    node, fragment, weight = layout.groups.node, layout.group_fragment, layout.group_weight
    order = np.argsort(fragment, kind="stable")
    counts = np.bincount(fragment, minlength=layout.n_fragments)
    to_come = np.repeat(np.cumsum(counts), counts) - np.arange(len(order)) - 1  # groups of the fragment after this one
    first = order[np.repeat(np.arange(len(order)), to_come)]
    second = order[ranges(np.arange(1, len(order) + 1), to_come)]
    strength = layout.weights.syntax ** distances(node[first], node[second], layout.parent)
    pairs = sums_at(fragment[first], 2 * weight[first] * weight[second] * strength, layout.n_fragments)
    return pairs + sums_at(fragment, weight**2, layout.n_fragments)
