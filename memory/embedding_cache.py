"""An embedder that embeds no text twice.

Owns what is kept and for how much work at once. Knows no model and no store of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from ..llm.protocol import Cancel
from .embedding import Embedder, Vectors
from .metered_model import CallCancelled
from .values import content_key
from .vectors import VectorIndex

_PART = 64


class VectorStore(Protocol):
    """Where vectors stay as bytes, by the embedder that made them: that of `storage`. Thread-safe."""

    def get(self, embedder: str, keys: Iterable[str]) -> dict[str, bytes]:
        """What is there of these keys."""
        ...

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None: ...


class CachingEmbedder:
    """An `Embedder` that embeds each text once, and keeps what it made under the text's content.

    Questions are not kept: they seldom come again. With a `cancel` it is made for one piece of work, and raises
    `CallCancelled` between two parts of it.
    """

    def __init__(self, embedder: Embedder, store: VectorStore, cancel: Cancel | None = None) -> None:
        self._embedder = embedder
        self._store = store
        self._cancel = cancel

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def n_dimensions(self) -> int:
        return self._embedder.n_dimensions

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        if are_queries or not texts:
            return self._embedder.embed(texts, are_queries=are_queries)
        keys = [content_key(text) for text in texts]
        kept = self._store.get(self.name, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
        kept.update(self._made(missing))
        if len({len(row) for row in kept.values()}) > 1:  # the store was damaged; which rows are right nobody knows
            kept = self._made(dict(zip(keys, texts, strict=True)))
        rows: Vectors = np.stack([np.frombuffer(kept[key], "<f4") for key in keys]).astype(np.float32)
        return rows

    def save(self, path: Path, texts: Sequence[str]) -> None:
        """Write the vectors of these texts to one file, as far as they were made. Raises OSError."""
        kept = self._store.get(self.name, [content_key(text) for text in texts])
        size = len(next(iter(kept.values()), b""))
        index = VectorIndex(size // 4)
        index.add({key: np.frombuffer(row, "<f4") for key, row in kept.items() if len(row) == size})
        index.save(path, self.name)

    def load(self, path: Path) -> None:
        """Keep what `save` wrote. From no file, a broken one or another embedder's there is nothing to be had."""
        index = VectorIndex.open(path, self.name)
        if index is not None:
            self._store.put(self.name, {key: row.tobytes() for key, row in index.get(index.keys).items()})

    def _made(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        """New vectors, kept part by part: what was done stays when the next part fails or Weft ends."""
        made: dict[str, bytes] = {}
        pairs = list(texts.items())
        for at in range(0, len(pairs), _PART):
            if self._cancel is not None and self._cancel.cancelled:
                raise CallCancelled("The texts were not all embedded, as the work was cancelled.")
            part = pairs[at : at + _PART]
            rows = self._embedder.embed([text for _, text in part]).astype("<f4")
            new = {key: row.tobytes() for (key, _), row in zip(part, rows, strict=True)}
            self._store.put(self.name, new)
            made.update(new)
        return made
