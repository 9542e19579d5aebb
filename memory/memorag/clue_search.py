"""Retrieval by clues: the best segments of each clue, merged by reciprocal rank.

Owns the score of a segment that several clues find. Knows no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...retrieval import ScorePart
from ..scoring import SegmentIndex, best
from ..values import Evidence, Segment
from .clues import Clue

EvidenceList = Sequence[Evidence]

MAX_SHOWN = 60
"""Characters of a clue in a reason."""


def search(index: SegmentIndex, clues: Sequence[Clue], n_each: int) -> list[Evidence]:
    """The `n_each` best segments of each clue, each segment once.

    Scores of different clues are not comparable, so a segment gets the sum of its reciprocal ranks. The score only
    decides what is dropped if not all segments fit.
    """
    parts: dict[Segment, list[ScorePart]] = {}
    for clue in clues:
        for place, (segment, _) in enumerate(best(index, clue.text, n_each), 1):
            parts.setdefault(segment, []).append(ScorePart(clue.kind, 1 / place, clue.text))
    return [
        Evidence(segment, sum(part.value for part in found), _why(found), tuple(found))
        for segment, found in parts.items()
    ]


def from_beginning(segments: Sequence[Segment]) -> list[Evidence]:
    """All segments, the first with the highest score: the fallback without clues."""
    return [Evidence(segment, 1 / place, "no clues: from the beginning") for place, segment in enumerate(segments, 1)]


def _why(parts: Sequence[ScorePart]) -> str:
    first = max(parts, key=lambda part: part.value)
    text = first.detail if len(first.detail) <= MAX_SHOWN else first.detail[: MAX_SHOWN - 1] + "…"
    more = len(parts) - 1
    others = f" and {more} more clue{'s' if more > 1 else ''}" if more else ""
    return f"found by the {first.name} “{text}”{others}"
