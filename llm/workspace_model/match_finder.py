"""Match finder: positions in the open file and the n-gram index whose context equals the cursor's, exactly or by kind.

Owns the sources (the open file, the segments of the index) and their matches. Knows no request and no probability.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .ngram_index import BOUNDARY, KIND_ORDERS, MAX_ORDER, Segment, Vocabulary, first_true, match_lengths, tokens_before
from .tokens import LINE_BREAK

Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]

# Limits of the work for one token.
MATCHES_PER_SOURCE = 256  # nearest first
KIND_MATCHES_PER_SOURCE = 128
MAX_SORTED = 16_384  # of more positions only an even sample is sorted by distance
GAPPED_MATCH_WEIGHT = 0.1  # of an equal token beyond the first difference (+0.6 points of completions exactly right)
MAX_REMEMBERED = 400  # searches of a segment for the lines of one file, some kilobytes each
MIN_KIND_MATCHES = 8  # with fewer, a shorter context is searched as well

OPEN_FILE, SAME_DIRECTORY, REPOSITORY, REMOVED = 0, 1, 2, -1
_BEFORE_THE_FILE = -1  # no token of a segment, so no match extends beyond the start of the file

# Context lengths to search for. Each source returns the matches of the first length that has any; the next row is
# used only when no source has a match in this one.
_CONTEXT_LADDER = ((6, 3, 2), (1,))
_MIN_KINDS = 2
_LINE_TOKENS = 24  # tokens that distinguish lines
_LINE_INDICES = np.arange(_LINE_TOKENS)
_BACK = np.arange(1, MAX_ORDER + 1)


@dataclass(frozen=True, slots=True, eq=False)
class LiveSegment:
    """A segment and which of its documents are live: neither removed nor replaced."""

    segment: Segment
    live: NDArray[np.bool_]  # (n_documents,)

    @property
    def n_live_tokens(self) -> int:
        return int(np.diff(self.segment.starts)[self.live].sum())

    def live_documents(self) -> Iterator[tuple[str, Numbers]]:
        for index in np.flatnonzero(self.live).tolist():
            yield self.segment.paths[index], self.segment.document(index)

    def without(self, paths: Iterable[str]) -> LiveSegment:
        removed = [index for path in paths if (index := self.segment.index_of(path)) is not None]
        if not self.live[removed].any():
            return self
        live = self.live.copy()
        live[removed] = False
        return LiveSegment(self.segment, live)


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Positions of one source whose context matches; every array has one entry for each."""

    tokens: Numbers
    positions: NDArray[np.int64]
    scopes: NDArray[np.int64]
    lengths: Floats  # tokens of the context that match, exactly or by kind
    n_same: Floats  # equal tokens among them; those beyond the first difference count a little
    fresh: NDArray[np.bool_] | None = None  # whether its line is not just above the cursor; None: not computed

    @property
    def next_tokens(self) -> Numbers:
        return self.tokens[self.positions]

    def before(self, count: int = MAX_ORDER) -> Numbers:
        """The last tokens before each position, nearest first."""
        return tokens_before(self.tokens, self.positions)[:, :count]

    def filtered(self, mask: NDArray[np.bool_]) -> Matches:
        return self._at(np.flatnonzero(mask))

    def _at(self, which: NDArray[np.int64]) -> Matches:
        if len(which) == len(self.positions):
            return self
        fresh = None if self.fresh is None else self.fresh[which]
        return Matches(
            self.tokens, self.positions[which], self.scopes[which], self.lengths[which], self.n_same[which], fresh
        )

    def advanced_by(self, token: int) -> Matches | None:
        """The matches whose next token is `token`, moved one token on; None without any."""
        which = np.flatnonzero(self.next_tokens == token)
        if not len(which):
            return None
        found = self._at(which)
        return Matches(
            found.tokens, found.positions + 1, found.scopes, found.lengths + 1, found.n_same + 1, found.fresh
        )

    def advanced_by_kind(self, token: int, kinds: Numbers) -> Matches | None:
        """The matches whose next token has the same kind, moved one token on; None without any."""
        following = self.next_tokens
        which = np.flatnonzero(kinds[following] == kinds[token])
        if not len(which):
            return None
        found = self._at(which)
        n_same = found.n_same + (following[which] == token)
        return Matches(
            found.tokens, found.positions + 1, found.scopes, np.minimum(found.lengths + 1, MAX_ORDER), n_same
        )


def longest_match(matches: Sequence[Matches]) -> float:
    """The length of the longest match; 0 without matches."""
    return max((float(found.lengths.max(initial=0.0)) for found in matches), default=0.0)


