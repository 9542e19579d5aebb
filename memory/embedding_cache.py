"""Embedding cache: embeds each text once.

Owns the cache keys and the batches. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..llm.protocol import Cancel
from .embedding import Embedder, EmbedderWrapper, Vectors
from .metered_model import CallCancelled
from .storage.result_cache import StoredVectors
from .values import content_key
from .vectors import VectorIndex

_PART = 64


class CachingEmbedder(EmbedderWrapper):
    """An `Embedder` that caches vectors under the hash of the text.

    Queries are not cached, because they rarely repeat. With a `cancel`, `embed` raises `CallCancelled` between two
    batches.
    """

    def __init__(self, embedder: Embedder, store: StoredVectors, cancel: Cancel | None = None) -> None:
        super().__init__(embedder)
        self._store = store
        self._cancel = cancel

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        if are_queries or not texts:
            return super().embed(texts, are_queries=are_queries)
        keys = [content_key(text) for text in texts]
        kept = self._store.get(self.name, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
        kept.update(self._made(missing))
        if len({len(row) for row in kept.values()}) > 1:  # the store is damaged: recompute all
            kept = self._made(dict(zip(keys, texts, strict=True)))
        rows: Vectors = np.stack([np.frombuffer(kept[key], "<f4") for key in keys]).astype(np.float32)
        return rows

    def save(self, path: Path, texts: Sequence[str]) -> None:
        """Write the cached vectors of these texts to one file. Raises OSError."""
        kept = self._store.get(self.name, [content_key(text) for text in texts])
        size = len(next(iter(kept.values()), b""))
        index = VectorIndex(size // 4)
        index.add({key: np.frombuffer(row, "<f4") for key, row in kept.items() if len(row) == size})
        index.save(path, self.name)

    def load(self, path: Path) -> None:
        """Load vectors that `save` wrote. Ignores a missing or damaged file and one of another embedder."""
        index = VectorIndex.open(path, self.name)
        if index is not None:
            self._store.put(self.name, {key: row.tobytes() for key, row in index.get(index.keys).items()})

    def _made(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        """New vectors, stored batch by batch, so that completed batches survive an error or the end of the process."""
        made: dict[str, bytes] = {}
        pairs = list(texts.items())
        for at in range(0, len(pairs), _PART):
            if self._cancel is not None and self._cancel.cancelled:
                raise CallCancelled("Embedding was cancelled.")
            part = pairs[at : at + _PART]
            rows = self.inner.embed([text for _, text in part]).astype("<f4")
            new = {key: row.tobytes() for (key, _), row in zip(part, rows, strict=True)}
            self._store.put(self.name, new)
            made.update(new)
        return made
