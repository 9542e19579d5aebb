"""Words of the vocabulary by their beginning, and how often the indexed documents have them.

Owns the alphabetical order of the words and the counts of each segment. Shared by the snapshots of a model; words of
documents that are no longer live count 0. Knows no request and no probability.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .match_finder import LiveSegment
from .ngram_index import Segment, Vocabulary


class WordCounts(NamedTuple):
    """How often each word occurs: the tokens of the words without a space, sorted, and their counts."""

    words: NDArray[np.int32]
    counts: NDArray[np.int32]

    def of(self, words: NDArray[np.integer]) -> NDArray[np.int64]:
        """The counts of some words; 0 for others."""
        wanted = words.astype(np.int32)
        at = np.minimum(np.searchsorted(self.words, wanted), len(self.words) - 1)
        if not len(self.words):
            return np.zeros(len(words), np.int64)
        return np.where(self.words[at] == wanted, self.counts[at], 0).astype(np.int64)

    def plus(self, other: WordCounts, sign: int) -> WordCounts:
        """These counts with others added, or with -1 subtracted."""
        at = np.searchsorted(self.words, other.words)
        new = np.ones(len(at), bool)
        inside = np.flatnonzero(at < len(self.words))
        new[inside] = self.words[at[inside]] != other.words[inside]
        counts, change = self.counts.copy(), other.counts * np.int32(sign)
        counts[at[~new]] += change[~new]
        if not new.any():
            return WordCounts(self.words, counts)
        return WordCounts(np.insert(self.words, at[new], other.words[new]), np.insert(counts, at[new], change[new]))


class ChangedCounts(NamedTuple):
    """The counts of a segment when it was built, and what has changed since: an edit copies the latter alone."""

    counts: WordCounts
    change: WordCounts

    def of(self, words: NDArray[np.integer]) -> NDArray[np.int64]:
        """The counts of some words; 0 for others."""
        return self.counts.of(words) + self.change.of(words)

    def plus(self, other: WordCounts, sign: int) -> ChangedCounts:
        """These counts with others added, or with -1 subtracted."""
        change = self.change.plus(other, sign)
        if _SHARE_OF_ALL * len(change.words) < len(self.counts.words):
            return ChangedCounts(self.counts, change)
        return ChangedCounts(self.counts.plus(change, 1), _NO_COUNTS)

    def joined(self) -> WordCounts:
        """All counts in one table."""
        return self.counts.plus(self.change, 1)


_NO_COUNTS = WordCounts(np.zeros(0, np.int32), np.zeros(0, np.int32))

WordIndexState = tuple[NDArray[np.int64], int, list[tuple[NDArray[np.int32], NDArray[np.int32]]]]
"""The tokens of the words in alphabetical order, how many tokens are sorted, and the counts of each segment."""

_SHARE_OF_ALL = 4
"""Fewer tokens than the vocabulary divided by this are sorted; of more the counts of all words are filled in."""

MOST_UNSORTED = 2_000
"""New words that a lookup reads one by one; more are sorted when the index changes."""


class WordIndex:
    """The words of a vocabulary. Thread-safe."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._lock = threading.Lock()
        self._numbers = np.zeros(0, np.int64)  # of words in alphabetical order
        self._n_sorted = 1  # tokens of the vocabulary that are sorted, or are no words
        self._counts: dict[int, tuple[LiveSegment, ChangedCounts]] = {}

    def prepare(self, segments: Sequence[LiveSegment]) -> None:
        """Sort new words and count those of new segments; called when the index changes."""
        with self._lock:
            self._counts = {id(live): (live, self._known_count(live)) for live in segments}
            n = len(self.vocabulary)
            if n - self._n_sorted > MOST_UNSORTED:
                text = self.vocabulary.text
                found = [(text(number), number) for number in self._numbers.tolist()]
                found += self._unsorted(self._n_sorted, n)
                found.sort()
                self._numbers, self._n_sorted = np.array([number for _, number in found], np.int64), n

    def state(self, segments: Sequence[LiveSegment]) -> WordIndexState:
        """What `restored` needs, for the segments of one snapshot."""
        with self._lock:
            found = [known[1].joined() for live in segments if (known := self._counts.get(id(live))) is not None]
            return self._numbers, self._n_sorted, [(each.words, each.counts) for each in found]

    @classmethod
    def restored(cls, vocabulary: Vocabulary, segments: Sequence[LiveSegment], state: WordIndexState) -> WordIndex:
        """The index with this `state`, for equal segments."""
        index = cls(vocabulary)
        index._numbers, index._n_sorted, counts = state
        if len(counts) == len(segments):
            pairs = zip(segments, counts, strict=True)
            index._counts = {id(live): (live, ChangedCounts(WordCounts(*each), _NO_COUNTS)) for live, each in pairs}
        index.prepare(segments)
        return index

    def counts(self, words: NDArray[np.integer], segments: Sequence[LiveSegment]) -> NDArray[np.int64]:
        """How often the segments have each word, given by its token without a space."""
        total = np.zeros(len(words), np.int64)
        for live in segments:
            known = self._counts.get(id(live))
            total += (known[1] if known is not None else self._count(live)).of(words)
        return total

    def counts_in(self, tokens: NDArray[np.int32]) -> WordCounts:
        """How often each word is among some tokens."""
        bare = self.vocabulary.bare[tokens]
        if _SHARE_OF_ALL * len(bare) < len(self.vocabulary):
            words, counts = np.unique(bare, return_counts=True)
            return WordCounts(words, counts.astype(np.int32))
        of_all = np.bincount(bare)
        words = np.flatnonzero(of_all).astype(np.int32)
        return WordCounts(words, of_all[words].astype(np.int32))

    def beginning_with(self, prefix: str) -> NDArray[np.int64]:
        """The tokens of all words with this prefix, without a space, in alphabetical order."""
        with self._lock:
            numbers, first = self._numbers, self._n_sorted
        text = self.vocabulary.text
        begin, end = (bisect_left(numbers.data, word, key=text) for word in (prefix, prefix + chr(0x10FFFF)))
        new = [each for each in self._unsorted(first, len(self.vocabulary)) if each[0].startswith(prefix)]
        if not new:
            return numbers[begin:end]
        found = sorted([*((text(number), number) for number in numbers[begin:end].tolist()), *new])
        return np.array([number for _, number in found], np.int64)

    def _unsorted(self, first: int, end: int) -> list[tuple[str, int]]:
        text, bare = self.vocabulary.text, self.vocabulary.bare
        return [(word, n) for n in range(first, end) if bare[n] == n and _is_word(word := text(n))]

    def _known_count(self, live: LiveSegment) -> ChangedCounts:
        """The counts of a segment, from those of an earlier one that differs in some documents where there is one."""
        for earlier, counts in self._counts.values():
            if earlier is live:
                return counts
            if earlier.segment is live.segment:
                removed = self._counts_of(live.segment, np.flatnonzero(earlier.live & ~live.live))
                added = self._counts_of(live.segment, np.flatnonzero(live.live & ~earlier.live))
                return counts.plus(removed, -1).plus(added, 1)
        return ChangedCounts(self._count(live), _NO_COUNTS)

    def _count(self, live: LiveSegment) -> WordCounts:
        if live.live.all():
            return self.counts_in(live.segment.tokens)
        return self._counts_of(live.segment, np.flatnonzero(live.live))

    def _counts_of(self, segment: Segment, documents: NDArray[np.intp]) -> WordCounts:
        tokens = [segment.document(index) for index in documents.tolist()]
        return self.counts_in(np.concatenate([np.zeros(0, np.int32), *tokens]))


