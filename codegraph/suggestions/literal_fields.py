"""The fields that a struct or object literal does not have yet, where its lines are `field: value,`.

Owns which literal the line belongs to. Source: the type of the literal, or the fields of a struct that the code writes
before its list, and the order of the fields in the literal above.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...languages.indentation import indent_of
from .place import Place, Weighted, declared_fields, type_named

_FIELD = re.compile(r"\s*(\w+)(?:\s*[:=].*|,)")
_LITERAL = re.compile(r".*?(?:\b|&)((?:\w+(?:\.|::))*\w+)(?:<[^<>]*>|\[\w+\])?\s*\{")
_TYPED_LITERAL = re.compile(r".*[\w)]: ([\w.]+)(?:<[^<>]*>)? = \{")
_LANGUAGES = frozenset({"go", "rust", "typescript", "tsx", "csharp", "cpp", "c"})

_NO_LITERAL = re.compile(
    r"\s*(?:\} )?(?:(?:pub(?:\(\w+\))?|export|default|async|unsafe|public|private|internal|static|abstract|declare) )*"
    r"(?:if|else|for|while|loop|switch|match|case|func|fn|impl|struct|enum|union|trait|class|interface|type|mod"
    r"|namespace|function|return match|let \w+ = match|try|catch|do|unsafe|get|set|extern)\b"
    r"|.*(?:\bfn |\bfunc\(|\bmatch |=>|\)(?:: [\w.<>\[\], |]+)? ?\{$)"
)
_ELEMENTS = re.compile(r".*\](?:[\w.]*\.)?(\w+)\{")
_ELEMENT_START = re.compile(r"\s*(?:\{|(?:\"[^\"]*\"|\w+): *\{)")
_STRUCT_FIELD = re.compile(r"\s*(\w+(?:, \w+)*)\s+[\w\[\]*.(){} ,]+(?:`.*)?(?:\s*//.*)?")

MAX_ABOVE = 40_000
"""Characters above the cursor that are searched."""
AS_ABOVE, DEFAULTS = 0.6, 0.12
"""Shares of `..Default::default()` behind the last field that the literal above gives, and elsewhere."""
NEXT, OTHER = 0.5, 0.35
"""Shares of the field that follows the last one, and of all others."""

SHORT = 0.55
"""Of fields with the name of a variable, the share that are written without a value."""


def literal_fields(place: Place) -> Weighted:
    """At the start of a line in a literal."""
    if place.language not in _LANGUAGES or not place.indent or place.line.strip():
        return []
    return _next_fields(place)


def _next_fields(place: Place) -> Weighted:
    """The fields that a literal does not have yet."""
    indent = len(place.indent)
    given: list[str] = []
    header = ""
    for line in place.block_above(indent):
        if indent_of(line) < indent:
            header = line.rstrip()
        else:
            match = _FIELD.fullmatch(line)
            if match is None and line.strip()[0] not in "})]/":
                return []
            if match is not None:
                given.append(match[1])
    if not header.endswith("{"):
        return []
    literal: re.Match[str] | None = None
    if place.language == "go" and _ELEMENT_START.fullmatch(header):
        names = _fields_of_element(place, indent_of(header))
    else:
        typed = _TYPED_LITERAL.fullmatch(header)
        literal = typed or _LITERAL.fullmatch(header)
        if literal is None or (typed is None and (_NO_LITERAL.match(header) or _ELEMENTS.fullmatch(header))):
            return []
        names = _fields_of_literal(place, literal[1].replace("::", "."))
    if not names or (given and not set(given) & set(names)):
        return []
    after = names.index(given[0]) + 1 if given and given[0] in names else 0
    left = [name for name in (*names[after:], *names[:after]) if name not in given]
    following = _next_in_literal_above(place, header, given[0] if given else "")
    if following in left:
        left = [following, *(name for name in left if name != following)]
    known = place.facts.locals(place.line) if place.language in ("rust", "typescript", "tsx") else {}
    found = []
    for rank, name in enumerate(left[:16]):
        weight = NEXT if rank == 0 else OTHER / (len(left) - 1)
        sign = " =" if place.language == "csharp" else ":"
        if name in known:
            found += [(f"{name},\n", weight * SHORT), (f"{name}:", weight * (1.0 - SHORT))]
        elif place.language in ("cpp", "c"):
            found.append((f".{name} =", weight))
        else:
            found.append((f"{name}{sign}", weight))
    if place.language == "rust":
        found += _rest_of_fields(place, header, literal[1] if literal is not None else "", given)
    return found


def _rest_of_fields(place: Place, header: str, name: str, given: Sequence[str]) -> Weighted:
    """`..Default::default()` as the last literal of the type above has it, or where the type has defaults."""
    facts = place.facts
    name = name.rpartition(":")[2]
    found = re.findall(rf"\b{re.escape(name)} \{{([^{{}};]*?),\s*(\.\.[\w:().&]+)\s*\}}", facts.above[-MAX_ABOVE:])
    if found:
        fields, rest = found[-1]
        is_next = bool(given) and f"{given[0]}" in fields.rpartition("\n")[2]
        return [(f"{rest}\n", AS_ABOVE if is_next else DEFAULTS)]
    value = type_named(facts, name, place.line) if name and given else None
    definition = facts.graph.definition(value.path, value.name) if value is not None else None
    if value is None or definition is None:
        return []
    lines = facts.lines_of(value.path)
    above = lines[max(0, definition.header_line - 4) : definition.header_line]
    is_derived = any("derive(" in line and "Default" in line for line in above)
    return [("..Default::default()\n", DEFAULTS)] if is_derived else []


def _fields_of_element(place: Place, indent: int) -> Sequence[str]:
    """The fields of an element of a list in Go: `[]Type{`, or `[]struct {` with its fields above."""
    lines = iter(place.block_above(indent))
    for line in lines:
        if indent_of(line) >= indent:
            continue
        match = _ELEMENTS.fullmatch(line)
        if match is not None:
            return _fields_of_literal(place, line[: line.rfind("{")].rpartition("]")[2])
        if line.strip() != "}{":
            return ()
        break
    else:
        return ()
    return _fields_of_struct_above(place, indent_of(line))


def _fields_of_struct_above(place: Place, indent: int) -> Sequence[str]:
    """The fields of the struct that the nearest `}{` above ends."""
    end = next((at for at in range(len(place.above) - 1, -1, -1) if place.above[at].strip() == "}{"), 0)
    found: list[str] = []
    for line in reversed(place.above[:end]):
        if indent_of(line) <= indent and line.strip():
            break
        match = _STRUCT_FIELD.fullmatch(line)
        if match is not None and indent_of(line) == indent + 1:
            found += match[1].split(", ")[::-1]
    return found[::-1]


def _fields_of_literal(place: Place, dotted: str) -> Sequence[str]:
    facts = place.facts
    if dotted == "Self":
        owner = place.function.qualified_name.rpartition(".")[0] if place.function is not None else ""
        return tuple(name for name in declared_fields(facts, facts.path, owner) if not name.isupper()) if owner else ()
    value = type_named(facts, dotted, place.line)
    if value is None:
        return ()
    table = facts.graph.symbols(value.path)
    definition = table.definition(value.name) if table is not None else None
    if definition is None or definition.kind in ("enum", "trait"):
        return ()
    found = tuple(name for name in declared_fields(facts, value.path, value.name) if not name.isupper())
    if not found and place.language in ("typescript", "tsx"):
        lines = facts.lines_of(value.path)[definition.header_line + 1 : definition.end_line]
        return tuple(match[1] for line in lines if (match := re.match(r"  (?:readonly )?(\w+)\??:", line)))
    if place.language == "go" and value.path.rpartition("/")[0] != facts.path.rpartition("/")[0]:
        found = tuple(name for name in found if name[:1].isupper())
    return found


def _next_in_literal_above(place: Place, header: str, last: str) -> str:
    """The field that follows `last`, or is the first, in the nearest finished literal with the same header."""
    lines = place.above
    own = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].rstrip() == header), 0)
    start = next((at for at in range(own - 1, -1, -1) if lines[at].rstrip() == header), -1)
    if start < 0:
        return ""
    is_next = not last
    for line in lines[start + 1 : own]:
        width = indent_of(line)
        if width <= indent_of(header) and line.strip():
            break
        match = _FIELD.fullmatch(line) if width == len(place.indent) else None
        if match is not None and is_next:
            return match[1]
        is_next = is_next or (match is not None and match[1] == last)
    return ""
