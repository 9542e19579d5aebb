"""Reference implementation of the relations: the whole graph, Dijkstra from every node, Eq. 8 and Eq. 9 as written.

Owns what `codegraph.relations` is compared with by tests and by `relations` beside this file. Its time grows with the
square of the repository. It reads all named nodes of the syntax trees and none of the engine's arrays; the resolved
calls come from the `CodeGraph`. Needs networkx, which Weft itself does not.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tree_sitter import Node, Parser

from ...codegraph.cover import Spans
from ...codegraph.graph import CodeGraph
from ...codegraph.weights import Weights
from ...languages import grammar

if TYPE_CHECKING:
    from networkx import Graph

Key = tuple[str, int]
"""A node: ("a/b.py", i) is the i-th named node of a syntax tree, ("a/b.py", FILE) the file, ("a", FILE) a directory."""

FILE = -1


@dataclass(frozen=True, slots=True)
class ExactGraph:
    """The graph of spec 1.3 with `cost` = -ln(weight) on its edges."""

    graph: Graph[Key]
    trees: Mapping[str, Sequence[Node]]  # all named nodes of each file, in document order
    listed: Mapping[str, NDArray[np.int64]]  # which of them `FileGraph.nodes` lists

    @classmethod
    def build(cls, code: CodeGraph, texts: Mapping[str, str], weights: Weights | None = None) -> ExactGraph:
        """The graph of these Python files, whose `FileGraph` and calls are those of `code`."""
        import networkx

        weights = weights or Weights()
        graph: Graph[Key] = networkx.Graph()
        trees: dict[str, list[Node]] = {}
        listed: dict[str, NDArray[np.int64]] = {}
        calls: dict[str, list[int]] = {}
        definitions: dict[tuple[str, str], int] = {}

        def connect(a: Key, b: Key, weight: float) -> None:
            cost = -log(weight)
            if not graph.has_edge(a, b) or graph.edges[a, b]["cost"] > cost:
                graph.add_edge(a, b, cost=cost)

        for path, text in texts.items():
            for below, above in zip([path, *_directories(path)], _directories(path), strict=False):
                connect((below, FILE), (above, FILE), weights.directory)
            root = Parser(grammar("python")).parse(text.encode()).root_node
            tree = _Numbered(root)
            trees[path], listed[path] = tree.nodes, np.array(tree.listed)
            connect((path, FILE), (path, 0), weights.file_root)
            for child, parent in tree.edges:
                connect((path, child), (path, parent), weights.syntax)
            facts = code.files[path]
            calls[path] = tree.find([(call.node, call.depth) for call in facts.calls], {"call"})
            kinds = {"function_definition", "class_definition"}
            found = tree.find([(it.node, it.depth) for it in facts.definitions], kinds)
            for definition, number in zip(facts.definitions, found, strict=True):
                definitions.setdefault((path, definition.qualified_name), number)
        for path in texts:
            for edge in code.call_edges(path):
                target = (edge.path, definitions[edge.path, edge.qualified_name])
                connect((path, calls[path][edge.call]), target, weights.call)
        return cls(graph, trees, listed)

    def strengths(self, source: Key) -> dict[Key, float]:
        """Dis of Eq. 8 between one node and every node: the largest product of weights over all paths."""
        from networkx import single_source_dijkstra_path_length

        return {
            key: exp(-cost)
            for key, cost in single_source_dijkstra_path_length(self.graph, source, weight="cost").items()
        }

    def relations(self, spans: Mapping[str, Spans], n_ids: int) -> NDArray[np.float64]:
        """Eq. 8 for all pairs of fragments, shape (n_ids, n_ids); 0 where no fragment has the id."""
        covers = {}
        for path, span in spans.items():
            for k, (start, end) in enumerate(zip(span.starts, span.ends, strict=True)):
                covers[span.first_id + k] = self.cover(path, int(start), int(end))
        strengths = {key: self.strengths(key) for key in {key for cover in covers.values() for key, _ in cover}}
        matrix = np.zeros((n_ids, n_ids))
        for i, mine in covers.items():
            for j, theirs in covers.items():
                weighted = sum(a * b * strengths[g].get(h, 0.0) for g, a in mine for h, b in theirs)
                matrix[i, j] = weighted / sum(a * b for _, a in mine for _, b in theirs)
        return matrix

    def cover(self, path: str, start: int, end: int) -> list[tuple[Key, int]]:
        """The maximal nodes inside lines `start` to `end` with their lengths; the file itself when there is none."""
        nodes = self.trees[path]
        numbers = {node.id: i for i, node in enumerate(nodes)}
        found: list[tuple[Key, int]] = []
        pending = [nodes[0]]
        while pending:
            node = pending.pop()
            first, beyond = _lines(node)
            if start <= first and beyond <= end:
                found.append(((path, numbers[node.id]), node.end_byte - node.start_byte))
            elif first < end and start < beyond:
                pending.extend(node.named_children)
        return [(key, length) for key, length in found if length] or [((path, FILE), 1)]


def environment(
    relations: NDArray[np.float64], scores: NDArray[np.float64], *, include_self: bool
) -> NDArray[np.float64]:
    """Eq. 9 for every fragment; 0 where the fragment is related to nothing."""
    relations = relations.copy()
    if not include_self:
        np.fill_diagonal(relations, 0)
    mass = relations.sum(axis=1)
    result: NDArray[np.float64] = np.divide(relations @ scores, mass, out=np.zeros_like(mass), where=mass > 0)
    return result


class _Numbered:
    """The named nodes of a tree in document order, and their places below the listed ones."""

    def __init__(self, root: Node) -> None:
        self.nodes: list[Node] = []
        self.edges: list[tuple[int, int]] = []  # child, parent
        self.listed: list[int] = []
        self._place: list[tuple[int, int]] = []  # innermost listed node, as its index in the list; edges down from it
        pending = [(root, -1)]
        while pending:
            node, parent = pending.pop()
            number = len(self.nodes)
            self.nodes.append(node)
            if parent < 0 or _is_open(self.nodes[parent]):
                self._place.append((len(self.listed), 0))
                self.listed.append(number)
            else:
                above, depth = self._place[parent]
                self._place.append((above, depth + 1))
            if parent >= 0:
                self.edges.append((number, parent))
            pending.extend((child, number) for child in reversed(node.named_children))

    def find(self, places: Sequence[tuple[int, int]], kinds: set[str]) -> list[int]:
        """The nodes of these kinds at these places; of several at one place, one after another."""
        by_place = defaultdict[tuple[int, int], deque[int]](deque)
        for number, place in enumerate(self._place):
            if self.nodes[number].type in kinds:
                by_place[place].append(number)
        return [by_place[place].popleft() for place in places]


def _is_open(node: Node) -> bool:
    first, beyond = _lines(node)
    return beyond - first > 1


def _lines(node: Node) -> tuple[int, int]:
    row, column = node.end_point
    return node.start_point[0], row + 1 if column else row


def _directories(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents]
