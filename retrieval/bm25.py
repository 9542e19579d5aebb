"""Okapi BM25: the idf, the length normalisation and the saturation of term frequencies.

Owns the formulas that every BM25 of Weft is made of: over fragments of code (`inverted_index`), units of a file
(`questions.scoring`) and segments of documents (`memory.scoring`). Knows no index; all functions work on numbers and
on arrays. (Papers' spec, F6.)
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

K1 = 1.5
B = 0.75

FloatArray = NDArray[np.float64]
Value = TypeVar("Value", float, FloatArray)


def idf(n_documents: int, df: Value) -> Value:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative."""
    found: Value = np.log1p((n_documents - df + 0.5) / (df + 0.5))
    return found


def length_norm(length: Value, average: float, k1: float = K1, b: float = B) -> Value:
    """k1 (1 - b + b * length / average): the term added to a frequency in the denominator."""
    return k1 * (1 - b + b * length / (average or 1.0))


def saturated(frequency: Value, norm: Value, k1: float = K1) -> Value:
    """tf (k1 + 1) / (tf + norm)."""
    return (k1 + 1) * frequency / (frequency + norm)
