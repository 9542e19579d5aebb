"""Several files as flat arrays: concatenated syntax trees, node covers and call edges in compressed sparse rows.

Owns the ids of files and definitions (`IdTable`) and the arrays over nodes, fragments, cover nodes, groups and calls
(`GraphArrays`). Knows no scores, no queries and no directories.

Nodes of one cover that have the same parent are connected to all other nodes through that parent. So a cover is stored
twice: node by node (*entries*), and summed up per parent (*groups*).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..string_table import StringNumbers, StringTable
from .arrays import Floats, Int32s, Int64s, Ints, multi_arange, row_offsets, scatter_add
from .cover import Cover, Spans, cover
from .file_graph import NODE_END, NODE_PARENT, NODE_START, FileGraph
from .forest import Forest, depths, subtree_ends
from .graph import CodeGraph
from .intra_file import IntraFileRelations
from .symbol_table import DECLARATION
from .weights import Weights


class ReachedNodes(NamedTuple):
    """Nodes that searches have reached, with their strengths. `rows` numbers the searches, which run simultaneously."""

    rows: Int64s
    nodes: Int64s
    values: Floats


class IdTable:
    """Interned ids of paths and definitions. Append-only, so all snapshots that share it agree on the ids.

    Thread-safe. It grows while a query reads an older snapshot, so the sizes of a query are those of its snapshot:
    `SegmentedGraph.n_files` and `n_definitions`.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._paths: list[str] = []
        self._definitions = StringNumbers()  # "number of the file qualified name"
        self._known_files: Int32s = np.zeros(0, np.int32)  # the files of the first definitions
        self._new_files: list[int] = []  # and of the others
        self._lock = threading.Lock()

    def file(self, path: str) -> int:
        found = self._files.get(path)
        if found is None:
            with self._lock:
                found = self._files.get(path)
                if found is None:
                    found = len(self._paths)
                    self._paths.append(path)
                    self._files[path] = found  # last, as in `definition`
        return found

    def path(self, file: int) -> str:
        """The path of a file."""
        return self._paths[file]

    def find_file(self, path: str) -> int | None:
        return self._files.get(path)

    def definition(self, file: int, qualified_name: str) -> int:
        key = f"{file} {qualified_name}"
        found = self._definitions.find(key)
        if found is None:
            with self._lock:
                found = self._definitions.find(key)
                if found is None:
                    self._new_files.append(file)
                    found = self._definitions.number(key)  # last: threads that find the id without the lock read it
        return found

    def files_of(self, definitions: Ints) -> Int64s:
        """The numbers of the files that the definitions are in."""
        n_known = len(self._known_files)
        found = np.zeros(len(definitions), np.int64)
        known = definitions < n_known
        found[known] = self._known_files[definitions[known]]
        found[~known] = [self._new_files[number - n_known] for number in definitions[~known].tolist()]
        return found

    def definition_name(self, definition: int) -> str:
        """The qualified name of a definition."""
        return self._definitions[definition].partition(" ")[2]

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths ever seen, by number."""
        return tuple(self._paths)

    @property
    def n_files(self) -> int:
        return len(self._files)

    def __getstate__(self) -> tuple[list[str], Int32s, StringTable]:
        with self._lock:
            files = np.concatenate([self._known_files, np.array(self._new_files, np.int32)])
            return self._paths.copy(), files, self._definitions.table()

    def __setstate__(self, state: tuple[list[str], Int32s, StringTable]) -> None:
        self._paths, self._known_files, definitions = state
        self._files = {path: i for i, path in enumerate(self._paths)}
        self._definitions, self._new_files = StringNumbers(definitions), []
        self._lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class NodeItems:
    """Items attached to nodes, sorted by node: the items of a subtree are one contiguous run.

    `before[i]` is the number of items at nodes before i, shape (n_nodes + 1,).
    """

    node: Int32s
    before: Int32s

    @classmethod
    def sorted(cls, node: Ints, n_nodes: int) -> NodeItems:
        before = np.zeros(n_nodes + 1, np.int32)
        np.cumsum(np.bincount(node, minlength=n_nodes), out=before[1:])
        return cls(node.astype(np.int32), before)


@dataclass(frozen=True, slots=True)
class CallEndpoints:
    """One end of the call edges, all of one weight: the calls, or (with weight 1) the called definitions."""

    at: NodeItems
    definition: Int32s
    weight: float
    # The same, sorted by definition; those at listed nodes come first.
    by_definition: Int32s
    sorted_definitions: Int32s

    @classmethod
    def build(cls, node: Int32s, definition: Int32s, steps: Int32s, weight: float, n_nodes: int) -> CallEndpoints:
        order = np.argsort(node, kind="stable")
        definition = definition[order]
        by_definition = np.lexsort((steps[order], definition)).astype(np.int32)
        return cls(NodeItems.sorted(node[order], n_nodes), definition, weight, by_definition, definition[by_definition])

    def of(self, definitions: Ints, at_most: int) -> tuple[Int64s, Int64s]:
        """At most `at_most` endpoints of each definition, and for each the index into `definitions`."""
        first = self.sorted_definitions.searchsorted(definitions, side="left")
        beyond = self.sorted_definitions.searchsorted(definitions, side="right")
        counts = np.minimum(beyond - first, at_most)
        found = self.by_definition[multi_arange(first, counts)].astype(np.int64)
        return found, np.arange(len(definitions)).repeat(counts)


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """Some files, concatenated. Nodes, fragments, entries and groups are numbered over all of them."""

    weights: Weights
    powers: Floats  # syntax weight to the power of 0, 1, … up to the depth of the deepest node, and one more

    files: Int32s  # number of each file (`IdTable.file`)
    node_start: Int64s  # (n_files + 1,)
    listed: Int32s  # the nodes of `FileGraph.nodes`; the others are calls and definitions inside these
    listed_start: Int64s  # (n_files + 1,)
    fragment_start: Int64s  # (n_files + 1,)

    parent: Int32s  # of each node; -1 for roots
    depth: Int32s  # syntax edges up to the root; to the parent of a node that is not listed it may be several
    edge: Floats  # strength between a node and its parent; 0 for roots
    end: Int32s  # the first node after its subtree

    fragment_id: Int32s
    fragment_file: Int32s  # index into `files`
    root_mass: Floats  # strength between the fragment and its root: sum of share * 0.5 ** depth

    entry_start: Int64s  # (n_fragments + 1,); entries are in the order of fragments
    entry_node: Int32s
    entry_share: Floats
    entry_fragment: Int32s
    entry_group: Int32s
    entry_link: Floats  # 0.5, or 1 when the node is a root: the edge between it and its group's node
    entries_at: NodeItems  # of `entries_by_node`
    entries_by_node: Int32s

    groups: NodeItems  # at the parents
    group_fragment: Int32s
    group_weight: Floats  # 0.5 * sum of shares

    calls: CallEndpoints
    definitions: CallEndpoints

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @cached_property
    def inside(self) -> IntraFileRelations:
        """W inside the files, without calls. Computed on demand: the overlay of one query may never need it."""
        return IntraFileRelations(self)

    def __getstate__(self) -> dict[str, object]:
        """The stored state; the products are computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "inside"}

    def forest(self) -> Forest:
        """The forest of all nodes."""
        return Forest(self.parent, self.edge)

    @property
    def n_fragments(self) -> int:
        return len(self.fragment_id)

    def ids_of(self, file: int) -> Int32s:
        """The ids of the fragments of a file, given its index."""
        return self.fragment_id[self.fragment_start[file] : self.fragment_start[file + 1]]

    def file_at(self, nodes: Ints) -> Int64s:
        """The index of the file that each node is in."""
        return self.node_start.searchsorted(nodes, side="right") - 1

    def nodes_beside(self, node: int) -> tuple[int, int]:
        """The first node of the file that a node is in, and the first after it."""
        file = int(self.file_at(np.array([node]))[0])
        return int(self.node_start[file]), int(self.node_start[file + 1])

    def listed_node(self, file: int, index: int) -> int:
        """The node at an index of `FileGraph.nodes`."""
        return int(self.listed[self.listed_start[file] + index])

    def called_from(self, file: int) -> Int32s:
        """The targets of the calls of a file."""
        first, beyond = self.calls.at.before[self.node_start[file : file + 2]]
        return self.calls.definition[first:beyond]

    def cover_of(self, fragments: Ints) -> tuple[ReachedNodes, Floats, Int64s]:
        """The cover nodes of the fragments, each in a row of its own; their shares; the indices of the fragments."""
        first = self.entry_start[fragments]
        counts = self.entry_start[fragments + 1] - first
        entries = multi_arange(first, counts)
        nodes = self.entry_node[entries].astype(np.int64)
        owner = np.repeat(np.arange(len(counts)), counts)
        return ReachedNodes(np.arange(len(nodes)), nodes, np.ones(len(nodes))), self.entry_share[entries], owner

    @classmethod
    def build(
        cls, graph: CodeGraph, paths: Sequence[str], spans: Sequence[Spans], names: IdTable, weights: Weights
    ) -> GraphArrays:
        """The arrays of these files of the graph."""
        w = weights.syntax
        parts = [graph.files[path] for path in paths]
        listed_start = row_offsets([part.n_nodes for part in parts])
        fragment_start = row_offsets([len(span) for span in spans])
        facts = _concatenate_nodes(parts, listed_start)
        calls, definitions = _call_rows(graph, parts, listed_start, names)
        listed, added, parent, depth, end = _add_nodes(facts[NODE_PARENT], np.concatenate([calls, definitions]))
        node_start = np.append(listed, len(parent))[listed_start]
        n_nodes = len(parent)
        powers = np.power(w, np.arange(int(depth.max(initial=0)) + 2), dtype=np.float64)
        edge = np.where(parent >= 0, powers[depth - depth[parent]], 0.0)

        fragment_file = np.repeat(np.arange(len(parts), dtype=np.int32), np.diff(fragment_start))
        covers = _cover_all(facts, parts, spans, listed_start, fragment_file)
        entry_node, entry_share = listed[covers.nodes], covers.shares
        n_fragments = len(fragment_file)
        entry_fragment = np.repeat(np.arange(n_fragments, dtype=np.int32), np.diff(covers.indptr))
        root_mass = scatter_add(entry_fragment, entry_share * powers[depth[entry_node]], n_fragments)

        is_root = parent[entry_node] < 0
        entry_link = np.where(is_root, 1.0, w)
        head = np.where(is_root, entry_node, parent[entry_node])
        keys, first, inverse = np.unique(
            head.astype(np.int64) * max(n_fragments, 1) + entry_fragment, return_index=True, return_inverse=True
        )
        groups = NodeItems.sorted(head[first], n_nodes)
        group_fragment = entry_fragment[first]
        group_weight = scatter_add(inverse, entry_share * entry_link, len(keys))
        by_node = np.argsort(entry_node, kind="stable")

        return cls(
            weights=weights,
            powers=powers,
            files=np.array([names.file(path) for path in paths], np.int32),
            node_start=node_start,
            listed=listed,
            listed_start=listed_start,
            fragment_start=fragment_start,
            parent=parent,
            depth=depth,
            edge=edge,
            end=end,
            fragment_id=multi_arange(np.array([span.first_id for span in spans]), np.diff(fragment_start)).astype(
                np.int32
            ),
            fragment_file=fragment_file,
            root_mass=root_mass,
            entry_start=covers.indptr,
            entry_node=entry_node,
            entry_share=entry_share,
            entry_fragment=entry_fragment,
            entry_group=inverse.astype(np.int32).reshape(-1),
            entry_link=entry_link,
            entries_at=NodeItems.sorted(entry_node[by_node], n_nodes),
            entries_by_node=by_node.astype(np.int32),
            groups=groups,
            group_fragment=group_fragment,
            group_weight=group_weight,
            calls=CallEndpoints.build(added[: len(calls)], calls[:, 2], calls[:, 1], weights.call, n_nodes),
            definitions=CallEndpoints.build(added[len(calls) :], definitions[:, 2], definitions[:, 1], 1.0, n_nodes),
        )


