"""Strongest paths between code and fragments by bidirectional Dijkstra search, as readable steps.

The strongest path has the smallest sum of costs: the cost of an edge is the negative logarithm of its weight. One
search from the source serves all targets and goes on where a target needs it; one search goes back from each target.
The cost depends on the surroundings of both ends, not on the repository. Used for explanations. Knows no scores.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf, log2

import numpy as np

from .arrays import Int32s, Int64s, row_offsets
from .graph_arrays import CallEndpoints
from .path_search import MAX_CALLERS
from .segmented_graph import GraphSegment, SegmentedGraph

# Costs are integers, so the sum of a path does not depend on its order, and equally strong paths are equal.
_HALVING = 1 << 40  # the cost of a weight of 1/2
_PER_CALL, _PER_ROOT = 2, 1  # added, so of equally strong paths that with the fewest steps is found

_NO_STEP = 0
"""The step of an edge of syntax or directories. d + 1 leads to definition d, and -(d + 1) to a call of it."""

_AHEAD = 2 * _HALVING
"""How much further the search from the source goes than that from a target."""

_Edge = tuple[int, int, int]  # node, cost, step


class StrongestPaths:
    """The strongest paths from one node. Not for several threads at once: the search from the node goes on.

    A path along calls that is weaker than `cutoff` counts as none: then it is that along syntax and directories. No
    path leads through the `hidden` nodes of the source's segment.
    """

    def __init__(
        self, segmented: SegmentedGraph, source: tuple[GraphSegment, int], cutoff: float, hidden: range = range(0)
    ) -> None:
        segment, node = source
        number = next(at for at, each in enumerate(segmented.segments) if each is segment)
        self._graph = _Graph(segmented, number, hidden)
        self._source = self._graph.number(number, node)
        self._most = cost_of(cutoff)
        self._forward = _Search(self._graph, {self._source: 0})

    def to(self, segment: int, shares: Mapping[int, float]) -> tuple[float, tuple[str, ...]]:
        """The largest strength times share of some nodes of a segment, and the steps of the path, source first.

        Steps are those between files and along calls: none for a path along syntax only. Shares are above 0.
        """
        targets = {self._graph.number(segment, node): cost_of(share) for node, share in shares.items()}
        least, nearest = min((cost + self._graph.tree_cost(self._source, node), node) for node, cost in targets.items())
        forward, backward = self._forward, _Search(self._graph, targets)
        most: float = min(least, self._most)
        known, meeting = min((cost + forward.costs.get(node, inf), node) for node, cost in targets.items())
        most, meeting = (known, meeting) if known < most else (most, -1)
        while (at_source := forward.least) + (at_target := backward.least) < most:
            # The search from the source serves the other targets too.
            is_forward = at_source < at_target + _AHEAD
            one, costs = (forward, backward.costs) if is_forward else (backward, forward.costs)
            for node, cost in one.expand(self._most if is_forward else most - at_source):
                if node in costs and cost + costs[node] < most:
                    most, meeting = cost + costs[node], node
        if meeting < 0:
            return 0.5 ** (least / _HALVING), self._graph.tree_steps(self._source, nearest)
        there = list(forward.way_from(meeting))[::-1]
        back = list(backward.way_from(meeting))
        # A step is noted at the node that it leads to; from the other side that is the node before it.
        ahead = [(node, -step) for (_, step), (node, _) in pairwise(back)]
        return 0.5 ** (most / _HALVING), tuple(self._graph.texts([*there, *ahead]))


class _Search:
    """Dijkstra's algorithm from some nodes with their costs, one node at a time."""

    def __init__(self, graph: _Graph, sources: Mapping[int, int]) -> None:
        self._graph = graph
        self._before: dict[int, tuple[int, int]] = {}  # node -> the one before it, and the step from there
        self._queue = [(cost, node) for node, cost in sources.items()]
        heapify(self._queue)
        self.costs = dict(sources)
        """The least cost of each node that was met. It is final below `least`."""

    @property
    def least(self) -> float:
        """The cost of the node that is next, or less."""
        return self._queue[0][0] if self._queue else inf

    def expand(self, most: float) -> list[tuple[int, int]]:
        """Go on from the next node, and later from those that it leads to at less than `most`.

        Returns the nodes that are met at less cost than before, with the cost.
        """
        so_far, node = heappop(self._queue)
        if so_far > self.costs[node]:
            return []
        met = []
        costs, before, queue = self.costs, self._before, self._queue
        for other, more, step in self._graph.edges(node):
            cost = so_far + more
            if other not in costs or cost < costs[other]:
                costs[other] = cost
                before[other] = node, step
                met.append((other, cost))
                if cost < most:
                    heappush(queue, (cost, other))
        return met

    def way_from(self, node: int) -> Iterator[tuple[int, int]]:
        """The nodes from this one back to where the search began, each with the step that led to it."""
        while node in self._before:
            before, step = self._before[node]
            yield node, step
            node = before
        yield node, _NO_STEP


