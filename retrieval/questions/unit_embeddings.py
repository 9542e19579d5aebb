"""Vectors of units by an embedding model: a better, slower kind of meaning than the table of word vectors.

Owns what of a unit a model reads, and the cosines of a question with all units of a snapshot. Knows no model: the
caller gives a `UnitEncoder` in the options of a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..bm25 import FloatArray
from ..static_vectors import Vectors
from .lexicon import ENGLISH
from .query_analysis import AnalysedQuestion
from .units import Unit

if TYPE_CHECKING:
    from ..index import RepositoryIndex

Place = tuple[str, int]
"""Path and first line of a unit."""

LONGEST_TEXT = 500
"""Characters of a unit that are embedded, about 128 tokens: with 256, a processor takes twice as long for no more."""


class UnitEncoder(Protocol):
    """The vectors of snapshots, as far as they are computed. Thread-safe."""

    def near(self, index: RepositoryIndex, question: AnalysedQuestion) -> NearUnits | None:
        """The cosines of a question with the units of a snapshot; None if most of them have no vector yet."""
        ...


def unit_text(unit: Unit, lines: Sequence[str]) -> str:
    """What a model reads of a unit: path, name or headings, and the first lines that are not empty."""
    head = f"{unit.path} {unit.symbol} {unit.title}".rstrip()
    text, n_characters = [head], len(head)
    for line in _own_lines(unit, lines):
        if n_characters >= LONGEST_TEXT:
            break
        text.append(line)
        n_characters += len(line) + 1
    return "\n".join(text)[:LONGEST_TEXT]


def _own_lines(unit: Unit, lines: Sequence[str]) -> Iterator[str]:
    return (lines[number] for number in unit.lines() if number < len(lines) and lines[number].strip())


def question_text(question: AnalysedQuestion) -> str:
    """What a model reads of a question: its text; of a question in another language its English words."""
    if question.language == ENGLISH:
        return question.text
    return " ".join(word for word, _ in question.meaning) or question.text


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedUnits:
    """The units of one snapshot that have a vector."""

    places: Sequence[Place]
    vectors: Vectors  # (number of places, dimensions), rows of length 1

    def near(self, question: Vectors) -> NearUnits:
        """The cosines with the vector of a question, (dimensions,)."""
        return NearUnits(self.places, (self.vectors @ question).astype(np.float64))


@dataclass(frozen=True, eq=False)
class NearUnits:
    """The cosines of one question with units."""

    places: Sequence[Place]
    cosines: FloatArray

    def best(self, n: int) -> list[Place]:
        """The nearest units, the nearest first."""
        return [self.places[row] for row in np.argsort(-self.cosines, kind="stable")[:n].tolist()]

    def of(self, unit: Unit) -> float | None:
        """The cosine of a unit, in standard deviations above the mean of all units; None without a vector."""
        return self._deviations.get((unit.path, unit.start_line))

    @cached_property
    def _deviations(self) -> Mapping[Place, float]:
        spread = float(self.cosines.std()) or 1.0
        deviations: NDArray[np.float64] = (self.cosines - self.cosines.mean()) / spread
        return dict(zip(self.places, deviations.tolist(), strict=True))
