"""The workspace's own language model: it completes a line the way the repository has written it before.

Owns the indexed documents, how much each of their places counts at a cursor, and when to stay quiet. It has
no weights and needs no training: the longest matching context first, near files before far ones. Knows no
editor, no disk and no ranking of fragments.

A model is a snapshot and never changes; `with_changes` returns the next one and shares what stays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .context_index import BOUNDARY, MAX_ORDER, Segment, Vocabulary, match_lengths
from .lexer import DocumentTokens, plain_line_breaks, split_tokens, tokenise_document
from .protocol import Cancel, ChatRequest, CompletionRequest, ModelError, ModelInfo, Piece, Speed

__all__ = ["DocumentTokens", "WorkspaceModel", "tokenise_document"]

# Tuned on the 1600 line tasks of benchmarks/repoeval. Exact match moves by less than one point over a factor of
# two in any of these, except the context length: 10 tokens 21.3, 20 tokens 23.3, 32 tokens 23.9, 64 tokens 24.2.
DEFAULT_THRESHOLD = 0.3  # shows 46 % of the lines, 50 % of those exact; 0.1 67 %, 36 %; 0.5 32 %, 61 %
LENGTH_WEIGHT = 4.0  # a place whose context agrees one token further back counts this much more
LOOSE_AGREEMENT = 0.1  # a token that agrees beyond the first difference counts this much of one (exact match +0.6)
DISTANCE_WEIGHT = 0.6  # a scope one step further away counts this much less
SMALL_SCOPE = 0.5  # a scope with evidence z counts z / (z + SMALL_SCOPE)
# Did not help: the ten best BM25 windows as one more near scope (exact match 24.8 to 25.1 for a fifth more time).

# Bounds on the work for one token.
MATCHES_PER_SOURCE = 512  # places looked at, nearest first
CROWD = 16_384  # of more places than this only an even sample is sorted by nearness
ENOUGH_CONTEXT = 6.0  # matches this long are followed without looking again
NEAR_CHARS = 65_536  # how much of the open file around the cursor is a scope of its own

# Contexts to look for, longest first. A source gives its first that is found; only when no source knows any of a
# row is the next row tried.
_CONTEXT_LADDER = ((6, 3, 2), (1,))

# Layers grow by this factor, so an edit rewrites few tokens and a lookup visits few layers.
_LAYER_GROWTH = 4

_OPEN_FILE, _SAME_DIRECTORY, _REPOSITORY, _NOWHERE = 0, 1, 2, -1
_BEFORE_THE_FILE = -1  # no token of a segment, so a context never agrees beyond the start of its file
_Numbers = NDArray[np.int32]


class WorkspaceModel:
    """Completes from what the indexed documents and the open file say. A `CodeModel`.

    `threshold` is the least product of token probabilities at which a line is offered, from 0 (always) to 1.
    Of `request.path` only the request's own text counts, never the indexed version. A model pickles, arrays and all.
    """

    def __init__(
        self, layers: tuple[_Layer, ...], vocabulary: Vocabulary, *, threshold: float = DEFAULT_THRESHOLD
    ) -> None:
        self._layers = layers  # biggest and oldest first
        self._vocabulary = vocabulary
        self._threshold = threshold

    @classmethod
    def build(cls, documents: Iterable[DocumentTokens], *, threshold: float = DEFAULT_THRESHOLD) -> WorkspaceModel:
        """A model of `documents`; of two with the same path the later one counts."""
        return cls((), Vocabulary(), threshold=threshold).with_changes(documents, ())

    def with_changes(self, changed: Iterable[DocumentTokens], removed: Iterable[str]) -> WorkspaceModel:
        """The model after these documents were added or replaced, and these paths removed. Unknown paths are fine."""
        numbers = {document.path: self._vocabulary.learn_document(document) for document in changed}
        gone = {*removed, *numbers}
        layers = [layer.without(gone) for layer in self._layers]
        fresh = list(numbers.items())
        n_fresh = sum(len(tokens) for tokens in numbers.values())
        while layers and layers[-1].n_live_tokens < max(_LAYER_GROWTH * n_fresh, layers[-1].segment.n_tokens // 2):
            layer = layers.pop()
            fresh.extend(layer.live_documents())
            n_fresh += layer.n_live_tokens
        if fresh:
            segment = Segment.build(fresh)
            layers.append(_Layer(segment, np.ones(len(segment.paths), np.bool_)))
        return WorkspaceModel(tuple(layers), self._vocabulary, threshold=self._threshold)

    def with_threshold(self, threshold: float) -> WorkspaceModel:
        """The same model, more or less shy."""
        return WorkspaceModel(self._layers, self._vocabulary, threshold=threshold)

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            name="workspace",
            backend="workspace",
            context_tokens=MAX_ORDER,
            fills_middle=False,
            repository_level=True,
            local=True,
        )

    @property
    def n_tokens(self) -> int:
        """Tokens of the documents that count."""
        return sum(layer.n_live_tokens for layer in self._layers)

    @property
    def n_documents(self) -> int:
        return sum(int(layer.alive.sum()) for layer in self._layers)

    @property
    def n_bytes(self) -> int:
        """Memory of the arrays; the vocabulary comes on top, about 150 bytes a different word."""
        return sum(layer.segment.n_bytes for layer in self._layers)

    @property
    def speed(self) -> Speed:
        """Unknown: a line takes about a millisecond, whatever stands before it."""
        return Speed()

    def prepare(self, cancel: Cancel) -> None:
        """It is ready as it is."""

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        """There is nothing to read ahead."""

    def count_tokens(self, text: str) -> int:
        return len(split_tokens(text))

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the rest of the line when sure enough; with `single_line` off, further lines of the same block.

        Each piece is one line, with the probability of that line. A line is held back when the code after the
        cursor does not fit on to it, and stops before text that stands there already.
        """
        cursor = _Cursor.of(request)
        several = not request.single_line and not cursor.rest_of_line
        line_start, block_indent = cursor.line_start, 0
        for text, probability in self._lines(request, cursor, cancel):
            line = (line_start + text).lstrip("\n")
            if len(line) - len(line.lstrip()) < block_indent or line.strip() == cursor.next_line:
                return
            shown = _before_any(_up_to(text, cursor.rest_of_line), request.stop)
            if shown.strip():
                yield Piece(shown, probability)
            if not several or shown != text or not shown.strip():
                return
            line_start, block_indent = "", len(line) - len(line.lstrip())

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        raise ModelError("The workspace model does not chat. Configure a model that does.")

    def close(self) -> None:
        """Nothing is held open."""

    def _lines(self, request: CompletionRequest, cursor: _Cursor, cancel: Cancel) -> Iterator[tuple[str, float]]:
        """The most likely lines and their probabilities, until cancelled, unsure or out of evidence.

        A line after the first begins with its line break and indentation.
        """
        open_file = _OpenFile.of(cursor, self._vocabulary)
        context = open_file.context
        sources: list[_Source] = [open_file, *(_Indexed.of(layer, request.path) for layer in self._layers)]
        matches: list[_Matches] = []
        unfinished = cursor.unfinished
        text, probability = "", 1.0
        for _ in range(request.max_new_tokens):
            if cancel.cancelled:
                return
            if max((found.longest for found in matches), default=0.0) < ENOUGH_CONTEXT:
                matches = self._look_up(sources, context, unfinished)
            if not matches:
                return
            token, share = _vote(matches, self._vocabulary)
            word = self._vocabulary.text(token)
            probability *= share
            if probability < self._threshold:
                return
            if token == BOUNDARY or (word[0] == "\n" and not unfinished):
                yield text.rstrip(" \t"), probability
                text, probability = "", 1.0
            if token == BOUNDARY:
                return
            text += word[len(unfinished) :]
            unfinished = ""
            context = np.append(context[1:], np.int32(token))
            matches = [followed for found in matches if (followed := found.followed_by(token)).longest]
        yield text, probability

    def _look_up(self, sources: Sequence[_Source], context: _Numbers, unfinished: str) -> list[_Matches]:
        """Places whose context ends like `context` and whose next token begins with `unfinished`."""
        for orders in _CONTEXT_LADDER:
            matches = []
            for source in sources:
                for order in orders:
                    found = self._fitting(source.after(context, order), unfinished)
                    if found.longest:
                        matches.append(found)
                        break
            if matches:
                return matches
        return []

    def _fitting(self, matches: _Matches, unfinished: str) -> _Matches:
        """Those that go on with `unfinished`; on an unfinished line break, those that write something on that line."""
        if not unfinished or not matches.longest:
            return matches
        text = self._vocabulary.text
        choices, which = np.unique(matches.next_tokens, return_inverse=True)
        matches = matches.only(np.array([text(choice).startswith(unfinished) for choice in choices.tolist()])[which])
        if unfinished[0] == "\n" and matches.longest:
            choices, which = np.unique(matches.tokens[matches.positions + 1], return_inverse=True)
            writes = [choice != BOUNDARY and text(choice)[0] != "\n" for choice in choices.tolist()]
            matches = matches.only(np.array(writes)[which])
        return matches


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """A segment, and which of its documents still count."""

    segment: Segment
    alive: NDArray[np.bool_]  # (n_documents,)

    @property
    def n_live_tokens(self) -> int:
        return int(np.diff(self.segment.starts)[self.alive].sum())

    def live_documents(self) -> Iterator[tuple[str, _Numbers]]:
        for index in np.flatnonzero(self.alive).tolist():
            yield self.segment.paths[index], self.segment.document(index)

    def without(self, paths: Iterable[str]) -> _Layer:
        gone = [index for path in paths if (index := self.segment.index_of(path)) is not None]
        if not self.alive[gone].any():
            return self
        alive = self.alive.copy()
        alive[gone] = False
        return _Layer(self.segment, alive)


