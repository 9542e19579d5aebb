"""MaxScore: the fragments with the best BM25 scores, without a score for the others.

Owns the order in which the terms of a query are read, and the bounds that end the reading. The scores are those of
`InvertedIndex.bm25`, bit by bit. Knows no text and no path.

A term adds less to a score than its factor (idf times weight). The rare and near terms come first. As soon as the
factors of all later terms together are below the score that the result needs, a fragment without any of the earlier
terms can't be in it: then only fragments with a large sum so far are read further, and at last looked up one by one.
(Turtle and Flood, Query evaluation: strategies and optimizations, 1995.)
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..codegraph.arrays import scatter_add
from ..native import compiled
from .bm25 import K1, B, FloatArray, idf, length_norm
from .fragments import FileFragments
from .inverted_index import (
    InvertedIndex,
    PostingRun,
    SegmentRuns,
    n_common_of_runs,
    runs_of_file,
    segment_runs_of_file,
)
from .terms import term_key, term_keys

READ_WHOLE = 300_000
"""Shorter posting lists are read whole: the bounds of a query cost 2 ms, as much as 300,000 postings."""

FIRST_BATCH = 4_096
"""Postings that are read before the first bound; then twice as many, because a bound costs time too."""

CHUNK = 16_384
"""Postings of one array operation: its arrays stay in the cache of a core."""

LOOK_UP_FROM = 0.4
"""Fragments are looked up one by one when those with less than this part of the needed score can't be in the result."""

SLACK = 1 - 1e-4
"""Bounds are compared with this part of a score: sums of 32 bits differ from the exact ones by up to 1e-5."""

_NEVER = np.float32(-1e30)
"""The sum of a fragment that is no candidate: whatever is added, it stays below all others."""

_Int32s = NDArray[np.int32]
_Counts = NDArray[np.uint16]
_Floats32 = NDArray[np.float32]
_Float = TypeVar("_Float", np.float32, np.float64)
_Id = TypeVar("_Id", np.int32, np.int64)


class Cut(NamedTuple):
    """What a cursor changes: a file that ends there."""

    dead: range  # fragments of the indexed file that do not exist before the cursor
    hidden: range  # fragments that are no candidates: those at the end of the file, dead ones included
    tail: FileFragments  # fragments that the file has instead of the dead ones
    n_tail: int  # how many of these are candidates, the first ones


Best = tuple[NDArray[np.int64], FloatArray]
"""Ids of fragments in order, and their scores."""


def best_fragments(index: InvertedIndex, query: Mapping[str, float], n: int, cut: Cut) -> Best:
    """The candidates with the `n` best BM25 scores above 0, and all others with the score of the last, by id.

    `query` has the terms with their weights. A fragment of the tail has an id from the index's `n_ids` on.
    """
    find = plain_best_fragments if compiled is None else _compiled_best_fragments
    return find(index, query, n, cut)


class FragmentScores:
    """The scores of chosen fragments for one query, which need none of the others: those of `InvertedIndex.bm25`."""

    def __init__(self, index: InvertedIndex, query: Mapping[str, float], cut: Cut) -> None:
        self._terms = list(query)
        self._given = index, query, cut

    @cached_property
    def _search(self) -> _Search:
        return _Search(*self._given)

    def scores(self, ids: NDArray[_Id]) -> FloatArray:
        """The scores of fragments, which are sorted by id; also of those that are no candidates."""
        return self._search.exact_scores(ids.astype(np.int32))

    def terms(self, fragment: int) -> dict[str, float]:
        """What each term adds to the score of a fragment, largest first."""
        _, parts, terms = self._search.parts_of(np.array([fragment], np.int32))
        named = zip(terms.tolist(), parts.tolist(), strict=True)
        return dict(sorted(((self._terms[term], part) for term, part in named), key=lambda item: -item[1]))


def plain_best_fragments(index: InvertedIndex, query: Mapping[str, float], n: int, cut: Cut) -> Best:
    """As `best_fragments`, without the C kernel."""
    search = _Search(index, query, cut)
    if search.n_postings <= READ_WHOLE:
        ids, scores = search.all_scores()
    else:
        with _Sums(index, cut) as sums:
            ids = search.possible(n, sums)
        scores = search.exact_scores(ids)
    ids, scores = _best_of(ids, scores, n)
    return ids.astype(np.int64), scores


