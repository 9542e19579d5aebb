"""Strengths in a forest: sums and maxima over all nodes, in linear time.

Owns the one arithmetic of trees. Between two nodes of a tree there is one path; the strength K[i, j] is the product of
its edges (0 between trees), and K x is a pass up and a pass down. Knows no files and no syntax: the same code serves
syntax trees and the directory tree.
"""

from __future__ import annotations

import numpy as np

from .arrays import Floats, Ints, Longs, Numbers


class Forest:
    """Trees given by the parent of each node, -1 for roots, and the strength of the edge to it. Immutable.

    Values go in and come out in *position* order: level by level, siblings side by side;
    `position[i]` is where node i stands, and `order` the other way round. A level is one numpy step, so time grows with
    nodes plus levels.
    """

    __slots__ = ("_edges", "_levels", "_parents", "order", "position")

    def __init__(self, parents: Ints, edges: Floats | float) -> None:
        depth = depths(parents)
        order = by_depth(depth)
        self.position = np.empty(len(parents), np.int32)
        self._levels: list[tuple[int, int, Longs, Ints]] = []
        self._parents = np.full(len(parents), -1, np.int32)
        start = 0
        for size in np.bincount(depth).tolist():
            level = order[start : start + size]
            if start:
                above = self.position[parents[level]]
                # Siblings must stand together. In document order they do.
                if np.any(above[1:] < above[:-1]):
                    by_parent = np.argsort(above, kind="stable")
                    level[:], above = level[by_parent], above[by_parent]
                families = np.flatnonzero(np.concatenate([[True], above[1:] != above[:-1]]))
                self._parents[start : start + size] = above
                self._levels.append((start, start + size, families, above[families]))
            self.position[level] = np.arange(start, start + size, dtype=np.int32)
            start += size
        self.order = order.astype(np.int32)
        self._edges = np.broadcast_to(edges, parents.shape)[order]

    def __len__(self) -> int:
        return len(self.position)

    def sums(self, x: Floats) -> Floats:
        """K x, shape (n_nodes,)."""
        total = x.copy()
        for start, end, families, heads in reversed(self._levels):
            total[heads] += np.add.reduceat(self._edges[start:end] * total[start:end], families)
        # Now a node has the sum over what is below it. What the parent has beyond that comes from elsewhere.
        for start, end, _, _ in self._levels:
            edges, below = self._edges[start:end], total[start:end]
            below += edges * (total[self._parents[start:end]] - edges * below)
        return total

    def strongest(self, x: Floats) -> Floats:
        """max over j of K[i, j] x[j], for every node i; x must not be negative, shape (n_nodes,)."""
        best = x.copy()
        for start, end, families, heads in reversed(self._levels):
            reached = np.maximum.reduceat(self._edges[start:end] * best[start:end], families)
            best[heads] = np.maximum(best[heads], reached)
        for start, end, _, _ in self._levels:
            reached = self._edges[start:end] * best[self._parents[start:end]]
            np.maximum(best[start:end], reached, out=best[start:end])
        return best


def depths(parents: Ints) -> Ints:
    """Edges between each node and its root. Doubles its stride each round: log2(depth) rounds."""
    depth = (parents >= 0).astype(np.int32)
    above = parents
    while True:
        climbing = np.flatnonzero(above >= 0)
        if not len(climbing):
            return depth
        ancestors = above[climbing]
        # Read before written: `ancestors` must add what they had when the round began.
        depth[climbing] += depth[ancestors]
        following = np.full(len(parents), -1, np.int32)
        following[climbing] = above[ancestors]
        above = following


def subtree_ends(parents: Ints, depth: Ints) -> Ints:
    """The first node after each node's subtree, for nodes in document order (a parent, then its subtrees)."""
    ends = np.arange(1, len(parents) + 1, dtype=np.int32)
    order = by_depth(depth)
    end = len(order)
    for size in np.bincount(depth)[:0:-1].tolist():  # the deepest level first; roots write to nobody
        level = order[end - size : end]
        ends[parents[level]] = ends[level]  # of several children the last one writes last
        end -= size
    return ends


def distances(a: Numbers, b: Numbers, parents: Ints) -> Longs:
    """Edges between pairs of nodes of one tree, in which every parent has a smaller number than its children."""
    steps = np.zeros(len(a), np.int64)
    pending = np.flatnonzero(a != b)
    a, b = a[pending], b[pending]
    while len(pending):
        # So the node with the larger number is never above the other one.
        climbs = a > b
        a, b = np.where(climbs, parents[a], a), np.where(climbs, b, parents[b])
        steps[pending] += 1
        apart = a != b
        a, b, pending = a[apart], b[apart], pending[apart]
    return steps


def by_depth(depth: Ints) -> Longs:
    """The nodes level by level, in document order inside a level."""
    # Numbers of 16 bits are sorted by their digits, several times faster.
    return np.argsort(depth.astype(np.uint16) if depth.max(initial=0) < 1 << 16 else depth, kind="stable")