class _Graph:
    """Nodes of syntax and directories by number: those of the segments in order, then those of the directory tree."""

    def __init__(self, segmented: SegmentedGraph, segment: int, hidden: range) -> None:
        """`hidden` nodes of a segment are no neighbours."""
        self._segmented = segmented
        self._segments = [_SegmentEdges(segment) for segment in segmented.segments]
        self._firsts = row_offsets([segment.arrays.n_nodes for segment in segmented.segments]).tolist()
        self._first_directory = self._firsts[-1]
        first = self._firsts[segment]
        self._hidden = range(first + hidden.start, first + hidden.stop)
        self._directories = segmented.directories
        self._between: dict[tuple[int, int], int] = {}  # costs between files along directories
        weights = segmented.weights
        self._syntax, self._directory = cost_of(weights.syntax), cost_of(weights.directory)
        self._root, self._call = cost_of(weights.file_root) + _PER_ROOT, cost_of(weights.call) + _PER_CALL
        self._edges: dict[int, list[_Edge]] = {}
        self._linked: dict[tuple[int, bool], list[int]] = {}

    def number(self, segment: int, node: int) -> int:
        first: int = self._firsts[segment]
        return first + node

    def edges(self, number: int) -> list[_Edge]:
        """The neighbours of a node. The surroundings of many targets are the same."""
        found = self._edges.get(number)
        if found is None:
            is_syntax = number < self._first_directory
            found = self._edges_of_syntax(number) if is_syntax else self._edges_of_directory(number)
            if self._hidden:
                found = [edge for edge in found if edge[0] not in self._hidden]
            self._edges[number] = found
        return found

    def _edges_of_syntax(self, number: int) -> list[_Edge]:
        segment, node = self._at(number)
        first, depth = number - node, segment.depth
        parent, here = segment.parent[node], depth[node]
        if parent >= 0:
            edges = [(first + parent, (here - depth[parent]) * self._syntax, _NO_STEP)]
        else:
            edges = [(self._first_directory + self._directories.node_of(self._file(number)), self._root, _NO_STEP)]
        child, end = node + 1, segment.end[node]
        while child < end:
            edges.append((first + child, (depth[child] - here) * self._syntax, _NO_STEP))
            child = segment.end[child]
        for definition in segment.calls.at(node):
            edges += [(other, self._call, definition + 1) for other in self._nodes_of(definition, of_calls=False)]
        for definition in segment.definitions.at(node):
            edges += [(other, self._call, -(definition + 1)) for other in self._nodes_of(definition, of_calls=True)]
        return edges

    def _edges_of_directory(self, number: int) -> list[_Edge]:
        edges, node = list[_Edge](), number - self._first_directory
        file = self._directories.file_of(node)
        if file >= 0:
            segment, index = self._segmented.segment_of_file[:, file].tolist()
            if segment >= 0:
                root = int(self._segmented.segments[segment].arrays.node_start[index])
                edges.append((self._firsts[segment] + root, self._root, _NO_STEP))
        for other in self._directories.beside(node):
            edges.append((self._first_directory + other, self._directory, _NO_STEP))
        return edges

    def tree_cost(self, a: int, b: int) -> int:
        """The cost of the path between two nodes of syntax along syntax and directories."""
        file, other = self._file(a), self._file(b)
        if file == other:
            return self._cost_in_file(a, b)
        if (file, other) not in self._between:
            strength = float(self._directories.between(np.array([file]), np.array([other]))[0])
            self._between[file, other] = cost_of(strength) + 2 * _PER_ROOT
        return self._to_root(a) + self._between[file, other] + self._to_root(b)

    def _cost_in_file(self, a: int, b: int) -> int:
        segment, node = self._at(a)
        first, n_edges = a - node, segment.depth[node] + segment.depth[b - a + node]
        while a != b:  # the one with the larger number is never an ancestor of the other
            a, b = max(a, b), min(a, b)
            a = first + segment.parent[a - first]
        common: int = segment.depth[a - first]
        return (n_edges - 2 * common) * self._syntax

    def _to_root(self, number: int) -> int:
        segment, node = self._at(number)
        cost: int = segment.depth[node] * self._syntax
        return cost

    def tree_steps(self, a: int, b: int) -> tuple[str, ...]:
        """The step of this path in words, none inside a file."""
        return () if self._file(a) == self._file(b) else (f"{self._path(a)} -> {self._path(b)}",)

    def texts(self, way: list[tuple[int, int]]) -> Iterator[str]:
        """The steps of a path in words: "b.py: call f -> a.py: def f", or "a.py -> b.py" through directories."""
        here = ""
        is_beside = False  # whether the path has left the file `here` for the directories
        for number, step in way:
            if number >= self._first_directory:
                is_beside = True
                continue
            before, here = here, self._path(number)
            if step:
                name = self._segmented.names.definition_name(abs(step) - 1)
                ends = ("call", "def") if step > 0 else ("def", "call")
                yield f"{before}: {ends[0]} {name} -> {here}: {ends[1]} {name}"
            elif is_beside:
                yield f"{before} -> {here}"
            is_beside = False

    def _at(self, number: int) -> tuple[_SegmentEdges, int]:
        """The segment of a node of syntax, and the node in it."""
        at = bisect_right(self._firsts, number) - 1
        return self._segments[at], number - self._firsts[at]

    def _file(self, number: int) -> int:
        segment, node = self._at(number)
        return int(segment.files[segment.file_at(node)])

    def _path(self, number: int) -> str:
        return self._segmented.names.path(self._file(number))

    def _nodes_of(self, definition: int, *, of_calls: bool) -> list[int]:
        """The nodes of the definition itself, or of calls of it."""
        found = self._linked.get((definition, of_calls))
        if found is None:
            found = self._linked[definition, of_calls] = [
                first + node
                for first, segment in zip(self._firsts, self._segments, strict=False)
                for node in (segment.calls if of_calls else segment.definitions).nodes_of(definition)
                if segment.is_live(node)
            ]
        return found


