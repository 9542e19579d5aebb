"""Confidence of the search for a question: whether the repository answers it, and whether the first units do.

Two logistic curves over features of a search result, fitted by `weft bench memory ranking` on repositories that no
figure is reported on. Owns the features, the curves and the levels. Knows no evidence and no text.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

from ...retrieval.questions import QuestionResult, is_test

SURE_ABOVE = 0.6
"""Above this probability that a shown unit answers, an answer is "sure"."""

FOUND_ABOVE = 0.55
"""Below this probability that the repository answers, the answer is "not found"; the setting `chat.min_confidence`."""

GRAPH_FINDING_CONFIDENCE = 0.9
"""The least probability where the code graph has a finding about the names in the question."""

N_CONSIDERED = 5  # the number of top units whose coverage of the question counts
TEST_SHARE = 0.6  # the weight of a match in a test, whose words are often made up
SCORE_SCALE = 10.0


class Curve(NamedTuple):
    """Weights of `answer_features`, and a constant."""

    coverage: float
    score: float
    margin: float
    share: float
    missing: float
    named: float
    foreign: float
    constant: float


CURVES: dict[str, Curve] = {
    "answerable": Curve(1.274, 1.594, 0.265, 0.611, -2.28, 2.31, 0.171, -2.209),
    "right": Curve(0.737, 1.681, 1.542, 2.966, -1.048, 0.543, 0.728, -5.011),
}


def answer_features(found: QuestionResult) -> tuple[float, ...]:
    """The features of a search result with units, in the order of `Curve`."""
    idf = [idf if c.weight >= 0.5 else 0.0 for idf, c in zip(found.idf, found.question.concepts, strict=True)]
    total = sum(idf) or 1.0
    best = found.units[0]
    covered = max(
        sum(weight * share for weight, share in zip(idf, unit.covered, strict=True))
        * (TEST_SHARE if is_test(unit.unit.path) and not found.question.about_tests else 1.0)
        for unit in found.units[:N_CONSIDERED]
    )
    later = found.units[min(3, len(found.units) - 1)].score
    odds = [exp(max(-50.0, unit.score - best.score)) for unit in found.units[:30]]
    missing = sum(weight for weight, df in zip(idf, found.df, strict=True) if not df)
    return (
        covered / total,
        best.score / SCORE_SCALE,
        (best.score - later) / SCORE_SCALE,
        sum(odds[:3]) / sum(odds),
        missing / total,
        float(bool(found.as_written)),
        float(found.question.language != "english"),
    )


class Confidence(NamedTuple):
    """Two probabilities, 0 to 1."""

    answerable: float  # the repository answers the question
    right: float  # one of the first three units answers it

    @staticmethod
    def of(found: QuestionResult) -> Confidence:
        if not found.units or not any(found.idf):
            return Confidence(0.0, 0.0)
        features = (*answer_features(found), 1.0)
        return Confidence(*(_logistic(CURVES[name], features) for name in Confidence._fields))


def _logistic(curve: Curve, features: tuple[float, ...]) -> float:
    value = sum(weight * feature for weight, feature in zip(curve, features, strict=True))
    return 1 / (1 + exp(-max(-50.0, min(50.0, value))))
