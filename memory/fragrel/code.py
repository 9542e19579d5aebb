"""Code relation between segments (FragRel, Eq. 8), from the code graph of the repository.

Owns the mapping from segments to fragments of the graph. The weights are those of `codegraph.Relations`, so Eq. 9 to 11
apply unchanged. Computes one row for each segment, for a folder of documents or a few files; `retrieval` ranks whole
repositories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...codegraph import Relations
from ..values import Segment
from .relations import CustomRelation


def code_relation(relations: Relations, fragment_of: Callable[[Segment], int | None]) -> CustomRelation:
    """Segments are related as their fragments are; `fragment_of` returns None for text that is not code."""

    def row(segments: Sequence[Segment], i: int) -> Mapping[int, float]:
        here = fragment_of(segments[i])
        if here is None:
            return {}
        strengths = relations.relations_of(here)
        others = [(j, fragment_of(segment)) for j, segment in enumerate(segments)]
        return {j: float(strengths[other]) for j, other in others if other is not None and strengths[other] > 0}

    return CustomRelation("code", row)
