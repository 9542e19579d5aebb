"""Names that a pattern takes from an object: `const { |`, `const { | } = value`, `function Item({ |`.

Owns the choice of the object's type and of parallel patterns. Sources: the fields of the type of the value behind the
cursor, or of the props of a component, and other patterns above and in files nearby.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..values import CLASS_VALUE, INSTANCE_VALUE, Value
from .brace_lists import BraceList, brace_list_at, names_in
from .cursor_facts import CursorFacts
from .place import Place, Weighted, type_named
from .usual_arguments import occurrences_nearby

MAX_ABOVE = 40_000
"""Characters above the cursor that are searched."""
MAX_PATTERNS = 40
N_PER_FILE = 3
N_NAMES = 16
N_WHOLE = 4
MAX_WHOLE = 6
MAX_RIGHT = 80
"""Characters of the right side of a pattern."""

DECLARED, NEXT = 1.0, 2.5
"""Weights of a declared field, and of the first one that the pattern does not have yet."""
SAME_VALUE, SAME_NAMES, OTHER, NEARBY = 2.0, 1.0, 0.4, 0.5
"""Weights of a name of another pattern: one of the same value, with the names that are written already, any other one;
factor of those in other files."""
DISTANCE = 0.1
PRIOR = 1.5
"""Patterns that count for names that no code shows."""
WHOLE = 0.35
"""Share of a name's weight that the whole rest of a pattern gets, too."""

_LANGUAGES = frozenset({"typescript", "tsx", "javascript"})
_VARIABLE = r"\s*(?:export )?(?:const|let|var) "
_OPENED = re.compile(
    rf"(?P<variable>{_VARIABLE})"
    r"|.*\bfunction(?: (?P<function>[\w$]+))?(?:<[^()]*>)?\("
    r"|.*\b(?:const|let|var) (?P<name>[\w$]+)(?:: (?P<type>[^=]*))? = (?:async )?\("
    r"|.*\((?:async )?\("
)
_BEHIND_BRACE = re.compile(r"\s*\}(?:: (?P<type>[A-Z][\w$.]*)| = (?:await )?(?P<value>[\w$.]+)(?P<call>\(?))")
_TYPE_ARGUMENT = re.compile(r".*<([A-Z][\w$.]*)[,>]")
_PATTERN = re.compile(
    rf"(?:{_VARIABLE}|\()\{{(?P<names>[^{{}}()]*)\}}(?:: [\w$.<>\[\]]+)?(?: = (?P<right>[^\n]*))?", re.MULTILINE
)
_RIGHT = re.compile(rf"{_VARIABLE}\{{(?P<names>[^{{}}]*)\}} =(?P<space>\s?)\Z")
_CALLED = re.compile(r"(?:await )?(?:new )?[\w$.]+\(?")
_MEMBER = re.compile(r"(?:^|[;,{\n])\s*(?:readonly )?([A-Za-z_$][\w$]*)\??\s*[:(]")
_NESTED = re.compile(r"\{[^{}]*\}|\([^()]*\)|/\*.*?\*/|//[^\n]*", re.DOTALL)


class Pattern(NamedTuple):
    """A finished pattern: the names that it takes, and the value that it takes them from, "" for a parameter."""

    names: tuple[str, ...]
    right: str


def destructured(place: Place) -> Weighted:
    """Behind `{` or `,` of a pattern, and behind `} =`."""
    if place.language not in _LANGUAGES or not (place.indent or "{" in place.line):
        return []
    if place.line.rstrip()[-1:] == "=":
        return _right_sides(place)
    opened = brace_list_at(place, _OPENED)
    if opened is None:
        return []
    match = _OPENED.fullmatch(opened.header)
    assert match is not None
    behind = _BEHIND_BRACE.match(place.facts.behind(place.line))
    return _names(place, opened, match, behind)


def _names(place: Place, opened: BraceList, match: re.Match[str], behind: re.Match[str] | None) -> Weighted:
    facts, is_variable = place.facts, match["variable"] is not None
    value = behind["value"] or "" if behind is not None else ""
    weights: Counter[str] = Counter()
    kind, fields = _fields(place, match, behind)
    rest = [name for name in fields if name not in opened.names]
    for rank, name in enumerate(rest):
        weights[name] += DECLARED if rank else NEXT  # type: ignore[assignment]
    wholes: Counter[str] = Counter()
    if kind and rest and len(fields) <= MAX_WHOLE and not opened.has_lines:
        typed = "" if match["type"] else f": {kind}"
        wholes[f"{', '.join(rest)} }}{typed})"] += DECLARED * WHOLE  # type: ignore[assignment]
    for pattern, weight in _patterns(facts, opened.names, value):
        if bool(pattern.right) != is_variable:
            continue
        left = [name for name in pattern.names if name not in opened.names]
        for name in left:
            weights[name] += weight  # type: ignore[assignment]
        right = "" if value or opened.has_lines else _usual_right(place, pattern)
        if left and right:
            wholes[f"{', '.join(left)} }} = {right}"] += weight * WHOLE  # type: ignore[assignment]
    bound = _bound(place) if is_variable else frozenset()
    ranked = [each for each in weights.most_common() if each[0] not in opened.names and each[0] not in bound]
    end = ",\n" if opened.has_lines else ""
    space = "" if opened.has_lines or place.line[-1].isspace() else " "
    found = [(f"{space}{name}{end}", weight) for name, weight in ranked[:N_NAMES]]
    found += [(f"{space}{text}", weight) for text, weight in wholes.most_common(N_WHOLE)]
    total = sum(weight for _, weight in found)
    return [(text, weight / (total + PRIOR)) for text, weight in found]


