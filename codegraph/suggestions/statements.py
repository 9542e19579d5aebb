"""Parts of statements by what they are about: values of comparisons, exceptions, props of components, patterns.

Owns the order of the topics and their common limit. Each topic is one function of a `Place`.
"""

from __future__ import annotations

from collections.abc import Callable

from .compared import compared
from .component_props import component_props
from .cursor_facts import CursorFacts
from .destructured import destructured
from .exceptions import exceptions
from .place import Place, Weighted
from .values import Suggested, weighted

TOPICS: tuple[Callable[[Place], Weighted], ...] = (compared, exceptions, component_props, destructured)


def statements(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions of the first topic that has any, best first."""
    if written[-1:] not in _ENDS:
        return []
    place = Place(facts, written)
    for topic in TOPICS:
        found = topic(place)
        if found:
            return weighted("statement", found, min(1.0, sum(weight for _, weight in found)))
    return []


_ENDS = frozenset(" =({,")
