"""Relation strengths between fragments: max-product paths over syntax trees, directories and calls (Eq. 8 and Eq. 9).

Owns the formulas of FragRel (papers' spec 1.2 to 1.4). The strength between two nodes is the largest product of edge
weights over all paths between them. `benchmarks/engine/reference_relations.py` computes the same by Dijkstra's
algorithm from every node; tests compare the two. Knows fragments as ids with lines: no text and no query.

Without calls the graph is a tree, so strengths are exact and linear (`forest`, `intra_file`). Call edges are shortcuts
between subtrees. A bounded search follows the strongest of them (`path_search`), so the cost of a definition does not
depend on the number of its callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats, Int32s, Int64s, Ints, lookup_sorted, multi_arange, scatter_add, sum_by_key, top_k_per_row
from .cover import Spans
from .graph import CodeGraph
from .graph_arrays import ReachedNodes
from .path_search import (
    ReachedDefinitions,
    follow_calls,
    fragment_strengths,
    merge_reached,
    reached_definitions,
    strengths_in_file,
    with_ancestors,
)
from .segmented_graph import GraphSegment, SegmentedGraph
from .strongest_paths import StrongestPaths
from .weights import Weights

CUTOFF = 1e-3
"""Weaker strengths along calls count as none (papers' spec 1.3)."""

MAX_NEIGHBOURS = 128  # neighbours by calls that a fragment keeps for Eq. 9
N_CALL_ROWS = 64  # fragments per query whose neighbours by calls are computed; as good as all of them for a top 10
ROWS_AT_ONCE = 64  # rows of one vectorised search
MAX_KEPT_ROWS = 20_000


class Relations:
    """The relations of one snapshot of a repository. Immutable, with a cache that later snapshots share.

    The caller chooses the ids of fragments (`Spans.first_id`); an id may be reused when its file has changed or is
    removed. Results are float64 arrays over all ids up to `n_ids`, 0 where no fragment has the id.
    """

    __slots__ = ("_call_rows", "_mass", "_segmented")

    _segmented: SegmentedGraph
    _call_rows: dict[tuple[int, float], _CallRow]
    _mass: Floats | None

    def __init__(self, weights: Weights | None = None) -> None:
        """The relations of an empty repository."""
        self._initialise(SegmentedGraph(weights or Weights()), {})

    @classmethod
    def build(cls, graph: CodeGraph, spans: Mapping[str, Spans], weights: Weights | None = None) -> Relations:
        """The relations between the fragments `spans` of the files of a graph."""
        return cls(weights).with_changes(graph, spans)

    def with_changes(self, graph: CodeGraph, changed: Mapping[str, Spans], removed: Iterable[str] = ()) -> Relations:
        """The next snapshot, from the next graph and the spans of the files that differ. This one stays as it is.

        `changed` holds every file that is new or has another `FileGraph` or other spans. Unchanged files whose calls
        resolve differently are found here. The graph may be an overlay.
        """
        new = Relations.__new__(Relations)
        new._initialise(self._segmented.with_changes(graph, changed, removed), self._call_rows)
        return new

    @property
    def weights(self) -> Weights:
        return self._segmented.weights

    @property
    def n_ids(self) -> int:
        return self._segmented.n_ids

    def environment(
        self,
        scores: Floats,
        *,
        include_self: bool = False,
        exclude: Sequence[int] | Ints = (),
        alpha: float = 0.5,
        n_call_rows: int | None = N_CALL_ROWS,
        cutoff: float = CUTOFF,
    ) -> Floats:
        """Eq. 9 for every fragment: the mean of all scores, weighted by the relation to it; 0 when it has none.

        The part of the relation by syntax and directories is exact. The part by calls is bounded: each fragment has its
        strongest neighbours by calls, found at strengths of `cutoff` or more, and only the `n_call_rows` fragments
        with the best score + alpha * environment without them get theirs; None is all. With a cutoff of 0 all is
        exact and takes quadratic time: for small trees.

        Fragments of `exclude` count in no sum, and their own environment is 0. `scores` has shape (n_ids,).
        """
        counted = (self._segmented.file_of_id >= 0).astype(np.float64)
        counted[np.asarray(exclude, np.int64)] = 0
        scores = scores * counted
        if cutoff <= 0:
            return self._exact_environment(scores, counted, include_self)
        total, mass = self._tree_product(scores), self._mass_of(counted)
        if not include_self:
            own = self._self_weights()
            total, mass = total - own * scores, mass - own * counted
        candidates = np.flatnonzero(counted)
        if n_call_rows is not None and n_call_rows < len(candidates):
            standing = (scores + alpha * _ratio(total, mass))[candidates]
            candidates = candidates[np.argpartition(-standing, n_call_rows)[:n_call_rows]]
        for row in self._rows_of_calls(candidates.tolist(), cutoff):
            extra = row.extra if include_self else np.where(row.neighbours == row.fragment_id, 0, row.extra)
            total[row.fragment_id] += extra @ scores[row.neighbours]
            mass[row.fragment_id] += extra @ counted[row.neighbours]
        return _ratio(total, mass) * counted

    def relations_of(self, fragment_id: int, *, cutoff: float = CUTOFF) -> Floats:
        """One row of W, Eq. 8: the strengths between a fragment and all fragments, itself included. Exact at cutoff 0.

        Raises KeyError when no fragment has the id.
        """
        if cutoff <= 0:
            return self._exact_row(fragment_id)
        row = self._tree_row(fragment_id)
        for calls in self._rows_of_calls([fragment_id], cutoff):
            row[calls.neighbours] += calls.extra
        return row

    def relation_to_cursor(self, path: str, line: int, *, cutoff: float = CUTOFF) -> Floats:
        """Strength between the code at a line and every fragment: Eq. 8 with a single node on one side.

        The node is the innermost that begins at the line or before it. Calls are followed at strengths of `cutoff` or
        more; 0 is exact, and slow. All strengths are 0 when the file is unknown.
        """
        segmented = self._segmented
        found = segmented.node_at(path, line)
        if found is None:
            return np.zeros(self.n_ids)
        source, node = found
        first, beyond = source.arrays.nodes_beside(node)
        if cutoff <= 0:
            return self._by_fragment(self._strengths(source, node))
        seed = ReachedNodes(np.zeros(1, np.int64), np.array([node]), np.ones(1))
        up = with_ancestors(source.arrays, seed, 0.0)
        in_reach = reached_definitions(source.arrays, up, cutoff, max(segmented.n_definitions, 1))
        reached = [
            merge_reached([part, up], segment.arrays.n_nodes) if segment is source else part
            for segment, part in zip(segmented.segments, follow_calls(segmented, in_reach, cutoff), strict=True)
        ]
        # Strengths at the roots of files propagate along the directory tree.
        at_roots = np.zeros(segmented.n_files)
        for segment, part in zip(segmented.segments, reached, strict=True):
            roots = segment.arrays.edge[part.nodes] == 0
            np.maximum.at(at_roots, segment.arrays.files[segment.arrays.file_at(part.nodes[roots])], part.values[roots])
        at_roots = segmented.directories.max_product(at_roots)
        result = segmented.mass_of_id * at_roots[segmented.file_of_id]
        for segment, part in zip(segmented.segments, reached, strict=True):
            # In the cursor's own file weak strengths along the tree count too, without a cutoff.
            own = (part.nodes >= first) & (part.nodes < beyond) & (segment is source)
            for here, floor in ((own, 0.0), (~own, cutoff)):
                if here.any():
                    some = ReachedNodes(part.rows[here], part.nodes[here], part.values[here])
                    fragments, gained = fragment_strengths(segment.arrays, some, floor, at_roots[segment.arrays.files])
                    result[segment.ids[fragments]] += gained
        return result

    def strengths_from(self, path: str, node: int) -> dict[str, Floats]:
        """Strength between one listed node (its index in `FileGraph.nodes`) and all listed nodes of all files. Exact.

        Raises KeyError when the file is unknown.
        """
        segmented = self._segmented
        found = segmented.find_file(path)
        if found is None:
            raise KeyError(path)
        source, file = found
        paths = segmented.names.paths
        result = {}
        for segment, values in zip(
            segmented.segments, self._strengths(source, source.arrays.listed_node(file, node)), strict=True
        ):
            arrays = segment.arrays
            parts = np.split(values[arrays.listed], arrays.listed_start[1:-1])
            result.update({paths[arrays.files[i]]: parts[i] for i in np.flatnonzero(segment.alive).tolist()})
        return result

    def paths_from(self, path: str, line: int) -> RelationPaths:
        """The strongest paths from the code at a line. For one thread; many paths from one line cost little more."""
        return RelationPaths(self._segmented, self._segmented.node_at(path, line))

    def paths_from_end(self, path: str, line: int) -> RelationPaths:
        """As `paths_from`, as if the file ended after the line. Calls above it mean what they do in the whole file."""
        segmented = self._segmented
        return RelationPaths(segmented, segmented.node_at(path, line), segmented.nodes_below(path, line))

    def __getstate__(self) -> SegmentedGraph:
        return self._segmented

    def __setstate__(self, segmented: SegmentedGraph) -> None:
        self._initialise(segmented, {})

    def _initialise(self, segmented: SegmentedGraph, call_rows: dict[tuple[int, float], _CallRow]) -> None:
        self._segmented = segmented
        # Shared by all snapshots derived from one another: a row knows the file versions that it is valid for.
        self._call_rows = call_rows
        # Computed on demand from the arrays.
        self._mass = None

    # Syntax and directories: W x = A K A^T x

    def _tree_product(self, x: Floats) -> Floats:
        """W x without calls, shape (n_ids,)."""
        segmented = self._segmented
        files = np.maximum(segmented.file_of_id, 0)  # the mass is 0 where no fragment is
        per_file = scatter_add(files, segmented.mass_of_id * x, segmented.n_files)
        product = np.append(segmented.mass_of_id * segmented.directories.sum_product(per_file)[files], 0.0)
        x = np.append(x, 0.0)  # the target of the id -1
        for segment in segmented.segments:
            product[segment.ids] += segment.arrays.inside.product(x[segment.ids])
        return product[:-1]

    def _mass_of(self, counted: Floats) -> Floats:
        """Row sums of W without calls, over the counted fragments."""
        exists = (self._segmented.file_of_id >= 0).astype(np.float64)
        if self._mass is None:
            self._mass = self._tree_product(exists)
        return self._mass if np.array_equal(exists, counted) else self._mass - self._tree_product(exists - counted)

    def _self_weights(self) -> Floats:
        weights = np.zeros(self.n_ids + 1)
        for segment in self._segmented.segments:
            weights[segment.ids] = segment.arrays.inside.self_weight
        return weights[:-1]

    def _tree_row(self, fragment_id: int) -> Floats:
        """One row of W without calls, shape (n_ids,)."""
        segmented = self._segmented
        (number,), at = segmented.fragments(np.array([fragment_id]))
        segment = segmented.segments[number]
        here = np.zeros(segmented.n_files)
        here[segmented.file_of_id[fragment_id]] = segmented.mass_of_id[fragment_id]
        row = segmented.mass_of_id * segmented.directories.max_product(here)[segmented.file_of_id]
        row[segmented.file_of_id == segmented.file_of_id[fragment_id]] = 0
        _, fragments, strengths = _tree_in_file(segment, at)
        row[segment.arrays.fragment_id[fragments]] = strengths
        return row

    # Calls: what they add to W

    def _rows_of_calls(self, ids: Sequence[int], cutoff: float) -> list[_CallRow]:
        kept = {i: self._call_rows.get((i, cutoff)) for i in ids}
        missing = [i for i, row in kept.items() if row is None or not row.is_valid_in(self._segmented)]
        for start in range(0, len(missing), ROWS_AT_ONCE):
            for row in self._search_rows(np.array(missing[start : start + ROWS_AT_ONCE]), cutoff):
                kept[row.fragment_id] = row
                if len(self._call_rows) >= MAX_KEPT_ROWS:
                    self._call_rows.clear()
                self._call_rows[row.fragment_id, cutoff] = row
        return [row for row in kept.values() if row is not None]

    def _search_rows(self, ids: Int64s, cutoff: float) -> list[_CallRow]:
        segmented = self._segmented
        n_definitions, n_ids = max(segmented.n_definitions, 1), self.n_ids
        numbers, at = segmented.fragments(ids)
        keys, values, by_call, tree_keys, tree_values = [], [], [], [], []
        for number in np.unique(numbers).tolist():
            segment, own = segmented.segments[number], np.flatnonzero(numbers == number)
            cover, shares, owner = segment.arrays.cover_of(at[own])
            up = with_ancestors(segment.arrays, cover, cutoff)
            found = reached_definitions(segment.arrays, up, cutoff, n_definitions)
            entry, definition = np.divmod(found.keys, n_definitions)
            keys.append(own[owner[entry]] * n_definitions + definition)
            values.append(shares[entry] * found.values)
            by_call.append(values[-1] * found.by_call)
            rows, fragments, strengths = _tree_in_file(segment, at[own])
            tree_keys.append(own[rows] * n_ids + segment.arrays.fragment_id[fragments])
            tree_values.append(strengths)
        definitions, strengths = sum_by_key(np.concatenate(keys), np.concatenate(values))
        _, called = sum_by_key(np.concatenate(keys), np.concatenate(by_call))
        reached = follow_calls(segmented, ReachedDefinitions(definitions, strengths, called > 0), cutoff)
        found_keys, found_values = [], []
        touched = [np.arange(len(ids)) * segmented.n_files + segmented.file_of_id[ids]]
        for segment, part in zip(segmented.segments, reached, strict=True):
            at_fragments, strengths = fragment_strengths(segment.arrays, part, cutoff)
            rows, fragments = np.divmod(at_fragments, max(segment.arrays.n_fragments, 1))
            found_keys.append(rows * n_ids + segment.ids[fragments])
            found_values.append(strengths)
            touched.append(part.rows * segmented.n_files + segment.arrays.files[segment.arrays.file_at(part.nodes)])
        pairs, strengths = np.concatenate(found_keys), np.concatenate(found_values)
        rows, neighbours = np.divmod(pairs, n_ids)
        without = self._across_files(ids[rows], neighbours)
        same_file = np.flatnonzero(without < 0)
        without[same_file] = lookup_sorted(
            *sum_by_key(np.concatenate(tree_keys), np.concatenate(tree_values)), wanted=pairs[same_file]
        )
        extra = strengths - without
        kept = np.flatnonzero(extra > 0)
        kept = kept[top_k_per_row(rows[kept], extra[kept], MAX_NEIGHBOURS)]
        kept = kept[np.argsort(rows[kept], kind="stable")]
        files = np.unique(np.concatenate(touched))
        each = np.arange(1, len(ids))
        row_bounds = np.searchsorted(rows[kept], each)
        file_rows, files = np.divmod(files, segmented.n_files)
        return [
            _CallRow(int(i), row_neighbours, row_extra, row_files, segmented.file_version[:, row_files])
            for i, row_neighbours, row_extra, row_files in zip(
                ids,
                np.split(neighbours[kept], row_bounds),
                np.split(extra[kept], row_bounds),
                np.split(files, np.searchsorted(file_rows, each)),
                strict=True,
            )
        ]

    def _across_files(self, a: Int64s, b: Int64s) -> Floats:
        """W without calls for pairs of fragments in different files; -1 for pairs in one file."""
        segmented = self._segmented
        files_a, files_b = segmented.file_of_id[a], segmented.file_of_id[b]
        pairs, which = np.unique(files_a.astype(np.int64) * segmented.n_files + files_b, return_inverse=True)
        strengths = segmented.directories.between(*np.divmod(pairs, segmented.n_files))[which.reshape(-1)]
        return np.where(files_a == files_b, -1.0, segmented.mass_of_id[a] * segmented.mass_of_id[b] * strengths)

    # Exactly

    def _strengths(self, source: GraphSegment, node: int) -> list[Floats]:
        """Strength between one node and all nodes, per segment: a fixed point over trees, directories and calls."""
        segmented = self._segmented
        segments = segmented.segments
        strengths = [np.zeros(segment.arrays.n_nodes) for segment in segments]
        for segment, values in zip(segments, strengths, strict=True):
            if segment is source:
                values[node] = 1.0
        forests = [segment.arrays.forest() for segment in segments]
        roots = [segment.arrays.node_start[:-1][segment.alive] for segment in segments]
        root_files = [segment.arrays.files[segment.alive] for segment in segments]
        links = [
            (values, linked.weight, *segment.live_links(linked))
            for segment, values in zip(segments, strengths, strict=True)
            for linked in (segment.arrays.definitions, segment.arrays.calls)
        ]
        defined = np.zeros(segmented.n_definitions, bool)
        for _, _, _, definitions in links[::2]:
            defined[definitions] = True
        total = -1.0
        while total < (total := sum(float(values.sum()) for values in strengths)):
            at_roots = np.zeros(segmented.n_files)
            for values, forest, at, files in zip(strengths, forests, roots, root_files, strict=True):
                values[:] = forest.max_product(values[forest.order])[forest.position]
                at_roots[files] = values[at]
            at_roots = segmented.directories.max_product(at_roots)
            at_definitions = np.zeros(segmented.n_definitions)
            for values, weight, nodes, definitions in links:
                np.maximum.at(at_definitions, definitions, weight * values[nodes])
            at_definitions[~defined] = 0
            for values, at, files in zip(strengths, roots, root_files, strict=True):
                values[at] = np.maximum(values[at], at_roots[files])
            for values, weight, nodes, definitions in links:
                np.maximum.at(values, nodes, weight * at_definitions[definitions])
        return strengths

    def _by_fragment(self, strengths: Sequence[Floats]) -> Floats:
        """Strengths of fragments, from those of nodes per segment, weighted by shares."""
        result = np.zeros(self.n_ids + 1)
        for segment, values in zip(self._segmented.segments, strengths, strict=True):
            arrays = segment.arrays
            shared = arrays.entry_share * values[arrays.entry_node]
            result[segment.ids] = scatter_add(arrays.entry_fragment, shared, arrays.n_fragments)
        return result[:-1]

    def _exact_row(self, fragment_id: int) -> Floats:
        (number,), at = self._segmented.fragments(np.array([fragment_id]))
        segment = self._segmented.segments[number]
        cover, shares, _ = segment.arrays.cover_of(at)
        row = np.zeros(self.n_ids)
        for node, share in zip(cover.nodes.tolist(), shares.tolist(), strict=True):
            row += share * self._by_fragment(self._strengths(segment, node))
        return row

    def _exact_environment(self, scores: Floats, counted: Floats, include_self: bool) -> Floats:
        total, mass = np.zeros(self.n_ids), np.zeros(self.n_ids)
        for i in np.flatnonzero(counted).tolist():
            row = self._exact_row(i) * counted
            if not include_self:
                row[i] = 0
            total[i], mass[i] = row @ scores, row.sum()
        return _ratio(total, mass)


class RelationPaths:
    """The strongest paths from the code at a line, the node that is the start of `Relations.relation_to_cursor`."""

    def __init__(
        self, segmented: SegmentedGraph, source: tuple[GraphSegment, int] | None, hidden: range = range(0)
    ) -> None:
        self._segmented = segmented
        self._paths = None if source is None else StrongestPaths(segmented, source, CUTOFF, hidden)

    def to(self, fragment_id: int) -> tuple[str, ...]:
        """The strongest path to the part of a fragment that is related most, as its steps between files and along
        calls.

        A step reads "b.py: call f -> a.py: def f", or "a.py -> b.py" when only directories lead there. Empty when both
        are in one file and no call leads there stronger, or the file of the line is unknown. Of equally strong paths
        it is one with the fewest steps. Raises KeyError for an unknown id.
        """
        (number,), at = self._segmented.fragments(np.array([fragment_id]))
        if self._paths is None:
            return ()
        cover, shares, _ = self._segmented.segments[number].arrays.cover_of(at)
        parts = {node: share for node, share in zip(cover.nodes.tolist(), shares.tolist(), strict=True) if share > 0}
        return self._paths.to(int(number), parts)[1] if parts else ()


class _CallRow(NamedTuple):
    """The part of one row of W by calls, and the versions of the files that the search visited."""

    fragment_id: int
    neighbours: Int32s
    extra: Floats
    files: Int64s  # never empty, in order
    file_version: NDArray[np.uint64]  # (2, n_files)

    def is_valid_in(self, segmented: SegmentedGraph) -> bool:
        """Whether a search in this snapshot would find the same.

        The visited files have the same versions, so the calls into them come from the same files as before. Known
        inaccuracy: a file that the search did not visit may call the same definitions from other nodes.
        """
        return int(self.files[-1]) < segmented.n_files and np.array_equal(
            segmented.file_version[:, self.files], self.file_version
        )


def _tree_in_file(segment: GraphSegment, fragments: Int64s) -> tuple[Int64s, Int64s, Floats]:
    """Rows of W without calls, inside the files of the fragments: indices of fragments, fragments, strengths."""
    arrays = segment.arrays
    cover, shares, owner = arrays.cover_of(fragments)
    nodes, row = np.unique(cover.nodes, return_inverse=True)  # fragments slide, so many nodes are in two of them
    reached, strengths = strengths_in_file(arrays, nodes)
    bounds = reached.searchsorted(np.arange(len(nodes) + 1) * arrays.n_fragments)
    counts = np.diff(bounds)[row]
    found = multi_arange(bounds[row], counts)
    pairs, strengths = sum_by_key(
        owner.repeat(counts) * arrays.n_fragments + reached[found] % arrays.n_fragments,
        shares.repeat(counts) * strengths[found],
    )
    return *np.divmod(pairs, arrays.n_fragments), strengths


def _ratio(total: Floats, mass: Floats) -> Floats:
    """The quotient; 0 where the mass is 0 up to rounding."""
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 1e-12)