class _SegmentEdges:
    """The arrays of a segment as views whose items are plain numbers: several times faster, one item at a time."""

    def __init__(self, segment: GraphSegment) -> None:
        arrays = segment.arrays
        self.parent, self.depth, self.end = _view(arrays.parent), _view(arrays.depth), _view(arrays.end)
        self.files, self._starts = _view(arrays.files), _view(arrays.node_start)
        self.calls, self.definitions = _Links(arrays.calls), _Links(arrays.definitions)
        self._alive = None if segment.alive.all() else segment.alive

    def file_at(self, node: int) -> int:
        """The index of the file that a node is in."""
        return bisect_right(self._starts, node) - 1

    def is_live(self, node: int) -> bool:
        """Whether the file that a node is in is alive."""
        return self._alive is None or bool(self._alive[self.file_at(node)])


class _Links:
    """The same for call endpoints."""

    def __init__(self, links: CallEndpoints) -> None:
        self._before, self._definitions, self._nodes = (
            _view(column) for column in (links.at.before, links.definition, links.at.node)
        )
        self._sorted, self._by_definition = _view(links.sorted_definitions), _view(links.by_definition)

    def at(self, node: int) -> list[int]:
        """The definitions of the endpoints at a node."""
        first, beyond = self._before[node], self._before[node + 1]
        return self._definitions[first:beyond].tolist() if first < beyond else []

    def nodes_of(self, definition: int) -> list[int]:
        """The nodes of the first endpoints of a definition."""
        first = bisect_left(self._sorted, definition)
        beyond = bisect_right(self._sorted, definition, first)
        return [self._nodes[each] for each in self._by_definition[first : min(beyond, first + MAX_CALLERS)]]


def _view(column: Int32s | Int64s) -> memoryview[int]:
    return memoryview(column)  # type: ignore[arg-type]  # arrays are buffers, which their stubs say from Python 3.12 on


def cost_of(weight: float) -> int:
    """The cost of an edge, at least 0."""
    return round(-log2(weight) * _HALVING)
