"""Node covers: the maximal syntax nodes inside each line span, as compressed sparse rows (Eq. 8; papers' spec 1.3).

The definition is a walk from the root: take a node that lies wholly inside the span and do not descend; descend into a
node that overlaps the span. Knows nodes and lines, no edges and no text.

The implementation is vectorised. Spans slide, so the spans that contain a node are a contiguous run, and the spans
that contain its parent are a part of that run. The node is maximal in the rest. One binary search per node finds all
pairs at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Int32s, Int64s, Ints, multi_arange, row_offsets, scatter_add
from .file_graph import NODE_BYTES, NODE_END, NODE_PARENT, NODE_START


@dataclass(frozen=True, slots=True)
class Spans:
    """The fragments of one file: fragment `first_id + k` is the lines `starts[k]` up to `ends[k]`, half-open.

    Spans slide: neither starts nor ends ever decrease. They may overlap.
    """

    first_id: int
    starts: Int32s
    ends: Int32s

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Cover:
    """Nodes per span, packed: those of span k are `nodes[indptr[k]:indptr[k + 1]]`, in document order.

    `shares` are their fractions of the bytes of all nodes of the span; they add up to 1. A span without nodes has the
    root of its file as its only node.
    """

    indptr: Int64s  # (n_spans + 1,)
    nodes: Int32s
    shares: Floats


def cover(
    nodes: Int32s,
    starts: Ints,
    ends: Ints,
    roots: Ints | None = None,
) -> Cover:
    """The maximal nodes inside each span, given `FileGraph.nodes` (5, n_nodes) and spans that slide.

    Several files can be concatenated: parents and lines then count over all of them, and `roots` has the root node of
    each span's file.

    Raises ValueError when the spans do not slide.
    """
    if np.any(np.diff(starts) < 0) or np.any(np.diff(ends) < 0):
        raise ValueError("spans must slide: sort them by first line, and let none end before its predecessor does")
    # Node i lies inside the spans first[i] to beyond[i]: they start before it and end after it.
    first = np.searchsorted(ends, nodes[NODE_END], side="left")
    beyond = np.maximum(np.searchsorted(starts, nodes[NODE_START], side="right"), first)
    parents = nodes[NODE_PARENT]
    parent_first = np.where(parents >= 0, first[parents], beyond)
    parent_beyond = np.where(parents >= 0, beyond[parents], beyond)
    inner = parent_first < parent_beyond
    # The parts of the run before and after the parent's run.
    before = np.where(inner, parent_first, beyond) - first
    after = np.where(inner, beyond - parent_beyond, 0)
    pair_node = np.concatenate([np.repeat(np.arange(len(first)), before), np.repeat(np.arange(len(first)), after)])
    pair_span = np.concatenate([multi_arange(first, before), multi_arange(parent_beyond, after)])

    n_bytes = nodes[NODE_BYTES].astype(np.float64)
    total = scatter_add(pair_span, n_bytes[pair_node], len(starts))
    empty = np.flatnonzero(total == 0)
    fallback = np.zeros(len(empty), np.int64) if roots is None else roots[empty]
    kept = total[pair_span] > 0
    pair_node = np.concatenate([pair_node[kept], fallback])
    pair_span = np.concatenate([pair_span[kept], empty])
    order = np.lexsort((pair_node, pair_span))
    pair_node, pair_span = pair_node[order], pair_span[order]
    shares = np.where(total[pair_span] > 0, n_bytes[pair_node] / np.maximum(total[pair_span], 1), 1.0)
    return Cover(row_offsets(np.bincount(pair_span, minlength=len(starts))), pair_node.astype(np.int32), shares)
