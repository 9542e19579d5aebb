"""Samples of a data set and recall of their facts.

Owns `Sample` and `Fact`, and when evidence holds a fact. Knows no file format and no metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...memory import Evidence, Item, Question


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of an item that the answer needs: characters of a document, or a whole turn by its number."""

    source: str
    start: int = 0
    end: int = 0
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """`metric` is a name of `metrics.METRICS`; `details` hold what that needs: labels, difficulty, the gold letter."""

    id: str
    dataset: str
    items: tuple[Item, ...]
    question: Question
    answers: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    metric: str = "f1"
    details: Mapping[str, Any] = field(default_factory=dict)


def holds(evidence: Evidence, fact: Fact) -> bool:
    """Whether evidence holds the whole of a fact; where it quotes sentences, one of them has to hold it."""
    segment = evidence.segment
    if segment.source != fact.source:
        return False
    if fact.turn is not None:
        return segment.number == fact.turn
    start, end = fact.start - segment.start, fact.end - segment.start
    if start < 0 or end > len(segment.text):
        return False
    needed = " ".join(segment.text[start:end].split())
    return not evidence.quotes or any(needed in " ".join(quote.split()) for quote in evidence.quotes)


def recall_of(facts: Sequence[Fact], evidence: Iterable[Evidence]) -> float:
    """The share of the facts that some evidence holds; 1.0 without facts."""
    shown = list(evidence)
    return sum(any(holds(each, fact) for each in shown) for fact in facts) / len(facts) if facts else 1.0