def _compiled_best_fragments(index: InvertedIndex, query: Mapping[str, float], n: int, cut: Cut) -> Best:
    """As `best_fragments`, by the C kernel."""
    keys = term_keys(tuple(query))
    parts = list(index.segment_runs(keys))
    tail = segment_runs_of_file(cut.tail, keys)
    df = np.zeros(len(keys))
    df[tail.terms] = tail.ends - tail.firsts
    cut_off = np.arange(cut.dead.start, cut.dead.stop, dtype=np.int32)
    for part in parts:
        dead = np.sort(np.concatenate([part.dead, cut_off])) if len(part.dead) else cut_off
        df[part.terms] += part.ends - part.firsts - n_common_of_runs(part, dead)
    norm, factors = _norm_and_factors(index, query, cut, df)
    found = [(np.zeros(0, np.int64), np.zeros(0))]
    hidden = cut.hidden.start, cut.hidden.stop
    least = 0.0
    for part in parts:
        found.append(_best_of_part(part, factors, index.lengths, index.live, hidden, norm, n, least))
        scores = np.concatenate([its for _, its in found])
        least = float(np.partition(scores, -n)[-n]) if len(scores) >= n else 0.0
    live = np.ones(len(cut.tail), bool)
    hidden = cut.n_tail, len(cut.tail)
    ids, scores = _best_of_part(tail, factors, cut.tail.lengths, live, hidden, norm, n, least)
    found.append((ids + index.n_ids, scores))
    ids, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    order = ids.argsort()
    return _best_of(ids[order], scores[order], n)


def _best_of_part(
    part: SegmentRuns,
    factors: FloatArray,
    lengths: _Int32s,
    live: NDArray[np.bool_],
    hidden: tuple[int, int],
    norm: tuple[float, float, float],
    n: int,
    least: float,
) -> Best:
    """The best fragments of a segment with scores of `least` or more; some others may be among them."""
    assert compiled is not None
    ids, scores = compiled.best_scores(
        part.ids,
        part.counts,
        part.firsts,
        part.ends,
        factors[part.terms],
        lengths,
        live,
        hidden,
        norm,
        n,
        least,
    )
    return np.frombuffer(ids, np.int32).astype(np.int64), np.frombuffer(scores, np.float64)


def _best_of(ids: NDArray[_Id], scores: FloatArray, n: int) -> tuple[NDArray[_Id], FloatArray]:
    """Those with the `n` best scores above 0, and all others with the score of the last."""
    least = np.partition(scores, -n)[-n] if len(scores) > n else 0.0
    is_best = (scores >= least) & (scores > 0)
    return ids[is_best], scores[is_best]


def _norm_and_factors(
    index: InvertedIndex, query: Mapping[str, float], cut: Cut, df: FloatArray
) -> tuple[tuple[float, float, float], FloatArray]:
    """K1, B and the average length of a fragment; and what each term adds to a score at most."""
    n_live = index.n_fragments - len(cut.dead) + len(cut.tail)
    n_terms = index.n_terms - index.n_terms_of(cut.dead) + int(cut.tail.lengths.sum())
    average = n_terms / n_live if n_live else 0.0
    return (K1, B, average or 1.0), (K1 + 1) * idf(n_live, df) * list(query.values())


class _Parts(NamedTuple):
    """What postings add to the scores of some fragments."""

    fragments: NDArray[np.int64]  # the index of each among the fragments
    parts: FloatArray
    terms: NDArray[np.int64]  # the index of each in the query


