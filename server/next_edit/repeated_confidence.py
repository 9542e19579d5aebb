"""The probability that an alike edit is made at a place, from the evidence for and against it.

Owns the features and their weights. The weights are those of a logistic regression on the repositories for fitting,
which `weft bench next-edit --fit --weights` computes. Knows no text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a place where a change fits.

    `n_made` is how often the change was made, `n_old` how many tokens it replaces. `n_as_good` counts the other places
    whose context has at least as many equal tokens. `n_siblings` counts other parts of the same edit that fit nearby,
    `n_later` the edits since the change was made last. `is_ahead`: in the same file, in the direction of the edits.
    `is_same_name`: in another file of the same name.
    """

    n_made: int
    n_old: int
    n_as_good: int
    n_siblings: int
    n_later: int
    is_same_file: bool
    is_same_name: bool
    is_ahead: bool
    inserts_lines: bool
    deletes: bool


WEIGHTS = {
    "constant": -0.92,
    "replaced tokens": 1.10,
    "places as good": -0.68,
    "inserts lines": -1.34,
    "ahead": 2.37,
    "same file": -1.56,
    "later edits": -0.58,
    "other parts fit": 1.68,
    "made three times": 0.77,
    "file of the same name": 1.32,
    "deletes": -0.74,
}
"""Log-odds of each feature."""


def features(evidence: Evidence) -> dict[str, float]:
    """The features by name; counts as logarithms."""
    return {
        "constant": 1.0,
        "replaced tokens": math.log1p(evidence.n_old),
        "places as good": math.log1p(evidence.n_as_good),
        "inserts lines": float(evidence.inserts_lines),
        "ahead": float(evidence.is_ahead),
        "same file": float(evidence.is_same_file),
        "later edits": math.log1p(evidence.n_later),
        "other parts fit": float(evidence.n_siblings > 0),
        "made three times": float(evidence.n_made > 2),
        "file of the same name": float(evidence.is_same_name),
        "deletes": float(evidence.deletes),
    }


def confidence_of(evidence: Evidence) -> float:
    """The probability that the user makes the edit."""
    score = sum(WEIGHTS[name] * value for name, value in features(evidence).items())
    return 1 / (1 + math.exp(-score))
