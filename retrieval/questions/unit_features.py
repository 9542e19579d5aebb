"""Features of candidate units for a question, and the linear score that ranks them.

Words, names and relations come from `unit_scoring`, meaning from `unit_vectors`. The weights are fitted on questions
about some repositories and reported on others: `weft bench memory ranking`.

Owns the features, their weights, and the parts of a score. Knows no index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from ...codegraph.symbol_table import is_class
from ..values import ScorePart
from .filters import is_test
from .query_analysis import AnalysedQuestion
from .unit_scoring import ScoredUnit
from .units import is_document

NAMED_AS_WRITTEN = 1.0
"""The gain of a unit that defines a name of the question in its exact spelling."""

FEW_DEFINITIONS = 0.5
"""The gain of a name with four definitions; a name with more says as little as plain words."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one unit. Those of words are shares of the idf of all words of the question."""

    words: float  # BM25 of the lines
    name: float  # further BM25 by the name, the names around it, headings and the path
    inside: float
    title: float
    path: float
    coverage: float  # share of the question's words that the unit has
    coverage_squared: float
    best_line: float  # share of the question's words on one line; more where it gives a value that is asked for
    related_code: float  # environment score of the best window (Eq. 10)
    defines_name: float  # a name in its exact spelling
    defines_words: float  # plain words that are a name
    body: float  # cosine of the lines, in standard deviations above the mean of the repository's windows
    body_squared: float
    covered_body: float
    head: float  # cosine of name and file
    embedded: float  # cosine by an embedding model, in standard deviations above the mean of all units
    embedded_squared: float
    covered_embedded: float
    test: float
    wanted_test: float
    document: float
    wanted_document: float
    length: float  # logarithm of the lines without those of nested units
    definition: float
    type: float


NAMES: tuple[str, ...] = tuple(Features.__dataclass_fields__)

WEIGHTS = Features(
    words=5.39,
    name=0.3,
    inside=1.74,
    title=3.57,
    path=0.71,
    coverage=3.68,
    coverage_squared=-1.57,
    best_line=2.0,
    related_code=1.53,
    defines_name=0.5,
    defines_words=1.63,
    body=3.08,
    body_squared=-0.29,
    covered_body=-0.09,
    head=1.78,
    embedded=0.0,
    embedded_squared=0.0,
    covered_embedded=0.0,
    test=-5.09,
    wanted_test=-2.06,
    document=-1.92,
    wanted_document=3.0,
    length=3.34,
    definition=0.8,
    type=-0.77,
)

EMBEDDED_WEIGHTS = Features(
    words=5.13,
    name=0.0,
    inside=1.71,
    title=3.56,
    path=0.58,
    coverage=3.26,
    coverage_squared=-1.86,
    best_line=1.72,
    related_code=1.65,
    defines_name=0.5,
    defines_words=1.63,
    body=2.91,
    body_squared=-0.54,
    covered_body=-0.63,
    head=0.7,
    embedded=4.31,
    embedded_squared=-0.36,
    covered_embedded=-0.96,
    test=-5.27,
    wanted_test=-2.06,
    document=-2.17,
    wanted_document=3.02,
    length=3.38,
    definition=0.67,
    type=-1.05,
)
"""The weights where units have vectors of an embedding model, fitted with all-MiniLM-L6-v2."""

_PARTS: dict[str, tuple[str, ...]] = {
    "words": ("words", "coverage", "coverage_squared", "best_line"),
    "name": ("name",),
    "inside": ("inside",),
    "title": ("title",),
    "path": ("path",),
    "related code": ("related_code",),
    "defines": ("defines_name", "defines_words"),
    "meaning": ("body", "body_squared", "covered_body", "head"),
    "embedding": ("embedded", "embedded_squared", "covered_embedded"),
    "kind": ("test", "wanted_test", "document", "wanted_document", "length", "definition", "type"),
}
"""The parts of a score as they are shown, and the features of each."""

BODY_SCALE, HEAD_SCALE, LENGTH_SCALE = 4.0, 0.25, 4.0
"""Typical sizes, so that all features are about 1."""

LONGEST = 60
"""More lines than this count as this many."""


def features_of(
    question: AnalysedQuestion,
    scored: ScoredUnit,
    total_idf: float,
    around: float,
    gain: float,
    body: float,
    head: float,
    embedded: float = 0.0,
) -> Features:
    """`body` and `head` are cosines as of `QuestionMeaning.of_units`, `embedded` one as of `NearUnits.of`.

    `gain` is that of a name.
    """
    unit, parts = scored.unit, {part.name: part.value / total_idf for part in scored.parts}
    coverage, body, embedded = scored.coverage, body / BODY_SCALE, embedded / BODY_SCALE
    test, document = is_test(unit.path), is_document(unit.path)
    return Features(
        words=parts.get("words", 0.0),
        name=parts.get("name", 0.0),
        inside=parts.get("inside", 0.0),
        title=parts.get("title", 0.0),
        path=parts.get("path", 0.0),
        coverage=coverage,
        coverage_squared=coverage**2,
        best_line=max((weight for _, weight in scored.lines), default=0.0) / total_idf,
        related_code=around / total_idf,
        defines_name=gain if gain >= FEW_DEFINITIONS else 0.0,
        defines_words=gain if gain < FEW_DEFINITIONS else 0.0,
        body=body,
        body_squared=max(body, 0.0) ** 2,
        covered_body=coverage * body,
        head=head / HEAD_SCALE,
        embedded=embedded,
        embedded_squared=max(embedded, 0.0) ** 2,
        covered_embedded=coverage * embedded,
        test=float(test and not question.about_tests),
        wanted_test=float(test and question.about_tests),
        document=float(document and "documentation" not in question.kinds),
        wanted_document=float(document and "documentation" in question.kinds),
        length=log1p(min(unit.n_lines, LONGEST)) / LENGTH_SCALE,
        definition=float(unit.definition is not None),
        type=float(unit.definition is not None and is_class(unit.definition)),
    )


def score_parts(features: Features, name: str = "", weights: Features = WEIGHTS) -> tuple[ScorePart, ...]:
    """The parts of the score of a unit, those of 0 left out; `name` is the name that it defines."""
    values = {part: sum(getattr(weights, f) * getattr(features, f) for f in of) for part, of in _PARTS.items()}
    return tuple(ScorePart(part, value, name if part == "defines" else "") for part, value in values.items() if value)


def as_array(features: Sequence[Features]) -> NDArray[np.float64]:
    """(n, number of features), in the order of `NAMES`."""
    return np.array([[getattr(each, name) for name in NAMES] for each in features]).reshape(len(features), len(NAMES))
