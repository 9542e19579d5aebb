"""Static word vectors: a vector for each of 32,000 words, whose weighted sum is the vector of a text.

The table is fitted so that the sentence that describes a function is near the function's code
(`weft bench meaning`). Words are the sub-words of `terms`, in lower case; other words have no vector. There is no
model to run: a text costs one lookup a word.

Owns the table, and the arithmetic of vectors. Knows no fragment, no question and no score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..native import compiled
from .terms import term_key, term_keys

TABLE_FILE = Path(__file__).with_name("static_vectors.npz")

Vectors = NDArray[np.float32]  # (n, N_DIMENSIONS)
StoredVectors = NDArray[np.int8]  # (n, N_STORED): rows of length 1, times SCALE

N_DIMENSIONS = 192
N_STORED = 96
"""The first components are vectors of their own, a little less exact: those are stored for each fragment."""

SCALE = 254.0
"""A component of a unit vector is stored as an integer of this scale; larger ones are cut at 0.5."""

NO_ROW = -1

TEXTS_IN_BLOCK = 32
"""Texts whose vectors are one matrix product: neighbouring windows share words, distant ones would add zeros."""


class StaticVectors:
    """A table of word vectors, sorted by term key. Immutable."""

    def __init__(
        self,
        words: Sequence[str],
        vectors: Vectors | NDArray[np.int8],
        scales: NDArray[np.float32] | None = None,
    ) -> None:
        """`vectors`, times `scales`, has a row for each word, as long as its weight."""
        keys = term_keys(words)
        order = np.argsort(keys)
        self.words = tuple(words[at] for at in order.tolist())
        self._keys = keys[order]
        self._vectors = vectors[order]
        self._scales = np.ones(len(words), np.float32) if scales is None else scales[order]

    @property
    def vectors(self) -> Vectors:
        """All rows, (n_words, N_DIMENSIONS); made here, since the table is kept in 8 bits."""
        return self.take(np.arange(len(self._keys)))

    def take(self, rows: NDArray[np.integer], n_first: int | None = None) -> Vectors:
        """The first components of some rows, (n, n_first)."""
        return _scaled(self._vectors[rows, :n_first], self._scales[rows])

    def __len__(self) -> int:
        return len(self._keys)

    def rows(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The row of each term key, NO_ROW for words without a vector."""
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, at, NO_ROW).astype(np.int32)

    def vector(self, weights: Mapping[str, float]) -> Vectors:
        """The vector of weighted words, (N_DIMENSIONS,), of length 1; zeros when no word has one."""
        rows = self.rows(np.array([term_key(word) for word in weights], np.uint64))
        known = rows != NO_ROW
        values = np.array(list(weights.values()), np.float32)[known]
        return normalised(values @ self.take(rows[known]))

    def of_postings(self, postings: Postings, n_texts: int) -> StoredVectors:
        """The vectors of texts from their postings, (n_texts, N_STORED); zeros for a text without known words."""
        return stored(normalised(self.sums(postings, n_texts, N_STORED)))

    def sums(self, postings: Postings, n_texts: int, n_first: int) -> Vectors:
        """The first components of the sum over the words of each text, (n_texts, n_first).

        Memory is bounded by the size of the table. The sums are in double precision, so that their order, which
        differs between processes, does not change a stored component.
        """
        rows = self.rows(postings.keys)
        is_known, sizes = rows != NO_ROW, postings.indptr[1:] - postings.indptr[:-1]
        here = np.repeat(is_known, sizes)
        return weighted_sums(
            self._vectors[rows[is_known], :n_first],
            self._scales[rows[is_known]],
            sizes[is_known],
            postings.texts[here],
            weight_of_count(postings.counts[here]),
            n_texts,
        )