class _Search:
    """The posting lists of one query, and what each term can add to a score."""

    def __init__(self, index: InvertedIndex, query: Mapping[str, float], cut: Cut) -> None:
        keys = np.array([term_key(term) for term in query], np.uint64)
        runs = index.runs(keys)
        self._tail_runs = runs_of_file(cut.tail, index.n_ids, keys)
        df = index.document_frequencies(runs, len(keys), cut.dead)
        for run in self._tail_runs:
            df[run.term] += run.size
        (_, _, self._average), self._factors = _norm_and_factors(index, query, cut, df)
        self._runs: list[list[PostingRun]] = [[] for _ in keys]
        for run in runs:
            self._runs[run.term].append(run)
        self._lengths, self._tail_lengths = index.lengths, cut.tail.lengths
        self._hidden = _hidden(index, cut)
        self.n_postings = sum(run.size for run in (*runs, *self._tail_runs))

    def all_scores(self) -> tuple[_Int32s, FloatArray]:
        """All fragments, and their scores; 0 for those that are no candidates."""
        n_ids = len(self._lengths) + len(self._tail_lengths)
        scores = np.zeros(n_ids)
        runs = [run for runs in self._runs for run in runs]
        for some in (runs, self._tail_runs):
            for ids, counts, terms in _chunks(some):
                lengths = self._lengths_of(ids).astype(np.float64)
                np.add.at(scores, ids, bm25_parts(lengths, self._average, counts, self._factors[terms]))
        for hidden in self._hidden:
            scores[hidden] = 0
        return np.arange(n_ids, dtype=np.int32), scores

    def possible(self, n: int, sums: _Sums) -> _Int32s:
        """The candidates that can be among the `n` best, or have the score of the last; sorted."""
        order = np.argsort(-self._factors, kind="stable").tolist()
        # What the terms from each position of the order on can add.
        rest = [*np.cumsum(self._factors[order][::-1])[::-1].tolist(), 0.0]
        self._read(self._tail_runs, sums, 0.0)
        position, n_postings, needed = 0, FIRST_BATCH, 0.0
        while position < len(order) and needed * SLACK - rest[position] < LOOK_UP_FROM * needed:
            least, batch, size = needed * SLACK - rest[position], list[PostingRun](), 0
            while position < len(order) and size < n_postings:
                batch += self._runs[order[position]]
                size += sum(run.size for run in self._runs[order[position]])
                position += 1
                if needed * SLACK - rest[position] >= LOOK_UP_FROM * needed > 0:
                    break
            self._read(batch, sums, least)
            needed = sums.nth_best(n)
            n_postings *= 2
        left = sums.at_least(needed * SLACK - rest[position])
        n_terms = 2
        while position < len(order) and len(left.ids) > n:
            terms = order[position : position + n_terms]
            places, parts, _ = self._parts_of(left.ids, [run for term in terms for run in self._runs[term]])
            left.add(places, parts)
            position, n_terms = position + len(terms), 2 * n_terms
            left = left.best(n, rest[position])
        return left.ids

    def exact_scores(self, ids: _Int32s) -> FloatArray:
        """The score of each of some candidates, which are sorted by id."""
        places, parts, _ = self.parts_of(ids)
        return scatter_add(places, parts, len(ids))

    def parts_of(self, ids: _Int32s) -> _Parts:
        """What all terms add to the scores of some fragments, which are sorted by id."""
        # In the order of terms, in which `InvertedIndex.bm25` adds them up for each fragment.
        return self._parts_of(ids, [run for runs in (*self._runs, self._tail_runs) for run in runs])

    def _parts_of(self, ids: _Int32s, runs: Iterable[PostingRun]) -> _Parts:
        """What the postings of some fragments, which are sorted, add to their scores.

        The parts of one fragment are in the order of runs.
        """
        by_segment: dict[int, list[PostingRun]] = {}
        for run in runs:
            by_segment.setdefault(id(run.segment), []).append(run)
        places, parts, terms = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
        for here in by_segment.values():
            segment = here[0].segment
            of_segment = _are_in(segment.members, ids).nonzero()[0]
            if len(of_segment):
                wanted = ids[of_segment]
                at = np.stack([run.at.start + run.ids.searchsorted(wanted) for run in here])
                at[at >= np.array([run.at.stop for run in here])[:, None]] = -1
                rows, columns = ((at >= 0) & (segment.ids.take(at) == wanted)).nonzero()
                terms.append(np.array([run.term for run in here])[rows])
                factors = self._factors[terms[-1]]
                found = wanted[columns]
                places.append(of_segment[columns])
                lengths = self._lengths_of(found).astype(np.float64)
                parts.append(bm25_parts(lengths, self._average, segment.counts.take(at[rows, columns]), factors))
        return _Parts(np.concatenate(places), np.concatenate(parts), np.concatenate(terms))

    def _read(self, runs: Iterable[PostingRun], sums: _Sums, least: float) -> None:
        """Add the postings of fragments with a sum of at least `least` so far."""
        all_factors = self._factors.astype(np.float32)
        for ids, counts, terms in _chunks(runs):
            if least > 0:
                hits = sums.with_least(least, ids)
                ids, counts, terms = ids[hits], counts[hits], terms[hits]
            factors = all_factors[terms]
            sums.add(ids, bm25_parts(self._lengths_of(ids).astype(np.float32), self._average, counts, factors))

    def _lengths_of(self, ids: _Int32s) -> _Int32s:
        """The lengths of fragments that are all of the index, or all of the tail."""
        n_ids = len(self._lengths)
        return self._tail_lengths.take(ids - n_ids) if len(ids) and ids[0] >= n_ids else self._lengths.take(ids)


def bm25_parts(
    lengths: NDArray[_Float], average: float, counts: _Counts, factors: NDArray[_Float] | float
) -> NDArray[_Float]:
    """What each posting adds to the score of its fragment, of which `lengths` has the number of terms."""
    parts: NDArray[_Float] = length_norm(lengths, average)  # type: ignore[type-var]
    parts += counts
    np.divide(counts, parts, out=parts)
    parts *= factors
    return parts