def _concatenate_nodes(parts: Sequence[FileGraph], node_start: Int64s) -> Int32s:
    """All nodes, (5, n_nodes); parents are numbered over all of them, lines stay those of their file."""
    nodes = np.concatenate([part.nodes for part in parts], axis=1) if parts else np.zeros((5, 0), np.int32)
    offsets = np.repeat(node_start[:-1], np.diff(node_start))
    nodes[NODE_PARENT] = np.where(nodes[NODE_PARENT] >= 0, nodes[NODE_PARENT] + offsets, -1)
    return nodes


def _cover_all(
    nodes: Int32s,
    parts: Sequence[FileGraph],
    spans: Sequence[Spans],
    node_start: Int64s,
    fragment_file: Int32s,
) -> Cover:
    """The covers of all files at once: line numbers run over all files, with a gap between two."""
    lengths = [max(part.n_lines, int(max(span.ends, default=0))) + 1 for part, span in zip(parts, spans, strict=True)]
    first_line = row_offsets(lengths)[:-1]
    shifted = nodes.copy()
    shifted[[NODE_START, NODE_END]] += np.repeat(first_line, np.diff(node_start)).astype(np.int32)
    offsets = first_line[fragment_file]
    starts = _joined([span.starts for span in spans]) + offsets
    ends = _joined([span.ends for span in spans]) + offsets
    return cover(shifted, starts, ends, node_start[:-1][fragment_file])