def plain_weighted_sums(
    components: NDArray[np.generic],
    scales: NDArray[np.float32],
    sizes: NDArray[np.integer],
    texts: NDArray[np.integer],
    weights: NDArray[np.float32],
    n_texts: int,
) -> Vectors:
    """The weighted sum of the vectors of each text, (n_texts, n_components).

    Row i of `components` (n, n_components), times `scales[i]`, is the vector of word i; the next `sizes[i]` of `texts`
    have this word, with `weights`. The sums are in double precision.
    """
    words = np.repeat(np.arange(len(scales)), sizes)
    if n_texts > TEXTS_IN_BLOCK:
        order = np.argsort(texts, kind="stable")
        words, texts, weights = words[order], texts[order], weights[order]
    firsts = np.arange(0, n_texts, TEXTS_IN_BLOCK)
    edges = (*np.searchsorted(texts, firsts).tolist(), len(texts))
    found = np.zeros((n_texts, components.shape[1]), np.float32)
    for first, begin, end in zip(firsts.tolist(), edges[:-1], edges[1:], strict=True):
        block = words[begin:end]
        is_used = np.zeros(len(scales), bool)
        is_used[block] = True
        columns = np.cumsum(is_used) - 1
        vectors = _scaled(components[is_used], scales[is_used]).astype(np.float64)
        matrix = np.zeros((min(TEXTS_IN_BLOCK, n_texts - first), len(vectors)))
        matrix[texts[begin:end] - first, columns[block]] = weights[begin:end]
        found[first : first + len(matrix)] = matrix @ vectors
    return found


def _compiled_weighted_sums(
    components: NDArray[np.generic],
    scales: NDArray[np.float32],
    sizes: NDArray[np.integer],
    texts: NDArray[np.integer],
    weights: NDArray[np.float32],
    n_texts: int,
) -> Vectors:
    """As `plain_weighted_sums`, by the C kernel. A table that is not in 8 bits has no compiled sum."""
    if components.dtype != np.int8 or not len(components):
        return plain_weighted_sums(components, scales, sizes, texts, weights, n_texts)
    assert compiled is not None
    sums = compiled.weighted_sums(
        components.tobytes(),
        scales.tobytes(),
        sizes.astype(np.int32).tobytes(),
        texts.astype(np.int32).tobytes(),
        weights.tobytes(),
        n_texts,
    )
    return np.frombuffer(sums, np.float32).reshape(n_texts, components.shape[1])


weighted_sums = plain_weighted_sums if compiled is None else _compiled_weighted_sums


def _scaled(components: NDArray[np.generic], scales: NDArray[np.float32]) -> Vectors:
    scaled: Vectors = components.astype(np.float32) * scales[:, None]
    return scaled


class Postings(NamedTuple):
    """How often each term occurs in each text, grouped by term: those of `keys[i]` begin at `indptr[i]`."""

    keys: NDArray[np.uint64]
    indptr: NDArray[np.integer]
    texts: NDArray[np.integer]
    counts: NDArray[np.integer]


def normalised(vectors: Vectors) -> Vectors:
    """The rows with length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, 1e-9)
    return scaled


def stored(vectors: Vectors) -> StoredVectors:
    """Vectors of length 1 in 8 bits a component."""
    components: StoredVectors = np.clip(np.rint(vectors * SCALE), -127, 127).astype(np.int8)
    return components


def cosines(stored_vectors: StoredVectors, query: Vectors, block: int = 8192) -> NDArray[np.float32]:
    """The cosine of each stored vector with a query of length 1, (n,). Converted by blocks: memory is bounded."""
    found = np.zeros(len(stored_vectors), np.float32)
    for at in range(0, len(stored_vectors), block):
        found[at : at + block] = stored_vectors[at : at + block].astype(np.float32) @ query
    return found / np.float32(SCALE)


def weight_of_count(counts: NDArray[np.floating] | NDArray[np.integer]) -> NDArray[np.float32]:
    """The weight of a word by its count in a text: 1, 1.7, 2.1, 2.4, …"""
    weights: NDArray[np.float32] = (1 + np.log(counts)).astype(np.float32)
    return weights


def packed(words: Iterable[str], vectors: Vectors) -> dict[str, NDArray[np.generic]]:
    """The arrays of a table as they are stored: each row in 8 bits with a scale of its own."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
    return {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "vectors": np.rint(vectors / scales[:, None]).astype(np.int8),
        "scales": scales.astype(np.float16),
    }


def read_table(path: Path = TABLE_FILE) -> StaticVectors:
    """Raises OSError and ValueError."""
    with np.load(path) as arrays:
        words = arrays["words"].tobytes().decode().split("\n")
        scales = arrays["scales"].astype(np.float32)
        return StaticVectors(words, arrays["vectors"], scales)


@lru_cache(maxsize=1)
def shipped_vectors() -> StaticVectors | None:
    """The table of this package; None when the file is missing."""
    return read_table() if TABLE_FILE.is_file() else None


@lru_cache(maxsize=1)
def table_identity() -> str:
    """A hash of the file of the table: stored vectors are valid for one table. Empty when the file is missing."""
    return blake2b(TABLE_FILE.read_bytes(), digest_size=16).hexdigest() if TABLE_FILE.is_file() else ""
