"""Logistic regression with weighted examples, as the confidences of next edits are fitted.

Owns the fit by Newton's method. Knows no feature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_STEPS = 50
RIDGE = 1.0
"""Weight of the squared weights, but that of the constant."""


def logistic(values: Floats, made: Floats, counts: Floats) -> Floats:
    """The weights (k,) of features `values` (n, k), the first of which is the constant 1.

    `made` (n,) is 1 for the examples that came true, else 0; `counts` (n,) is how much each counts.
    """
    weights = np.zeros(values.shape[1])
    ridge = np.diag([1e-6] + [RIDGE] * (values.shape[1] - 1))
    for _ in range(N_STEPS):
        p = probabilities(values, weights)
        gradient = values.T @ (counts * (p - made)) + ridge @ weights
        step = np.linalg.solve((values.T * (counts * p * (1 - p))) @ values + ridge, gradient)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def probabilities(values: Floats, weights: Floats) -> Floats:
    """The estimated probability of each example (n,)."""
    result: Floats = 1 / (1 + np.exp(-values @ weights))
    return result
