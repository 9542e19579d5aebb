"""All files of one snapshot, laid out: where each file, fragment and definition stands now.

Owns the change from one snapshot to the next. A layout is never changed; a new one, of the files that changed, is laid
beside the old ones, in which those files are dead from then on. Knows no strengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from secrets import randbits
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats, Ints, Longs, Numbers
from .cover import Spans
from .directories import Directories
from .facts import NODE_START
from .graph import CodeGraph
from .layout import Layout, Links, Names, Points
from .weights import Weights


@dataclass(frozen=True, slots=True)
class View:
    """A layout as one snapshot sees it: some of its files may have been replaced since."""

    layout: Layout
    alive: NDArray[np.bool_]  # per file
    ids: Ints  # per fragment; -1 when its file is not alive

    @classmethod
    def of(cls, layout: Layout) -> View:
        return cls(layout, np.ones(len(layout.files), bool), layout.fragment_id)

    def without(self, files: Iterable[int]) -> View:
        """The view with some more files (indices into the layout) dead."""
        alive, ids = self.alive.copy(), self.ids.copy()
        for file in files:
            alive[file] = False
            ids[self.layout.fragment_start[file] : self.layout.fragment_start[file + 1]] = -1
        return View(self.layout, alive, ids)

    @property
    def n_nodes(self) -> int:
        return int(np.diff(self.layout.node_start)[self.alive].sum())

    def live(self, points: Points) -> Points:
        """Those of the points whose files are alive."""
        live = self.alive[self.layout.file_at(points.nodes)]
        return points if live.all() else Points(points.rows[live], points.nodes[live], points.values[live])

    def live_links(self, links: Links) -> tuple[Ints, Ints]:
        """Nodes and definitions of the links whose files are alive."""
        live = self.alive[self.layout.file_at(links.at.node)]
        return links.at.node[live], links.definition[live]


class Layouts:
    """The files of one snapshot. Immutable; the next one shares all that it can.

    By number of the file: `home` is its view and the index in it, (-1, -1) when it is gone; `state` is a number that is
    new whenever the file changes, and a sum over the calls into it, so that equal states mean an equal file and equal
    callers, in whichever two snapshots. By id of the fragment: `file_of_id`, -1 where no fragment is, and `mass_of_id`,
    the strength between the fragment and the root of its file.
    """

    __slots__ = (
        "_directories",
        "file_of_id",
        "graph",
        "home",
        "mass_of_id",
        "names",
        "spans",
        "state",
        "views",
        "weights",
    )

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.graph = CodeGraph()
        self.names = Names()
        self.spans: dict[str, Spans] = {}
        self.views: tuple[View, ...] = ()
        self.home: Ints = np.zeros((2, 0), np.int32)
        self.state: NDArray[np.uint64] = np.zeros((2, 0), np.uint64)
        self.file_of_id: Ints = np.zeros(0, np.int32)
        self.mass_of_id: Floats = np.zeros(0)
        self._directories = Directories((), weights.directory, weights.file_root)

    @property
    def n_ids(self) -> int:
        return len(self.file_of_id)

    @property
    def n_files(self) -> int:
        """Files that have ever been seen: numbers of files are below this."""
        return int(self.state.shape[1])

    @property
    def directories(self) -> Directories:
        if self._directories.n_files != self.n_files:
            self._directories = Directories(
                self.names.paths[: self.n_files], self.weights.directory, self.weights.file_root
            )
        return self._directories

    def with_changes(self, graph: CodeGraph, changed: Mapping[str, Spans], removed: Iterable[str]) -> Layouts:
        """See `Relations.with_changes`."""
        gone = [path for path in removed if path in self.spans and path not in changed]
        new = copy(self)
        new.graph, new.views = graph, ()
        new.spans = {**self.spans, **changed}
        for path in gone:
            del new.spans[path]
        fresh = list(changed)
        fresh += [path for path in _rewired(self.graph, graph) if path in new.spans and path not in changed]
        files = np.array([self.names.file(path) for path in [*fresh, *gone]], np.int64)

        n_files = self.names.n_files
        new.home = _grown(self.home, (2, n_files), -1)
        new.state = _grown(self.state, (2, n_files), 0)
        n_ids = max([self.n_ids, *(span.first_id + len(span) for span in changed.values())])
        new.file_of_id = _grown(self.file_of_id, (n_ids,), -1)
        new.mass_of_id = _grown(self.mass_of_id, (n_ids,), 0.0)
        calls_before = self._calls_from(files)
        new._replace(self.views, fresh, files)
        differing = np.setxor1d(calls_before, new._calls_from(files), assume_unique=True)
        new.state[0, files] = randbits(64)
        np.bitwise_xor.at(new.state[1], self.names.files_of(differing & 0xFFFFFFFF), _mixed(differing))
        return new

    def home_of(self, path: str) -> tuple[View, int] | None:
        """View and index in it of a file; None when it is not in this snapshot."""
        file = self.names.find_file(path)
        if file is None or file >= self.n_files or self.home[0, file] < 0:
            return None
        return self.views[self.home[0, file]], int(self.home[1, file])

    def node_at(self, path: str, line: int) -> tuple[View, int] | None:
        """The node that begins last up to the end of a line: the innermost there, or what is before a blank line."""
        home = self.home_of(path)
        if home is None:
            return None
        view, file = home
        starts = self.graph.files[path].nodes[NODE_START]
        return view, view.layout.listed_node(file, max(int(np.searchsorted(starts, line, side="right")) - 1, 0))

    def fragments(self, ids: Numbers) -> tuple[Ints, Longs]:
        """View and index in its layout of each fragment.

        Raises KeyError when no fragment has one of the ids.
        """
        ids = np.asarray(ids, np.int64)
        known = (ids >= 0) & (ids < self.n_ids)
        files = np.where(known, self.file_of_id[np.where(known, ids, 0)] if self.n_ids else -1, -1)
        if np.any(files < 0):
            raise KeyError(f"no fragment has the id {ids[files < 0][0]}")
        views, index = self.home[:, files]
        at = np.empty(len(ids), np.int64)
        for number in np.unique(views).tolist():
            layout, here = self.views[number].layout, views == number
            first = layout.fragment_start[index[here]]
            at[here] = first + ids[here] - layout.fragment_id[first]
        return views, at

    def _replace(self, views: Sequence[View], fresh: list[str], changed: Longs) -> None:
        """Take over the views of the snapshot before, without the changed files, and lay the fresh ones beside them."""
        for number, view in enumerate(views):
            dead = self.home[1, changed[self.home[0, changed] == number]].tolist()
            if dead:
                view = view.without(dead)
                for file in dead:
                    ids = view.layout.ids_of(file)
                    self.file_of_id[ids], self.mass_of_id[ids] = -1, 0.0
            self.views += (view,)
        self.home[:, changed] = -1
        # A layout is at most a quarter of the one before it: so they are few, and files are seldom laid out again.
        n_nodes = sum(self.graph.files[path].n_nodes for path in fresh)
        paths = self.names.paths
        while self.views and self.views[-1].n_nodes <= 4 * n_nodes:
            absorbed = self.views[-1]
            self.views = self.views[:-1]
            n_nodes += absorbed.n_nodes
            fresh = fresh + [paths[file] for file in absorbed.layout.files[absorbed.alive].tolist()]
        if not fresh:
            return
        layout = Layout.build(self.graph, fresh, [self.spans[path] for path in fresh], self.names, self.weights)
        self.home[0, layout.files] = len(self.views)
        self.home[1, layout.files] = np.arange(len(fresh))
        self.views += (View.of(layout),)
        self.file_of_id[layout.fragment_id] = layout.files[layout.fragment_file]
        self.mass_of_id[layout.fragment_id] = layout.root_mass

    def _calls_from(self, files: Longs) -> Longs:
        """What these files call, as file << 32 | definition, each once."""
        pairs = [np.zeros(0, np.int64)]
        for file in files[files < self.n_files].tolist():
            view, index = self.home[:, file].tolist()
            if view >= 0:
                pairs.append(file << 32 | self.views[view].layout.called_from(index).astype(np.int64))
        return np.unique(np.concatenate(pairs))


def _mixed(numbers: Longs) -> NDArray[np.uint64]:
    """Well mixed bits of each number (Steele, Lea and Flood 2014: SplitMix64)."""
    z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _rewired(older: CodeGraph, newer: CodeGraph) -> set[str]:
    """Files whose calls lead elsewhere now. In an overlay calls only get lost, and the search sees that by itself."""
    return {path for path, edges in newer._edges.items() if older._edges.get(path) != edges}


_Number = TypeVar("_Number", bound=np.generic)


def _grown(array: NDArray[_Number], shape: tuple[int, ...], fill: float) -> NDArray[_Number]:
    """A copy with room for more."""
    grown = np.full(shape, fill, array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown
