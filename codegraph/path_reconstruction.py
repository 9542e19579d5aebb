"""Path reconstruction: the strongest path between two nodes as readable steps.

Given the exact strengths from a source, it goes back from the target to the neighbour whose strength explains the
node's own, until the source. Used for explanations, one at a time. Knows no scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .arrays import Floats
from .graph_arrays import CallEndpoints, ReachedNodes
from .segmented_graph import SegmentedGraph


class _NodeRef(NamedTuple):
    """A node, by the numbers of its segment and of the node in it."""

    segment: int
    node: int


class _Step(NamedTuple):
    """A neighbour, the weight of the edge to it, and the text of the step; "" for syntax."""

    node: _NodeRef
    edge: float
    text: str


def reconstruct_path(
    segmented: SegmentedGraph, strengths: Sequence[Floats], target: tuple[int, int]
) -> tuple[str, ...]:
    """The steps between files and along calls from the source of `strengths`, per segment, to a target (segment, node).

    Source first; empty for a path along syntax only, or without a path.
    """
    texts: list[str] = []
    node, seen = _NodeRef(*target), set[_NodeRef]()
    while node not in seen and 0 < strengths[node.segment][node.node] < 1:
        seen.add(node)
        steps = [*_syntax(segmented, node), *_calls(segmented, node), *_directories(segmented, strengths, node)]
        best = max(steps, key=lambda step: step.edge * strengths[step.node.segment][step.node.node])
        node = best.node
        texts.append(best.text)
    return tuple(step for step in reversed(texts) if step)


def _syntax(segmented: SegmentedGraph, node: _NodeRef) -> list[_Step]:
    arrays = segmented.segments[node.segment].arrays
    steps = []
    if arrays.parent[node.node] >= 0:
        parent = _NodeRef(node.segment, int(arrays.parent[node.node]))
        steps.append(_Step(parent, float(arrays.edge[node.node]), ""))
    child = node.node + 1
    while child < arrays.end[node.node]:
        steps.append(_Step(_NodeRef(node.segment, child), float(arrays.edge[child]), ""))
        child = int(arrays.end[child])
    return steps


def _calls(segmented: SegmentedGraph, node: _NodeRef) -> list[_Step]:
    arrays = segmented.segments[node.segment].arrays
    here = _path_at(segmented, node)
    steps = []
    for definition in _definitions_at(arrays.calls, node.node):
        name = segmented.names.definition_name(definition)
        for other in _nodes_of(segmented, definition, of_calls=False):
            text = f"{_path_at(segmented, other)}: def {name} -> {here}: call {name}"
            steps.append(_Step(other, segmented.weights.call, text))
    for definition in _definitions_at(arrays.definitions, node.node):
        name = segmented.names.definition_name(definition)
        for other in _nodes_of(segmented, definition, of_calls=True):
            text = f"{_path_at(segmented, other)}: call {name} -> {here}: def {name}"
            steps.append(_Step(other, segmented.weights.call, text))
    return steps


def _directories(segmented: SegmentedGraph, strengths: Sequence[Floats], node: _NodeRef) -> list[_Step]:
    """The strongest neighbour file through directories, when the node is the root of its file."""
    segment = segmented.segments[node.segment]
    if segment.arrays.edge[node.node] > 0:
        return []
    here = int(segment.arrays.files[segment.arrays.file_at(np.array([node.node]))[0]])
    others = np.flatnonzero(segmented.segment_of_file[0] >= 0)
    others = others[others != here]
    roots = [
        _NodeRef(number, int(segmented.segments[number].arrays.node_start[index]))
        for number, index in segmented.segment_of_file[:, others].T.tolist()
    ]
    if not roots:
        return []
    edges = segmented.directories.between(others, np.full(len(others), here))
    arriving = edges * np.array([strengths[root.segment][root.node] for root in roots])
    best = int(arriving.argmax())
    text = f"{segmented.names.paths[int(others[best])]} -> {segmented.names.paths[here]}"
    return [_Step(roots[best], float(edges[best]), text)]


def _definitions_at(endpoints: CallEndpoints, node: int) -> list[int]:
    """The definitions of the call endpoints at a node."""
    found: list[int] = endpoints.definition[endpoints.at.before[node] : endpoints.at.before[node + 1]].tolist()
    return found


def _nodes_of(segmented: SegmentedGraph, definition: int, *, of_calls: bool) -> list[_NodeRef]:
    refs = []
    for number, segment in enumerate(segmented.segments):
        endpoints = segment.arrays.calls if of_calls else segment.arrays.definitions
        found, _ = endpoints.of(np.array([definition]), at_most=len(endpoints.definition))
        nodes = endpoints.at.node[found].astype(np.int64)
        live = segment.live(ReachedNodes(np.zeros(len(nodes), np.int64), nodes, np.ones(len(nodes))))
        refs += [_NodeRef(number, node) for node in live.nodes.tolist()]
    return refs


def _path_at(segmented: SegmentedGraph, node: _NodeRef) -> str:
    arrays = segmented.segments[node.segment].arrays
    return segmented.names.paths[int(arrays.files[arrays.file_at(np.array([node.node]))[0]])]
