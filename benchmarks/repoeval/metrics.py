"""Retrieval and completion metrics of one task: RepoCoder's exact match and edit similarity, and what a context holds.

Owns the definitions of the figures. Knows no strategy: it gets fragments or text.

Fragments may have any size. The budget is the same for all strategies: the first `MAX_FRAGMENTS` fragments with at most
`MAX_LINES` lines in all; a fragment that does not fit is skipped. Ten windows of 20 lines fill it exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...retrieval.values import Fragment
from ...server.workspace.text import is_word
from ..similarity import best_similarity, edit_similarity
from .tasks import IDENTIFIER, Task

MAX_FRAGMENTS = 10
MAX_LINES = 200


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """Shares between 0 and 1; NaN where the metric does not apply to the task."""

    identifiers: float  # of the target's identifiers that the context does not show, found in a fragment
    similarity: float  # edit similarity of the target line to the nearest retrieved line
    exact: float  # whether a retrieved line equals the target line, indentation aside
    definition: float  # API tasks: whether a fragment holds some of the called definition's first lines


def score_retrieval(task: Task, fragments: Sequence[Fragment]) -> RetrievalScore:
    """Score the fragments within the budget. Lines are compared without indentation."""
    shown = within_budget(fragments)
    lines = {line.strip() for fragment in shown for line in fragment.text.splitlines()}
    target = task.ground_truth_line.strip()
    similarity = best_similarity(target, lines)
    identifiers = definition = math.nan
    if task.gt_ids_unseen:
        held = set(IDENTIFIER.findall("\n".join(lines)))
        identifiers = sum(name in held for name in task.gt_ids_unseen) / len(task.gt_ids_unseen)
    if task.api:
        definition = float(any(_shows_definition(task, fragment) for fragment in shown))
    return RetrievalScore(identifiers, similarity, float(target in lines), definition)


def within_budget(fragments: Iterable[Fragment]) -> list[Fragment]:
    """The best fragments of at most `MAX_LINES` lines in all, best first."""
    shown: list[Fragment] = []
    free_lines = MAX_LINES
    for fragment in fragments:
        n_lines = len(fragment.text.splitlines())
        if n_lines <= free_lines:
            shown.append(fragment)
            free_lines -= n_lines
        if len(shown) == MAX_FRAGMENTS:
            break
    return shown


@dataclass(frozen=True, slots=True)
class CompletionScore:
    """RepoCoder's two figures for generated text."""

    exact_match: float
    edit_similarity: float


def score_completion(truth: str, prediction: str) -> CompletionScore:
    """Compare as many lines as the truth has; blank lines and indentation do not count."""
    wanted, given = _compared_lines(truth, prediction)
    return CompletionScore(float(wanted == given), edit_similarity("\n".join(wanted), "\n".join(given)))


def is_right_so_far(truth: str, prediction: str) -> bool:
    """Whether the truth begins with the prediction, compared like an exact match, and no word goes on behind it."""
    wanted, given = map("\n".join, _compared_lines(truth, prediction))
    following = wanted[len(given) : len(given) + 1]
    return wanted.startswith(given) and not (is_word(given[-1:]) and is_word(following))


def _compared_lines(truth: str, prediction: str) -> tuple[list[str], list[str]]:
    """The lines of both without indentation, and of the prediction no more than the truth has."""
    wanted, given = ([line.strip() for line in text.splitlines() if line.strip()] for text in (truth, prediction))
    return wanted, given[: len(wanted)]


def _shows_definition(task: Task, fragment: Fragment) -> bool:
    assert task.api is not None
    return any(
        place.path == path and place.start_line < end and start < place.end_line
        for place in fragment.locations
        for path, spans in ((task.api.path, task.api.spans), *task.api.others)
        for start, end in spans
    )
