"""Figures of next edits, from the rows of commits.

Owns their definitions. Knows no replay and no table.

A hunk is found among the first k when at any request before it was made an offer of the first k is at it. An offer is
wrong when it is at no later hunk of its commit. An offer that is shown at several requests counts at each; a distinct
one counts once for its commit, and is right when it was at a hunk once. Of other files counts whether one of the first
k distinct files besides the edited one has a later hunk, at requests where another file has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from ..bootstrap import mean, percentile
from .kinds import KINDS, KNOWABLE
from .replay import CommitRow
from .suggesters import MARKED

FIRST = (1, 3)
CONFIDENCES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def figures_of(rows: Sequence[CommitRow]) -> dict[str, Any]:
    """All figures of the rows of one system and order."""
    return {
        "commits": len(rows),
        "kinds": {
            **{kind: _of_hunks(rows, (kind,)) for kind in KINDS},
            "knowable": _of_hunks(rows, KNOWABLE),
            "all": _of_hunks(rows, KINDS),
        },
        "requests": _of_requests(rows),
        "offers": {
            **{
                kind: _of_offers(rows, partial(_is_of, kind))
                for kind in sorted({each[0] for row in rows for each in _offers(row)})
            },
            "unmarked": _of_offers(rows, lambda offer: MARKED not in offer[0]),
            "all": _of_offers(rows, lambda offer: True),
        },
        "confidence": {
            f"{low:.1f}": _of_offers(rows, partial(_is_between, low, high))
            for low, high in pairwise((0.0, *CONFIDENCES, 1.1))
        },
    }


def best_ranks(row: CommitRow, is_wanted_exact: bool) -> dict[int, int]:
    """The best rank (from 0) at which each hunk was found, by its number."""
    best: dict[int, int] = {}
    for offers in row.offers:
        for rank, (_, hunk, is_exact, *_) in enumerate(offers):
            if hunk is not None and (is_exact or not is_wanted_exact):
                best[hunk] = min(rank, best.get(hunk, rank))
    return best


def _of_hunks(rows: Iterable[CommitRow], kinds: Sequence[str]) -> dict[str, float]:
    """Number of hunks of these kinds, but the first of each commit, and the shares that are found."""
    found: dict[str, list[float]] = {f"{what}@{k}": [] for what in ("place", "exact") for k in FIRST}
    n = 0
    for row in rows:
        chosen = [number for number, kind in enumerate(row.kinds) if number and kind in kinds]
        n += len(chosen)
        for what in ("place", "exact"):
            best = best_ranks(row, what == "exact")
            for k in FIRST:
                found[f"{what}@{k}"] += [float(best.get(number, k) < k) for number in chosen]
    return {"n": n, **{name: mean(values) for name, values in found.items()}}


def _of_requests(rows: Sequence[CommitRow]) -> dict[str, float]:
    found: dict[str, list[float]] = {f"{what}@{k}": [] for what in ("place", "exact", "other file") for k in FIRST}
    for row in rows:
        for number, offers in enumerate(row.offers):
            later_files = set(row.files[number + 1 :]) - {row.files[number]}
            files = list(dict.fromkeys(each[3] if each[3] is not None else each[4] for each in offers))
            others = [file for file in files if file != row.files[number]]
            for k in FIRST:
                found[f"place@{k}"].append(float(any(each[1] is not None for each in offers[:k])))
                found[f"exact@{k}"].append(float(any(each[2] for each in offers[:k])))
                if later_files:
                    found[f"other file@{k}"].append(float(any(file in later_files for file in others[:k])))
    ms = [each for row in rows for each in row.ms]
    cpu_ms = [each for row in rows for each in row.cpu_ms]
    return {
        "n": sum(len(row.offers) for row in rows),
        **{name: mean(values) for name, values in found.items()},
        "ms p50": percentile(ms, 0.5),
        "ms p95": percentile(ms, 0.95),
        "cpu ms p50": percentile(cpu_ms, 0.5),
        "cpu ms p95": percentile(cpu_ms, 0.95),
    }


def _of_offers(rows: Sequence[CommitRow], is_wanted: Callable[[list[Any]], bool]) -> dict[str, float]:
    """Number of some of the offers, those at a hunk, those with its text; the same of distinct ones."""
    n = n_right = n_exact = n_distinct = n_distinct_right = 0
    for row in rows:
        offers = [each for each in _offers(row) if is_wanted(each)]
        right = {each[4] for each in offers if each[1] is not None}
        n += len(offers)
        n_right += sum(each[1] is not None for each in offers)
        n_exact += sum(bool(each[2]) for each in offers)
        n_distinct += len({each[4] for each in offers})
        n_distinct_right += len(right)
    n_requests = sum(len(row.offers) for row in rows)
    return {
        "n": n,
        "per request": n / n_requests if n_requests else 0.0,
        "right": n_right,
        "exact": n_exact,
        "wrong for each right": (n - n_right) / n_right if n_right else float("nan"),
        "distinct": n_distinct,
        "distinct right": n_distinct_right,
        "distinct wrong for each right": (n_distinct - n_distinct_right) / n_distinct_right
        if n_distinct_right
        else float("nan"),
    }


def _is_of(kind: str, offer: list[Any]) -> bool:
    return bool(offer[0] == kind)


def _is_between(low: float, high: float, offer: list[Any]) -> bool:
    return bool(low <= offer[5] < high)


def _offers(row: CommitRow) -> list[list[Any]]:
    return [each for offers in row.offers for each in offers]
