"""The parameters of a callee that no definition is known of, as its other calls show them: built-ins, libraries, mocks.

Owns the guess of the number and the names of parameters: the name that most calls give the argument. Knows no value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..parameters import Parameter
from .cursor_facts import CursorFacts
from .usual_arguments import Call, calls_above, calls_nearby

NEAR_WEIGHT = 0.35
"""Of a call in another file, against the nearest one above."""
FEW = 3
"""Calls above; with fewer of them the files nearby are searched."""
MIN_SHARE = 0.4
"""Share of the calls that name the argument alike."""
MAX_POSITIONS = 6


def calls_of_name(facts: CursorFacts, name: str, sign: str) -> list[tuple[Call, float]]:
    """Calls of a name with their weights, those above first."""
    above = calls_above(facts, name, "(", sign)
    found = [(call, 1.0 / (1.0 + 0.15 * at)) for at, call in enumerate(above)]
    if len(above) < FEW:
        found += [(call, NEAR_WEIGHT) for call in calls_nearby(facts, name, sign)]
    return found


def guessed_parameters(calls: Sequence[tuple[Call, float]]) -> tuple[Parameter, ...]:
    """The positional parameters of the callee of some calls; one without a name if there is no call."""
    if not calls:
        return (Parameter("", takes_keyword=False),)
    counts = [sum(not each.keyword for each in call) for call, _ in calls]
    usual = Counter(counts).most_common(1)[0][0]
    return tuple(
        Parameter(_name_at(calls, at), is_required=at < usual, takes_keyword=False)
        for at in range(min(max(counts), MAX_POSITIONS))
    )


def _name_at(calls: Sequence[tuple[Call, float]], at: int) -> str:
    """How most calls name the argument at a position, "" where they do not agree."""
    names: Counter[str] = Counter()
    total = 0.0
    for call, weight in calls:
        if len(call) > at and not call[at].keyword:
            total += weight
            match = _LAST_NAME.search(call[at].text)
            if match is not None:
                names[match[1]] += weight  # type: ignore[assignment]
    if not names:
        return ""
    name, weight = names.most_common(1)[0]
    return name if weight >= MIN_SHARE * total and name not in _NO_NAMES else ""


_LAST_NAME = re.compile(r"\A[&*]?(?:[\w$]+(?:\.|->|::|\?\.))*([^\W\d][\w$]*)\Z")
_NO_NAMES = frozenset({"self", "this", "None", "null", "nil", "undefined", "true", "false", "True", "False"})
