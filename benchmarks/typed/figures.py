"""Figures of typed commits: characters saved, texts on the screen, how many of them are right, and why others are not.

Owns the definitions. Knows no table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bootstrap import percentile
from .causes import CAUSES
from .replay import KeyRow

Figures = dict[str, Any]

Array = NDArray[np.float64]

N_GROUPS = 10


def figures_of(rows: Sequence[KeyRow]) -> Figures:
    """The figures of some keys of one mode. Shares from 0 to 1, times in milliseconds and seconds; NaN for missing.

    A text counts once for each key that it is shown at ("shown"), or once as long as it stays ("distinct").
    """
    shown = [row for row in rows if row.text]
    distinct = _distinct(shown)
    n_units = sum(row.n_units for row in rows)
    n_presses = sum(row.n_presses for row in rows)
    wrong = [row for row in distinct if not row.is_right]
    causes = Counter(row.cause for row in wrong)
    first_right = _seconds_to_first_right(rows)
    times = [row.ms for row in rows]
    return {
        "n_keys": n_presses,
        "n_characters": n_units,
        "saved": _share(n_units - n_presses, n_units),
        "shown_per_100": 100 * _share(len(shown), len(rows)),
        "wrong_per_100": 100 * _share(sum(not row.is_right for row in shown), len(rows)),
        "distinct_wrong_per_100": 100 * _share(len(wrong), len(rows)),
        "shown_right": _share(sum(row.is_right for row in shown), len(shown)),
        "distinct": len(distinct),
        "distinct_right": _share(sum(row.is_right for row in distinct), len(distinct)),
        "distinct_harmful": _share(sum(row.is_harmful for row in distinct), len(distinct)),
        "causes": {cause: _share(causes[cause], len(wrong)) for cause in CAUSES},
        "calibration_error": calibration_error(distinct),
        "first_right_s": percentile(first_right, 0.5),
        "p50_ms": percentile(times, 0.5),
        "p95_ms": percentile(times, 0.95),
        "kept_p95_ms": percentile([row.ms for row in shown if row.source in ("cache", "typed-through")], 0.95),
    }


def calibration_error(rows: Sequence[KeyRow], n_groups: int = N_GROUPS) -> float:
    """The expected calibration error of texts with a confidence, which count alike; NaN without any."""
    rated = [(row.confidence, row.is_right) for row in rows if row.confidence is not None]
    if not rated:
        return math.nan
    shares, right = np.array(rated, np.float64).T
    return expected_error(shares, right, np.ones(len(rated)), n_groups)


def expected_error(shares: Array, right: Array | NDArray[np.bool_], weights: Array, n_groups: int = N_GROUPS) -> float:
    """Expected calibration error: the mean distance of confidence and share right over groups of equal size."""
    order, total = np.argsort(shares, kind="stable"), 0.0
    for number in range(n_groups):
        chosen = order[len(order) * number // n_groups : len(order) * (number + 1) // n_groups]
        total += abs(float(weights[chosen] @ (shares[chosen] - right[chosen])))
    return total / float(weights.sum())


def _distinct(shown: Sequence[KeyRow]) -> list[KeyRow]:
    """Each text as long as it stays: the row at which it came, but right if it was right at any key."""
    found: dict[tuple[str, str, str, str], KeyRow] = {}
    for row in shown:
        key = row.commit, row.path, row.line_key, row.becomes
        if key not in found or (row.is_right and not found[key].is_right):
            found[key] = row
    return list(found.values())


def _seconds_to_first_right(rows: Sequence[KeyRow]) -> list[float]:
    """For each line with a right text, the seconds of the typist's clock from its first key to that text."""
    begin: dict[tuple[str, str, str], float] = {}
    found: dict[tuple[str, str, str], float] = {}
    for row in rows:
        line = row.commit, row.path, row.line_key
        begin.setdefault(line, row.at_s)
        if row.is_right:
            found.setdefault(line, row.at_s - begin[line])
    return list(found.values())


def _share(n: float, of: float) -> float:
    return n / of if of else math.nan
