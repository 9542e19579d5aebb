"""Inverted index over fragments, in immutable segments, with BM25 and Jaccard scores.

Owns the posting lists (term frequencies per fragment) and the fragment ids. Knows terms only by their keys, and no
text, no syntax and no ranking.

Counts are stored per file; document frequencies and the average length are computed at query time, so an edit costs one
file. Segments are ordered from old and large to new and small. An edited file gets new fragment ids in a new segment
and its old ids are dead. Small segments are merged as they accumulate; dead postings are dropped then, and ids without
postings are reused.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..codegraph.persistent_map import PersistentMap
from ..native import compiled
from .bm25 import K1, FloatArray, idf, length_norm, saturated
from .columns import GrowingColumns
from .fragments import FileFragments
from .terms import term_key

FREE_SHARE = 8
"""Edits append ids until this share of all is free: arrays over fragments are that much longer at most."""

IntArray = NDArray[np.intp]
_NONE = range(0)
T = TypeVar("T", bound=np.generic)


class InvertedIndex:
    """An immutable snapshot. The fragments of one file have consecutive ids, in file order.

    Arrays over fragments have length `n_ids`; dead ids have `live` False and score 0.
    """

    __slots__ = ("_columns", "_dead", "_n_distinct", "_ranges", "_segments", "lengths", "live", "n_terms")

    def __init__(self) -> None:
        self.live: NDArray[np.bool_] = np.zeros(0, bool)
        self.n_terms = 0  # of all live fragments, repeats included
        # Terms of each fragment, repeats included; different terms of each fragment.
        self._set_columns(GrowingColumns((np.zeros(0, np.int32), np.zeros(0, np.int32))))
        self._ranges: PersistentMap[range] = PersistentMap()
        self._segments: tuple[_Segment, ...] = ()
        self._dead: tuple[NDArray[np.int32], ...] | None = None  # of each segment, computed on demand

    @classmethod
    def build(cls, parts: Iterable[FileFragments]) -> InvertedIndex:
        return cls().with_changes(parts)

    @property
    def n_ids(self) -> int:
        return len(self.live)

    @property
    def n_fragments(self) -> int:
        return int(np.count_nonzero(self.live))

    @property
    def paths(self) -> Iterable[str]:
        return self._ranges.keys()

    def ids(self, path: str) -> range:
        """The fragments of a file in order; empty for an unknown one."""
        found: range = self._ranges.get(path, _NONE)
        return found

    def with_changes(
        self, changed: Iterable[FileFragments], removed: Iterable[str] = (), *, settles: bool = True
    ) -> InvertedIndex:
        """The snapshot with these parts added or replaced, and the removed paths left out.

        An id that a change frees is not reused in the same change. Without `settles` no segments are merged: `settled`
        does that; and ids are reused only when many are free.
        """
        parts, removed = {part.path: part for part in changed}, list(removed)
        n_new = sum(map(len, parts.values()))
        if settles or self.n_ids - self.n_fragments > self.n_ids // FREE_SHARE:
            first = _first_gap(_ids_in_use(self._segments, self.live), n_new)
        else:
            first = self.n_ids  # rows that are appended need no copy of the others
        n_ids = max(self.n_ids, first + n_new)
        new_index = InvertedIndex()
        new_index.live = grown(self.live, n_ids)
        new_index._set_columns(self._columns.grown(n_ids, first))
        new_index.n_terms = self.n_terms
        for path in (*removed, *parts):
            old = self.ids(path)
            new_index.live[old.start : old.stop] = False
            new_index.n_terms -= self.n_terms_of(old)
        pieces = []
        ranges: dict[str, range] = {}
        for path, part in parts.items():
            new = ranges[path] = range(first, first + len(part))
            new_index.live[new.start : new.stop] = True
            if new:  # the columns of a mapped index are read-only
                new_index.lengths[new.start : new.stop] = part.lengths
                new_index._n_distinct[new.start : new.stop] = part.n_distinct
            new_index.n_terms += int(part.lengths.sum())
            pieces.append(_PostingLists(part.keys, part.indptr, part.windows + np.int32(first), part.counts))
            first = new.stop
        new_index._ranges = self._ranges.with_changes(ranges, removed)
        added = (_merged(pieces),) if pieces else ()
        new_index._segments = (*self._segments, *added)
        return new_index.settled() if settles else new_index

    def settled(self) -> InvertedIndex:
        """The snapshot with few segments, and few dead postings in them; itself if nothing is to be merged."""
        segments = _compacted(self._segments, self.live)
        if len(segments) == len(self._segments) and all(map(operator.is_, segments, self._segments)):
            return self
        new_index = InvertedIndex()
        for name in ("live", "n_terms", "_ranges"):
            setattr(new_index, name, getattr(self, name))
        new_index._set_columns(self._columns)
        new_index._segments = segments
        return new_index

    def _set_columns(self, columns: GrowingColumns) -> None:
        self._columns = columns
        self.lengths: NDArray[np.int32]
        self._n_distinct: NDArray[np.int32]
        self.lengths, self._n_distinct = columns.arrays

    def cut(self, path: str, n_kept: int, tail: FileFragments) -> InvertedIndex:
        """For one query: of `path` only the first `n_kept` fragments live, and those of `tail`.

        The fragments of `tail` have the ids from this snapshot's `n_ids` on.
        """
        n_ids = self.n_ids + len(tail)
        view = InvertedIndex()
        view.live = grown(self.live, n_ids)
        view.live[self.n_ids :] = True
        dead = self.ids(path)[n_kept:]
        view.live[dead.start : dead.stop] = False
        joined = (np.concatenate(pair) for pair in ((self.lengths, tail.lengths), (self._n_distinct, tail.n_distinct)))
        view._set_columns(GrowingColumns(tuple(joined)))
        view._ranges = self._ranges
        view.n_terms = self.n_terms - self.n_terms_of(dead) + int(tail.lengths.sum())
        piece = _PostingLists(tail.keys, tail.indptr, tail.windows + np.int32(self.n_ids), tail.counts)
        view._segments = (*self._segments, _merged([piece]))
        return view

    def n_terms_of(self, fragments: range) -> int:
        """How many terms some consecutive fragments have, repeats included."""
        return int(self.lengths[fragments.start : fragments.stop].sum())

    def runs(self, keys: NDArray[np.uint64]) -> list[PostingRun]:
        """The postings of some terms, dead ones included."""
        return [PostingRun(term, segment, at) for segment in self._segments for term, at in segment.find(keys)]

    def document_frequencies(self, runs: Iterable[PostingRun], n_terms: int, dead: range) -> FloatArray:
        """In how many live fragments each of `n_terms` terms occurs, given all its runs; `dead` are no longer live."""
        df = np.zeros(n_terms)
        ends = np.array([dead.start, dead.stop], np.int32)
        gone = {
            id(segment): (ids, int(np.diff(segment.members.searchsorted(ends))[0]) > 0)
            for segment, ids in zip(self._segments, self.dead_ids(), strict=True)
        }
        for run in runs:
            before, has_dead = gone[id(run.segment)]
            df[run.term] += run.size
            if has_dead:
                first, beyond = run.ids.searchsorted(ends).tolist()
                df[run.term] -= beyond - first
            if len(before):
                df[run.term] -= n_common(run.ids, before)
        return df

    def segment_runs(self, keys: NDArray[np.uint64]) -> Iterator[SegmentRuns]:
        """The postings of some terms by segment, dead ones included, and the dead fragments of the segment."""
        for segment, dead in zip(self._segments, self.dead_ids(), strict=True):
            terms, firsts, ends = segment.locate(keys)
            if len(terms):
                yield SegmentRuns(segment.ids, segment.counts, terms, firsts, ends, dead)

    def dead_ids(self) -> tuple[NDArray[np.int32], ...]:
        """The dead fragments of each segment, sorted."""
        if self._dead is None:
            self._dead = tuple(segment.members[~self.live[segment.members]] for segment in self._segments)
        return self._dead

    def bm25(self, query: Mapping[str, float]) -> FloatArray:
        """Okapi BM25 (`bm25`) of every fragment, (n_ids,), for terms with their weights (their counts in the query).

        N, df and the average length are those of the live fragments.
        """
        postings = self._postings(query)
        return self._sum(postings.ids, self._bm25_parts(postings, list(query.values())))

    def bm25_of_groups(self, groups: Sequence[Mapping[str, float]], weights: Sequence[float]) -> GroupScores:
        """BM25 of groups of synonymous terms, each group scored as one term.

        The frequency of a group is the weighted sum of the frequencies of its terms; `df` counts the live fragments
        with any of them.
        """
        n_live, norm = self.n_fragments, self._length_norm()
        scores, frequencies = np.zeros(self.n_ids), []
        for group, weight in zip(groups, weights, strict=True):
            postings = self._postings(group)
            each = np.repeat(np.array(list(group.values()), np.float64)[postings.terms], postings.sizes)
            counts = self._sum(postings.ids, postings.counts * each)
            here = np.flatnonzero(counts)
            frequencies.append(len(here))
            scores[here] += weight * idf(n_live, len(here)) * saturated(counts[here], norm[here])
        return GroupScores(scores, tuple(frequencies))

    def n_postings(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """How many fragments each term occurs in, (n_terms,); fragments that are dead and not yet dropped count."""
        keys = np.array([term_key(term) for term in terms], np.uint64)
        found = np.zeros(len(keys), np.int64)
        for segment in self._segments:
            for term, at in segment.find(keys):
                found[term] += at.stop - at.start
        return found

    def fragments_with(self, term: str) -> NDArray[np.intp]:
        """The live fragments that have a term."""
        ids = self._postings([term]).ids
        return ids[self.live[ids]]

    def jaccard(self, query: Iterable[str]) -> FloatArray:
        """Shared terms over all terms of query and fragment, (n_ids,): RepoCoder's similarity on our terms."""
        terms = dict.fromkeys(query)
        n_shared = self._sum(self._postings(terms).ids, None)
        return n_shared / np.maximum(len(terms) + self._n_distinct - n_shared, 1)

    def __getstate__(self) -> tuple[object, ...]:
        ranges = np.array([(ids.start, ids.stop) for ids in self._ranges.values()], np.int64)
        return self.live, self.lengths, self._n_distinct, tuple(self._ranges), ranges, self._segments

    def __setstate__(self, state: tuple[object, ...]) -> None:
        self.live, lengths, n_distinct, paths, ranges, self._segments = state  # type: ignore[assignment]
        self._set_columns(GrowingColumns((lengths, n_distinct)))  # type: ignore[arg-type]
        found = {path: range(*ends) for path, ends in zip(paths, ranges.tolist(), strict=True)}  # type: ignore
        self._ranges = PersistentMap(found)
        self.n_terms = int(self.lengths.sum(where=self.live, dtype=np.int64))
        self._dead = None

    def _postings(self, query: Iterable[str]) -> _Postings:
        """The postings of all terms of a query, dead ones included."""
        keys = np.array([term_key(term) for term in query], np.uint64)
        found = [(term, segment, at) for segment in self._segments for term, at in segment.find(keys)]
        ids = [segment.ids[at] for _, segment, at in found] or [np.zeros(0, np.int32)]
        counts = [segment.counts[at] for _, segment, at in found] or [np.zeros(0, np.uint16)]
        return _Postings(
            np.array([term for term, _, _ in found], np.intp),
            np.array([at.stop - at.start for _, _, at in found], np.intp),
            np.concatenate(ids, dtype=np.intp),
            np.concatenate(counts, dtype=np.float64),
        )

    def _bm25_parts(self, postings: _Postings, weights: Sequence[float]) -> FloatArray:
        """The contribution of each posting."""
        n_live, norm = self.n_fragments, self._length_norm()
        df = np.bincount(postings.terms, postings.sizes, len(weights))
        dead = np.flatnonzero(~self.live[postings.ids])
        if len(dead):
            df -= np.bincount(np.repeat(postings.terms, postings.sizes)[dead], minlength=len(weights))
        # In place: at 200k lines a query has 150k postings, and making arrays costs more than filling them.
        parts = norm[postings.ids]
        parts += postings.counts
        np.divide(postings.counts, parts, out=parts)
        parts *= np.repeat(
            ((K1 + 1) * idf(n_live, df.astype(np.float64, copy=False)) * weights)[postings.terms], postings.sizes
        )
        return parts

    def _length_norm(self) -> FloatArray:
        lengths = self.lengths.astype(np.float64)
        n_live = self.n_fragments
        # No `@`: the threads of the BLAS wait for busy cores, which made queries four times slower.
        return length_norm(lengths, float((lengths * self.live).sum()) / n_live if n_live else 0.0)

    def _sum(self, ids: IntArray, weights: FloatArray | None) -> FloatArray:
        """Sum per fragment, 0 for dead ones."""
        return np.bincount(ids, weights, self.n_ids).astype(np.float64, copy=False) * self.live


