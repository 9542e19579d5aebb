"""N-gram index: all positions of a repository sorted by the tokens before them, and by the kinds of those tokens.

Owns the vocabulary and immutable segments of concatenated documents, with three int32 values a token. The order by
kinds lets `self.left = left` find `self.right = right`. Documents are in path order, so near positions are near files.
Knows no request and no probability.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ...native import compiled
from ...string_table import StringNumbers, StringTable
from ..text import normalise_line_breaks
from .tokens import N_KINDS, DocumentTokens, kind_of, split_tokens

MAX_ORDER = 32  # length of the longest context; a longer match counts as this one
BOUNDARY = 0  # the token before the first and after the last of a document

# A key sorts a position by the tokens before it, nearest first: hash bits by number of tokens. Six tokens split the
# positions after three frequent ones. There are few kinds, so a context by kinds needs more tokens. Hashes may
# collide; matches are verified token by token.
_TOKEN_KEY = {1: 12, 2: 8, 3: 8, 6: 8}
_KIND_KEY = {3: 12, 6: 12, 12: 12}
_HASH_BITS = 36
_POSITION_BITS = 64 - _HASH_BITS
_MULTIPLIER = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
_BLOCK = 1 << 16  # positions hashed at once: fits the processor cache and limits the memory of a build
MAX_SEGMENT_TOKENS = (1 << _POSITION_BITS) - 1
KIND_ORDERS = tuple(reversed(_KIND_KEY))  # context lengths of `Segment.positions_after_kinds`, longest first


Int32s = NDArray[np.int32]

LONG_TEXT = 2_000
"""Characters: the lines of a longer text are kept together for the next keys on its last line."""


class Vocabulary:
    """Numbers for tokens. Append-only, so snapshots share it; a number never changes its token. Thread-safe."""

    def __init__(
        self, strings: StringTable | None = None, kinds: Int32s | None = None, bare: Int32s | None = None
    ) -> None:
        """An empty vocabulary, or the one with these tokens, kinds and bare tokens."""
        self._lock = threading.Lock()
        if strings is None or kinds is None or bare is None:
            self._strings = StringNumbers()
            self._kinds = np.zeros(1 << 10, np.int32)
            self._bare = np.zeros(1 << 10, np.int32)
            self._add("")  # BOUNDARY
        else:
            self._strings = StringNumbers(strings)
            self._kinds, self._bare = kinds, bare
        # Between two keystrokes, one line of a file changes.
        self._numbers_of_line = lru_cache(maxsize=16_384)(self._learn_line)
        self._numbers_of_lines = lru_cache(maxsize=4)(self._learn_lines)  # above and below the line of two cursors

    def __len__(self) -> int:
        return len(self._strings)

    def __reduce__(self) -> tuple[object, ...]:
        strings = self._strings.table()
        return Vocabulary, (strings, self._kinds[: len(strings)], self._bare[: len(strings)])

    def text(self, number: int) -> str:
        """The token; empty for BOUNDARY."""
        return self._strings[number]

    @property
    def kinds(self) -> NDArray[np.int32]:
        """By token number: its kind, below N_KINDS; a token of none is a kind of its own.

        This array and `bare` may be longer than the vocabulary; they are complete for all numbers at the time of the
        call.
        """
        return self._kinds

    @property
    def bare(self) -> NDArray[np.int32]:
        """By token number: the number of the same token without the space before it."""
        return self._bare

    def number(self, token: str) -> int:
        """The number of a token; a new token is added."""
        known = self._strings.find(token)
        return int(self._learn([token])[0]) if known is None else known

    def spaced(self, number: int) -> int:
        """The number of the token with one space before it."""
        return self.number(" " + self._strings[number])

    def learn_document(self, document: DocumentTokens) -> NDArray[np.int32]:
        """The numbers of a document's tokens; new tokens are added."""
        return self._learn(document.words)[document.numbers]

    def learn_text(self, text: str) -> NDArray[np.int32]:
        """The numbers of a text's tokens; new tokens are added. Fast for recently seen lines."""
        text = normalise_line_breaks(text)
        above, newline, line = text.rpartition("\n")
        if len(text) < LONG_TEXT or not newline:
            return np.frombuffer(self._learn_lines(text), np.int32)
        return np.frombuffer(self._numbers_of_lines(above) + self._numbers_of_line("\n" + line), np.int32)

    def _learn_lines(self, text: str) -> bytes:
        first, *others = text.split("\n")
        numbers = self._numbers_of_line
        return b"".join([numbers(first), *[numbers("\n" + line) for line in others]])

    def _learn_line(self, line: str) -> bytes:
        return self._learn(split_tokens(line)).tobytes()

    def _learn(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        try:
            return self._strings.numbers_of(tokens)
        except KeyError:
            with self._lock:
                for token in self._strings.unknown(tokens):
                    if token not in self._strings:  # a token may add its bare one
                        self._add(token)
            return self._strings.numbers_of(tokens)

    def _add(self, token: str) -> None:
        bare = token[1:] if len(token) > 1 and token[0] == " " else token
        if bare is not token and bare not in self._strings:
            self._add(bare)
        number = len(self._strings)
        if number == len(self._kinds):
            # New arrays: other threads may still use the old ones.
            n = number + max(number // 8, 1 << 10)
            self._kinds, self._bare = (np.resize(array, n) for array in (self._kinds, self._bare))
        self._kinds[number] = kind_of(token) or N_KINDS + number
        self._bare[number] = number if bare is token else self._strings.number(bare)
        self._strings.number(token)  # last: threads that find the number read its kind


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Documents in path order, and their positions sorted by context.

    `tokens` is int32 of shape (n,): MAX_ORDER boundaries, then each document followed by one boundary.
    `by_tokens` and `by_kinds` hold the positions from MAX_ORDER on, by the key of the context, then by position.
    `starts` is int64 of shape (n_documents + 1,): the first position of each document, and the end.
    """

    paths: tuple[str, ...]
    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    by_tokens: SortedPositions
    by_kinds: SortedPositions

    @classmethod
    def build(cls, documents: Sequence[tuple[str, NDArray[np.int32]]], kinds: NDArray[np.int32]) -> Segment:
        """Concatenate and sort `documents`, pairs of path and token numbers; `kinds` is `Vocabulary.kinds`."""
        documents = sorted(documents, key=lambda document: document[0])
        boundary = np.zeros(1, np.int32)
        parts = chain.from_iterable((numbers, boundary) for _, numbers in documents)
        tokens = np.concatenate([np.zeros(MAX_ORDER, np.int32), *parts])
        if len(tokens) > MAX_SEGMENT_TOKENS:
            raise ValueError(f"{len(tokens)} tokens; a segment holds {MAX_SEGMENT_TOKENS}. Exclude generated files.")
        lengths = [len(numbers) + 1 for _, numbers in documents]
        starts = MAX_ORDER + np.cumsum([0, *lengths])
        by_tokens, by_kinds = SortedPositions.build(tokens, _TOKEN_KEY), SortedPositions.build(kinds[tokens], _KIND_KEY)
        return cls(tuple(path for path, _ in documents), starts, tokens, by_tokens, by_kinds)

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    def document(self, index: int) -> NDArray[np.int32]:
        """The token numbers of one document."""
        return self.tokens[self.starts[index] : self.starts[index + 1] - 1]

    def documents_at(self, positions: NDArray[np.integer]) -> NDArray[np.int64]:
        """The index of the document that holds each position."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def index_of(self, path: str) -> int | None:
        index = bisect_left(self.paths, path)
        return index if index < len(self.paths) and self.paths[index] == path else None

    def span_of(self, path: str) -> tuple[int, int]:
        """The positions of the document; an empty range at its place in path order when absent."""
        index = bisect_left(self.paths, path)
        known = index < len(self.paths) and self.paths[index] == path
        return int(self.starts[index]), int(self.starts[index + known])

    def positions_after(self, context: Sequence[int], order: int) -> NDArray[np.uint32]:
        """Positions after the last `order` tokens of `context`, and a few others (hash collisions).

        `order` is 1, 2, 3 or 6. For 6 the positions come in document order.
        """
        nearest_first = [context[-1 - back] for back in range(order)]
        begin, end = self.by_tokens.find(nearest_first, self.tokens.data)
        return self.by_tokens.positions[begin:end]

    def positions_after_kinds(
        self, kinds: Sequence[int], order: int, kinds_of: NDArray[np.int32]
    ) -> NDArray[np.uint32]:
        """Positions after tokens of the last `order` of `kinds`, one of KIND_ORDERS, and a few others.

        `kinds_of` is `Vocabulary.kinds`.
        """
        nearest_first = [kinds[-1 - back] for back in range(order)]
        begin, end = self.by_kinds.find(nearest_first, self.tokens.data, kinds_of.data)
        return self.by_kinds.positions[begin:end]


@dataclass(frozen=True, slots=True, eq=False)
class SortedPositions:
    """Positions sorted by a hash key of the values before them."""

    bits: Mapping[int, int]  # bits of the key, by number of values before a position
    positions: NDArray[np.uint32]
    first_level: NDArray[np.int64]  # by the first bits of a key: the first such index in `positions`

    @classmethod
    def build(cls, values: NDArray[np.int32], bits: Mapping[int, int]) -> SortedPositions:
        positions, first_level = sorted_positions(values, bits)
        return cls(bits, positions, first_level)

    def find(
        self, nearest_first: Sequence[int], tokens: memoryview, value_of: memoryview | None = None
    ) -> tuple[int, int]:
        """The range in `positions` of those after these values; `value_of` maps tokens to values."""
        order = len(nearest_first)
        key, bits = _key(nearest_first, self.bits), sum(size for depth, size in self.bits.items() if depth <= order)
        low, high = key >> (_HASH_BITS - bits), (key >> (_HASH_BITS - bits)) + 1
        first = key >> (_HASH_BITS - next(iter(self.bits.values())))
        begin, end = int(self.first_level[first]), int(self.first_level[first + 1])
        if order == next(iter(self.bits)):
            return begin, end

        def prefix_of_key(position: int) -> int:
            before = tokens[position - order : position].tolist()[::-1]
            values = before if value_of is None else [value_of[token] for token in before]
            return _key(values, self.bits) >> (_HASH_BITS - bits)

        view = self.positions.data
        begin = bisect_left(view, low, begin, end, key=prefix_of_key)
        # Most ranges are short.
        step = 4
        while begin + step < end:
            if prefix_of_key(view[begin + step]) >= high:
                end = begin + step
                break
            step *= 8
        return begin, bisect_left(view, high, begin + step // 8 if step > 4 else begin, end, key=prefix_of_key)


def match_lengths(
    tokens: NDArray[np.int32], positions: NDArray[np.int64], context: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tokens before each position that equal the end of `context`: without a gap, and in all.

    Compares MAX_ORDER tokens. Every position must be at least that, and `context` at least as long.
    """
    differ = tokens_before(tokens, positions) != context[: -MAX_ORDER - 1 : -1]
    return first_true(differ), MAX_ORDER - np.count_nonzero(differ, axis=1)


def first_true(rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The column of the first True of each row; the number of columns where there is none."""
    first = rows.argmax(axis=1)
    found: NDArray[np.int64] = np.where(rows[np.arange(len(rows)), first], first, rows.shape[1])
    return found


def tokens_before(tokens: NDArray[np.int32], positions: NDArray[np.int64]) -> NDArray[np.int32]:
    """The last MAX_ORDER tokens before each position, nearest first; every position must be at least that."""
    # Overlapping rows: reading whole rows is faster than one index for each token.
    size = tokens.itemsize
    rows: NDArray[np.int32] = np.ndarray(
        (len(tokens) - MAX_ORDER + 1, MAX_ORDER), tokens.dtype, tokens, strides=(size, size)
    )
    before: NDArray[np.int32] = rows[positions - MAX_ORDER][:, ::-1]
    return before


def _key(nearest_first: Sequence[int], bits: Mapping[int, int]) -> int:
    """The hash part of the key for some values; the same as `_sorted_keys` computes for one position."""
    mixed = key = 0
    for depth, value in enumerate(nearest_first, 1):
        mixed = ((mixed ^ value) * _MULTIPLIER) & _WORD
        mixed ^= mixed >> 29
        if depth in bits:
            key = key << bits[depth] | mixed >> (64 - bits[depth])
    for depth, size in bits.items():
        if depth > len(nearest_first):
            key <<= size
    return key


def plain_sorted_positions(
    values: NDArray[np.int32], bits: Mapping[int, int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The positions from MAX_ORDER on, sorted by the key of the values before them, then by position; and where each
    value of the first bits begins among them, with the end."""
    keys = _sorted_keys(values, bits)
    first_bits = next(iter(bits.values()))
    first_values = np.arange(1 << first_bits, dtype=np.uint64) << np.uint64(64 - first_bits)
    first_level = np.append(np.searchsorted(keys, first_values), len(keys))
    return (keys & np.uint64(MAX_SEGMENT_TOKENS)).astype(np.uint32), first_level


def _compiled_sorted_positions(
    values: NDArray[np.int32], bits: Mapping[int, int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """As `plain_sorted_positions`, by the C kernel."""
    assert compiled is not None
    by_depth = np.array([bits.get(depth, 0) for depth in range(1, max(bits) + 1)], np.int32)
    positions, first_level = compiled.sorted_positions(values.tobytes(), MAX_ORDER, by_depth.tobytes())
    return np.frombuffer(positions, np.uint32), np.frombuffer(first_level, np.int64)


sorted_positions = plain_sorted_positions if compiled is None else _compiled_sorted_positions


def _sorted_keys(values: NDArray[np.int32], bits: Mapping[int, int]) -> NDArray[np.uint64]:
    """Keys of all positions from MAX_ORDER on, sorted: the hash of the values before, then the position."""
    keys = np.empty(len(values) - MAX_ORDER, np.uint64)
    for begin in range(MAX_ORDER, len(values), _BLOCK):
        end = min(begin + _BLOCK, len(values))
        mixed = np.zeros(end - begin, np.uint64)
        key = np.zeros(end - begin, np.uint64)
        for depth in range(1, max(bits) + 1):
            mixed ^= values[begin - depth : end - depth].astype(np.uint64)
            mixed *= np.uint64(_MULTIPLIER)
            mixed ^= mixed >> np.uint64(29)
            if depth in bits:
                key <<= np.uint64(bits[depth])
                key |= mixed >> np.uint64(64 - bits[depth])
        key <<= np.uint64(_POSITION_BITS)
        key |= np.arange(begin, end, dtype=np.uint64)
        keys[begin - MAX_ORDER : end - MAX_ORDER] = key
    keys.sort()
    return keys
