"""`Scores` over logits in a numpy array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import FloatArray


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
