"""Candidate scorer: a small neural network that turns features into probabilities.

Owns the weights: a linear sum and a few hidden units. They are numbers in `scorer.json`, fitted by
`weft bench scorer` on repositories that are not in the other benchmarks. Knows no token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .features import FEATURES
from .match_finder import Floats

WEIGHTS_FILE = Path(__file__).with_name("scorer.json")


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScorer:
    """A conditional logit: the score of a row is `linear @ row + output @ tanh(row @ hidden + bias)`."""

    linear: Floats  # (n_features,)
    hidden: Floats  # (n_features, n_hidden)
    bias: Floats  # (n_hidden,)
    output: Floats  # (n_hidden,)

    def probabilities(self, rows: NDArray[np.float64]) -> Floats:
        """The probability of each row; they sum to 1. The last row represents all other tokens."""
        scores = self.scores(rows)
        shares: Floats = np.exp(scores - scores.max())
        shares /= shares.sum()
        return shares

    def scores(self, rows: NDArray[np.floating]) -> Floats:
        """The score of each row, the logarithm of its probability up to a constant of the step."""
        found: Floats = rows @ self.linear + np.tanh(rows @ self.hidden + self.bias) @ self.output
        return found

    @classmethod
    def from_weights(cls, weights: Mapping[str, Sequence[float]]) -> CandidateScorer:
        """From the content of the file: by feature name its weights, the linear one first.

        A feature that the file lacks has the weight 0, and names of no feature are ignored. The number of hidden units
        is the file's.
        """
        table = np.array([weights.get(name, [0.0] * len(weights["bias"])) for name in FEATURES])
        return cls(table[:, 0], table[:, 1:], np.array(weights["bias"][1:]), np.array(weights["output"][1:]))


@cache
def fitted_scorer() -> CandidateScorer:
    """The scorer with the weights in `scorer.json`."""
    return CandidateScorer.from_weights(json.loads(WEIGHTS_FILE.read_text(encoding="utf-8")))
