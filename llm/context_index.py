"""Where in a repository did these tokens stand before, and what came next?

Owns the vocabulary, and segments: documents laid end to end with every position sorted by the tokens
before it. Knows no request and no probability. Two int32 values a token are all that is kept.

A segment never changes. Documents lie in path order, so near positions are near files.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from .lexer import DocumentTokens, plain_line_breaks, split_tokens

MAX_ORDER = 32
"""Longest context that is told apart; a longer match counts as this one."""

BOUNDARY = 0
"""The token before the first and after the last of a document."""

# A key sorts a position by the tokens before it, nearest first: how many hash bits for 1, 2, 3 and 6 of them.
# Six tokens cut the crowd behind a frequent three. Hashes may collide; matches are verified token by token.
_KEY_BITS = {1: 12, 2: 8, 3: 8, 6: 8}
_HASH_BITS = sum(_KEY_BITS.values())
_POSITION_BITS = 64 - _HASH_BITS
_KEY_DEPTH = max(_KEY_BITS)
_MULTIPLIER = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
_BLOCK = 1 << 16  # positions hashed at a time: fits the processor cache, and a build needs little memory
MAX_SEGMENT_TOKENS = (1 << _POSITION_BITS) - 1


class Vocabulary:
    """Numbers for tokens. It only grows, so snapshots share it; a number never changes its meaning.

    May be used by several threads.
    """

    def __init__(self, tokens: Iterable[str] = ("",)) -> None:
        self._tokens = list(tokens)  # the first is BOUNDARY, which has no text
        self._numbers = {token: number for number, token in enumerate(self._tokens)}
        self._lock = threading.Lock()
        # Between two keystrokes a file differs in one line.
        self._numbers_of_line = lru_cache(maxsize=16_384)(self._learn_line)

    def __len__(self) -> int:
        return len(self._tokens)

    def __reduce__(self) -> tuple[object, ...]:
        return Vocabulary, (tuple(self._tokens),)

    def text(self, number: int) -> str:
        """The token; empty for BOUNDARY."""
        return self._tokens[number]

    def learn_document(self, document: DocumentTokens) -> NDArray[np.int32]:
        """The numbers of a document's tokens, new ones included."""
        return self._learn(document.words)[document.numbers]

    def learn_text(self, text: str) -> NDArray[np.int32]:
        """The numbers of a text's tokens, new ones included; quick for lines that were seen lately."""
        first, *others = plain_line_breaks(text).split("\n")
        numbers = self._numbers_of_line
        return np.frombuffer(b"".join([numbers(first), *[numbers("\n" + line) for line in others]]), np.int32)

    def _learn_line(self, line: str) -> bytes:
        return self._learn(split_tokens(line)).tobytes()

    def _learn(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        with self._lock:
            for token in tokens:
                if token not in self._numbers:
                    self._numbers[token] = len(self._tokens)
                    self._tokens.append(token)
        return np.fromiter(map(self._numbers.__getitem__, tokens), np.int32, len(tokens))


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Documents in path order and their positions in context order.

    `tokens` is int32 of shape (n,): MAX_ORDER boundaries, then each document followed by one boundary.
    `order` is uint32 of shape (n - MAX_ORDER,): positions, by the key of the tokens before them, then by place.
    `starts` is int64 of shape (n_documents + 1,): the first position of each document, and the end.
    """

    paths: tuple[str, ...]
    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    order: NDArray[np.uint32]
    first_level: NDArray[np.int64]  # where each value of the key's first bits begins in `order`

    @classmethod
    def build(cls, documents: Sequence[tuple[str, NDArray[np.int32]]]) -> Segment:
        """Lay out and sort `documents`, pairs of path and token numbers in any order of paths."""
        documents = sorted(documents, key=lambda document: document[0])
        boundary = np.zeros(1, np.int32)
        parts = chain.from_iterable((numbers, boundary) for _, numbers in documents)
        tokens = np.concatenate([np.zeros(MAX_ORDER, np.int32), *parts])
        if len(tokens) > MAX_SEGMENT_TOKENS:
            raise ValueError(f"{len(tokens)} tokens; a segment holds {MAX_SEGMENT_TOKENS}. Exclude generated files.")
        lengths = [len(numbers) + 1 for _, numbers in documents]
        starts = MAX_ORDER + np.cumsum([0, *lengths])
        keys = _sorted_keys(tokens)
        order = (keys & np.uint64(MAX_SEGMENT_TOKENS)).astype(np.uint32)
        first_values = np.arange(1 << _KEY_BITS[1], dtype=np.uint64) << np.uint64(64 - _KEY_BITS[1])
        first_level = np.append(np.searchsorted(keys, first_values), len(keys))
        return cls(tuple(path for path, _ in documents), starts, tokens, order, first_level)

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def n_bytes(self) -> int:
        return self.tokens.nbytes + self.order.nbytes + self.starts.nbytes + self.first_level.nbytes

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
        """First position of the document and the position after its last; both where it would stand when absent."""
        index = bisect_left(self.paths, path)
        known = index < len(self.paths) and self.paths[index] == path
        return int(self.starts[index]), int(self.starts[index + known])

    def after(self, context: Sequence[int], order: int) -> NDArray[np.uint32]:
        """Positions that follow the last `order` tokens of `context`, and a few that do not (hash collisions).

        `order` is 1, 2, 3 or 6. For 6 the positions come in document order.
        """
        nearest_first = [context[-1 - back] for back in range(order)]
        key, bits = _key(nearest_first), sum(size for depth, size in _KEY_BITS.items() if depth <= order)
        low, high = key >> (_HASH_BITS - bits), (key >> (_HASH_BITS - bits)) + 1
        first = key >> (_HASH_BITS - _KEY_BITS[1])
        begin, end = int(self.first_level[first]), int(self.first_level[first + 1])
        tokens, order_view = self.tokens.data, self.order.data

        def prefix_of_key(position: int) -> int:
            return _key([tokens[position - 1 - back] for back in range(order)]) >> (_HASH_BITS - bits)

        begin = bisect_left(order_view, low, begin, end, key=prefix_of_key)
        end = bisect_left(order_view, high, begin, end, key=prefix_of_key)
        return self.order[begin:end]


def match_lengths(
    tokens: NDArray[np.int32], positions: NDArray[np.int64], context: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many tokens before each position equal the end of `context`: without a gap, and in all.

    Compares MAX_ORDER tokens. Every position must be at least that, and `context` at least as long.
    """
    back = np.arange(1, MAX_ORDER + 1)
    equal = tokens[positions[:, None] - back] == context[-back]
    exact = np.where(equal.all(axis=1), MAX_ORDER, equal.argmin(axis=1))
    return exact, equal.sum(axis=1)


def _key(nearest_first: Sequence[int]) -> int:
    """The key's hash part for up to six tokens; the twin of `_sorted_keys`, for one position."""
    mixed = key = 0
    for depth, token in enumerate(nearest_first, 1):
        mixed = ((mixed ^ token) * _MULTIPLIER) & _WORD
        mixed ^= mixed >> 29
        if depth in _KEY_BITS:
            key = key << _KEY_BITS[depth] | mixed >> (64 - _KEY_BITS[depth])
    for depth, bits in _KEY_BITS.items():
        if depth > len(nearest_first):
            key <<= bits
    return key


def _sorted_keys(tokens: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash of the tokens before a position, then the position, sorted; for every position from MAX_ORDER on."""
    keys = np.empty(len(tokens) - MAX_ORDER, np.uint64)
    for begin in range(MAX_ORDER, len(tokens), _BLOCK):
        end = min(begin + _BLOCK, len(tokens))
        mixed = np.zeros(end - begin, np.uint64)
        key = np.zeros(end - begin, np.uint64)
        for depth in range(1, _KEY_DEPTH + 1):
            mixed ^= tokens[begin - depth : end - depth].astype(np.uint64)
            mixed *= np.uint64(_MULTIPLIER)
            mixed ^= mixed >> np.uint64(29)
            if depth in _KEY_BITS:
                key <<= np.uint64(_KEY_BITS[depth])
                key |= mixed >> np.uint64(64 - _KEY_BITS[depth])
        key <<= np.uint64(_POSITION_BITS)
        key |= np.arange(begin, end, dtype=np.uint64)
        keys[begin - MAX_ORDER : end - MAX_ORDER] = key
    keys.sort()
    return keys