class GroupScores(NamedTuple):
    """The result of `InvertedIndex.bm25_of_groups`."""

    scores: FloatArray  # (n_ids,)
    df: tuple[int, ...]  # of each group


class _Postings(NamedTuple):
    """Postings in runs of one term and one segment: run i has the next `sizes[i]` ids and counts."""

    terms: IntArray  # index of the run's term in the query
    sizes: IntArray
    ids: IntArray
    counts: FloatArray


class _PostingLists(NamedTuple):
    """Postings grouped by term: those of `keys[i]` are `indptr[i]` to `indptr[i + 1]`."""

    keys: NDArray[np.uint64]
    indptr: NDArray[np.integer]
    ids: NDArray[np.int32]
    counts: NDArray[np.uint16]


class _Segment(NamedTuple):
    """Posting lists with sorted keys, and the ids in them."""

    keys: NDArray[np.uint64]
    indptr: NDArray[np.integer]
    ids: NDArray[np.int32]
    counts: NDArray[np.uint16]
    members: NDArray[np.int32]

    def find(self, keys: NDArray[np.uint64]) -> Iterator[tuple[int, slice]]:
        """The index in `keys` of each key of this segment, and its postings."""
        found, firsts, ends = self.locate(keys)
        pairs = zip(firsts.tolist(), ends.tolist(), strict=True)
        return zip(found.tolist(), (slice(*pair) for pair in pairs), strict=True)

    def locate(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """As `find`, in arrays: the indices of the keys, and where the postings of each begin and end."""
        at = self.keys.searchsorted(keys)
        at[at == len(self.keys)] = 0
        found = (self.keys.take(at) == keys).nonzero()[0] if len(self.keys) else np.zeros(0, np.int64)
        at = at[found]
        return found, self.indptr.take(at).astype(np.int64), self.indptr.take(at + 1).astype(np.int64)


class PostingRun(NamedTuple):
    """The postings of one term in one segment, in the order of ids."""

    term: int  # index in the query
    segment: _Segment
    at: slice

    @property
    def size(self) -> int:
        return int(self.at.stop - self.at.start)

    @property
    def ids(self) -> NDArray[np.int32]:
        return self.segment.ids[self.at]

    @property
    def counts(self) -> NDArray[np.uint16]:
        return self.segment.counts[self.at]


class SegmentRuns(NamedTuple):
    """The postings of some terms in one segment: those of `terms[i]` are `firsts[i]` to `ends[i]`."""

    ids: NDArray[np.int32]
    counts: NDArray[np.uint16]
    terms: NDArray[np.int64]  # indices in the query
    firsts: NDArray[np.int64]
    ends: NDArray[np.int64]
    dead: NDArray[np.int32]  # fragments, sorted


def segment_runs_of_file(part: FileFragments, keys: NDArray[np.uint64]) -> SegmentRuns:
    """The postings of some terms in one file, whose fragments are numbered from 0."""
    order = np.argsort(part.keys)
    at = part.keys.searchsorted(keys, sorter=order)
    at[at == len(order)] = 0
    at = order[at] if len(order) else at
    found = (part.keys.take(at) == keys).nonzero()[0] if len(order) else np.zeros(0, np.int64)
    firsts, ends = (part.indptr.take(at[found] + more).astype(np.int64) for more in (0, 1))
    return SegmentRuns(part.windows, part.counts, found, firsts, ends, np.zeros(0, np.int32))


def runs_of_file(part: FileFragments, first: int, keys: NDArray[np.uint64]) -> list[PostingRun]:
    """The postings of some terms in one file, whose fragments have the ids from `first` on."""
    if not len(part.keys):
        return []
    order = np.argsort(part.keys)
    at = np.minimum(np.searchsorted(part.keys, keys, sorter=order), len(order) - 1)
    members = np.arange(first, first + len(part), dtype=np.int32)
    segment = _Segment(part.keys, part.indptr, part.windows + np.int32(first), part.counts, members)
    found = np.flatnonzero(part.keys[order[at]] == keys)
    ends = zip(
        found.tolist(), part.indptr[order[at[found]]].tolist(), part.indptr[order[at[found]] + 1].tolist(), strict=True
    )
    return [PostingRun(term, segment, slice(start, end)) for term, start, end in ends]


def n_common_of_runs(part: SegmentRuns, others: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many postings of each term are of some fragments, which are sorted."""
    if compiled is None:
        ends = zip(part.firsts.tolist(), part.ends.tolist(), strict=True)
        return np.array([n_common(part.ids[first:end], others) for first, end in ends], np.int64)
    return np.frombuffer(compiled.count_common(part.ids, part.firsts, part.ends, others), np.int64)


def n_common(ids: NDArray[np.int32], others: NDArray[np.int32]) -> int:
    """How many ids two sorted arrays of distinct ids have in common."""
    few, many = sorted((ids, others), key=len)
    if not len(few):
        return 0
    at = many.searchsorted(few)
    at[at == len(many)] = 0
    return int(np.count_nonzero(many[at] == few))


MAX_SEGMENTS = 8

# A posting fits into 64 bits (term, fragment, count), and sorting those is the fastest way to group them by term.
_TERM_BITS, _ID_BITS, _COUNT_BITS = 24, 24, 16


def _merged(pieces: Sequence[_PostingLists | _Segment], live: NDArray[np.bool_] | None = None) -> _Segment:
    """One segment of all posting lists, without postings of dead ids. Without `live`, ids ascend over the pieces."""
    lists = plain_merged_postings(pieces, live) if live is not None else merged_postings(pieces)
    mentioned = np.zeros(int(lists.ids.max(initial=-1)) + 1, bool)
    mentioned[lists.ids] = True
    return _Segment(*lists, np.flatnonzero(mentioned).astype(np.int32))


def plain_merged_postings(
    pieces: Sequence[_PostingLists | _Segment], live: NDArray[np.bool_] | None = None
) -> _PostingLists:
    """All posting lists as one for each key, in the order of the keys, without the postings of dead ids."""
    keys = np.unique(np.concatenate([piece.keys for piece in pieces]))
    packed = np.concatenate([_packed(piece, keys, live) for piece in pieces])
    packed.sort()
    ranks = packed >> np.uint64(_ID_BITS + _COUNT_BITS)
    ids = (packed >> np.uint64(_COUNT_BITS)).astype(np.int32) & np.int32((1 << _ID_BITS) - 1)
    firsts = np.flatnonzero(np.diff(ranks, prepend=np.uint64(len(keys))))
    return _PostingLists(keys[ranks[firsts]], np.append(firsts, len(packed)), ids, packed.astype(np.uint16))


def _compiled_merged_postings(pieces: Sequence[_PostingLists | _Segment]) -> _PostingLists:
    """As `plain_merged_postings` for pieces whose ids ascend, by the C kernel."""
    assert compiled is not None
    ids = np.concatenate([piece.ids for piece in pieces])
    found = compiled.merged_postings(
        b"".join(piece.keys.tobytes() for piece in pieces),
        np.concatenate([np.diff(piece.indptr) for piece in pieces]).astype(np.int32).tobytes(),
        ids.tobytes(),
        b"".join(piece.counts.tobytes() for piece in pieces),
    )
    keys, indptr, merged_ids, counts = found
    _check_numbers(len(keys) // 8, ids)
    return _PostingLists(
        np.frombuffer(keys, np.uint64),
        np.frombuffer(indptr, np.int64),
        np.frombuffer(merged_ids, np.int32),
        np.frombuffer(counts, np.uint16),
    )


def merged_postings(pieces: Sequence[_PostingLists | _Segment]) -> _PostingLists:
    """All posting lists as one for each key, in the order of the keys; ids ascend over the pieces."""
    return plain_merged_postings(pieces) if compiled is None else _compiled_merged_postings(pieces)


def _packed(
    piece: _PostingLists | _Segment, keys: NDArray[np.uint64], live: NDArray[np.bool_] | None
) -> NDArray[np.uint64]:
    ranks = np.searchsorted(keys, piece.keys).astype(np.uint64)
    _check_numbers(len(keys), piece.ids)
    packed = np.repeat(ranks << np.uint64(_ID_BITS + _COUNT_BITS), np.diff(piece.indptr))
    packed |= piece.ids.astype(np.uint64) << np.uint64(_COUNT_BITS)
    packed |= piece.counts
    return packed if live is None else packed[live[piece.ids]]


def _check_numbers(n_terms: int, ids: NDArray[np.int32]) -> None:
    if n_terms >> _TERM_BITS or int(ids.max(initial=0)) >> _ID_BITS:
        raise OverflowError(f"{n_terms} terms or fragment {ids.max()}: more than an index can number")


def _compacted(segments: Sequence[_Segment], live: NDArray[np.bool_]) -> tuple[_Segment, ...]:
    """The segments, compacted where many postings are dead and merged when there are too many."""
    kept = []
    for segment in segments:
        n_live = np.count_nonzero(live[_at(segment.members)])
        if 2 * n_live >= len(segment.members) > 0:
            kept.append(segment)
        elif n_live:
            kept.append(_merged([segment], live))
    if len(kept) > MAX_SEGMENTS:
        # From the newest back while the next is not much larger: each posting is merged a logarithmic number of times.
        first = len(kept) - 1
        size = len(kept[first].ids)
        while first and len(kept[first - 1].ids) <= 2 * size:
            first -= 1
            size += len(kept[first].ids)
        kept[first:] = [_merged(kept[first:], live)]
    return tuple(kept)


def _ids_in_use(segments: Sequence[_Segment], live: NDArray[np.bool_]) -> NDArray[np.bool_]:
    mentioned = live.copy()
    for segment in segments:
        mentioned[_at(segment.members)] = True
    return mentioned


def _at(members: NDArray[np.int32]) -> slice | NDArray[np.int32]:
    """The members as an index; consecutive ones, as those of a first index, as a slice, which is much faster."""
    if len(members) and members[-1] - members[0] == len(members) - 1:
        return slice(int(members[0]), int(members[-1]) + 1)
    return members


def _first_gap(taken: NDArray[np.bool_], length: int) -> int:
    """The first of `length` consecutive free ids, the end when there is no such gap."""
    free = np.flatnonzero(~taken)  # few
    firsts = np.flatnonzero(np.diff(free, prepend=-2) > 1)  # of runs
    fitting = np.flatnonzero(np.diff(firsts, append=len(free)) >= length)
    if len(fitting):
        return int(free[firsts[fitting[0]]])
    return int(free[firsts[-1]]) if len(free) and free[-1] == len(taken) - 1 else len(taken)


def grown(values: NDArray[T], n_ids: int) -> NDArray[T]:
    """A copy of length `n_ids`, filled up with zeros."""
    grown = np.zeros(n_ids, values.dtype)
    grown[: len(values)] = values
    return grown


STORED_CLASSES: tuple[type, ...] = (InvertedIndex, _Segment)
"""The classes in a pickled `InvertedIndex`."""
