"""How strongly any two fragments of a repository belong together.

Owns the engine of Eq. 8 and Eq. 9 (FragRel; papers' spec 1.2 to 1.4): strengths are the largest product of edge weights
over all paths. `exact` says the same in a few plain lines and takes hours where this takes milliseconds; a test holds
them together. Knows fragments as numbers with lines, no text, no words and no query.

Without calls the graph is a tree, and everything about it is exact and linear (`forest`, `layout`). Calls are shortcuts
in that tree. They are followed from a point of interest outwards, the strongest first and only so many, so that
a definition that everybody calls costs no more than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cover import Spans
from .directories import Directories
from .facts import NODE_START
from .forest import Forest
from .graph import CodeGraph
from .layout import Floats, Ints, Items, Layout, Links, Names, Points
from .search import climb, definitions_in_reach, joined, linked, points, spread, strongest_per, sum_per
from .weights import Weights

# What bounds the search along calls. Measured by benchmarks/engine/relations.py: overlap of the final top 10 with the
# exact matrix, see benchmarks/results/relations.md.
CUTOFF = 1e-3
MAX_DEFINITIONS = 128  # followed per round
MAX_CALLERS = 64  # of one definition
MAX_ARRIVALS = 256  # per round
MAX_ROUNDS = 4
MAX_NEIGHBOURS = 128  # call-made neighbours that a fragment keeps for Eq. 9
N_CALL_ROWS = 256  # fragments whose call-made neighbours a query asks for
MAX_KEPT_ROWS = 20_000


class Related(NamedTuple):
    """A neighbour of a fragment and the strength between the two (Eq. 8)."""

    fragment_id: int
    strength: float


class Relations:
    """The relations of one snapshot of a repository. Immutable; what it computes on demand is kept for its successors.

    Fragments are numbers that the caller gives (`Spans.first_id`), the same as long as a file is not changed. Results are
    float64 arrays over all ids up to `n_ids`, 0 where no fragment has the id.
    """

    __slots__ = (
        "_changed",
        "_directories",
        "_file_of_id",
        "_from_all",
        "_home",
        "_mass_of_id",
        "_names",
        "_rows",
        "_spans",
        "_views",
        "graph",
        "n_ids",
        "weights",
    )

    def __init__(self, weights: Weights | None = None) -> None:
        """The relations of an empty repository."""
        self.graph = CodeGraph()
        self.weights = weights or Weights()
        self.n_ids = 0
        self._names = Names()
        self._spans: dict[str, Spans] = {}
        self._views: tuple[_View, ...] = ()
        # By number of the file: view and index in it (-1, -1 when it is gone), and a stamp that is new with each change.
        self._home = np.zeros((2, 0), np.int32)
        self._changed = np.zeros(0, np.int64)
        # By id of the fragment: number of its file, and strength between it and the root of that file.
        self._file_of_id = np.zeros(0, np.int32)
        self._mass_of_id = np.zeros(0)
        self._directories = Directories((), self.weights.directory)
        self._from_all: Floats | None = None
        self._rows: dict[tuple[int, float], _Row] = {}

    @classmethod
    def build(cls, graph: CodeGraph, spans: Mapping[str, Spans], weights: Weights | None = None) -> Relations:
        """The relations between the fragments `spans` of the files of a graph."""
        return cls(weights).with_changes(graph, spans)

    def with_changes(self, graph: CodeGraph, changed: Mapping[str, Spans], removed: Iterable[str] = ()) -> Relations:
        """The next snapshot, from the next graph and the spans of the files that differ. This one stays as it is.

        `changed` holds every file that is new or has another `FileGraph` or other spans. Files whose calls lead
        elsewhere now, though they did not change, are found here. The graph may be an overlay.
        """
        gone = [path for path in removed if path in self._spans]
        new = Relations(self.weights)
        new.graph, new._names, new._rows = graph, self._names, self._rows
        new._spans = {**self._spans, **changed}
        for path in gone:
            del new._spans[path]
        fresh = list(changed)
        fresh += [path for path in _rewired(self.graph, graph) if path in new._spans and path not in changed]
        files = np.array([self._names.file(path) for path in fresh], np.int64)
        lost = np.array([self._names.file(path) for path in gone], np.int64)

        n_files = self._names.n_files
        new._home = np.full((2, n_files), -1, np.int32)
        new._home[:, : self._home.shape[1]] = self._home
        new._changed = np.zeros(n_files, np.int64)
        new._changed[: len(self._changed)] = self._changed
        new._changed[np.concatenate([files, lost])] = next(_stamps)
        new._directories = self._directories
        new.n_ids = max([self.n_ids, *(span.first_id + len(span) for span in changed.values())])
        new._file_of_id = np.full(new.n_ids, -1, np.int32)
        new._file_of_id[: self.n_ids] = self._file_of_id
        new._mass_of_id = np.zeros(new.n_ids)
        new._mass_of_id[: self.n_ids] = self._mass_of_id
        new._replace(self._views, fresh, np.concatenate([files, lost]))
        return new

    def environment(
        self,
        scores: Floats,
        *,
        include_self: bool = False,
        exclude: Sequence[int] | NDArray[np.integer] = (),
        alpha: float = 0.5,
        n_call_rows: int | None = N_CALL_ROWS,
        cutoff: float = CUTOFF,
    ) -> Floats:
        """Eq. 9 for every fragment: the mean of all scores, weighted by the relation to it; 0 when it has none.

        The part of the relation that syntax and directories make is exact. The part that calls make is bounded: each
        fragment keeps its strongest call-made neighbours, found at strengths of `cutoff` or more, and only
        the `n_call_rows` fragments that stand best without it (score + alpha * environment) are given theirs; None is all
        of them. With a cutoff of 0 everything is exact, and takes the square of the size: for small trees.

        Fragments of `exclude` count in no sum, and their own environment is 0. `scores` has shape (n_ids,).
        """
        counted = (self._file_of_id >= 0).astype(np.float64)
        excluded = np.asarray(exclude, np.int64)
        counted[excluded] = 0
        scores = scores * counted
        if cutoff <= 0:
            return self._exact_environment(scores, counted, include_self)
        total = self._tree_product(scores)
        if self._from_all is None:
            self._from_all = self._tree_product((self._file_of_id >= 0).astype(np.float64))
        mass = self._from_all
        if len(excluded):
            only_excluded = (self._file_of_id >= 0).astype(np.float64) - counted
            mass = mass - self._tree_product(only_excluded)
        if not include_self:
            own = self._self_weights() * counted
            total, mass = total - own * scores, mass - own
        standing = scores + alpha * _ratio(total, mass)
        candidates = np.flatnonzero(counted)
        if n_call_rows is not None and n_call_rows < len(candidates):
            candidates = candidates[np.argpartition(-standing[candidates], n_call_rows)[:n_call_rows]]
        total, mass = total.copy(), mass.copy()
        for i in candidates.tolist():
            row = self._call_row(i, cutoff)
            extra = row.extra if include_self else np.where(row.ids == i, 0, row.extra)
            total[i] += extra @ scores[row.ids]
            mass[i] += extra @ counted[row.ids]
        return _ratio(total, mass) * counted

    def relations_of(self, fragment_id: int, *, cutoff: float = CUTOFF) -> Floats:
        """One row of W, Eq. 8: the strength between a fragment and every fragment, itself included. Exact at cutoff 0."""
        if cutoff <= 0:
            return self._exact_row(fragment_id)
        row = self._tree_row(fragment_id)
        calls = self._call_row(fragment_id, cutoff)
        row[calls.ids] += calls.extra
        return row

    def strongest_neighbours(self, fragment_id: int, k: int, *, cutoff: float = CUTOFF) -> tuple[Related, ...]:
        """The k other fragments that are most strongly related to one, best first."""
        row = self.relations_of(fragment_id, cutoff=cutoff)
        row[fragment_id] = 0
        best = np.argsort(-row, kind="stable")[:k]
        return tuple(Related(int(i), float(row[i])) for i in best if row[i] > 0)

    def relation_to_cursor(self, path: str, line: int, *, cutoff: float = CUTOFF) -> Floats:
        """Strength between the code at a line and every fragment: Eq. 8 with the one node that begins last before it ends.

        Calls are followed at strengths of `cutoff` or more; 0 is exact, and slow. Everything is 0 when the file is unknown.
        """
        found = self._node_at(path, line)
        if found is None:
            return np.zeros(self.n_ids)
        view, node = found
        if cutoff <= 0:
            strengths = self._strengths(view, node)
            return self._by_fragment(strengths)
        reached: list[list[Points]] = [[] for _ in self._views]
        seed = points(np.array([node]), np.ones(1))
        layout = self._views[view].layout
        for i, part in enumerate(self._follow_calls(view, seed, cutoff)):
            if len(part.nodes):
                reached[i].append(climb(self._views[i].layout, part, cutoff))
        reached[view].append(climb(layout, seed, 0.0))
        # What arrives at a file's root is related to all files around it.
        at_roots = np.zeros(len(self._changed))
        for v, parts in zip(self._views, reached, strict=True):
            for part in parts:
                roots = v.layout.parent[part.nodes] < 0
                files = v.layout.files[v.files_of(part.nodes[roots])]
                np.maximum.at(at_roots, files, part.values[roots])
        at_roots = self._tree_of_directories().strongest(at_roots)
        result = self._mass_of_id * at_roots[self._file_of_id]
        for v, parts in zip(self._views, reached, strict=True):
            if parts:
                up = joined(parts)
                touched = np.unique(v.files_of(up.nodes))
                parts = [*parts, points(v.layout.node_start[touched], at_roots[v.layout.files[touched]])]
                fragments, values = spread(v.layout, _deduplicated(joined(parts), v.layout.n_nodes))
                result[v.ids[fragments]] = values
        return result

    def strengths_from(self, path: str, node: int) -> dict[str, Floats]:
        """Strength between one listed node (its index in `FileGraph.nodes`) and all listed nodes of all files. Exact."""
        home = self._home_of(path)
        if home is None:
            raise KeyError(path)
        view, file = home
        layout = self._views[view].layout
        strengths = self._strengths(view, int(layout.listed[layout.listed_start[file] + node]))
        result, paths = {}, self._names.paths
        for v, values in zip(self._views, strengths, strict=True):
            listed, bounds = values[v.layout.listed], v.layout.listed_start
            for i in np.flatnonzero(v.alive).tolist():
                result[paths[int(v.layout.files[i])]] = listed[bounds[i] : bounds[i + 1]]
        return result

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "_rows"}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._rows = {}

    # Snapshots

    def _replace(self, views: Sequence[_View], fresh: list[str], changed: NDArray[np.int64]) -> None:
        """Take over the views of the snapshot before, without the changed files, and lay the fresh ones beside them."""
        for i, view in enumerate(views):
            dead = self._home[1, changed[self._home[0, changed] == i]]
            if len(dead):
                view = view.without(dead)
                for file in dead.tolist():
                    ids = view.layout.ids_of(file)
                    self._file_of_id[ids], self._mass_of_id[ids] = -1, 0.0
            self._views += (view,)
        self._home[:, changed] = -1
        # Layouts shrink at least by half from one to the next, so there are few, and a file is seldom laid out again.
        n_nodes = sum(self.graph.files[path].n_nodes for path in fresh)
        while self._views and self._views[-1].n_nodes <= 2 * n_nodes:
            absorbed = self._views[-1]
            self._views = self._views[:-1]
            n_nodes += absorbed.n_nodes
            fresh = fresh + [self._names.paths[i] for i in absorbed.layout.files[absorbed.alive]]
        if not fresh:
            return
        layout = Layout.build(self.graph, fresh, [self._spans[path] for path in fresh], self._names, self.weights)
        self._home[0, layout.files] = len(self._views)
        self._home[1, layout.files] = np.arange(len(fresh))
        self._views += (_View.of(layout),)
        self._file_of_id[layout.fragment_id] = layout.files[layout.fragment_file]
        self._mass_of_id[layout.fragment_id] = layout.root_mass

    def _home_of(self, path: str) -> tuple[int, int] | None:
        """View and index in it of a file of this snapshot."""
        file = self._names.find_file(path)
        if file is None or file >= self._home.shape[1] or self._home[0, file] < 0:
            return None
        return int(self._home[0, file]), int(self._home[1, file])

    def _node_at(self, path: str, line: int) -> tuple[int, int] | None:
        home = self._home_of(path)
        if home is None:
            return None
        starts = self.graph.files[path].nodes[NODE_START]
        local = max(int(np.searchsorted(starts, line, side="right")) - 1, 0)
        layout = self._views[home[0]].layout
        return home[0], int(layout.listed[layout.listed_start[home[1]] + local])

    def _fragment(self, fragment_id: int) -> tuple[int, int, int]:
        """Number of its file, view and index in it of a fragment."""
        file = int(self._file_of_id[fragment_id]) if 0 <= fragment_id < self.n_ids else -1
        if file < 0:
            raise KeyError(f"no fragment has the id {fragment_id}")
        view, index = self._home[:, file].tolist()
        layout = self._views[view].layout
        first = int(layout.fragment_start[index])
        return file, view, first + fragment_id - int(layout.fragment_id[first])

    def _tree_of_directories(self) -> Directories:
        if self._directories.n_files != len(self._changed):
            self._directories = Directories(self._names.paths[: len(self._changed)], self.weights.directory)
        return self._directories

    # Syntax and directories

    def _tree_product(self, x: Floats) -> Floats:
        """W x without calls, shape (n_ids,)."""
        files = np.maximum(self._file_of_id, 0)  # where no fragment is, there is no mass either
        per_file = np.bincount(files, weights=self._mass_of_id * x, minlength=len(self._changed))
        product = np.append(self._mass_of_id * self._tree_of_directories().sums(per_file)[files], 0.0)
        x = np.append(x, 0.0)
        for view in self._views:
            product[view.ids] += view.layout.product(x[view.ids])
        return product[:-1]

    def _self_weights(self) -> Floats:
        weights = np.zeros(self.n_ids + 1)
        for view in self._views:
            weights[view.ids] = view.layout.self_weight
        return weights[:-1]

    def _tree_row(self, fragment_id: int) -> Floats:
        """One row of W without calls, shape (n_ids,)."""
        file, view, fragment = self._fragment(fragment_id)
        layout = self._views[view].layout
        here = np.zeros(len(self._changed))
        here[file] = self._mass_of_id[fragment_id]
        row = self._mass_of_id * self._tree_of_directories().strongest(here)[self._file_of_id]
        entries, shares = layout.entries_of(fragment)
        reached, strengths = spread(layout, climb(layout, entries, 0.0))
        rows, fragments = np.divmod(reached, layout.n_fragments)
        ids = layout.ids_of(int(self._home[1, file]))
        row[ids] = 0.0
        np.add.at(row, layout.fragment_id[fragments], shares[rows] * strengths)
        return row

    # Calls

    def _call_row(self, fragment_id: int, cutoff: float) -> _Row:
        """What calls add to one row of W."""
        row = self._rows.get((fragment_id, cutoff))
        if row is not None and self._still_holds(row):
            return row
        file, view, fragment = self._fragment(fragment_id)
        layout = self._views[view].layout
        entries, shares = layout.entries_of(fragment)
        up = climb(layout, entries, cutoff)
        n_definitions = max(self._names.n_definitions, 1)
        keys, values = definitions_in_reach(layout, up, cutoff, n_definitions)
        rows, definitions = np.divmod(keys, n_definitions)
        definitions, values = sum_per(definitions, shares[rows] * values)
        files, ids, strengths = [np.array([file])], [], []
        for v, part in zip(self._views, self._follow_definitions(definitions, values, cutoff), strict=True):
            reached = climb(v.layout, part, cutoff)
            files.append(v.layout.files[np.unique(v.files_of(reached.nodes))])
            fragments, values = spread(v.layout, reached)
            ids.append(v.ids[fragments])
            strengths.append(values)
        neighbours = np.concatenate(ids)
        extra = np.concatenate(strengths) - self._tree_row(fragment_id)[neighbours]
        kept = np.flatnonzero(extra > 0)
        if len(kept) > MAX_NEIGHBOURS:
            kept = kept[np.argpartition(-extra[kept], MAX_NEIGHBOURS)[:MAX_NEIGHBOURS]]
        touched = np.unique(np.concatenate(files)).astype(np.int32)
        row = _Row(neighbours[kept], extra[kept], touched, self._changed[touched])
        while len(self._rows) >= MAX_KEPT_ROWS:
            self._rows.pop(next(iter(self._rows), (-1, 0.0)), None)
        self._rows[fragment_id, cutoff] = row
        return row

    def _still_holds(self, row: _Row) -> bool:
        # Another snapshot may have computed the row, even a later one. Stamps are given once, so equal ones mean
        # equal files.
        return int(row.files[-1]) < len(self._changed) and np.array_equal(self._changed[row.files], row.stamps)

    def _follow_calls(self, view: int, seed: Points, cutoff: float) -> list[Points]:
        """Where calls lead from a point of a view: per view, nodes that are reached by at least one call."""
        layout = self._views[view].layout
        n_definitions = max(self._names.n_definitions, 1)
        return self._follow_definitions(
            *definitions_in_reach(layout, climb(layout, seed, cutoff), cutoff, n_definitions), cutoff
        )

    def _follow_definitions(self, definitions: NDArray[np.int64], values: Floats, cutoff: float) -> list[Points]:
        """The same from definitions on, each with the strength at which it is reached."""
        n_definitions = max(self._names.n_definitions, 1)
        best = np.zeros(n_definitions)
        reached: list[list[Points]] = [[] for _ in self._views]
        for _ in range(MAX_ROUNDS):
            better = np.flatnonzero((values >= cutoff) & (values > best[definitions]))
            better = better[_largest(values[better], MAX_DEFINITIONS)]
            definitions, values = definitions[better], values[better]
            homes = [self._live(v, linked(v.layout.definitions, definitions, values, 1)) for v in self._views]
            # A definition that is gone leads nowhere, though calls of it may stay: see `CodeGraph.overlay`.
            stands = np.sort(np.concatenate([np.zeros(0, np.int64), *(home.rows for home in homes)]))
            definitions, values = definitions[stands], values[stands]
            if not len(definitions):
                break
            best[definitions] = values
            arrivals = []
            for v, home in zip(self._views, homes, strict=True):
                callers = self._live(v, linked(v.layout.calls, definitions, values, MAX_CALLERS))
                arrivals.append(joined([home, callers]))
            arrivals = _strongest_of(arrivals, MAX_ARRIVALS, cutoff)
            keys, found = [], []
            for i, (v, part) in enumerate(zip(self._views, arrivals, strict=True)):
                part = points(part.nodes, part.values)
                reached[i].append(part)
                if len(part.nodes):
                    in_reach = definitions_in_reach(v.layout, climb(v.layout, part, cutoff), cutoff, n_definitions)
                    keys.append(in_reach[0])
                    found.append(in_reach[1])
            definitions, values = strongest_per(_joined(keys, np.int64), _joined(found, np.float64))
        return [joined(parts) for parts in reached]

    @staticmethod
    def _live(view: _View, at: Points) -> Points:
        live = view.live(at.nodes)
        return Points(at.rows[live], at.nodes[live], at.values[live])

    # Exactly

    def _strengths(self, view: int, node: int) -> list[Floats]:
        """Strength between one node and all nodes, per view: trees, directories and calls in turns until nothing grows."""
        forests = [v.layout.whole_forest() for v in self._views]
        strengths = [np.zeros(v.layout.n_nodes) for v in self._views]
        strengths[view][node] = 1.0
        directories = self._tree_of_directories()
        total = -1.0
        while total < (total := sum(float(values.sum()) for values in strengths)):
            at_roots = np.zeros(len(self._changed))
            at_definitions = np.zeros(self._names.n_definitions)
            standing = np.zeros(self._names.n_definitions, bool)
            for v, forest, values in zip(self._views, forests, strengths, strict=True):
                by_position = np.empty_like(values)
                by_position[forest.position] = values
                values[:] = forest.strongest(by_position)[forest.position]
                roots = v.layout.node_start[:-1][v.alive]
                at_roots[v.layout.files[v.alive]] = values[roots]
                for links in (v.layout.calls, v.layout.definitions):
                    np.maximum.at(at_definitions, links.definition, links.weight * values[links.at.node])
                standing[v.layout.definitions.definition[v.live(v.layout.definitions.at.node)]] = True
            at_roots = directories.strongest(at_roots)
            at_definitions[~standing] = 0
            for v, values in zip(self._views, strengths, strict=True):
                np.maximum.at(values, v.layout.node_start[:-1][v.alive], at_roots[v.layout.files[v.alive]])
                for links in (v.layout.calls, v.layout.definitions):
                    live = v.live(links.at.node)
                    arriving = links.weight * at_definitions[links.definition[live]]
                    np.maximum.at(values, links.at.node[live], arriving)
        return strengths

    def _by_fragment(self, strengths: Sequence[Floats]) -> Floats:
        """Strengths of nodes, per view -> of fragments, by shares."""
        result = np.zeros(self.n_ids + 1)
        for view, values in zip(self._views, strengths, strict=True):
            layout = view.layout
            shared = layout.entry_share * values[layout.entry_node]
            result[view.ids] = np.bincount(layout.entry_fragment, weights=shared, minlength=layout.n_fragments)
        return result[:-1]

    def _exact_row(self, fragment_id: int) -> Floats:
        _, view, fragment = self._fragment(fragment_id)
        entries, shares = self._views[view].layout.entries_of(fragment)
        row = np.zeros(self.n_ids)
        for node, share in zip(entries.nodes.tolist(), shares, strict=True):
            row += share * self._by_fragment(self._strengths(view, node))
        return row

    def _exact_environment(self, scores: Floats, counted: Floats, include_self: bool) -> Floats:
        environment = np.zeros(self.n_ids)
        for i in np.flatnonzero(counted).tolist():
            row = self._exact_row(i) * counted
            if not include_self:
                row[i] = 0
            environment[i] = _ratio(row @ scores, row.sum())
        return environment


@dataclass(frozen=True, slots=True)
class _View:
    """A layout as one snapshot sees it: some of its files may have been replaced since."""

    layout: Layout
    alive: NDArray[np.bool_]  # per file
    ids: Ints  # per fragment; -1 when its file is not alive

    @classmethod
    def of(cls, layout: Layout) -> _View:
        return cls(layout, np.ones(len(layout.files), bool), layout.fragment_id)

    def without(self, files: Sequence[int]) -> _View:
        """The view with some more files (indices into the layout) dead."""
        alive, ids = self.alive.copy(), self.ids.copy()
        alive[files] = False
        for file in files:
            ids[self.layout.fragment_start[file] : self.layout.fragment_start[file + 1]] = -1
        return _View(self.layout, alive, ids)

    @property
    def n_nodes(self) -> int:
        return int(np.diff(self.layout.node_start)[self.alive].sum())

    def files_of(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        return np.searchsorted(self.layout.node_start, nodes, side="right") - 1

    def live(self, nodes: NDArray[np.integer]) -> NDArray[np.bool_]:
        return self.alive[self.files_of(nodes)]


@dataclass(frozen=True, slots=True)
class _Row:
    """The call-made part of one row of W, and the state of the files that it was computed from."""

    ids: Ints
    extra: Floats
    files: Ints
    stamps: NDArray[np.int64]


_stamps = count(1)


def _rewired(older: CodeGraph, newer: CodeGraph) -> set[str]:
    """Files whose calls lead elsewhere now. In an overlay calls only get lost, and the search sees that by itself."""
    return {path for path, edges in newer._edges.items() if older._edges.get(path) != edges}


def _ratio(total: Floats, mass: Floats) -> Floats:
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)


def _largest(values: Floats, at_most: int) -> NDArray[np.int64]:
    if len(values) <= at_most:
        return np.arange(len(values))
    return np.argpartition(-values, at_most)[:at_most]


def _strongest_of(parts: Sequence[Points], at_most: int, floor: float) -> list[Points]:
    """The strongest points of all parts together, as far as they reach the floor."""
    values = np.concatenate([part.values for part in parts])
    if len(values) > at_most:
        floor = max(floor, float(-np.partition(-values, at_most)[at_most]))
    return [Points(*(column[part.values >= floor] for column in part)) for part in parts]


def _deduplicated(some: Points, n_nodes: int) -> Points:
    keys, values = strongest_per(some.rows * n_nodes + some.nodes, some.values)
    return Points(*np.divmod(keys, n_nodes), values)


def _joined(arrays: Sequence[NDArray], dtype: type) -> NDArray:
    return np.concatenate([np.zeros(0, dtype), *arrays])


STORED_CLASSES: tuple[type, ...] = (Relations, _View, Forest, Items, Layout, Links, Names)
"""What a pickled `Relations` is made of, besides its graph."""
