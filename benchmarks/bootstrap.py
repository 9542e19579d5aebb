"""Means, percentiles and stratified bootstrap intervals.

Owns their definition for partly missing values. Knows no benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

SEED, ROUNDS = 20230116, 2000

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

Strata = Mapping[str, Sequence[float]]
"""Values by repository, task or kind of question; NaN where a value does not apply."""

Range = tuple[float, float, float]
"""The low end of a 95 % interval, the value, and the high end."""


def mean(values: Iterable[float]) -> float:
    """Mean of the values but NaN; NaN when there is none."""
    found = [value for value in values if not math.isnan(value)]
    return sum(found) / len(found) if found else math.nan


def grouped(rows: Iterable[T], key: Callable[[T], K], value: Callable[[T], V]) -> dict[K, list[V]]:
    """The values of rows by group, in their order."""
    groups: dict[K, list[V]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(value(row))
    return groups


def percentile(values: Iterable[float], share: float) -> float:
    """Nearest-rank percentile: the least value that at least `share` of all do not exceed; NaN when there is none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def bootstrap_interval(strata: Strata, *, equal_strata: bool = True) -> tuple[float, float]:
    """95 % interval of the mean by stratified bootstrap: resampling within each stratum keeps the shares of the strata.

    With `equal_strata` the mean is that of the strata's means, else that of all values. NaN when there is no value.
    """
    generator = np.random.default_rng(SEED)
    sums, weight = np.zeros(ROUNDS), 0
    for values in strata.values():
        present = np.asarray(values, float)
        present = present[~np.isnan(present)]
        if n := len(present):
            drawn = present[generator.integers(n, size=(ROUNDS, n))].sum(axis=1)
            sums += drawn / n if equal_strata else drawn
            weight += 1 if equal_strata else n
    if not weight:
        return math.nan, math.nan
    low, high = np.percentile(sums / weight, [2.5, 97.5])
    return float(low), float(high)


def differences(first: Strata, second: Strata) -> dict[str, list[float]]:
    """`first - second` task by task. Both have the same tasks in the same order."""
    return {name: [a - b for a, b in zip(of, second[name], strict=True)] for name, of in first.items()}


def interval(strata: Strata) -> Range:
    """The mean over strata with its interval."""
    low, high = bootstrap_interval(strata)
    return low, mean(map(mean, strata.values())), high


def difference(first: Strata, second: Strata) -> Range:
    """The difference of the means over strata with its paired interval."""
    low, high = bootstrap_interval(differences(first, second))
    return low, mean(map(mean, first.values())) - mean(map(mean, second.values())), high
