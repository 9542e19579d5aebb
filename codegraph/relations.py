"""How strongly any two fragments of a repository belong together.

Owns the engine of Eq. 8 and Eq. 9 (FragRel; papers' spec 1.2 to 1.4): the strength between two nodes is the largest
product of edge weights over all paths between them. `exact` says the same in a few plain lines and takes hours where
this takes milliseconds; tests hold the two together. Knows fragments as numbers with lines: no text and no query.

Without calls the graph is a tree, and everything about it is exact and linear (`forest`, `layout`). Calls are shortcuts
in that tree. They are followed outwards from a point of interest, the strongest first and only so many (`search`), so
a definition that everybody calls costs no more than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats, Ints, Longs, Numbers, look_up, strongest_in_rows, sum_per, sums_at
from .cover import Spans
from .graph import CodeGraph
from .layout import Points
from .layouts import Layouts, View
from .search import Reached, climb, definitions_in_reach, follow_calls, spread, strongest_points
from .trails import trail
from .weights import Weights

CUTOFF = 1e-3
"""Weaker strengths along calls count as none (papers' spec 1.3)."""

MAX_NEIGHBOURS = 128  # call-made neighbours that a fragment keeps for Eq. 9
N_CALL_ROWS = 64  # fragments whose call-made neighbours one query asks for; as good as all of them for a top 10
ROWS_AT_ONCE = 64  # they are searched for side by side
MAX_KEPT_ROWS = 20_000


class Related(NamedTuple):
    """A neighbour of a fragment and the strength between the two (Eq. 8)."""

    fragment_id: int
    strength: float


class Relations:
    """The relations of one snapshot of a repository. Immutable; what it computes on demand is kept for its successors.

    Fragments are numbers that the caller gives (`Spans.first_id`); an id may be given again when its file has
    changed or is gone. Results are float64 arrays over all ids up to `n_ids`, 0 where no fragment has the id.
    """

    __slots__ = ("_call_rows", "_kept_strengths", "_layouts", "_mass")

    _layouts: Layouts
    _call_rows: dict[tuple[int, float], _CallRow]
    _mass: Floats | None
    _kept_strengths: tuple[tuple[str, int], list[Floats]] | None

    def __init__(self, weights: Weights | None = None) -> None:
        """The relations of an empty repository."""
        self._hold(Layouts(weights or Weights()), {})

    @classmethod
    def build(cls, graph: CodeGraph, spans: Mapping[str, Spans], weights: Weights | None = None) -> Relations:
        """The relations between the fragments `spans` of the files of a graph."""
        return cls(weights).with_changes(graph, spans)

    def with_changes(self, graph: CodeGraph, changed: Mapping[str, Spans], removed: Iterable[str] = ()) -> Relations:
        """The next snapshot, from the next graph and the spans of the files that differ. This one stays as it is.

        `changed` holds every file that is new or has another `FileGraph` or other spans. Files whose calls lead
        elsewhere now, though they did not change, are found here. The graph may be an overlay.
        """
        new = Relations.__new__(Relations)
        new._hold(self._layouts.with_changes(graph, changed, removed), self._call_rows)
        return new

    @property
    def weights(self) -> Weights:
        return self._layouts.weights

    @property
    def n_ids(self) -> int:
        return self._layouts.n_ids

    def environment(
        self,
        scores: Floats,
        *,
        include_self: bool = False,
        exclude: Sequence[int] | Numbers = (),
        alpha: float = 0.5,
        n_call_rows: int | None = N_CALL_ROWS,
        cutoff: float = CUTOFF,
    ) -> Floats:
        """Eq. 9 for every fragment: the mean of all scores, weighted by the relation to it; 0 when it has none.

        The part of the relation that syntax and directories make is exact. The part that calls make is bounded: each
        fragment has its strongest call-made neighbours, found at strengths of `cutoff` or more, and only the
        `n_call_rows` fragments that stand best without them (score + alpha * environment) get theirs; None is all.
        With a cutoff of 0 everything is exact, and takes the square of the size: for small trees.

        Fragments of `exclude` count in no sum, and their own environment is 0. `scores` has shape (n_ids,).
        """
        counted = (self._layouts.file_of_id >= 0).astype(np.float64)
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

    def strongest_neighbours(self, fragment_id: int, k: int, *, cutoff: float = CUTOFF) -> tuple[Related, ...]:
        """The k other fragments that are most strongly related to one, best first."""
        row = self.relations_of(fragment_id, cutoff=cutoff)
        row[fragment_id] = 0
        best = np.argsort(-row, kind="stable")[:k].tolist()
        return tuple(Related(i, float(row[i])) for i in best if row[i] > 0)

    def relation_to_cursor(self, path: str, line: int, *, cutoff: float = CUTOFF) -> Floats:
        """Strength between the code at a line and every fragment: Eq. 8 with a single node on one side.

        The node is the innermost that begins at the line or before it. Calls are followed at strengths of `cutoff` or
        more; 0 is exact, and slow. Everything is 0 when the file is unknown.
        """
        layouts = self._layouts
        found = layouts.node_at(path, line)
        if found is None:
            return np.zeros(self.n_ids)
        home, node = found
        first, beyond = home.layout.nodes_beside(node)
        if cutoff <= 0:
            return self._by_fragment(self._strengths(home, node))
        seed = Points(np.zeros(1, np.int64), np.array([node]), np.ones(1))
        up = climb(home.layout, seed, 0.0)
        in_reach = definitions_in_reach(home.layout, up, cutoff, max(layouts.names.n_definitions, 1))
        reached = [
            strongest_points([part, up], view.layout.n_nodes) if view is home else part
            for view, part in zip(layouts.views, follow_calls(layouts, in_reach, cutoff), strict=True)
        ]
        # What arrives at the root of a file is related to all files around it.
        at_roots = np.zeros(layouts.n_files)
        for view, part in zip(layouts.views, reached, strict=True):
            roots = view.layout.edge[part.nodes] == 0
            np.maximum.at(at_roots, view.layout.files[view.layout.file_at(part.nodes[roots])], part.values[roots])
        at_roots = layouts.directories.strongest(at_roots)
        result = layouts.mass_of_id * at_roots[layouts.file_of_id]
        for view, part in zip(layouts.views, reached, strict=True):
            # In the cursor's own file the tree counts too, however weak, so there nothing is cut off.
            own = (part.nodes >= first) & (part.nodes < beyond) & (view is home)
            for here, floor in ((own, 0.0), (~own, cutoff)):
                if here.any():
                    some = Points(part.rows[here], part.nodes[here], part.values[here])
                    fragments, gained = spread(view.layout, some, floor, at_roots[view.layout.files])
                    result[view.ids[fragments]] += gained
        return result

    def strengths_from(self, path: str, node: int) -> dict[str, Floats]:
        """Strength between one listed node (its index in `FileGraph.nodes`) and all listed nodes of all files. Exact.

        Raises KeyError when the file is unknown.
        """
        layouts = self._layouts
        found = layouts.home_of(path)
        if found is None:
            raise KeyError(path)
        home, file = found
        paths = layouts.names.paths
        result = {}
        for view, values in zip(layouts.views, self._strengths(home, home.layout.listed_node(file, node)), strict=True):
            layout = view.layout
            parts = np.split(values[layout.listed], layout.listed_start[1:-1])
            result.update({paths[layout.files[i]]: parts[i] for i in np.flatnonzero(view.alive).tolist()})
        return result

    def relation_path(self, path: str, line: int, fragment_id: int) -> tuple[str, ...]:
        """The strongest path from the code at a line to a fragment, as its steps between files and along calls.

        A step reads "b.py: call f -> a.py: def f", or "a.py -> b.py" when only directories lead there. Empty when both
        are in one file and no call leads there stronger, or the file is unknown. Raises KeyError for an unknown id.
        """
        layouts = self._layouts
        (number,), at = layouts.fragments(np.array([fragment_id]))
        found = layouts.node_at(path, line)
        if found is None:
            return ()
        # An explanation asks for many fragments from one cursor.
        kept = self._kept_strengths
        if kept is None or kept[0] != (path, line):
            kept = self._kept_strengths = ((path, line), self._strengths(*found))
        cover, shares, _ = layouts.views[number].layout.cover_of(at)
        best = int(np.argmax(shares * kept[1][number][cover.nodes]))
        return trail(layouts, kept[1], (int(number), int(cover.nodes[best])))

    def __getstate__(self) -> Layouts:
        return self._layouts

    def __setstate__(self, layouts: Layouts) -> None:
        self._hold(layouts, {})

    def _hold(self, layouts: Layouts, call_rows: dict[tuple[int, float], _CallRow]) -> None:
        self._layouts = layouts
        # Shared by all snapshots that come from one another: a row knows where it holds.
        self._call_rows = call_rows
        # Made when somebody asks, and never wrong: they follow from the layouts.
        self._mass = None
        self._kept_strengths = None

    # Syntax and directories: W x = A K A^T x

    def _tree_product(self, x: Floats) -> Floats:
        """W x without calls, shape (n_ids,)."""
        layouts = self._layouts
        files = np.maximum(layouts.file_of_id, 0)  # where no fragment is, there is no mass either
        per_file = sums_at(files, layouts.mass_of_id * x, layouts.n_files)
        product = np.append(layouts.mass_of_id * layouts.directories.sums(per_file)[files], 0.0)
        x = np.append(x, 0.0)  # what the id -1 reads and writes
        for view in layouts.views:
            product[view.ids] += view.layout.inside.product(x[view.ids])
        return product[:-1]

    def _mass_of(self, counted: Floats) -> Floats:
        """W without calls, summed up over the counted fragments."""
        exists = (self._layouts.file_of_id >= 0).astype(np.float64)
        if self._mass is None:
            self._mass = self._tree_product(exists)
        return self._mass if np.array_equal(exists, counted) else self._mass - self._tree_product(exists - counted)

    def _self_weights(self) -> Floats:
        weights = np.zeros(self.n_ids + 1)
        for view in self._layouts.views:
            weights[view.ids] = view.layout.inside.self_weight
        return weights[:-1]

    def _tree_row(self, fragment_id: int) -> Floats:
        """One row of W without calls, shape (n_ids,)."""
        layouts = self._layouts
        (number,), at = layouts.fragments(np.array([fragment_id]))
        view = layouts.views[number]
        here = np.zeros(layouts.n_files)
        here[layouts.file_of_id[fragment_id]] = layouts.mass_of_id[fragment_id]
        row = layouts.mass_of_id * layouts.directories.strongest(here)[layouts.file_of_id]
        row[layouts.file_of_id == layouts.file_of_id[fragment_id]] = 0
        _, fragments, strengths = _tree_in_file(view, at, 0.0)
        row[view.layout.fragment_id[fragments]] = strengths
        return row

    # Calls: what they add to W

    def _rows_of_calls(self, ids: Sequence[int], cutoff: float) -> list[_CallRow]:
        kept = {i: self._call_rows.get((i, cutoff)) for i in ids}
        missing = [i for i, row in kept.items() if row is None or not row.holds_in(self._layouts)]
        for start in range(0, len(missing), ROWS_AT_ONCE):
            for row in self._search_rows(np.array(missing[start : start + ROWS_AT_ONCE]), cutoff):
                kept[row.fragment_id] = row
                if len(self._call_rows) >= MAX_KEPT_ROWS:
                    self._call_rows.clear()
                self._call_rows[row.fragment_id, cutoff] = row
        return [row for row in kept.values() if row is not None]

    def _search_rows(self, ids: Longs, cutoff: float) -> list[_CallRow]:
        layouts = self._layouts
        n_definitions, n_ids = max(layouts.names.n_definitions, 1), self.n_ids
        numbers, at = layouts.fragments(ids)
        keys, values, by_call, tree_keys, tree_values = [], [], [], [], []
        for number in np.unique(numbers).tolist():
            view, own = layouts.views[number], np.flatnonzero(numbers == number)
            cover, shares, owner = view.layout.cover_of(at[own])
            up = climb(view.layout, cover, cutoff)
            found = definitions_in_reach(view.layout, up, cutoff, n_definitions)
            entry, definition = np.divmod(found.keys, n_definitions)
            keys.append(own[owner[entry]] * n_definitions + definition)
            values.append(shares[entry] * found.values)
            by_call.append(values[-1] * found.by_call)
            rows, fragments, strengths = _tree_in_file(view, at[own], 0.0)
            tree_keys.append(own[rows] * n_ids + view.layout.fragment_id[fragments])
            tree_values.append(strengths)
        definitions, strengths = sum_per(np.concatenate(keys), np.concatenate(values))
        _, called = sum_per(np.concatenate(keys), np.concatenate(by_call))
        reached = follow_calls(layouts, Reached(definitions, strengths, called > 0), cutoff)
        found_keys, found_values = [], []
        touched = [np.arange(len(ids)) * layouts.n_files + layouts.file_of_id[ids]]
        for view, part in zip(layouts.views, reached, strict=True):
            at_fragments, strengths = spread(view.layout, part, cutoff)
            rows, fragments = np.divmod(at_fragments, max(view.layout.n_fragments, 1))
            found_keys.append(rows * n_ids + view.ids[fragments])
            found_values.append(strengths)
            touched.append(part.rows * layouts.n_files + view.layout.files[view.layout.file_at(part.nodes)])
        pairs, strengths = np.concatenate(found_keys), np.concatenate(found_values)
        rows, neighbours = np.divmod(pairs, n_ids)
        without = self._across_files(ids[rows], neighbours)
        same_file = np.flatnonzero(without < 0)
        without[same_file] = look_up(
            *sum_per(np.concatenate(tree_keys), np.concatenate(tree_values)), wanted=pairs[same_file]
        )
        extra = strengths - without
        kept = np.flatnonzero(extra > 0)
        kept = kept[strongest_in_rows(rows[kept], extra[kept], MAX_NEIGHBOURS)]
        kept = kept[np.argsort(rows[kept], kind="stable")]
        files = np.unique(np.concatenate(touched))
        each = np.arange(1, len(ids))
        row_bounds = np.searchsorted(rows[kept], each)
        file_rows, files = np.divmod(files, layouts.n_files)
        return [
            _CallRow(int(i), row_neighbours, row_extra, row_files, layouts.state[:, row_files])
            for i, row_neighbours, row_extra, row_files in zip(
                ids,
                np.split(neighbours[kept], row_bounds),
                np.split(extra[kept], row_bounds),
                np.split(files, np.searchsorted(file_rows, each)),
                strict=True,
            )
        ]

    def _across_files(self, a: Longs, b: Longs) -> Floats:
        """W without calls for pairs of fragments in different files; -1 for pairs in one file."""
        layouts = self._layouts
        files_a, files_b = layouts.file_of_id[a], layouts.file_of_id[b]
        pairs, which = np.unique(files_a.astype(np.int64) * layouts.n_files + files_b, return_inverse=True)
        strengths = layouts.directories.between(*np.divmod(pairs, layouts.n_files))[which.reshape(-1)]
        return np.where(files_a == files_b, -1.0, layouts.mass_of_id[a] * layouts.mass_of_id[b] * strengths)

    # Exactly

    def _strengths(self, home: View, node: int) -> list[Floats]:
        """Strength between one node and all nodes, per view: trees, directories, calls in turns until nothing grows."""
        layouts = self._layouts
        views = layouts.views
        strengths = [np.zeros(view.layout.n_nodes) for view in views]
        for view, values in zip(views, strengths, strict=True):
            if view is home:
                values[node] = 1.0
        forests = [view.layout.forest() for view in views]
        roots = [view.layout.node_start[:-1][view.alive] for view in views]
        root_files = [view.layout.files[view.alive] for view in views]
        links = [
            (values, linked.weight, *view.live_links(linked))
            for view, values in zip(views, strengths, strict=True)
            for linked in (view.layout.definitions, view.layout.calls)
        ]
        standing = np.zeros(layouts.names.n_definitions, bool)
        for _, _, _, definitions in links[::2]:
            standing[definitions] = True
        total = -1.0
        while total < (total := sum(float(values.sum()) for values in strengths)):
            at_roots = np.zeros(layouts.n_files)
            for values, forest, at, files in zip(strengths, forests, roots, root_files, strict=True):
                values[:] = forest.strongest(values[forest.order])[forest.position]
                at_roots[files] = values[at]
            at_roots = layouts.directories.strongest(at_roots)
            at_definitions = np.zeros(layouts.names.n_definitions)
            for values, weight, nodes, definitions in links:
                np.maximum.at(at_definitions, definitions, weight * values[nodes])
            at_definitions[~standing] = 0
            for values, at, files in zip(strengths, roots, root_files, strict=True):
                values[at] = np.maximum(values[at], at_roots[files])
            for values, weight, nodes, definitions in links:
                np.maximum.at(values, nodes, weight * at_definitions[definitions])
        return strengths

    def _by_fragment(self, strengths: Sequence[Floats]) -> Floats:
        """Strengths of nodes, per view -> of fragments, by shares."""
        result = np.zeros(self.n_ids + 1)
        for view, values in zip(self._layouts.views, strengths, strict=True):
            layout = view.layout
            shared = layout.entry_share * values[layout.entry_node]
            result[view.ids] = sums_at(layout.entry_fragment, shared, layout.n_fragments)
        return result[:-1]

    def _exact_row(self, fragment_id: int) -> Floats:
        (number,), at = self._layouts.fragments(np.array([fragment_id]))
        view = self._layouts.views[number]
        cover, shares, _ = view.layout.cover_of(at)
        row = np.zeros(self.n_ids)
        for node, share in zip(cover.nodes.tolist(), shares.tolist(), strict=True):
            row += share * self._by_fragment(self._strengths(view, node))
        return row

    def _exact_environment(self, scores: Floats, counted: Floats, include_self: bool) -> Floats:
        total, mass = np.zeros(self.n_ids), np.zeros(self.n_ids)
        for i in np.flatnonzero(counted).tolist():
            row = self._exact_row(i) * counted
            if not include_self:
                row[i] = 0
            total[i], mass[i] = row @ scores, row.sum()
        return _ratio(total, mass)


class _CallRow(NamedTuple):
    """What calls add to one row of W, and the state of the files that the search came through."""

    fragment_id: int
    neighbours: Ints
    extra: Floats
    files: Longs  # never empty, in order
    state: NDArray[np.uint64]  # (2, n_files)

    def holds_in(self, layouts: Layouts) -> bool:
        """Whether a search in this snapshot would find the same.

        It comes through the same files in the same state, and no definition in them is called from another file than
        before. What may still differ: a file that the search never came to calls the same definitions from elsewhere.
        """
        return int(self.files[-1]) < layouts.n_files and np.array_equal(layouts.state[:, self.files], self.state)


def _tree_in_file(view: View, fragments: Longs, floor: float) -> tuple[Longs, Longs, Floats]:
    """Rows of W without calls, inside the files of the fragments: indices of fragments, fragments, strengths."""
    layout = view.layout
    cover, shares, owner = layout.cover_of(fragments)
    reached, strengths = spread(layout, climb(layout, cover, floor), floor)
    entries, others = np.divmod(reached, layout.n_fragments)
    pairs, strengths = sum_per(owner[entries] * layout.n_fragments + others, shares[entries] * strengths)
    return *np.divmod(pairs, layout.n_fragments), strengths


def _ratio(total: Floats, mass: Floats) -> Floats:
    """0 where the mass is 0, and where it is no more than what rounding left of nothing."""
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 1e-12)
