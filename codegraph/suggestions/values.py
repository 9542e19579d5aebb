"""Values of suggestions. Knows no graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

SOURCES = ("argument", "arguments", "member", "assigned", "definition", "chain", "statement")
"""The sources: one argument, all arguments that are left, a member of the receiver, the name on the left of an
assignment, a definition that belongs here, what follows the same call elsewhere, and a part of a statement: a value
that is compared, an exception, a prop of a component, a name that a pattern takes from an object."""

Role = Literal["", "local", "unused local", "parameter", "in the file", "reachable", "built-in", "not bound"]
"""What a plain name means at a cursor; "" where that is unknown."""


ScopeKind = Literal["", "function", "type", "file"]
"""The innermost definition around a cursor; "" where it is unknown."""


class Suggested(NamedTuple):
    """A text that may follow, and its weight from 0 to 1. One that ends with a line break ends the line."""

    source: str  # one of SOURCES
    text: str
    weight: float


def weighted(source: str, texts: Iterable[tuple[str, float]], total: float = 1.0) -> list[Suggested]:
    """Suggestions of one source, best first: of equal texts the weights are added, and all weights sum to `total`."""
    sums: dict[str, float] = {}
    for text, weight in texts:
        sums[text] = sums.get(text, 0.0) + weight
    whole = sum(sums.values())
    if not whole:
        return []
    ranked = sorted(sums.items(), key=lambda item: -item[1])
    return [Suggested(source, text, total * weight / whole) for text, weight in ranked]
