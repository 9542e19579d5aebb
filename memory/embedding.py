"""Texts as vectors, so that what means the same lies near: one interface, and the default that needs nothing.

Owns `Embedder` and hashing. Models that embed are in the modules beside it and load when they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..retrieval.terms import count_terms, term_key

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Thread-safe."""

    @property
    def name(self) -> str:
        """Stands for everything that changes the vectors: what was embedded is kept under it."""
        ...

    @property
    def n_dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        """(len(texts), n_dimensions), rows of length 1, or 0 for a text without words. Raises ModelError."""
        ...


class HashingEmbedder:
    """Words by their hashes: no model and no meaning, but the same everywhere and at once."""

    def __init__(self, n_dimensions: int = 512) -> None:
        self._n_dimensions = n_dimensions

    @property
    def name(self) -> str:
        return f"hashing {self._n_dimensions}"

    @property
    def n_dimensions(self) -> int:
        return self._n_dimensions

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        vectors = np.zeros((len(texts), self._n_dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for term, count in count_terms(text.lower()).items():
                key = term_key(term)
                # The second half of the key gives the sign, so that words that meet cancel as often as they add up.
                row[(key >> 1) % self._n_dimensions] += (1 if key & 1 else -1) * np.sqrt(count)
        lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors
