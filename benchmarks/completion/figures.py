"""Exact match, edit similarity, calibration and gating of completion rows, with bootstrap intervals.

Owns their definitions. Knows no model, no file and no layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..bootstrap import bootstrap_interval, grouped, mean
from .answering import CompletionRow

Value = Callable[[CompletionRow], float]


def exact_match(row: CompletionRow) -> float:
    """In percent."""
    return 100 * row.exact_match


def edit_similarity(row: CompletionRow) -> float:
    """In percent."""
    return 100 * row.edit_similarity


def interval(rows: Sequence[CompletionRow], value: Value, against: Sequence[CompletionRow] = ()) -> tuple[float, float]:
    """95 % bootstrap interval of the mean over all tasks of `value`, or of its difference to the tasks in `against`."""
    theirs = {row.task_id: value(row) for row in against}
    strata = grouped(rows, lambda row: row.repo, lambda row: value(row) - (theirs[row.task_id] if against else 0.0))
    return bootstrap_interval(strata, equal_strata=False)


@dataclass(frozen=True, slots=True)
class ShownTexts:
    """The effect of the default threshold: shares from 0 to 1, NaN for none."""

    share: float  # of tasks with a text
    right: float  # of these
    whole: float  # of these, whole lines
    whole_right: float  # of the whole lines


def shown_texts(rows: Sequence[CompletionRow]) -> ShownTexts:
    """What is shown at the default threshold. A text without a confidence is shown."""
    shown = [row for row in rows if row.shown_right is not None]
    whole = [row for row in shown if row.shown_whole]
    right, whole_right = (mean(row.shown_right or 0.0 for row in of) for of in (shown, whole))
    return ShownTexts(_share(shown, rows), right, _share(whole, shown), whole_right)


@dataclass(frozen=True, slots=True)
class Bin:
    """One of `n_bins` groups of rows, by confidence."""

    n: int
    confidence: float
    right: float


def reliability(rows: Iterable[CompletionRow], n_bins: int = 10) -> list[Bin]:
    """Rows with a text and a confidence in `n_bins` parts of equal size, least sure first."""
    return _bins(((row.confidence, row.exact_match) for row in rows if row.text), n_bins)


def shown_reliability(rows: Iterable[CompletionRow], n_bins: int = 10) -> list[Bin]:
    """The same of what is shown at the default threshold."""
    return _bins(((row.shown_confidence, row.shown_right or 0.0) for row in rows if row.shown), n_bins)


def _bins(pairs: Iterable[tuple[float | None, float]], n_bins: int) -> list[Bin]:
    sure = sorted((said, right) for said, right in pairs if said is not None)
    parts = [sure[len(sure) * part // n_bins : len(sure) * (part + 1) // n_bins] for part in range(n_bins)]
    return [Bin(len(part), mean(said for said, _ in part), mean(right for _, right in part)) for part in parts if part]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error: the distance of confidence and share right, the mean over rows; NaN for none."""
    n_rows = sum(each.n for each in bins)
    return sum(each.n * abs(each.confidence - each.right) for each in bins) / n_rows if n_rows else math.nan


def by_setting(rows: Iterable[CompletionRow], settings: Sequence[str]) -> dict[str, list[CompletionRow]]:
    """The rows of each setting, tasks in one order, and only tasks that every setting has an answer to."""
    found: dict[str, dict[str, CompletionRow]] = {setting: {} for setting in settings}
    for row in rows:
        found[row.setting][row.task_id] = row
    common = set.intersection(*(set(of) for of in found.values()))
    return {setting: [of[task_id] for task_id in sorted(common)] for setting, of in found.items()} if common else {}


def by_language(rows: Iterable[CompletionRow], languages: Mapping[str, str]) -> dict[str, list[CompletionRow]]:
    """The rows of each language, by the languages of their repositories."""
    found: dict[str, list[CompletionRow]] = {}
    for row in rows:
        found.setdefault(languages[row.repo], []).append(row)
    return found


def by_repository(rows: Iterable[CompletionRow]) -> Mapping[str, list[CompletionRow]]:
    found: dict[str, list[CompletionRow]] = {}
    for row in rows:
        found.setdefault(row.repo, []).append(row)
    return found


def _share(part: Sequence[CompletionRow], of: Sequence[CompletionRow]) -> float:
    return len(part) / len(of) if of else math.nan
