"""What comes after these tokens? Weights in this process behind one small protocol, whatever library computes them.

Owns the protocol between the decode loop and an engine. An engine knows token numbers and caches; it knows no text,
no prompt, no stop rule and no draft. Libraries are imported when an engine is opened, not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]


class Scores(Protocol):
    """Logits of the last tokens that were read, oldest first: row i says what follows the i-th of them."""

    def best(self) -> tuple[list[int], list[float]]:
        """The most likely token of each row, and its probability. The lowest number wins a tie."""
        ...

    def best_of(self, row: int, tokens: Sequence[int]) -> tuple[int, float]:
        """The most likely among `tokens` in this row, and its probability among all."""
        ...

    def logits(self) -> FloatArray:
        """(rows, vocabulary), float32: for tests and for whoever wants more than the best."""
        ...


class Engine(Protocol):
    """A causal language model. Calls come one at a time (the decode loop holds a lock); caches are independent."""

    @property
    def n_vocabulary(self) -> int: ...

    @property
    def context_tokens(self) -> int:
        """Most tokens that one cache can hold."""
        ...

    @property
    def cache_bytes_per_token(self) -> int:
        """Memory of one token in a cache, so that a bound in bytes can be kept."""
        ...

    def new_cache(self) -> Any:
        """An empty cache for one sequence; only this engine looks into it. Raises OutOfMemory."""
        ...

    def forward(self, cache: Any, tokens: Sequence[int], n_scored: int = 1) -> Scores:
        """Append `tokens` (at least one) to the cache; scores of the last `n_scored` of them.

        The scores are valid until the next call. Raises OutOfMemory, after which the cache may be dropped only.
        """
        ...

    def crop(self, cache: Any, n_tokens: int) -> bool:
        """Forget all but the first `n_tokens`. False, and nothing done, where the architecture can't."""
        ...

    def free(self, cache: Any) -> None:
        """The cache is not used any more."""
        ...

    @property
    def cache_kind(self) -> str:
        """Stands for what the arrays of a cache mean: only a cache of the same kind can be made of them."""
        ...

    def export_cache(self, cache: Any) -> Arrays:
        """What a cache holds, to be kept on disk. Views where that can be: valid until the next call."""
        ...

    def import_cache(self, arrays: Arrays, n_tokens: int) -> Any:
        """A cache with what `export_cache` gave for `n_tokens`. Raises ValueError when they don't fit, OutOfMemory."""
        ...

    def tune(self) -> None:
        """Measure which number of threads is fastest here and use it. Before the first cache; takes well under 1 s."""
        ...

    def close(self) -> None: ...


class OutOfMemory(Exception):
    """There is no memory for this much context. The caller reads less."""