def _chunks(runs: Iterable[PostingRun]) -> Iterator[tuple[_Int32s, _Counts, NDArray[np.int64]]]:
    """Ids, counts and terms of postings, up to CHUNK at a time."""
    waiting: list[PostingRun] = []
    size = 0
    for run in runs:
        for start in range(run.at.start, run.at.stop, CHUNK):
            piece = run._replace(at=slice(start, min(start + CHUNK, run.at.stop)))
            if size + piece.size > CHUNK:
                yield _joined(waiting)
                waiting, size = [], 0
            waiting.append(piece)
            size += piece.size
    if waiting:
        yield _joined(waiting)


def _joined(runs: list[PostingRun]) -> tuple[_Int32s, _Counts, NDArray[np.int64]]:
    terms = np.repeat([run.term for run in runs], [run.size for run in runs])
    return np.concatenate([run.ids for run in runs]), np.concatenate([run.counts for run in runs]), terms


def _hidden(index: InvertedIndex, cut: Cut) -> list[_Int32s]:
    """The fragments that are no candidates."""
    hidden = np.arange(cut.hidden.start, cut.hidden.stop, dtype=np.int32)
    hidden_tail = np.arange(index.n_ids + cut.n_tail, index.n_ids + len(cut.tail), dtype=np.int32)
    return [hidden, hidden_tail, *index.dead_ids()]


class _Sums:
    """The sum of what was read of each fragment, in an array that the queries of a thread reuse."""

    def __init__(self, index: InvertedIndex, cut: Cut) -> None:
        self._n_ids = index.n_ids + len(cut.tail)
        self._sums = _scratch(self._n_ids)
        self._excluded = _hidden(index, cut)
        self._read: list[_Int32s] = []
        self._n_checked = 0  # of the arrays in `_read`
        self._best: _Int32s = np.zeros(0, np.int32)  # all fragments with a sum of at least `_needed`, sorted
        self._needed = np.float32(0)

    def __enter__(self) -> _Sums:
        for ids in self._excluded:
            self._sums[ids] = _NEVER
        return self

    def __exit__(self, *_: object) -> None:
        if 8 * sum(map(len, self._read)) > self._n_ids:
            self._sums[: self._n_ids] = 0
        else:
            for ids in (*self._excluded, *self._read):
                self._sums[ids] = 0

    def with_least(self, least: float, ids: _Int32s) -> NDArray[np.intp]:
        """The indices of the fragments with a sum of at least `least`."""
        return (self._sums.take(ids) >= least).nonzero()[0]

    def add(self, ids: _Int32s, parts: _Floats32) -> None:
        np.add.at(self._sums, ids, parts)
        self._read.append(ids)

    def nth_best(self, n: int) -> float:
        """The `n`th largest sum; 0 when there are fewer."""
        fresh = [ids[self._sums.take(ids) >= self._needed] for ids in self._read[self._n_checked :]]
        self._n_checked = len(self._read)
        found = np.sort(np.concatenate([self._best, *fresh]))
        self._best = found[np.diff(found, prepend=-1) > 0]
        if len(self._best) >= n:
            sums = self._sums[self._best]
            self._needed = np.partition(sums, -n)[-n]
            self._best = self._best[sums >= self._needed]
        return float(self._needed)

    def at_least(self, least: float) -> _Left:
        """The fragments with a sum of at least `least`, and more than 0."""
        sums = self._sums[: self._n_ids]
        ids = (sums >= max(least, 1e-9)).nonzero()[0].astype(np.int32)
        return _Left(ids, sums[ids].astype(np.float64))


class _Left:
    """The fragments that can still be in a result, sorted, and their sums."""

    def __init__(self, ids: _Int32s, sums: FloatArray) -> None:
        self.ids = ids
        self.sums = sums

    def add(self, places: NDArray[np.int64], parts: FloatArray) -> None:
        """Add parts of the fragments at some indices."""
        self.sums += scatter_add(places, parts, len(self.ids))

    def best(self, n: int, rest: float) -> _Left:
        """Those that can be among the `n` best when `rest` at most is added to each."""
        if len(self.ids) <= n:
            return self
        kept = self.sums >= np.partition(self.sums, -n)[-n] * SLACK - rest
        return _Left(self.ids[kept], self.sums[kept])


def _are_in(members: _Int32s, ids: _Int32s) -> NDArray[np.bool_]:
    """Whether each of some sorted ids is among sorted members."""
    at = members.searchsorted(ids)
    at[at == len(members)] = 0
    return members.take(at) == ids if len(members) else np.zeros(len(ids), bool)


_threads = threading.local()


def _scratch(n_ids: int) -> _Floats32:
    """An array of zeros of at least this length, one for each thread. It must hold zeros again when the query ends."""
    found: _Floats32 | None = getattr(_threads, "sums", None)
    if found is None or len(found) < n_ids:
        found = _threads.sums = np.zeros(n_ids + n_ids // 8, np.float32)
    return found
