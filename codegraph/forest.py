"""Message passing on forests: sum-product and max-product over all paths of a tree, in linear time.

Between two nodes of a tree there is one path; the strength K[i, j] is the product of its edge weights (0 between
trees). K x is one pass from the leaves to the roots and one back. Knows no files and no syntax: syntax trees and the
directory tree use the same code.
"""

from __future__ import annotations

import numpy as np

from .arrays import Floats, Int32s, Int64s, Ints


class Forest:
    """Trees, given by the parent of each node (-1 for roots) and the weight of the edge to it. Immutable.

    Input and output are in *position* order, breadth first with siblings adjacent: `position[i]` is the position of
    node i, and `order` is the inverse. A level is one numpy step, so time grows with nodes plus levels.
    """

    __slots__ = ("_edges", "_levels", "_parents", "order", "position")

    def __init__(self, parents: Int32s, edges: Floats | float) -> None:
        depth = depths(parents)
        order = by_depth(depth)
        self.position = np.empty(len(parents), np.int32)
        self._levels: list[tuple[int, int, Int64s, Int32s]] = []
        self._parents = np.full(len(parents), -1, np.int32)
        start = 0
        for size in np.bincount(depth).tolist():
            level = order[start : start + size]
            if start:
                above = self.position[parents[level]]
                # Siblings must be adjacent. In document order they are.
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

    def sum_product(self, x: Floats) -> Floats:
        """K x, shape (n_nodes,)."""
        total = x.copy()
        for start, end, families, heads in reversed(self._levels):
            total[heads] += np.add.reduceat(self._edges[start:end] * total[start:end], families)
        # A node has the sum over its subtree now. The rest of the parent's sum comes from outside of the subtree.
        for start, end, _, _ in self._levels:
            edges, below = self._edges[start:end], total[start:end]
            below += edges * (total[self._parents[start:end]] - edges * below)
        return total

    def max_product(self, x: Floats) -> Floats:
        """max over j of K[i, j] x[j], for every node i; x must not be negative, shape (n_nodes,)."""
        best = x.copy()
        for start, end, families, heads in reversed(self._levels):
            reached = np.maximum.reduceat(self._edges[start:end] * best[start:end], families)
            best[heads] = np.maximum(best[heads], reached)
        for start, end, _, _ in self._levels:
            reached = self._edges[start:end] * best[self._parents[start:end]]
            np.maximum(best[start:end], reached, out=best[start:end])
        return best


def depths(parents: Int32s) -> Int32s:
    """Edges between each node and its root. Pointer doubling: log2(depth) rounds."""
    depth = (parents >= 0).astype(np.int32)
    above = parents
    while True:
        climbing = np.flatnonzero(above >= 0)
        if not len(climbing):
            return depth
        ancestors = above[climbing]
        # Read before written: ancestors add the depth that they had when the round began.
        depth[climbing] += depth[ancestors]
        following = np.full(len(parents), -1, np.int32)
        following[climbing] = above[ancestors]
        above = following


def subtree_ends(parents: Int32s, depth: Int32s) -> Int32s:
    """The first node after each node's subtree, for nodes in document order (a parent, then its subtrees)."""
    ends = np.arange(1, len(parents) + 1, dtype=np.int32)
    order = by_depth(depth)
    end = len(order)
    for size in np.bincount(depth)[:0:-1].tolist():  # the deepest level first, without the roots
        level = order[end - size : end]
        ends[parents[level]] = ends[level]  # of several children the last one writes last
        end -= size
    return ends


def distances(a: Ints, b: Ints, parents: Int32s) -> Int64s:
    """Edges between pairs of nodes of one tree, in which every parent has a smaller number than its children."""
    steps = np.zeros(len(a), np.int64)
    pending = np.flatnonzero(a != b)
    a, b = a[pending], b[pending]
    while len(pending):
        # The node with the larger number is never an ancestor of the other.
        climbs = a > b
        a, b = np.where(climbs, parents[a], a), np.where(climbs, b, parents[b])
        steps[pending] += 1
        apart = a != b
        a, b, pending = a[apart], b[apart], pending[apart]
    return steps


def by_depth(depth: Int32s) -> Int64s:
    """The nodes level by level, in document order inside a level."""
    # numpy uses radix sort for 16-bit integers, which is several times faster.
    return np.argsort(depth.astype(np.uint16) if depth.max(initial=0) < 1 << 16 else depth, kind="stable")