class _Cursor(NamedTuple):
    """What a request says around its cursor, cut to what is near."""

    before: str  # whole tokens before the cursor
    unfinished: str  # the word, space or line break that the cursor stands behind and that may go on
    line_start: str  # the cursor's line up to the cursor
    rest_of_line: str  # stripped
    after: str  # the lines after the cursor's line
    next_line: str  # the first of them that is not blank, stripped; "\n" when there is none

    @classmethod
    def of(cls, request: CompletionRequest) -> _Cursor:
        prefix, suffix = request.prefix[-NEAR_CHARS:], request.suffix[:NEAR_CHARS]
        prefix, suffix = plain_line_breaks(prefix), plain_line_breaks(suffix)
        _, newline, line_start = prefix.rpartition("\n")
        tokens = split_tokens(newline + line_start)
        # Signs are complete; words, spaces and indentation may go on.
        unfinished = tokens[-1] if tokens and (tokens[-1][-1].isalnum() or tokens[-1][-1] in "_ \t\n") else ""
        rest_of_line, _, after = suffix.partition("\n")
        return cls(
            before=prefix[: len(prefix) - len(unfinished)],
            unfinished=unfinished,
            line_start=line_start,
            rest_of_line=rest_of_line.strip(),
            after=after,
            next_line=after.lstrip().partition("\n")[0].rstrip() or "\n",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Matches:
    """Places of one source that agree with the context; the arrays have one entry a place."""

    tokens: _Numbers
    positions: NDArray[np.int64]
    lengths: NDArray[np.float64]  # tokens that agree, plus LOOSE_AGREEMENT for each beyond the first difference
    scopes: NDArray[np.int64]

    @classmethod
    def verified(
        cls, tokens: _Numbers, positions: NDArray[np.int64], scopes: NDArray[np.int64], context: _Numbers, order: int
    ) -> _Matches:
        exact, agreeing = match_lengths(tokens, positions, context)
        lengths = exact + LOOSE_AGREEMENT * (agreeing - exact)
        return cls(tokens, positions, lengths, scopes).only((exact >= order) & (scopes != _NOWHERE))

    @property
    def longest(self) -> float:
        """0 when there is no match."""
        return float(self.lengths.max(initial=0.0))

    @property
    def next_tokens(self) -> _Numbers:
        return self.tokens[self.positions]

    def only(self, mask: NDArray[np.bool_]) -> _Matches:
        return _Matches(self.tokens, self.positions[mask], self.lengths[mask], self.scopes[mask])

    def followed_by(self, token: int) -> _Matches:
        """The places that write `token` next, moved behind it."""
        same = self.only(self.next_tokens == token)
        return _Matches(self.tokens, same.positions + 1, same.lengths + 1, same.scopes)


class _Source(Protocol):
    def after(self, context: _Numbers, order: int) -> _Matches:
        """Near places where the last `order` tokens of `context` stand before."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _OpenFile:
    """The request's own text: before the cursor, a boundary, after the cursor's line, a boundary."""

    tokens: _Numbers
    cursor: int

    @classmethod
    def of(cls, cursor: _Cursor, vocabulary: Vocabulary) -> _OpenFile:
        before, after = vocabulary.learn_text(cursor.before), vocabulary.learn_text(cursor.after)
        boundary = np.full(1, BOUNDARY, np.int32)
        start = np.array([_BEFORE_THE_FILE] * (MAX_ORDER - 1) + [BOUNDARY], np.int32)
        return cls(np.concatenate([start, before, boundary, after, boundary]), MAX_ORDER + len(before))

    @property
    def context(self) -> _Numbers:
        """The last MAX_ORDER tokens before the cursor."""
        return self.tokens[self.cursor - MAX_ORDER : self.cursor]

    def after(self, context: _Numbers, order: int) -> _Matches:
        positions = np.flatnonzero(self.tokens[MAX_ORDER - 1 : -1] == context[-1]) + MAX_ORDER
        positions = _nearest(positions[positions != self.cursor], self.cursor)
        return _Matches.verified(self.tokens, positions, np.full(len(positions), _OPEN_FILE), context, order)


@dataclass(frozen=True, slots=True, eq=False)
class _Indexed:
    """A layer as seen from one file, without the indexed version of that file."""

    segment: Segment
    scopes: NDArray[np.int64]  # (n_documents,)
    own: tuple[int, int]  # the positions of that file; empty, where it would stand, when it is not in the layer

    @classmethod
    def of(cls, layer: _Layer, path: str) -> _Indexed:
        segment = layer.segment
        directory = path[: path.rfind("/") + 1]
        first, last = bisect_left(segment.paths, directory), bisect_left(segment.paths, directory + "\U0010ffff")
        scopes = np.full(len(segment.paths), _REPOSITORY)
        scopes[first:last] = _SAME_DIRECTORY
        scopes[~layer.alive] = _NOWHERE
        return cls(segment, scopes, segment.span_of(path))

    def after(self, context: _Numbers, order: int) -> _Matches:
        start, end = self.own
        found = self.segment.after(context.tolist(), order)
        positions = _nearest(found[(found < start) | (found >= end)], start)
        scopes = self.scopes[self.segment.documents_at(positions)]
        return _Matches.verified(self.segment.tokens, positions, scopes, context, order)


def _nearest(positions: NDArray[np.integer], here: int) -> NDArray[np.int64]:
    """At most MATCHES_PER_SOURCE of `positions`, those around `here`."""
    if len(positions) > MATCHES_PER_SOURCE:
        positions = np.sort(positions[:: len(positions) // CROWD + 1])
        first = int(np.searchsorted(positions, here)) - MATCHES_PER_SOURCE // 2
        first = min(max(first, 0), len(positions) - MATCHES_PER_SOURCE)
        positions = positions[first : first + MATCHES_PER_SOURCE]
    return positions.astype(np.int64)


def _vote(matches: Sequence[_Matches], vocabulary: Vocabulary) -> tuple[int, float]:
    """The most likely next token and how likely it is: its share of the votes, less when they are few and shallow."""
    lengths = np.concatenate([found.lengths for found in matches])
    scopes = np.concatenate([found.scopes for found in matches])
    evidence = LENGTH_WEIGHT ** (lengths - lengths.max())
    by_scope = np.bincount(scopes, evidence)
    # Inside a scope places share out its weight, so a far scope with many places cannot shout down a near one.
    scope_weight = DISTANCE_WEIGHT ** np.arange(len(by_scope)) / (by_scope + SMALL_SCOPE)
    choices, which = np.unique(np.concatenate([found.next_tokens for found in matches]), return_inverse=True)
    votes = np.bincount(which, evidence * scope_weight[scopes])
    # Among equals the first in the alphabet: the same answer whatever order the files were learnt in.
    equals = np.flatnonzero(votes >= votes.max() * (1.0 - 1e-9)).tolist()
    best = min(equals, key=lambda index: vocabulary.text(int(choices[index])))
    n_places = len(lengths)
    belief = n_places / (n_places + 1.0 / float(lengths.max()))  # one place after one token is believed by half
    return int(choices[best]), belief * float(votes[best] / votes.sum())


def _up_to(text: str, standing: str) -> str:
    """The part of `text` before the `standing` rest of the line; empty when the two do not join."""
    if not standing:
        return text
    at = text.rfind(standing)
    if at >= 0:
        return text[:at]
    overlap = next((size for size in range(len(standing) - 1, 0, -1) if text.endswith(standing[:size])), 0)
    return text[: len(text) - overlap] if overlap else ""


def _before_any(text: str, stops: Iterable[str]) -> str:
    """`text` up to the first of `stops` in it."""
    return text[: min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=len(text))]


STORED_CLASSES: tuple[type, ...] = (WorkspaceModel, _Layer, Segment, Vocabulary)
"""What a pickled `WorkspaceModel` is made of."""