class RepositoryWords:
    """The words of the indexed documents as one file sees them: without its own indexed version."""

    def __init__(self, index: WordIndex, segments: Sequence[LiveSegment], path: str) -> None:
        self._index = index
        self._segments = segments
        self._own = [
            index.counts_in(live.segment.document(at))
            for live in segments
            if (at := live.segment.index_of(path)) is not None and live.live[at]
        ]

    def counts(self, words: NDArray[np.integer]) -> NDArray[np.int64]:
        """How often other files have each word, given by its token without a space."""
        total = self._index.counts(words, self._segments)
        for counts in self._own:
            total -= counts.of(words)
        return total

    def beginning_with(self, prefix: str, most: int, last_seen: NDArray[np.int64]) -> list[int]:
        """Words with this prefix, as tokens without a space: `most` of the file, and `most` of other files.

        Those of the file come first, with the smallest `last_seen`, by token the distance to the cursor; then those
        that other files have most often. Ties are in alphabetical order.
        """
        words = self._index.beginning_with(prefix)
        distance = np.full(len(words), NEVER)
        known = words < len(last_seen)
        distance[known] = last_seen[words[known]]
        near = np.argsort(distance, kind="stable")
        near = near[: min(most, int((distance < NEVER).sum()))]
        counts = self.counts(words)
        often = np.argsort(-counts, kind="stable")
        often = often[: min(most, int((counts > 0).sum()))]
        return list(dict.fromkeys([*words[near].tolist(), *words[often].tolist()]))


NEVER = 1 << 30
"""The distance of a word that the file does not have above the cursor."""


def _is_word(token: str) -> bool:
    return token[0] == "_" or token[0].isalpha()
