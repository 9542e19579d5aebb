"""How sure is it that what was found answers the question? The gate of "not found in this repository".

Owns the curve and its threshold. Knows what a search found, and nothing of the texts.
"""

from __future__ import annotations

from math import exp

from ...retrieval.questions import QuestionResult, is_test

# A logistic curve fitted on 142 questions about six repositories, 50 of them without an answer there
# (benchmarks/results/memory-log.md, "Questions about the code"): above the threshold 96 of 100 questions that have an
# answer get one, 92 of 100 that have none get "not found", and 96 of 100 that get an answer have one.
COVERED, SCORED, NOTHING = 3.22, 5.24, -5.70
FOUND_ABOVE = 0.4
"""Below this the answer is "not found"."""

SAID_BY_THE_GRAPH = 0.9
"""The least certainty where the code graph says something of the names that a question is about."""

N_CONSIDERED = 5
"""So many best units may cover the question."""

TEST_SHARE = 0.6
"""What a test says proves less: its words are made up."""


def certainty(found: QuestionResult) -> float:
    """0 to 1: the probability that the repository answers the question."""
    # Words of intent ("documented", "decided") need not stand beside what they are about.
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
