"""A snapshot of the graph arrays in immutable segments, with tombstones for replaced files.

Owns the step from one snapshot to the next, as in a segmented search index: changed files go into a new segment and
are marked dead in the old ones; small segments are merged into the new one. Knows no strengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from secrets import randbits
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats, Int32s, Int64s, Ints
from .cover import Spans
from .directory_tree import DirectoryTree
from .file_graph import NODE_START
from .graph import CodeGraph
from .graph_arrays import CallEndpoints, GraphArrays, IdTable, ReachedNodes
from .persistent_map import PersistentMap
from .weights import Weights


@dataclass(frozen=True, slots=True)
class GraphSegment:
    """Arrays with tombstones: the files that this snapshot has replaced or removed are dead."""

    arrays: GraphArrays
    alive: NDArray[np.bool_]  # per file
    ids: Int32s  # per fragment; -1 when its file is not alive

    @classmethod
    def of(cls, arrays: GraphArrays) -> GraphSegment:
        return cls(arrays, np.ones(len(arrays.files), bool), arrays.fragment_id)

    def without(self, files: Iterable[int]) -> GraphSegment:
        """The segment with these files (indices into the arrays) marked dead as well."""
        alive, ids = self.alive.copy(), self.ids.copy()
        for file in files:
            alive[file] = False
            ids[self.arrays.fragment_start[file] : self.arrays.fragment_start[file + 1]] = -1
        return GraphSegment(self.arrays, alive, ids)

    @property
    def n_nodes(self) -> int:
        return int(np.diff(self.arrays.node_start)[self.alive].sum())

    def live(self, points: ReachedNodes) -> ReachedNodes:
        """The reached nodes whose files are alive."""
        live = self.alive[self.arrays.file_at(points.nodes)]
        return points if live.all() else ReachedNodes(points.rows[live], points.nodes[live], points.values[live])

    def live_links(self, links: CallEndpoints) -> tuple[Int32s, Int32s]:
        """Nodes and definitions of the call endpoints whose files are alive."""
        live = self.alive[self.arrays.file_at(links.at.node)]
        return links.at.node[live], links.definition[live]


class SegmentedGraph:
    """The files of one snapshot. Immutable; the next snapshot shares all unchanged segments.

    By id of the file: `segment_of_file` is its segment and the index in it, (-1, -1) for a removed file;
    `file_version` is a random number for the content of the file, and a hash of the calls into it. Equal versions in
    any two snapshots mean an equal file and equal callers. By id of the fragment: `file_of_id`, -1 where no fragment
    is, and `mass_of_id`, the strength between the fragment and the root of its file.
    """

    __slots__ = (
        "_directories",
        "file_of_id",
        "file_version",
        "graph",
        "mass_of_id",
        "names",
        "segment_of_file",
        "segments",
        "spans",
        "weights",
    )

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.graph = CodeGraph()
        self.names = IdTable()
        self.spans: PersistentMap[Spans] = PersistentMap()
        self.segments: tuple[GraphSegment, ...] = ()
        self.segment_of_file: Int32s = np.zeros((2, 0), np.int32)
        self.file_version: NDArray[np.uint64] = np.zeros((2, 0), np.uint64)
        self.file_of_id: Int32s = np.zeros(0, np.int32)
        self.mass_of_id: Floats = np.zeros(0)
        self._directories = DirectoryTree((), weights.directory, weights.file_root)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with the spans of all files in columns."""
        spans = list(self.spans.values())
        columns = (
            list(self.spans),
            np.array([(span.first_id, len(span)) for span in spans], np.int64).reshape(-1, 2),
            np.concatenate([np.zeros(0, np.int32), *(span.starts for span in spans)]),
            np.concatenate([np.zeros(0, np.int32), *(span.ends for span in spans)]),
        )
        return {name: columns if name == "spans" else getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        paths, numbers, starts, ends = state["spans"]
        spans, at = {}, 0
        for path, (first_id, length) in zip(paths, numbers.tolist(), strict=True):
            spans[path] = Spans(first_id, starts[at : at + length], ends[at : at + length])
            at += length
        self.spans = PersistentMap(spans)

    def _copy(self) -> SegmentedGraph:
        new = SegmentedGraph.__new__(SegmentedGraph)
        for name in self.__slots__:
            setattr(new, name, getattr(self, name))
        return new

    @property
    def n_ids(self) -> int:
        return len(self.file_of_id)

    @property
    def n_files(self) -> int:
        """The number of all files ever added: ids of files are below this."""
        return int(self.file_version.shape[1])

    @property
    def n_definitions(self) -> int:
        """Ids of definitions in the segments are below this. `names` grows with every other snapshot; this does not."""
        last = (
            int(links.sorted_definitions[-1])
            for segment in self.segments
            for links in (segment.arrays.calls, segment.arrays.definitions)
            if len(links.sorted_definitions)
        )
        return max(last, default=-1) + 1

    @property
    def directories(self) -> DirectoryTree:
        if self._directories.n_files != self.n_files:
            self._directories = DirectoryTree(
                self.names.paths[: self.n_files], self.weights.directory, self.weights.file_root
            )
        return self._directories

    def with_changes(self, graph: CodeGraph, changed: Mapping[str, Spans], removed: Iterable[str]) -> SegmentedGraph:
        """See `Relations.with_changes`."""
        gone = [path for path in removed if path in self.spans and path not in changed]
        new = self._copy()
        new.graph, new.segments = graph, ()
        new.spans = self.spans.with_changes(changed, gone)
        fresh = list(changed)
        fresh += [path for path in _re_resolved(self.graph, graph) if path in new.spans and path not in changed]
        files = np.array([self.names.file(path) for path in [*fresh, *gone]], np.int64)

        n_files = self.names.n_files
        new.segment_of_file = _grown(self.segment_of_file, (2, n_files), -1)
        new.file_version = _grown(self.file_version, (2, n_files), 0)
        n_ids = max([self.n_ids, *(span.first_id + len(span) for span in changed.values())])
        new.file_of_id = _grown(self.file_of_id, (n_ids,), -1)
        new.mass_of_id = _grown(self.mass_of_id, (n_ids,), 0.0)
        calls_before = self._calls_from(files)
        new._replace(self.segments, fresh, files)
        differing = np.setxor1d(calls_before, new._calls_from(files), assume_unique=True)
        new.file_version[0, files] = randbits(64)
        np.bitwise_xor.at(new.file_version[1], self.names.files_of(differing & 0xFFFFFFFF), _mixed(differing))
        return new

    def find_file(self, path: str) -> tuple[GraphSegment, int] | None:
        """The segment of a file and the index in it; None when it is not in this snapshot."""
        file = self.names.find_file(path)
        if file is None or file >= self.n_files or self.segment_of_file[0, file] < 0:
            return None
        return self.segments[self.segment_of_file[0, file]], int(self.segment_of_file[1, file])

    def node_at(self, path: str, line: int) -> tuple[GraphSegment, int] | None:
        """The last node that begins at a line or before it: the innermost there, or the one before a blank line."""
        found = self.find_file(path)
        if found is None:
            return None
        segment, file = found
        starts = self.graph.files[path].nodes[NODE_START]
        return segment, segment.arrays.listed_node(file, max(int(np.searchsorted(starts, line, side="right")) - 1, 0))

    def nodes_below(self, path: str, line: int) -> range:
        """The nodes of a file that begin after a line; they are consecutive. None for an unknown file."""
        found = self.find_file(path)
        if found is None:
            return range(0)
        segment, file = found
        starts = self.graph.files[path].nodes[NODE_START]
        index, end = int(np.searchsorted(starts, line, side="right")), int(segment.arrays.node_start[file + 1])
        return range(segment.arrays.listed_node(file, index) if index < len(starts) else end, end)

    def fragments(self, ids: Ints) -> tuple[Int32s, Int64s]:
        """The segment of each fragment and the index in its arrays.

        Raises KeyError when no fragment has one of the ids.
        """
        ids = np.asarray(ids, np.int64)
        known = (ids >= 0) & (ids < self.n_ids)
        files = np.where(known, self.file_of_id[np.where(known, ids, 0)] if self.n_ids else -1, -1)
        if np.any(files < 0):
            raise KeyError(f"no fragment has the id {ids[files < 0][0]}")
        segments, index = self.segment_of_file[:, files]
        at = np.empty(len(ids), np.int64)
        for number in np.unique(segments).tolist():
            arrays, here = self.segments[number].arrays, segments == number
            first = arrays.fragment_start[index[here]]
            at[here] = first + ids[here] - arrays.fragment_id[first]
        return segments, at

    def _replace(self, segments: Sequence[GraphSegment], fresh: list[str], changed: Int64s) -> None:
        """Keep the segments of the previous snapshot with the changed files dead, and add one of the fresh files."""
        for number, segment in enumerate(segments):
            dead = self.segment_of_file[1, changed[self.segment_of_file[0, changed] == number]].tolist()
            if dead:
                segment = segment.without(dead)
                for file in dead:
                    ids = segment.arrays.ids_of(file)
                    self.file_of_id[ids], self.mass_of_id[ids] = -1, 0.0
            self.segments += (segment,)
        self.segment_of_file[:, changed] = -1
        # A segment is at most a quarter of the one before it: there are few segments, and files are seldom copied.
        n_nodes = sum(self.graph.files[path].n_nodes for path in fresh)
        paths = self.names.paths
        while self.segments and self.segments[-1].n_nodes <= 4 * n_nodes:
            absorbed = self.segments[-1]
            self.segments = self.segments[:-1]
            n_nodes += absorbed.n_nodes
            fresh = fresh + [paths[file] for file in absorbed.arrays.files[absorbed.alive].tolist()]
        if not fresh:
            return
        arrays = GraphArrays.build(self.graph, fresh, [self.spans[path] for path in fresh], self.names, self.weights)
        self.segment_of_file[0, arrays.files] = len(self.segments)
        self.segment_of_file[1, arrays.files] = np.arange(len(fresh))
        self.segments += (GraphSegment.of(arrays),)
        self.file_of_id[arrays.fragment_id] = arrays.files[arrays.fragment_file]
        self.mass_of_id[arrays.fragment_id] = arrays.root_mass

    def _calls_from(self, files: Int64s) -> Int64s:
        """The calls of these files, as file << 32 | definition, each once."""
        pairs = [np.zeros(0, np.int64)]
        for file in files[files < self.n_files].tolist():
            segment, index = self.segment_of_file[:, file].tolist()
            if segment >= 0:
                pairs.append(file << 32 | self.segments[segment].arrays.called_from(index).astype(np.int64))
        return np.unique(np.concatenate(pairs))


def _mixed(numbers: Int64s) -> NDArray[np.uint64]:
    """The SplitMix64 hash of each number (Steele, Lea and Flood 2014)."""
    z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _re_resolved(older: CodeGraph, newer: CodeGraph) -> set[str]:
    """Files whose calls resolve differently. An overlay only loses call edges, which the search checks itself."""
    differing = newer._edges.differing_from(older._edges)
    return differing if older.is_settled else differing | older.unresolved()


_Number = TypeVar("_Number", bound=np.generic)


def _grown(array: NDArray[_Number], shape: tuple[int, ...], fill: float) -> NDArray[_Number]:
    """A larger copy, filled up with `fill`."""
    grown = np.full(shape, fill, array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown
