"""The repository index: code graph, inverted index, relations and texts of one moment, and its overlay for a cursor.

Owns the fragment ids that the parts share, and `CursorView`, the index without the code after a cursor. Knows no
ranking, no disk and no editor.

One writer makes the next snapshot with `with_changes`; readers keep theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..codegraph import CodeGraph, FileGraph, parse_file
from ..codegraph.cover import Spans
from ..codegraph.graph import Spread
from ..codegraph.graph_arrays import IdTable
from ..codegraph.prefix import common_length, parse_prefix
from ..codegraph.relations import Relations
from ..codegraph.weights import Weights
from ..languages import language_named
from .bm25 import FloatArray
from .columns import GrowingColumns
from .definition_index import DefinitionIndex
from .fragment_vectors import FragmentVectors
from .fragments import (
    FileFragments,
    Slicing,
    count_lines,
    lines_between,
    normalise,
    slice_terms,
    split_lines,
)
from .inverted_index import InvertedIndex
from .max_score import Cut, FragmentScores, best_fragments
from .static_vectors import StoredVectors, Vectors
from .terms import count_terms, encode
from .texts import Texts
from .values import Location, Query, QueryLines

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Settings of an index. Other settings need another index."""

    name: str = ""
    """Name of the repository: for imports by its own name, and for prompts that state it."""
    slicing: Slicing = field(default_factory=Slicing)
    """Size and stride of the fragments; the same for every part of the index."""
    weights: Weights = field(default_factory=Weights)
    """Edge weights of the code graph."""


class RepositoryIndex:
    """An immutable snapshot of one folder.

    Arrays over fragments are indexed by fragment id, see `InvertedIndex`; values at dead ids are undefined.
    """

    __slots__ = (
        *(
            "_columns",
            "_is_merged",
            "_latest_relations",
            "_names",
            "_owners",
            "_paths",
            "_relations",
            "_vectors",
            "ends",
            "graph",
            "hashes",
            "lexical",
            "n_lines",
            "settings",
        ),
        *("starts", "texts", "__weakref__"),
    )

    def __init__(
        self,
        settings: RetrievalSettings = RetrievalSettings(),
        roots: Collection[str] = ("",),
        *,
        relations_on_demand: bool = False,
    ) -> None:
        """An empty index. `roots` are the directories of the folders of a workspace with several."""
        self.settings = settings
        self.graph = CodeGraph(settings.name, roots)
        self.lexical = InvertedIndex()
        # Those of an earlier snapshot, and the files that differ since. None: to be built when they are read.
        self._relations: tuple[Relations | None, frozenset[str]] = (
            None if relations_on_demand else Relations(settings.weights),
            frozenset(),
        )
        self.texts = Texts()
        self._set_columns(GrowingColumns([np.zeros(0, dtype) for dtype in (np.int32, np.int32, np.uint64, np.int32)]))
        self._vectors = FragmentVectors()
        self.n_lines = 0
        self._paths = IdTable()
        self._names: DefinitionIndex | None = None  # of this snapshot or one before
        self._is_merged = True  # whether `lexical` is settled
        self._latest_relations: tuple[str, bytes, Relations] | None = None  # with the path and the text of the query

    @classmethod
    def build(
        cls, parts: Iterable[tuple[FileGraph, FileFragments]], settings: RetrievalSettings = RetrievalSettings()
    ) -> RepositoryIndex:
        return cls(settings).with_changes(parts)

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def n_files(self) -> int:
        return len(self.texts)

    @property
    def n_fragments(self) -> int:
        return self.lexical.n_fragments

    def __contains__(self, path: object) -> bool:
        return path in self.texts

    def with_changes(
        self,
        changed: Iterable[tuple[FileGraph, FileFragments]],
        removed: Iterable[str] = (),
        spread: Spread = map,
        *,
        settles: bool = True,
    ) -> RepositoryIndex:
        """The snapshot with these files added or replaced, and the removed paths left out.

        The cost depends on the changed files, not on the repository. A pair must be of one path and text. `spread`
        resolves the calls, see `CodeGraph.with_changes`. Without `settles` the files can be retrieved, and the rest is
        left to `settled`: calls, relations, and the merging of segments.
        """
        pairs = {fragments.path: (file, fragments) for file, fragments in changed}
        gone = [path for path in removed if path not in pairs]
        new = RepositoryIndex(self.settings)
        new.graph = self.graph.with_changes([file for file, _ in pairs.values()], gone, spread, settles=settles)
        new.lexical = self.lexical.with_changes([fragments for _, fragments in pairs.values()], gone, settles=settles)
        new._is_merged = settles
        n_ids = new.lexical.n_ids
        first_written = min((new.lexical.ids(path).start for path in pairs), default=n_ids)
        new._set_columns(self._columns.grown(n_ids, first_written))
        new._paths, new.n_lines = self._paths, self.n_lines
        for path in (*gone, *pairs):
            new.n_lines -= self.n_lines_of(path)
        for path, (_, fragments) in pairs.items():
            ids = new.lexical.ids(path)
            at = slice(ids.start, ids.stop)
            if ids:  # the columns of a mapped index are read-only
                new.starts[at], new.ends[at] = fragments.starts, fragments.ends
                new.hashes[at], new._owners[at] = fragments.hashes, self._paths.file(path)
            new.n_lines += new.n_lines_of(path)
        new.texts = self.texts.with_changes({path: fragments.text for path, (_, fragments) in pairs.items()}, gone)
        firsts = ((new.lexical.ids(path).start, fragments.vectors) for path, (_, fragments) in pairs.items())
        new._vectors = self._vectors.with_changes(n_ids, firsts)
        relations, changed_since = self._relations
        new._relations = relations, changed_since.union(pairs, gone)
        if settles and relations is not None:
            new._relate()
        new._names = self._names
        return new

    @property
    def is_settled(self) -> bool:
        """Whether all calls are resolved, all relations are built, and segments are merged."""
        relations, changed_since = self._relations
        return self._is_merged and self.graph.is_settled and (relations is None or not changed_since)

    def settled(self, is_over: Callable[[], bool] = lambda: False) -> RepositoryIndex:
        """The snapshot with the rest that edits left, or with some of it once `is_over`; this one if nothing is left.

        Results are those of an index from scratch once it is settled.
        """
        if self.is_settled:
            return self
        new: RepositoryIndex = RepositoryIndex.__new__(RepositoryIndex)
        for name in self.__slots__[:-1]:
            setattr(new, name, getattr(self, name))
        new._latest_relations = None
        new.graph = self.graph.settled(is_over)
        if not new._is_merged and not is_over():
            new.lexical, new._is_merged = self.lexical.settled(), True
        if new._relations[0] is not None and new.graph.is_settled and not is_over():
            new._relate()
        return new

    @property
    def vectors(self) -> StoredVectors:
        """The static vector of each fragment, (n_ids, N_STORED). A copy of all; `meaning` needs none."""
        return self._vectors.joined()

    def meaning(self, query_vector: Vectors) -> NDArray[np.float32]:
        """The cosine of each fragment's static vector with a vector of length 1, (n_ids,); 0 for dead ids."""
        return self._vectors.cosines(query_vector) * self.lexical.live

    @property
    def relations(self) -> Relations:
        """The relations between the fragments; built here if the index is one with relations on demand, and brought up
        to date before it is settled."""
        relations, changed_since = self._relations
        return self._relate() if relations is None or changed_since else relations

    @property
    def names(self) -> DefinitionIndex:
        """The index of definitions by name. Built on demand, from that of an earlier snapshot where there is one."""
        names = self._names
        if names is None or names.graph.files is not self.graph.files:
            names = self._names = DefinitionIndex(self.graph, names)
        return names

    def files_with(self, term: str) -> list[str]:
        """The files that have a term, in no order."""
        owners = np.unique(self._owners[self.lexical.fragments_with(term)])
        return [self._paths.path(owner) for owner in owners.tolist()]

    def location(self, fragment: int) -> Location:
        """The location of a live fragment."""
        return Location(self._paths.path(self._owners[fragment]), int(self.starts[fragment]), int(self.ends[fragment]))

    def text(self, location: Location) -> str:
        """The lines at a location, joined by \\n."""
        return lines_between(self.texts[location.path], location.start_line, location.end_line)

    def n_lines_of(self, path: str) -> int:
        """How many lines an indexed file has; 0 for an unknown one."""
        ids = self.lexical.ids(path)
        return int(self.ends[ids[-1]]) if ids else 0

    def at(self, query: Query, n_shown_lines: int = 20) -> CursorView:
        """The overlay for a cursor; `n_shown_lines` is the default of a query without `shown_from_line`."""
        return CursorView(self, query, n_shown_lines)

    def __getstate__(self) -> tuple[object, ...]:
        if not self.is_settled:
            return self.settled().__getstate__()
        return (
            self.settings,
            self.graph,
            self.relations,
            self.lexical,
            self.texts,
            self.starts,
            self.ends,
            self.hashes,
            self._vectors,
            self.n_lines,
        )

    def __setstate__(self, state: tuple[object, ...]) -> None:
        names = (
            "settings",
            "graph",
            "_relations",
            "lexical",
            "texts",
            "starts",
            "ends",
            "hashes",
            "_vectors",
            "n_lines",
        )
        for name, value in zip(names, state, strict=True):
            setattr(self, name, value)
        self._relations = self._relations, frozenset()  # type: ignore[assignment]
        owners = np.zeros(self.lexical.n_ids, np.int32)
        self._names, self._is_merged, self._latest_relations = None, True, None
        self._paths = IdTable()
        for path in self.lexical.paths:
            ids = self.lexical.ids(path)
            owners[ids.start : ids.stop] = self._paths.file(path)
        self._set_columns(GrowingColumns((self.starts, self.ends, self.hashes, owners)))

    def _set_columns(self, columns: GrowingColumns) -> None:
        self._columns = columns
        self.starts: NDArray[np.int32]
        self.ends: NDArray[np.int32]
        self.hashes: NDArray[np.uint64]  # equal for identical windows
        self._owners: NDArray[np.int32]  # numbers of files in `_paths`
        self.starts, self.ends, self.hashes, self._owners = columns.arrays

    def _relate(self) -> Relations:
        """Bring the relations up to date."""
        relations, changed_since = self._relations
        changed = self.texts if relations is None else changed_since
        spans = {path: self._spans(path) for path in sorted(changed) if path in self.texts}
        gone = [path for path in changed if path not in self.texts]
        relations = (relations or Relations(self.settings.weights)).with_changes(self.graph, spans, gone)
        self._relations = relations, frozenset()
        return relations

    def _spans(self, path: str) -> Spans:
        """The lines of a file's fragments, as a copy: a view would keep the arrays of this snapshot alive."""
        ids = self.lexical.ids(path)
        return Spans(ids.start, self.starts[ids.start : ids.stop].copy(), self.ends[ids.start : ids.stop].copy())


class CursorView:
    """An overlay in which the cursor's file ends at the cursor (papers' spec 1.3, 2.2).

    The file's indexed fragments are dead; those of the text before the cursor have the ids from `first_own` on.
    Windows that the prompt shows anyway are live, so they count in document frequencies, but are no candidates.
    Cheap enough for each keystroke: unchanged windows are not sliced again.
    """

    def __init__(self, index: RepositoryIndex, query: Query, n_shown_lines: int) -> None:
        self.index = index
        self.query = query
        self.path = query.path
        self.prefix = encode(normalise(query.prefix))
        self.n_lines = count_lines(self.prefix)  # of the prefix, the cursor's line included when it has begun
        self.first_own = index.lexical.n_ids
        self._indexed = index.lexical.ids(query.path)
        self.own_starts, self.own_ends = index.settings.slicing.windows(self.n_lines)
        self._n_kept = self._count_unchanged()
        self._tail = slice_terms(query.path, query.prefix, index.settings.slicing, self._n_kept)
        shown_from = self.n_lines - n_shown_lines if query.shown_from_line is None else query.shown_from_line
        self._shown_from = min(shown_from, self.cursor_line)
        self.n_own_candidates = int(np.count_nonzero(self.own_ends <= self._shown_from))  # the first own windows

    # Arrays over all fragments, for strategies that need every score.

    @cached_property
    def _lexical(self) -> InvertedIndex:
        return self.index.lexical.cut(self.path, self._n_kept, self._tail)

    @cached_property
    def candidates(self) -> NDArray[np.bool_]:
        """Whether each fragment may be in a result, (n_ids,)."""
        candidates = self._renumbered(self._lexical.live)
        candidates[self.first_own + self.n_own_candidates :] = False
        return candidates

    @property
    def n_ids(self) -> int:
        return self.first_own + len(self.own_starts)

    @property
    def cursor_line(self) -> int:
        """0-based; one past the last line when the cursor is at the start of a line."""
        return self.n_lines - 1 if self.prefix and not self.prefix.endswith(b"\n") else self.n_lines

    def query_lines(self, n_lines: int) -> QueryLines:
        """The lines of the query, else the last lines before the cursor."""
        if self.query.lines is not None:
            return self.query.lines
        text = lines_between(self.prefix, max(0, self.n_lines - n_lines), self.n_lines)
        return QueryLines(tuple(split_lines(text)))

    def query_terms(self, n_lines: int) -> Counter[str]:
        """Terms of the query's lines, with how often they occur."""
        lines = self.query_lines(n_lines)
        return count_terms("\n".join((*lines.before, *lines.after)))

    @cached_property
    def graph(self) -> CodeGraph:
        """The code graph with the cursor's file cut at the cursor."""
        file = self.query.file_graph
        if file is None or not file.has_all_nodes:
            language = language_named(file.language) if file is not None else None
            file = parse_file(self.path, self.query.prefix, language)
        return self.index.graph.overlay(file)

    @cached_property
    def names(self) -> CodeGraph:
        """As `graph`, without syntax nodes of the finished code before the cursor: definitions and calls cost less."""
        if "graph" in self.__dict__:
            return self.graph
        if self.query.file_graph is not None:
            return self.index.graph.overlay(self.query.file_graph)
        indexed = self.index.graph.files.get(self.path)
        text = self.index.texts.get(self.path, b"")
        return self.index.graph.overlay(parse_prefix(self.path, self.query.prefix, indexed, text))

    @cached_property
    def relations(self) -> Relations:
        """The relations between the view's fragments, for the graph that ends at the cursor."""
        # Another strategy, weight or number at one place needs the same relations, and its rows stay valid.
        latest = self.index._latest_relations
        if latest is not None and latest[:2] == (self.path, self.prefix):
            return latest[2]
        own = Spans(self.first_own, self.own_starts, self.own_ends)
        relations = self.index.relations.with_changes(self.graph, {self.path: own})
        self.index._latest_relations = self.path, self.prefix, relations
        return relations

    def paths_from_cursor(self) -> Callable[[Location], tuple[str, ...]]:
        """The strongest path of relations from the cursor to the fragment with the most lines of a location.

        Where the index has the text before the cursor, this needs no graph of the text that ends there.
        """
        if not self._is_indexed:
            paths = self.relations.paths_from(self.path, self.cursor_line)
            return lambda location: paths.to(self.window_at(location))
        known = self.index.relations.paths_from_end(self.path, self.cursor_line)

        def path_to(location: Location) -> tuple[str, ...]:
            window = self.window_at(location)
            return known.to(window if window < self.first_own else self._indexed[window - self.first_own])

        return path_to

    @cached_property
    def _is_indexed(self) -> bool:
        """Whether the indexed file begins with the text before the cursor, and its line ends there."""
        rest = self.index.texts.get(self.path, b"")
        if not rest.startswith(self.prefix) or self.path not in self.index.graph.files:
            return False
        return not rest[len(self.prefix) :].partition(b"\n")[0].strip()

    @property
    def excluded(self) -> NDArray[np.intp]:
        """Live fragments that are no candidates: the prompt shows them anyway."""
        return np.arange(self.first_own + self.n_own_candidates, self.n_ids)

    def best(self, query: Mapping[str, float], n: int) -> tuple[NDArray[np.int64], FloatArray]:
        """The candidates with the `n` best scores of `bm25`, and all with the score of the last; by id, above 0."""
        start, stop, n_kept = self._indexed.start, self._indexed.stop, self._n_kept
        ids, scores = best_fragments(self.index.lexical, query, n, self._cut)
        is_kept = (ids >= start) & (ids < stop)
        ids = np.where(is_kept, ids - start + self.first_own, np.where(ids >= self.first_own, ids + n_kept, ids))
        order = ids.argsort()
        return ids[order], scores[order]

    def text_hash(self, fragment: int) -> int:
        """`hashes` of one fragment."""
        own = fragment - self.first_own
        if own < 0:
            return int(self.index.hashes[fragment])
        is_kept = own < self._n_kept
        return int(self.index.hashes[self._indexed[own]] if is_kept else self._tail.hashes[own - self._n_kept])

    def bm25(self, query: Mapping[str, float]) -> FloatArray:
        """`InvertedIndex.bm25`, (n_ids,); 0 for non-candidates."""
        return self._renumbered(self._lexical.bm25(query)) * self.candidates

    def jaccard(self, query: Iterable[str]) -> FloatArray:
        """`InvertedIndex.jaccard`, (n_ids,); 0 for non-candidates."""
        return self._renumbered(self._lexical.jaccard(query)) * self.candidates

    def scores(self, query: Mapping[str, float]) -> FragmentScores:
        """The scores of `bm25` of single fragments. Its ids are those of `cut_id`."""
        return FragmentScores(self.index.lexical, query, self._cut)

    def cut_id(self, fragment: int) -> int:
        """The id of a live fragment in the index that is cut at the cursor: of an unchanged one that of the index."""
        number = fragment - self.first_own
        if number < 0:
            return fragment
        return self._indexed[number] if number < self._n_kept else self.first_own + number - self._n_kept

    def shown_windows(self, query: Mapping[str, float]) -> list[tuple[float, int, int]]:
        """BM25 score and lines of the windows before the cursor that the prompt shows anyway."""
        ids = np.array(
            [self.cut_id(window) for window in range(self.first_own + self.n_own_candidates, self.n_ids)], int
        )
        scores = self.scores(query).scores(ids).tolist()
        starts, ends = (edges[self.n_own_candidates :].tolist() for edges in (self.own_starts, self.own_ends))
        return list(zip(scores, starts, ends, strict=True))

    def later_windows(self, query: Mapping[str, float]) -> list[tuple[float, int, int]]:
        """BM25 score and lines of the indexed windows that hold lines of the file from the cursor's on.

        The scores are those in the whole index.
        """
        at = slice(self._indexed.start, self._indexed.stop)
        starts, ends = self.index.starts[at], self.index.ends[at]
        later = np.flatnonzero(ends > self.cursor_line)
        scores = FragmentScores(self.index.lexical, query, self._no_cut).scores(later + at.start)
        return list(zip(scores.tolist(), starts[later].tolist(), ends[later].tolist(), strict=True))

    def best_of_others(self, query: Mapping[str, float], n: int) -> FloatArray:
        """The `n` best scores of windows of other files in the whole index, above 0, and all that equal the last."""
        _, scores = best_fragments(self.index.lexical, query, n, self._no_cut._replace(hidden=self._indexed))
        return scores

    @cached_property
    def _cut(self) -> Cut:
        start, stop, n_kept = self._indexed.start, self._indexed.stop, self._n_kept
        hidden = range(start + min(self.n_own_candidates, n_kept), stop)
        return Cut(range(start + n_kept, stop), hidden, self._tail, max(0, self.n_own_candidates - n_kept))

    @cached_property
    def _no_cut(self) -> Cut:
        nothing = slice_terms(self.path, "", self.index.settings.slicing)
        return Cut(range(0), range(0), nothing, 0)

    def location(self, fragment: int) -> Location:
        """The location of a live fragment."""
        if fragment < self.first_own:
            return self.index.location(fragment)
        own = fragment - self.first_own
        return Location(self.path, int(self.own_starts[own]), int(self.own_ends[own]))

    def window_at(self, location: Location) -> int:
        """The live fragment with the most lines of a location, whose file must have fragments."""
        if location.path == self.path:
            first, starts, ends = self.first_own, self.own_starts, self.own_ends
        else:
            ids = self.index.lexical.ids(location.path)
            at = slice(ids.start, ids.stop)
            first, starts, ends = ids.start, self.index.starts[at], self.index.ends[at]
        n_shared = np.minimum(ends, location.end_line) - np.maximum(starts, location.start_line)
        return first + int(np.argmax(n_shared))

    def text(self, location: Location) -> str:
        """The lines of a location, joined by \\n; of the cursor's file only those before the cursor."""
        if location.path != self.path:
            return self.index.text(location)
        return lines_between(self.prefix, location.start_line, location.end_line)

    def end_of(self, path: str) -> int:
        """The line after the last one that a fragment of the file may show."""
        return self._shown_from if path == self.path else self.index.n_lines_of(path)

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """Hash of every fragment's text, (n_ids,); equal for identical windows."""
        return self._renumbered(np.concatenate((self.index.hashes, self._tail.hashes)))

    def _count_unchanged(self) -> int:
        """The number of first windows of the prefix that equal those of the indexed file."""
        text = self.index.texts.get(self.path, b"")
        n_same_lines = self.prefix.count(b"\n", 0, common_length(text, self.prefix))
        indexed_ends = self.index.ends[self._indexed.start : self._indexed.stop]
        n = min(len(indexed_ends), len(self.own_ends))
        same = (self.own_ends[:n] == indexed_ends[:n]) & (self.own_ends[:n] <= n_same_lines)
        return int(np.argmin(same)) if not same.all() else n

    def _renumbered(self, values: NDArray[T]) -> NDArray[T]:
        """Values by the ids of the view, from those of `_lexical`, where the cursor's file has two ranges."""
        values = np.concatenate(
            (values[: self.first_own], values[self._indexed.start :][: self._n_kept], values[self.first_own :])
        )
        values[self._indexed.start : self._indexed.stop] = 0
        return values
