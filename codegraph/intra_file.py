"""Products with the intra-file relation matrix, by syntax alone: W x = A K A^T x in linear time (Eq. 8).

Works on groups instead of nodes. Between two groups at nodes p and q, W is the product of their weights and K[p, q],
except where a node of one fragment is, or contains, a node of the other. Fragments slide, so these few pairs lie near
the diagonal: they are a banded correction. Knows one set of arrays and no scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import Floats, multi_arange, scatter_add
from .forest import Forest, distances

if TYPE_CHECKING:
    from .graph_arrays import GraphArrays


class IntraFileRelations:
    """W inside the files of one `GraphArrays`. Immutable."""

    __slots__ = ("_band", "_forest", "_fragment", "_n_fragments", "_position", "_weight", "self_weight")

    def __init__(self, arrays: GraphArrays) -> None:
        groups, w = arrays.groups, arrays.weights.syntax
        # Nodes without a group in their subtree are left out.
        used = groups.before[arrays.end] > groups.before[:-1]
        number = np.cumsum(used, dtype=np.int32) - 1
        parent = arrays.parent[used]
        self._forest = Forest(np.where(parent >= 0, number[parent], -1).astype(np.int32), w)
        self._position = self._forest.position[number[groups.node]]
        self._fragment, self._weight = arrays.group_fragment, arrays.group_weight
        self._n_fragments = arrays.n_fragments
        self._band = _band(arrays)
        self.self_weight = self._band[0] + _between_own_groups(arrays)  # W[i, i], (n_fragments,)

    def product(self, x: Floats) -> Floats:
        """W x; x and the result have shape (n_fragments,)."""
        below = scatter_add(self._position, self._weight * x[self._fragment], len(self._forest))
        strengths = self._forest.sum_product(below)[self._position]
        total = scatter_add(self._fragment, self._weight * strengths, self._n_fragments)
        total += self._band[0] * x
        for offset, band in enumerate(self._band[1:], start=1):
            total[:-offset] += band[:-offset] * x[offset:]
            total[offset:] += band[:-offset] * x[:-offset]
        return total


def _band(arrays: GraphArrays) -> Floats:
    """The correction of W as computed from groups, shape (n_offsets, n_fragments): band[o, i] belongs to W[i, i + o].

    For a node g and its descendant h (or g itself), d edges apart, K is w ** d; the groups give w * w ** d * w.
    """
    at, w = arrays.entries_at, arrays.weights.syntax
    # Entries are in the order of their nodes. A root is its own group, so it needs no correction.
    upper = np.flatnonzero(arrays.parent[at.node] >= 0)
    first = at.before[at.node[upper]]
    counts = at.before[arrays.end[at.node[upper]]] - first
    lower, upper = multi_arange(first, counts), np.repeat(upper, counts)
    steps = arrays.depth[at.node[lower]] - arrays.depth[at.node[upper]]
    g, h = arrays.entries_by_node[upper], arrays.entries_by_node[lower]
    i, j = arrays.entry_fragment[g], arrays.entry_fragment[h]
    missing = (1 - w * w) * arrays.powers[steps] * arrays.entry_share[g] * arrays.entry_share[h]
    # Two entries at one node form two pairs.
    once = (steps > 0) | (i <= j)
    offsets, starts = np.abs(i - j).astype(np.int64)[once], np.minimum(i, j)[once]
    n_offsets, n_fragments = int(offsets.max(initial=0)) + 1, arrays.n_fragments
    flat = scatter_add(offsets * n_fragments + starts, missing[once], n_offsets * n_fragments)
    return flat.reshape(n_offsets, n_fragments)


def _between_own_groups(arrays: GraphArrays) -> Floats:
    """For each fragment, the sum over all pairs of its groups: both weights and the strength between their nodes."""
    node, fragment, weight = arrays.groups.node, arrays.group_fragment, arrays.group_weight
    order = np.argsort(fragment, kind="stable")
    counts = np.bincount(fragment, minlength=arrays.n_fragments)
    n_following = (
        np.repeat(np.cumsum(counts), counts) - np.arange(len(order)) - 1
    )  # groups of the fragment after this one
    first = order[np.repeat(np.arange(len(order)), n_following)]
    second = order[multi_arange(np.arange(1, len(order) + 1), n_following)]
    strength = arrays.weights.syntax ** distances(node[first], node[second], arrays.parent)
    pairs = scatter_add(fragment[first], 2 * weight[first] * weight[second] * strength, arrays.n_fragments)
    return pairs + scatter_add(fragment, weight**2, arrays.n_fragments)
