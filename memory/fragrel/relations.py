"""Relations between segments: semantic, by position, of code, or user-defined (FragRel, Eq. 5 to 8).

Owns the interface `Relation` and the relations of stories, dialogues and segments of code. Knows no query. Any class
with `name` and `weights` is a relation; `CustomRelation` makes one from a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...codegraph import Relations
from ..embedding import Embedder
from ..values import Segment
from .weights import CosineWeights, DecayingWeights, Floats, MixedWeights, SparseWeights, Weights

ROUNDING = 1e-9  # smaller weights are rounding errors, of equal or orthogonal vectors


class Relation(Protocol):
    @property
    def name(self) -> str:
        """As in tables: `none`, `context 0.8`."""
        ...

    def weights(self, segments: Sequence[Segment]) -> Weights:
        """The weights between all pairs of segments. Raises ModelError if an embedder does."""
        ...


@dataclass(frozen=True, slots=True)
class NoRelation:
    """No relation: the plain retriever."""

    name: str = "none"

    def weights(self, segments: Sequence[Segment]) -> Weights:
        return SparseWeights(len(segments))


@dataclass(frozen=True, slots=True)
class ContextRelation:
    """B, Eq. 7: w_rel^|loc_i - loc_j|, where loc is the number of a segment in its source; 0 across sources.

    With w_rel 0 there are no neighbours, and the scores are those of the plain retriever. The papers' safe range is 0.1
    to 0.7. `w_after` is ours: a separate w_rel for later neighbours, because a turn refers to earlier turns more often
    than to later ones.
    """

    w_rel: float = 0.3
    w_after: float | None = None  # None means w_rel

    def __post_init__(self) -> None:
        if not (0 <= self.w_rel <= 1 and 0 <= self._after <= 1):
            raise ValueError(f"w_rel is {self.w_rel} and {self._after} after a segment; both must be from 0 to 1.")

    @property
    def name(self) -> str:
        return f"context {self.w_rel:g}" + ("" if self.w_after is None else f"/{self.w_after:g}")

    def weights(self, segments: Sequence[Segment]) -> Weights:
        return DecayingWeights(segments, self.w_rel, self._after)

    @property
    def _after(self) -> float:
        return self.w_rel if self.w_after is None else self.w_after


@dataclass(frozen=True, slots=True)
class SemanticRelation:
    """A, Eq. 6: the cosine of two segment vectors, 0 if negative.

    `literal_distance` uses the equation as printed, 1 - cosine, which relates the least similar segments (papers' spec
    1.2 and F1). Cosines within one book are nearly equal; three options sharpen them, all off by default: `temperature`
    maps a weight to exp((w - 1) / temperature), `power` raises it to a power, and `top_m` keeps the strongest
    neighbours of each segment.
    """

    embedder: Embedder
    literal_distance: bool = False
    power: float = 1.0
    temperature: float | None = None
    top_m: int | None = None

    def __post_init__(self) -> None:
        if self.power <= 0 or (self.temperature is not None and self.temperature <= 0):
            raise ValueError("power and temperature of a semantic relation must be above 0.")
        if self.top_m is not None and self.top_m < 1:
            raise ValueError(f"top_m is {self.top_m}; at least one neighbour must be kept.")

    @property
    def name(self) -> str:
        parts = ["distance" if self.literal_distance else "semantic"]
        parts += [f"temperature {self.temperature:g}"] if self.temperature is not None else []
        parts += [f"power {self.power:g}"] if self.power != 1 else []
        parts += [f"top {self.top_m}"] if self.top_m is not None else []
        return " ".join(parts)

    def weights(self, segments: Sequence[Segment]) -> Weights:
        vectors = self.embedder.embed([segment.text for segment in segments]).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        weights = CosineWeights(vectors, self._weigh)
        return weights if self.top_m is None else weights.strongest(self.top_m)

    def _weigh(self, cosines: Floats) -> Floats:
        weights = 1 - cosines if self.literal_distance else cosines
        weights = np.where(weights < ROUNDING, 0.0, weights)
        if self.temperature is not None:
            weights = np.where(weights > 0, np.exp((weights - 1) / self.temperature), 0.0)
        return weights**self.power


@dataclass(frozen=True, slots=True)
class CustomRelation:
    """A user-defined relation: `row(segments, i)` returns the neighbours of a segment by index, with their weights.

    For citations, shared authors, or links between pages. Missing neighbours weigh 0.
    """

    name: str
    row: Callable[[Sequence[Segment], int], Mapping[int, float]]

    def weights(self, segments: Sequence[Segment]) -> Weights:
        return SparseWeights(len(segments), list(self._rows(segments)))

    def _rows(self, segments: Sequence[Segment]) -> Iterator[Mapping[int, float]]:
        for i in range(len(segments)):
            row = self.row(segments, i)
            for j, weight in row.items():
                if not 0 <= j < len(segments):
                    raise ValueError(
                        f"{self.name}: segment {i} has the neighbour {j}, but there are only {len(segments)} segments."
                    )
                if not (math.isfinite(weight) and weight >= 0):
                    raise ValueError(f"{self.name}: the weight of {i} and {j} is {weight}; it must be 0 or more.")
            yield row


def by_pairs(name: str, weight: Callable[[Segment, Segment], float]) -> CustomRelation:
    """A relation from a function of two segments, which is called for every pair."""
    return CustomRelation(name, lambda segments, i: {j: weight(segments[i], other) for j, other in enumerate(segments)})


@dataclass(frozen=True, slots=True)
class MixedRelation:
    """A convex combination of relations: the shares are at least 0 and sum to 1."""

    parts: tuple[tuple[float, Relation], ...]

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.parts]
        if any(share < 0 for share in shares) or not math.isclose(sum(shares), 1, abs_tol=1e-6):
            raise ValueError(f"the shares of a mixture are {shares}; they must be at least 0 and sum to 1.")

    @property
    def name(self) -> str:
        return " + ".join(f"{share:g} {relation.name}" for share, relation in self.parts)

    def weights(self, segments: Sequence[Segment]) -> Weights:
        return MixedWeights([(share, relation.weights(segments)) for share, relation in self.parts])


def code_relation(relations: Relations, fragment_of: Callable[[Segment], int | None]) -> CustomRelation:
    """Eq. 8: segments are related as their fragments are; `fragment_of` returns None for text that is not code.

    Computes one row for each segment, for a folder of documents or a few files; `retrieval` ranks whole repositories.
    """

    def row(segments: Sequence[Segment], i: int) -> Mapping[int, float]:
        here = fragment_of(segments[i])
        if here is None:
            return {}
        strengths = relations.relations_of(here)
        others = [(j, fragment_of(segment)) for j, segment in enumerate(segments)]
        return {j: float(strengths[other]) for j, other in others if other is not None and strengths[other] > 0}

    return CustomRelation("code", row)