def _bound(place: Place) -> frozenset[str]:
    """The locals of the blocks around the cursor, which a pattern seldom hides."""
    facts = place.facts
    lines = facts.lines_of_open_blocks
    found = (name for name, (_, line) in facts.locals(place.line).items() if line in lines)
    return frozenset({*found, *facts.parameters(place.line)})


def _usual_right(place: Place, pattern: Pattern) -> str:
    """The right side of another pattern up to the arguments of its call; "" where its first name means nothing here."""
    called = _CALLED.match(pattern.right)
    if called is None:
        return ""
    first = re.split(r"\W", called[0].removeprefix("await ").removeprefix("new "))[0]
    if first != "this" and place.facts.role_of(first, place.line) in ("not bound", ""):
        return ""
    return f"{pattern.right}\n" if called[0] == pattern.right.rstrip(";") else called[0]


def _fields(place: Place, match: re.Match[str], behind: re.Match[str] | None) -> tuple[str, Sequence[str]]:
    """The fields of the object that the pattern is for, as far as its type is known.

    Before them the name of a type that is still to be written behind the pattern of a parameter, else "".
    """
    facts = place.facts
    if behind is not None and behind["value"]:
        value = facts.value(behind["value"], place.line)
        if value is not None and behind["call"]:
            value = facts.resolver.result(value)
        return "", fields_of_type(facts, value) if value is not None and value.kind == INSTANCE_VALUE else ()
    name = match["function"] or match["name"] or ""
    typed = _TYPE_ARGUMENT.fullmatch(match["type"] or "")
    written = behind["type"] if behind is not None else typed[1] if typed is not None else ""
    for kind in (written,) if written else (f"{name}Props", "Props") if name[:1].isupper() else ():
        found = type_named(facts, kind, place.line)
        if found is not None:
            return kind if behind is None else "", fields_of_type(facts, found)
    return "", ()


def fields_of_type(facts: CursorFacts, value: Value) -> Sequence[str]:
    """The members of a class, or of an interface or an object type as it is written, in order."""
    definition = facts.graph.definition(value.path, value.name)
    if definition is None or value.kind not in (CLASS_VALUE, INSTANCE_VALUE):
        return ()
    if definition.kind == "class":
        return [text.rstrip("(") for text in facts.attributes(value).values() if text != "constructor("]
    text = "\n".join(facts.lines_of(value.path)[definition.header_line : definition.end_line])
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return ()
    return list(dict.fromkeys(_MEMBER.findall(_NESTED.sub("", text[start + 1 : end]))))


def _patterns(facts: CursorFacts, given: Sequence[str], value: str) -> Iterator[tuple[Pattern, float]]:
    """Other patterns that fit, with weights: those above, nearest first, and those in files nearby."""
    for at, pattern in enumerate(facts.remembered("patterns", find=lambda: _patterns_above(facts))):
        weight = _fit(pattern, given, value) / (1.0 + DISTANCE * at)
        if weight:
            yield pattern, weight
    for pattern in facts.remembered("patterns nearby", *given, value, find=lambda: _nearby(facts, given, value)):
        weight = _fit(pattern, given, value) * NEARBY
        if weight:
            yield pattern, weight


def _fit(pattern: Pattern, given: Sequence[str], value: str) -> float:
    if value:
        right = _CALLED.match(pattern.right)
        return SAME_VALUE if right is not None and right[0].rstrip("(").endswith(value) else 0.0
    if given:
        return SAME_NAMES if set(given) <= set(pattern.names) else 0.0
    return OTHER


def _patterns_above(facts: CursorFacts) -> list[Pattern]:
    return [_read(match) for match in _PATTERN.finditer(facts.above[-MAX_ABOVE:])][: -MAX_PATTERNS - 1 : -1]


def _nearby(facts: CursorFacts, given: Sequence[str], value: str) -> list[Pattern]:
    """Patterns of the same value, or that begin with the same name, in files nearby."""
    if not value and not given:
        return []
    needle = f"}} = {value}" if value else f"{{ {given[0]}"
    found = []
    for before, behind in occurrences_nearby(facts, needle, N_PER_FILE):
        line = f"{before}{needle}{behind.partition(chr(10))[0]}"
        match = _PATTERN.search(line)
        if match is not None:
            found.append(_read(match))
    return found


def _read(match: re.Match[str]) -> Pattern:
    return Pattern(tuple(names_in(match["names"])), (match["right"] or "").strip()[:MAX_RIGHT])


def _right_sides(place: Place) -> Weighted:
    """The values of other patterns with the same names, and locals that have them all."""
    match = _RIGHT.fullmatch(place.line)
    given = names_in(match["names"]) if match is not None else []
    if match is None or not given:
        return []
    space = "" if match["space"] else " "
    weights: Counter[str] = Counter()
    for pattern, weight in _patterns(place.facts, given, ""):
        right = _usual_right(place, pattern)
        if right:
            weights[right] += weight  # type: ignore[assignment]
    for name in list(place.facts.locals(place.line))[-N_NAMES:]:
        value = place.facts.value(name, place.line) if name not in given else None
        if value is not None and value.kind == INSTANCE_VALUE and set(given) <= {*fields_of_type(place.facts, value)}:
            weights[name] += DECLARED  # type: ignore[assignment]
    total = sum(weights.values())
    return [(f"{space}{text}", weight / (total + PRIOR)) for text, weight in weights.most_common(N_WHOLE)]
