"""Definitions that belong at the cursor: overrides, constructors, cases, fields, accessors, tests, error checks.

Owns the order of the topics and their common limit. Each topic is one function of a `Place`.
"""

from __future__ import annotations

from collections.abc import Callable

from .accessors import accessors
from .builder_methods import builder_methods
from .cases import cases
from .computed_properties import computed_properties
from .constructors import constructors
from .cursor_facts import CursorFacts
from .docstrings import docstrings
from .error_checks import error_checks
from .export_lists import export_lists
from .literal_fields import literal_fields
from .overrides import overrides
from .place import Place, Weighted
from .tested import tested
from .values import Suggested

MIN_WEIGHT = 0.004

TOPICS: tuple[Callable[[Place], Weighted], ...] = (
    overrides,
    constructors,
    cases,
    literal_fields,
    export_lists,
    accessors,
    computed_properties,
    builder_methods,
    tested,
    error_checks,
    docstrings,
)


def definitions(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions of all topics, best first. The sum of their weights is at most 1."""
    place = Place(facts, written)
    weights: dict[str, float] = {}
    for topic in TOPICS:
        for text, weight in topic(place):
            weights[text] = max(weights.get(text, 0.0), weight)
    whole = max(1.0, sum(weights.values()))
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return [Suggested("definition", text, weight / whole) for text, weight in ranked if weight >= MIN_WEIGHT]