def _joined(arrays: Sequence[Ints]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _call_rows(
    graph: CodeGraph, parts: Sequence[FileGraph], listed_start: Int64s, names: IdTable
) -> tuple[Int32s, Int32s]:
    """Calls and definitions as rows: listed node, syntax edges below it, id of the definition, and number of the
    occurrence. A call that resolves to two definitions has two rows with the same occurrence."""
    calls: list[tuple[int, int, int, int]] = []
    definitions: list[tuple[int, int, int, int]] = []
    n_occurrences = 0
    for part, offset in zip(parts, listed_start[:-1].tolist(), strict=True):
        file = names.file(part.path)
        bodies_first = sorted(part.definitions, key=lambda found: found.kind == DECLARATION)
        first = {found.qualified_name: found for found in reversed(bodies_first)}
        for name, it in first.items():
            definitions.append((offset + it.node, it.depth, names.definition(file, name), n_occurrences))
            n_occurrences += 1
        edges = graph.call_edges(part.path)
        if edges:
            made = part.calls
            for edge in edges:
                call = made[edge.call]
                target = names.definition(names.file(edge.path), edge.qualified_name)
                calls.append((offset + call.node, call.depth, target, n_occurrences + edge.call))
            n_occurrences += len(made)
    return np.array(calls, np.int32).reshape(-1, 4), np.array(definitions, np.int32).reshape(-1, 4)


def _add_nodes(listed_parent: Int32s, rows: Int32s) -> tuple[Int32s, Int32s, Int32s, Int32s, Int32s]:
    """Add nodes for the calls and definitions that are not listed, right after the listed ancestor of each.

    Returns the numbers of the listed nodes, the node of each row, then parent, depth and end of all nodes.
    """
    listed_depth = depths(listed_parent)
    n_listed = len(listed_parent)
    _, first, which = np.unique(np.where(rows[:, 1] > 0, rows[:, 3], -1), return_index=True, return_inverse=True)
    above, steps = rows[first, 0], rows[first, 1]
    inside = steps > 0
    order = np.argsort(above[inside], kind="stable")
    above, steps = above[inside][order], steps[inside][order]
    n_above = np.bincount(above, minlength=n_listed)
    listed = (np.arange(n_listed) + np.cumsum(n_above) - n_above).astype(np.int32)
    added = multi_arange(listed + 1, n_above).astype(np.int32)

    n_nodes = n_listed + len(added)
    parent, depth, end = np.empty((3, n_nodes), np.int32)
    parent[listed] = np.where(listed_parent >= 0, listed[listed_parent], -1)
    parent[added] = listed[above]
    depth[listed] = listed_depth
    depth[added] = listed_depth[above] + steps
    end[listed] = np.append(listed, n_nodes)[subtree_ends(listed_parent, listed_depth)]
    end[added] = added + 1

    of_occurrence = np.zeros(len(inside), np.int32)
    of_occurrence[np.flatnonzero(inside)[order]] = added
    return listed, np.where(rows[:, 1] > 0, of_occurrence[which.reshape(-1)], listed[rows[:, 0]]), parent, depth, end
