"""What a name is compared with: members of its enum, literals of its union type, and what other comparisons have.

Owns the places: behind `==` and its relatives, and behind `case` where cases are literals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ...languages.indentation import indent_of
from ..values import INSTANCE_VALUE
from .cases import enum_members
from .cursor_facts import CursorFacts, expression_before
from .place import Place, Weighted
from .usual_arguments import occurrences_nearby

MAX_ABOVE = 40_000
"""Characters above the cursor that are searched."""
N_PER_FILE = 4
N_VALUES = 16
NEARBY = 0.3
"""Weight of a comparison in another file, against one above."""
DECLARED = 1.5
"""Weight of a declared value, against a comparison above."""
PRIOR = 1.5
"""Comparisons that count for values that no code shows."""

_AT_VALUE = re.compile(r"(?P<sign>[!=]==?)(?P<space>\s?)\Z")
_AT_CASE = re.compile(r"\s*case(?P<space>\s)\Z")
_SWITCH = re.compile(r"\s*(?:\} )?switch \(?(.*?)\)? \{\s*")
_LITERAL = r"\"[^\"\n]*\"|'[^'\n]*'"
_VALUE = re.compile(rf"({_LITERAL}|-?\d+|[^\W\d][\w.]*(?:::\w+)*)(?![\w(\[])")
_UNION = re.compile(rf"\s*((?:\|?\s*(?:{_LITERAL})\s*)+)")
_TYPE = re.compile(r"\s*([A-Z]\w*)\b(?!\s*[<.\[])")
_WITH_UNIONS = frozenset({"typescript", "tsx"})
_NO_VALUES = frozenset({"not", "await", "typeof", "new", "this", "self"})


def compared(place: Place) -> Weighted:
    """At the value of a comparison or of a case."""
    facts, line = place.facts, place.line
    found = _AT_VALUE.search(line[-6:])
    if found is not None:
        left = expression_before(line[: len(line) - len(found[0])].rstrip())
        named: frozenset[str] = frozenset()
    else:
        found = _AT_CASE.fullmatch(line) if place.language in _WITH_UNIONS or place.language == "go" else None
        if found is None:
            return []
        left, named = _subject(place)
    if not left or left.endswith(("()", "[]")):
        return []
    values = _values(facts, left, line)
    texts = [(text, weight) for text, weight in values if text not in named][:N_VALUES]
    total = sum(weight for _, weight in texts)
    space = "" if found["space"] else " "
    end = ":\n" if named or _AT_CASE.fullmatch(line) else ""
    return [(f"{space}{text}{end}", weight / (total + PRIOR)) for text, weight in texts]


def _subject(place: Place) -> tuple[str, frozenset[str]]:
    """What the switch around the line compares, and the literals that it has already."""
    named: set[str] = set()
    for text in place.block_above(len(place.indent)):
        switch = _SWITCH.fullmatch(text)
        if switch is not None and indent_of(text) <= len(place.indent):
            return expression_before(switch[1]), frozenset(named)
        if text.lstrip().startswith("case "):
            named.update(re.findall(_LITERAL, text))
    return "", frozenset()


def _values(facts: CursorFacts, left: str, line: str) -> Sequence[tuple[str, float]]:
    """Values with weights, best first."""
    name = left.rpartition(".")[2]
    counts = Counter(facts.remembered("compared with", name, find=lambda: _compared_with(facts, name)))
    value = facts.value(left, line)
    if value is not None and value.kind == INSTANCE_VALUE:
        owner = value.name.rpartition(".")[2]
        sign = "::" if facts.language.name in ("rust", "cpp") else "."
        for member in enum_members(facts, value):
            counts[member if facts.language.name == "go" else f"{owner}{sign}{member}"] += DECLARED  # type: ignore[assignment]
    return counts.most_common(2 * N_VALUES)


def _compared_with(facts: CursorFacts, name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    above = facts.above[-MAX_ABOVE:]
    before = r"\w" if facts.language.name == "php" else r"[\w$]"
    for match in re.finditer(rf"(?<!{before}){re.escape(name)}\)? ?[!=]==? ?", above):
        _add(found, above, match.end(), 1.0)
    is_strict = facts.language.name in ("typescript", "tsx", "javascript", "php")
    for sign in ("===", "!==") if is_strict else ("==", "!="):
        for _, behind in occurrences_nearby(facts, f"{name} {sign} ", N_PER_FILE):
            _add(found, behind, 0, NEARBY)
    if facts.language.name in _WITH_UNIONS:
        for literal in _literals_of_type(facts, name):
            found[literal] += DECLARED  # type: ignore[assignment]
    return found


def _add(found: Counter[str], text: str, at: int, weight: float) -> None:
    value = _VALUE.match(text, at)
    if value is not None and value[1] not in _NO_VALUES:
        found[value[1]] += weight  # type: ignore[assignment]


def _literals_of_type(facts: CursorFacts, name: str) -> Sequence[str]:
    """The strings of the union that a name is declared with: `kind: "a" | "b"`, or `kind: Kind`."""
    above = facts.above[-MAX_ABOVE:]
    texts = [above[match.end() :][:400] for match in re.finditer(rf"(?<![\w$.]){re.escape(name)}\??:", above)]
    for sign in (":", "?:"):
        texts += [behind for _, behind in occurrences_nearby(facts, f"{name}{sign}", 2)]
    for text in texts[:12]:
        literals = _literals_at(text)
        kind = _TYPE.match(text)
        if not literals and kind is not None:
            literals = _literals_of_alias(facts, kind[1])
        if len(literals) > 1:
            return literals
    return ()


def _literals_of_alias(facts: CursorFacts, name: str) -> Sequence[str]:
    declared = f"type {name} ="
    at = facts.above.rfind(declared)
    if at >= 0:
        return _literals_at(facts.above[at + len(declared) :][:800])
    return next((_literals_at(behind) for _, behind in occurrences_nearby(facts, declared, 1)), ())


def _literals_at(text: str) -> Sequence[str]:
    union = _UNION.match(text)
    return tuple(re.findall(_LITERAL, union[1])) if union is not None else ()
