"""Golden rows of a few generated stories and dialogues, so that a change shows as a diff in the tests.

Owns the form of those rows. Vectors are those of hashing, which needs no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...memory import HashingEmbedder
from . import dialogues, stories
from .generators.stories import stories as made_of
from .generators.story_tasks import TASKS
from .values import Sample

STORY_SYSTEMS = ("bm25", "bm25 + B")
"""Without vectors: repeated sentences have equal scores, and products of matrices may differ in the last digit between
processors."""

STORY_LENGTHS = ("0k", "4k")
N_STORIES, N_DIALOGUES, TOKENS = 4, 9, 200
ROWS = "rows.txt"


def subset_rows() -> list[str]:
    """A line for each story and system, and for each dialogue, score and memory."""
    return [*_of_stories(), *_of_dialogues()]


def write_subset(folder: Path) -> None:
    (folder / ROWS).write_text("\n".join([*subset_rows(), ""]), encoding="utf-8", newline="")


def _of_stories() -> Iterator[str]:
    for task in TASKS:
        for length in STORY_LENGTHS:
            samples = list(made_of(task, length, N_STORIES))
            rows = stories.measure(samples, STORY_SYSTEMS, HashingEmbedder(), 1, [TOKENS])
            for sample in samples:
                found = ", ".join(f"{row.system} {row.recall:.2f}" for row in rows if row.sample == sample.id)
                yield f"{sample.id}: {found}"


def _of_dialogues() -> Iterator[str]:
    samples: list[Sample] = dialogues.generated(N_DIALOGUES)
    for score in ("bm25", "hashing"):
        for memory in dialogues.MEMORIES:
            for number, row in enumerate(dialogues.measure(samples, score, memory, HashingEmbedder())):
                found = " ".join(f"{recall:.2f}" for recall in row.recalls)
                yield f"dialogue {number}, {score}, {memory}: {found}"
