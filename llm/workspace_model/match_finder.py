"""Where else does it stand as it stands at the cursor, word for word or in kind?

Owns the sources (the open file, the layers of the index) and the places in them that agree with a context. Knows no
request and no probability.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .ngram_index import BOUNDARY, KIND_ORDERS, MAX_ORDER, Segment, Vocabulary, match_lengths
from .tokens import LINE_BREAK

Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]

# Bounds on the work for one token.
MATCHES_PER_SOURCE = 256  # places looked at, nearest first
ALIKE_PER_SOURCE = 128  # of those that agree in kind
CROWD = 16_384  # of more places than this only an even sample is sorted by nearness

LOOSE_AGREEMENT = 0.1  # a token that agrees beyond the first difference counts this much of one (exact match +0.6)
ENOUGH_ALIKE = 8  # places that agree in kind; with fewer, less agreement will do

OPEN_FILE, SAME_DIRECTORY, REPOSITORY, NOWHERE = 0, 1, 2, -1
_BEFORE_THE_FILE = -1  # no token of a segment, so a context never agrees beyond the start of its file

# Contexts to look for, longest first. A source gives its first that is found; only when no source knows any of a
# row is the next row tried.
_CONTEXT_LADDER = ((6, 3, 2), (1,))
_LEAST_KINDS = 2
_LINE_TOKENS = 24  # lines are told apart by so many


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A segment, and which of its documents still count."""

    segment: Segment
    alive: NDArray[np.bool_]  # (n_documents,)

    @property
    def n_live_tokens(self) -> int:
        return int(np.diff(self.segment.starts)[self.alive].sum())

    def live_documents(self) -> Iterator[tuple[str, Numbers]]:
        for index in np.flatnonzero(self.alive).tolist():
            yield self.segment.paths[index], self.segment.document(index)

    def without(self, paths: Iterable[str]) -> Layer:
        gone = [index for path in paths if (index := self.segment.index_of(path)) is not None]
        if not self.alive[gone].any():
            return self
        alive = self.alive.copy()
        alive[gone] = False
        return Layer(self.segment, alive)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Places of one source that agree with a context; the arrays have one entry a place."""

    tokens: Numbers
    positions: NDArray[np.int64]
    scopes: NDArray[np.int64]
    lengths: Floats  # how many tokens before it agree, in kind at least
    same: Floats  # how many are the very same tokens, those beyond the first difference counting a little
    fresh: NDArray[np.bool_] | None = None  # whether its line stands nowhere just above the cursor; None: not asked

    @property
    def next_tokens(self) -> Numbers:
        return self.tokens[self.positions]

    def before(self, count: int = MAX_ORDER) -> Numbers:
        """The last tokens before each place, nearest first."""
        before: Numbers = self.tokens[self.positions[:, None] - np.arange(1, count + 1)]
        return before

    def only(self, mask: NDArray[np.bool_]) -> Places:
        fresh = None if self.fresh is None else self.fresh[mask]
        return Places(self.tokens, self.positions[mask], self.scopes[mask], self.lengths[mask], self.same[mask], fresh)

    def followed_by(self, token: int) -> Places:
        """The places that write `token` next, moved behind it."""
        found = self.only(self.next_tokens == token)
        return replace(found, positions=found.positions + 1, lengths=found.lengths + 1, same=found.same + 1)

    def followed_by_kind(self, token: int, kinds: Numbers) -> Places:
        """The places that write a token of the same kind next, moved behind it."""
        found = self.only(kinds[self.next_tokens] == kinds[token])
        same = found.same + (found.next_tokens == token)
        return Places(found.tokens, found.positions + 1, found.scopes, np.minimum(found.lengths + 1, MAX_ORDER), same)


def longest(places: Sequence[Places]) -> float:
    """0 when there is none."""
    return max((float(found.lengths.max(initial=0.0)) for found in places), default=0.0)


class Source(Protocol):
    def equal(self, context: Numbers, order: int) -> Places:
        """Near places where the last `order` tokens of `context` stand before."""
        ...

    def alike(self, context: Numbers, order: int, kinds: Numbers) -> NDArray[np.int64]:
        """Near positions where tokens of the same kinds as the last `order` stand before, and a few others."""
        ...

    def at(self, positions: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        """The source's tokens, and the scopes of these positions."""
        ...


def equal_places(sources: Sequence[Source], context: Numbers) -> list[Places]:
    """Places where the very same tokens stand before."""
    for orders in _CONTEXT_LADDER:
        places = []
        for source in sources:
            for order in orders:
                found = source.equal(context, order)
                if len(found.positions):
                    places.append(found)
                    break
        if places:
            return places
    return []


def alike_places(sources: Sequence[Source], context: Numbers, kinds: Numbers) -> list[Places]:
    """Places where tokens of the same kinds stand before: names may differ, words of the language may not."""
    places: list[Places] = []
    for order in KIND_ORDERS:
        places = [_verified(source, source.alike(context, order, kinds), context, kinds) for source in sources]
        if sum(len(found.positions) for found in places) >= ENOUGH_ALIKE:
            break
    return [found for found in places if len(found.positions)]