class MatchSource(Protocol):
    def exact_matches(self, context: Numbers, order: int) -> Matches:
        """The nearest positions after the last `order` tokens of `context`."""
        ...

    def kind_candidates(self, context: Numbers, order: int, kinds: Numbers) -> NDArray[np.int64]:
        """The nearest positions after tokens of the same kinds as the last `order`, and a few others."""
        ...

    def kind_matches(self, context: Numbers, order: int, kinds: Numbers) -> Matches:
        """These positions as matches, without the others."""
        ...

    def tokens_and_scopes(self, positions: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        """The source's tokens, and the scopes of these positions."""
        ...

    def distance(self, position: int) -> int:
        """Tokens between a position and the file of the request, or the cursor in it."""
        ...

    def line_of(self, position: int, kinds: Numbers) -> tuple[str, int]:
        """The path of the document at a position, and the line of its token, 0-based."""
        ...


def find_exact_matches(sources: Sequence[MatchSource], context: Numbers) -> list[Matches]:
    """Positions after the same tokens, of the longest context that has any."""
    for orders in _CONTEXT_LADDER:
        matches = []
        for source in sources:
            for order in orders:
                found = source.exact_matches(context, order)
                if len(found.positions):
                    matches.append(found)
                    break
        if matches:
            return matches
    return []


def find_kind_matches(sources: Sequence[MatchSource], context: Numbers, kinds: Numbers) -> list[Matches]:
    """Positions after tokens of the same kinds: names may differ, keywords and signs may not."""
    matches: list[Matches] = []
    for order in KIND_ORDERS:
        matches = [source.kind_matches(context, order, kinds) for source in sources]
        if sum(len(found.positions) for found in matches) >= MIN_KIND_MATCHES:
            break
    return [found for found in matches if len(found.positions)]


def _kind_matches(source: MatchSource, context: Numbers, order: int, kinds: Numbers) -> Matches:
    positions = source.kind_candidates(context, order, kinds)
    tokens, scopes = source.tokens_and_scopes(positions)
    if not len(positions):
        return Matches(tokens, positions, scopes, np.zeros(0), np.zeros(0))
    before = tokens_before(tokens, positions)
    here = context[::-1]
    # As an index, `_BEFORE_THE_FILE` is the last kind.
    differ = (kinds[before] != kinds[here]) | (before < 0) | (here < 0)
    lengths = first_true(differ)
    equal = before == here
    inside = np.count_nonzero(equal & (lengths[:, None] >= _BACK), axis=1)
    n_same = inside + 3 * GAPPED_MATCH_WEIGHT * (np.count_nonzero(equal, axis=1) - inside)
    found = Matches(tokens, positions, scopes, lengths.astype(np.float64), n_same)
    return found.filtered((lengths >= _MIN_KINDS) & (scopes != REMOVED))


@dataclass(frozen=True, slots=True, eq=False)
class OpenFile:
    """The text of the request as a source: before the cursor, a boundary, after the cursor's line, a boundary.

    The lines are those of the last token before the cursor and of the first after the cursor's line.
    """

    tokens: Numbers
    cursor: int
    path: str = ""
    line_above: int = 0
    line_below: int = 1
    _kinds_of_tokens: list[Numbers] = field(default_factory=list, init=False, repr=False)

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

    def exact_matches(self, context: Numbers, order: int) -> Matches:
        positions = np.flatnonzero(self.tokens[MAX_ORDER - 1 : -1] == context[-1]) + MAX_ORDER
        positions = _nearest(positions[positions != self.cursor], self.cursor, MATCHES_PER_SOURCE)
        return _exact(self, positions, context, order)

    def kind_candidates(self, context: Numbers, order: int, kinds: Numbers) -> NDArray[np.int64]:
        here = kinds[context]
        positions = np.flatnonzero(self._kinds(kinds)[MAX_ORDER - 1 : -1] == here[-1]) + MAX_ORDER
        for back in range(2, order + 1):
            if not len(positions):
                break
            positions = positions[self._kinds(kinds)[positions - back] == here[-back]]
        return _nearest(positions[positions != self.cursor], self.cursor, KIND_MATCHES_PER_SOURCE)

    def kind_matches(self, context: Numbers, order: int, kinds: Numbers) -> Matches:
        return _kind_matches(self, context, order, kinds)

    def _kinds(self, kinds: Numbers) -> Numbers:
        """The kind of each token; computed once."""
        if not self._kinds_of_tokens:
            self._kinds_of_tokens.append(kinds[self.tokens])
        return self._kinds_of_tokens[0]

    def tokens_and_scopes(self, positions: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        return self.tokens, np.full(len(positions), OPEN_FILE)

    def distance(self, position: int) -> int:
        return abs(position - self.cursor)

    def line_of(self, position: int, kinds: Numbers) -> tuple[str, int]:
        if position < self.cursor:
            return self.path, self.line_above - _n_line_breaks(self.tokens[position : self.cursor], kinds)
        return self.path, self.line_below + _n_line_breaks(self.tokens[self.cursor + 1 : position], kinds)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentView:
    """A segment as a source for one file, without the indexed version of that file."""

    segment: Segment
    scopes: NDArray[np.int64]  # (n_documents,)
    own: tuple[int, int]  # the positions of that file; an empty range at its place in path order when not indexed
    # By context, order and kind of search. A search looks ahead, so the next words ask for the same contexts.
    _found: dict[tuple[bytes, int, bool], Matches] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, live_segment: LiveSegment, path: str) -> SegmentView:
        segment = live_segment.segment
        directory = path[: path.rfind("/") + 1]
        first, last = bisect_left(segment.paths, directory), bisect_left(segment.paths, directory + "\U0010ffff")
        scopes = np.full(len(segment.paths), REPOSITORY)
        scopes[first:last] = SAME_DIRECTORY
        scopes[~live_segment.live] = REMOVED
        return cls(segment, scopes, segment.span_of(path))

    def exact_matches(self, context: Numbers, order: int) -> Matches:
        def find() -> Matches:
            found = self.segment.positions_after(context.tolist(), order)
            return _exact(self, self._near(found, MATCHES_PER_SOURCE), context, order)

        return self._remembered((context.tobytes(), order, True), find)

    def kind_matches(self, context: Numbers, order: int, kinds: Numbers) -> Matches:
        return self._remembered((context.tobytes(), order, False), lambda: _kind_matches(self, context, order, kinds))

    def _remembered(self, key: tuple[bytes, int, bool], find: Callable[[], Matches]) -> Matches:
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= MAX_REMEMBERED:
                self._found.clear()
            found = self._found[key] = find()
        return found

    def kind_candidates(self, context: Numbers, order: int, kinds: Numbers) -> NDArray[np.int64]:
        found = self.segment.positions_after_kinds(kinds[context].tolist(), order, kinds)
        return self._near(found, KIND_MATCHES_PER_SOURCE)

    def tokens_and_scopes(self, positions: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        return self.segment.tokens, self.scopes[self.segment.documents_at(positions)]

    def distance(self, position: int) -> int:
        return abs(position - self.own[0])

    def line_of(self, position: int, kinds: Numbers) -> tuple[str, int]:
        (document,) = self.segment.documents_at(np.array([position])).tolist()
        start = int(self.segment.starts[document])
        return self.segment.paths[document], _n_line_breaks(self.segment.tokens[start:position], kinds)

    def _near(self, found: NDArray[np.uint32], limit: int) -> NDArray[np.int64]:
        start, end = self.own
        if start < end and len(found):
            is_other = (found < start) | (found >= end)
            if not is_other.all():
                found = found[is_other]
        return _nearest(found, start, limit)


def _exact(source: MatchSource, positions: NDArray[np.int64], context: Numbers, order: int) -> Matches:
    tokens, scopes = source.tokens_and_scopes(positions)
    if not len(positions):
        return Matches(tokens, positions, scopes, np.zeros(0), np.zeros(0))
    exact, agreeing = match_lengths(tokens, positions, context)
    lengths = exact + GAPPED_MATCH_WEIGHT * (agreeing - exact)
    return Matches(tokens, positions, scopes, lengths, lengths).filtered((exact >= order) & (scopes != REMOVED))


def _n_line_breaks(tokens: Numbers, kinds: Numbers) -> int:
    return int(np.count_nonzero(kinds[tokens] == LINE_BREAK))


def _nearest(positions: NDArray[np.integer], here: int, limit: int) -> NDArray[np.int64]:
    """At most `limit` of `positions`, the nearest to `here`."""
    if len(positions) > limit:
        positions = positions[:: len(positions) // MAX_SORTED + 1]
        first = int(np.count_nonzero(positions < here)) - limit // 2
        first = min(max(first, 0), len(positions) - limit)
        last = first + limit - 1
        positions = np.sort(np.partition(positions, (first, last))[first : last + 1])
    return positions.astype(np.int64)


def line_hashes(tokens: Numbers, starts: NDArray[np.int64], kinds: Numbers) -> NDArray[np.int64]:
    """A hash of each line from `starts` to its line break; 0 for an empty one."""
    lines = tokens[np.minimum(starts[:, None] + np.arange(_LINE_TOKENS), len(tokens) - 1)]
    length = first_true((kinds[lines] == LINE_BREAK) | (lines <= BOUNDARY))
    hashes: NDArray[np.int64] = np.where(length[:, None] > _LINE_INDICES, lines, 0) @ _LINE_FACTORS
    return hashes


_LINE_FACTORS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 61) >> 20 | 1 for power in range(1, _LINE_TOKENS + 1)])
