"""The protocol between the decoding loop and an inference engine (PyTorch, onnxruntime, llama.cpp).

An engine knows token numbers and KV caches; no text, no prompt, no stop rule and no draft. Its library is imported when
the engine is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....errors import ControlFlow

FloatArray = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]


class Scores(Protocol):
    """Logits after the last tokens, oldest first: row i scores what follows the i-th of them."""

    def best(self) -> tuple[list[int], list[float]]:
        """The most likely token of each row, and its probability. The lowest number wins a tie."""
        ...

    def best_of(self, row: int, tokens: Sequence[int]) -> tuple[int, float]:
        """The most likely among `tokens` in this row, and its probability among all."""
        ...

    def logits(self) -> FloatArray:
        """(rows, vocabulary), float32: for sampling and tests."""
        ...


class Engine(Protocol):
    """A causal language model. Callers hold a lock, so calls come one at a time; caches are independent."""

    n_vocabulary: int
    context_tokens: int  # most tokens of one cache
    cache_bytes_per_token: int  # memory of one token in a cache
    cache_kind: str  # the format of exported caches: only an engine with the same kind can import them

    def new_cache(self) -> Any:
        """An empty KV cache for one sequence, opaque to the caller. Raises OutOfMemory."""
        ...

    def forward(self, cache: Any, tokens: Sequence[int], n_scored: int = 1) -> Scores:
        """One forward pass: append `tokens` (at least one) to the cache; scores of the last `n_scored` of them.

        The scores are valid until the next call. Raises OutOfMemory, after which the cache can only be freed.
        """
        ...

    def crop(self, cache: Any, n_tokens: int) -> bool:
        """Keep the first `n_tokens`. False, without a change, where the architecture can't."""
        ...

    def free(self, cache: Any) -> None:
        """End the use of the cache."""
        ...

    def export_cache(self, cache: Any) -> Arrays:
        """The content of a cache as arrays; may be views, valid until the next call."""
        ...

    def import_cache(self, arrays: Arrays, n_tokens: int) -> Any:
        """A cache from what `export_cache` gave for `n_tokens`. Raises ValueError when they don't fit, OutOfMemory."""
        ...

    def tune(self) -> None:
        """Measure the fastest number of threads and use it. Before the first cache; takes well under 1 s."""
        ...

    def close(self) -> None: ...


class ArrayScores:
    """`Scores` over logits of shape (rows, vocabulary). The array may be a view that the next call overwrites."""

    def __init__(self, logits: FloatArray) -> None:
        self._logits = logits

    def best(self) -> tuple[list[int], list[float]]:
        tokens = self._logits.argmax(axis=1)
        return tokens.tolist(), [self._probability(row, token) for row, token in enumerate(tokens)]

    def best_of(self, row: int, tokens: Sequence[int]) -> tuple[int, float]:
        # Sorted, so that the lowest number wins a tie.
        allowed = np.unique(np.asarray(tokens))
        token = int(allowed[self._logits[row, allowed].argmax()])
        return token, self._probability(row, token)

    def logits(self) -> FloatArray:
        return self._logits.copy()

    def _probability(self, row: int, token: int) -> float:
        shares = np.exp(self._logits[row] - self._logits[row].max())
        return float(shares[token] / shares.sum())


class OutOfMemory(ControlFlow):
    """Not enough memory for this context. The caller uses a shorter one."""
