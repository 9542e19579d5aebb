"""The relation of code (FragRel, Eq. 8) between the segments of a memory, from the code graph of the repository.

Owns the translation from segments to fragments of the graph. The weights are the code graph's own
(`codegraph.Relations`), so the same Eq. 9 to 11 serve. One row is asked for each segment: for a folder of documents or
a few files. To rank a whole repository, `retrieval` has its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...codegraph import Relations
from ..values import Segment
from .relations import CustomRelation


def code_relation(relations: Relations, fragment_of: Callable[[Segment], int | None]) -> CustomRelation:
    """Segments are as related as their fragments are; `fragment_of` gives None for what is no code."""

    def row(segments: Sequence[Segment], i: int) -> Mapping[int, float]:
        here = fragment_of(segments[i])
        if here is None:
            return {}
        strengths = relations.relations_of(here)
        others = [(j, fragment_of(segment)) for j, segment in enumerate(segments)]
        return {j: float(strengths[other]) for j, other in others if other is not None and strengths[other] > 0}

    return CustomRelation("code", row)
