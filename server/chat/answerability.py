"""Answerability estimate: the probability that retrieved evidence answers a question.

Owns the logistic model and the threshold for "not found in this repository". Knows search results, no texts.
"""

from __future__ import annotations

from math import exp

from ...retrieval.questions import QuestionResult, is_test

# A logistic curve fitted on 142 questions about six repositories, 50 of them without an answer there
# (benchmarks/results/memory-log.md, "Questions about the code"): above the threshold 96 of 100 answerable
# questions get an answer, 92 of 100 others get "not found", and 96 of 100 answers are to answerable questions.
COVERED, SCORED, NOTHING = 3.22, 5.24, -5.70
FOUND_ABOVE = 0.4
"""Below this the answer is "not found"."""

GRAPH_FINDING_CONFIDENCE = 0.9
"""The minimum where the code graph has a finding about the names in the question."""

N_CONSIDERED = 5
"""The number of top units whose coverage of the question counts."""

TEST_SHARE = 0.6
"""The weight of a match in a test, whose words are often made up."""


def answerability(found: QuestionResult) -> float:
    """0 to 1: the probability that the repository answers the question."""
    # Words of intent ("documented", "decided") need not occur near their subject.
    idf = [idf if c.weight >= 0.5 else 0.0 for idf, c in zip(found.idf, found.question.concepts, strict=True)]
    total = sum(idf)
    best = found.units[:N_CONSIDERED]
    if not best or total <= 0:
        return 0.0
    covered = max(
        sum(weight * share for weight, share in zip(idf, unit.covered, strict=True))
        * (TEST_SHARE if is_test(unit.unit.path) and not found.question.about_tests else 1.0)
        for unit in best
    )
    value = (COVERED * covered + SCORED * best[0].score) / total + NOTHING
    return 1 / (1 + exp(-max(-50.0, min(50.0, value))))
