"""Props of a component behind `<Component `: those that it declares, and those that other uses of it give.

Owns the reading of props from a header or a type, in JSX. Knows no values.
"""

from __future__ import annotations

import re
from collections import Counter

from ..values import FUNCTION_VALUE
from .cursor_facts import CursorFacts
from .place import Place, Weighted, header_of
from .usual_arguments import occurrences_nearby

N_PER_FILE = 4
MAX_ABOVE = 40_000
PRIOR = 1.0
"""Uses that count for no prop."""

_OPENED = re.compile(r"<([A-Z]\w*)((?:\s+\w+(?:=(?:\"[^\"]*\"|\{[^{}]*\}))?)*)\s+\Z")
_GIVEN = re.compile(r"\s(\w+)(=?)")
_USE = re.compile(r"((?:\s+\w+(?:=(?:\"[^\"]*\"|\{[^{}]*\}))?)+)")
_DESTRUCTURED = re.compile(r"\(\s*\{([^{}]*)\}")
_TYPED = re.compile(r"\(\s*(?:\w+|\{[^{}]*\}): (\w+)")
_FIELD = re.compile(r"^\s+(?:readonly )?(\w+)\??:", re.MULTILINE)
_LANGUAGES = frozenset({"tsx", "javascript"})


def component_props(place: Place) -> Weighted:
    """At the place of a prop, on the line of the component's name."""
    if place.language not in _LANGUAGES or "<" not in place.line:
        return []
    opened = _OPENED.search(place.line)
    if opened is None:
        return []
    name, facts = opened[1], place.facts
    given = {match[1] for match in _GIVEN.finditer(opened[2])}
    counts = facts.remembered("props", name, find=lambda: _props(facts, name, place.line))
    left = [(text, weight) for text, weight in counts.most_common() if text.rstrip("=") not in given]
    total = sum(weight for _, weight in left)
    return [(text, weight / (total + PRIOR)) for text, weight in left]


def _props(facts: CursorFacts, name: str, line: str) -> Counter[str]:
    found: Counter[str] = Counter()
    above = facts.above[-MAX_ABOVE:]
    texts = [above[match.end() :][:400] for match in re.finditer(rf"<{name}(?=\s)", above)]
    texts += [behind for _, behind in occurrences_nearby(facts, f"<{name}", N_PER_FILE)]
    for text in texts:
        use = _USE.match(text)
        if use is not None:
            found.update(f"{match[1]}{match[2]}" for match in _GIVEN.finditer(_without_values(use[1])))
    for prop in _declared(facts, name, line):
        if prop not in found:
            found[f"{prop}="] += 1
    return found


def _without_values(text: str) -> str:
    return re.sub(r"=(?:\"[^\"]*\"|\{[^{}]*\})", "=", text)


def _declared(facts: CursorFacts, name: str, line: str) -> list[str]:
    """The props in the header of a component, or of the type that the header names."""
    value = facts.value(name, line)
    definition = facts.graph.definition(value.path, value.name) if value is not None else None
    if value is None or definition is None or value.kind != FUNCTION_VALUE:
        return []
    header = header_of(facts, value.path, definition)
    names = _DESTRUCTURED.search(header)
    if names is not None:
        parts = (part.strip() for part in names[1].split(","))
        return [re.split(r"\W", part)[0] for part in parts if part[:1].isalpha()]
    kind = _TYPED.search(header)
    typed = facts.graph.definition(value.path, kind[1]) if kind is not None else None
    if typed is None:
        return []
    return _FIELD.findall("\n".join(facts.lines_of(value.path)[typed.header_line + 1 : typed.end_line]))