def _verified(source: Source, positions: NDArray[np.int64], context: Numbers, kinds: Numbers) -> Places:
    tokens, scopes = source.at(positions)
    before = tokens[positions[:, None] - np.arange(1, MAX_ORDER + 1)]
    here = context[::-1]
    # `_BEFORE_THE_FILE` is -1, which would be the last kind of all.
    agree = (kinds[before] == kinds[here]) & (before >= 0) & (here >= 0)
    lengths = np.where(agree.all(axis=1), MAX_ORDER, agree.argmin(axis=1))
    equal = before == here
    inside = (equal & (np.arange(MAX_ORDER) < lengths[:, None])).sum(axis=1)
    same = inside + 3 * LOOSE_AGREEMENT * (equal.sum(axis=1) - inside)
    found = Places(tokens, positions, scopes, lengths.astype(np.float64), same)
    return found.only((lengths >= _LEAST_KINDS) & (scopes != NOWHERE))


@dataclass(frozen=True, slots=True, eq=False)
class OpenFile:
    """The request's own text: before the cursor, a boundary, after the cursor's line, a boundary."""

    tokens: Numbers
    cursor: int

    @classmethod
    def of(cls, before: str, after: str, vocabulary: Vocabulary) -> OpenFile:
        above, below = vocabulary.learn_text(before), vocabulary.learn_text(after)
        boundary = np.full(1, BOUNDARY, np.int32)
        start = np.array([_BEFORE_THE_FILE] * (MAX_ORDER - 1) + [BOUNDARY], np.int32)
        return cls(np.concatenate([start, above, boundary, below, boundary]), MAX_ORDER + len(above))

    @property
    def context(self) -> Numbers:
        """The last MAX_ORDER tokens before the cursor."""
        return self.tokens[self.cursor - MAX_ORDER : self.cursor]

    @property
    def above(self) -> Numbers:
        """The tokens before the cursor."""
        return self.tokens[MAX_ORDER : self.cursor]

    def equal(self, context: Numbers, order: int) -> Places:
        positions = np.flatnonzero(self.tokens[MAX_ORDER - 1 : -1] == context[-1]) + MAX_ORDER
        positions = _nearest(positions[positions != self.cursor], self.cursor, MATCHES_PER_SOURCE)
        return _exactly(self, positions, context, order)

    def alike(self, context: Numbers, order: int, kinds: Numbers) -> NDArray[np.int64]:
        own, here = kinds[self.tokens], kinds[context]
        agree = np.ones(len(self.tokens) - MAX_ORDER, np.bool_)
        for back in range(1, order + 1):
            agree &= own[MAX_ORDER - back : len(own) - back] == here[-back]
        positions = np.flatnonzero(agree) + MAX_ORDER
        return _nearest(positions[positions != self.cursor], self.cursor, ALIKE_PER_SOURCE)

    def at(self, positions: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        return self.tokens, np.full(len(positions), OPEN_FILE)


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """A layer as seen from one file, without the indexed version of that file."""

    segment: Segment
    scopes: NDArray[np.int64]  # (n_documents,)
    own: tuple[int, int]  # the positions of that file; empty, where it would stand, when it is not in the layer

    @classmethod
    def of(cls, layer: Layer, path: str) -> Indexed:
        segment = layer.segment
        directory = path[: path.rfind("/") + 1]
        first, last = bisect_left(segment.paths, directory), bisect_left(segment.paths, directory + "\U0010ffff")
        scopes = np.full(len(segment.paths), REPOSITORY)
        scopes[first:last] = SAME_DIRECTORY
        scopes[~layer.alive] = NOWHERE
        return cls(segment, scopes, segment.span_of(path))

    def equal(self, context: Numbers, order: int) -> Places:
        found = self.segment.after(context.tolist(), order)
        return _exactly(self, self._near(found, MATCHES_PER_SOURCE), context, order)

    def alike(self, context: Numbers, order: int, kinds: Numbers) -> NDArray[np.int64]:
        found = self.segment.alike(kinds[context].tolist(), order, kinds)
        return self._near(found, ALIKE_PER_SOURCE)

    def at(self, positions: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        return self.segment.tokens, self.scopes[self.segment.documents_at(positions)]

    def _near(self, found: NDArray[np.uint32], limit: int) -> NDArray[np.int64]:
        start, end = self.own
        return _nearest(found[(found < start) | (found >= end)], start, limit)


def _exactly(source: Source, positions: NDArray[np.int64], context: Numbers, order: int) -> Places:
    tokens, scopes = source.at(positions)
    exact, agreeing = match_lengths(tokens, positions, context)
    lengths = exact + LOOSE_AGREEMENT * (agreeing - exact)
    return Places(tokens, positions, scopes, lengths, lengths).only((exact >= order) & (scopes != NOWHERE))


def _nearest(positions: NDArray[np.integer], here: int, limit: int) -> NDArray[np.int64]:
    """At most `limit` of `positions`, those around `here`."""
    if len(positions) > limit:
        positions = np.sort(positions[:: len(positions) // CROWD + 1])
        first = int(np.searchsorted(positions, here)) - limit // 2
        first = min(max(first, 0), len(positions) - limit)
        positions = positions[first : first + limit]
    return positions.astype(np.int64)


def line_hashes(tokens: Numbers, starts: NDArray[np.int64], kinds: Numbers) -> NDArray[np.int64]:
    """One number for each line from `starts` to its line break; 0 for an empty one."""
    lines = tokens[np.minimum(starts[:, None] + np.arange(_LINE_TOKENS), len(tokens) - 1)]
    ended = np.cumsum((kinds[lines] == LINE_BREAK) | (lines <= BOUNDARY), axis=1) > 0
    hashes: NDArray[np.int64] = (np.where(ended, 0, lines).astype(np.int64) * _LINE_FACTORS).sum(axis=1)
    return hashes


_LINE_FACTORS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 61) >> 20 | 1 for power in range(1, _LINE_TOKENS + 1)])
