"""The next case of an enum in a `switch`, `match` or `when`: members that other cases of the block do not name yet.

Owns which members are named already. Source: the enum whose members the cases name, else the type of what is compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...languages.indentation import indent_of
from ..file_graph import MODULE_SCOPE, Definition
from ..symbol_table import BoundName
from ..values import CLASS_VALUE, INSTANCE_VALUE, Value
from .cursor_facts import CursorFacts
from .place import Place, Weighted, declared_fields, type_named

_AT_START = re.compile(r"\s+(?:case ?)?(?:[\w.:]*(?:\.|::))?")
_CASE = re.compile(r"\s*(case +)?((?:[\w:]+(?:\.|::))*|\.)([A-Za-z]\w*)(.*)")
_SWITCH = re.compile(r".*\b(?:switch|match|when)\b\s*\(?[*&]{0,2}([\w.]+(?:\(\))?)\)?\s*[{:]\s*")
_LANGUAGES = frozenset(
    [
        "python",
        "typescript",
        "tsx",
        "javascript",
        "java",
        "kotlin",
        "csharp",
        "rust",
        "swift",
        "scala",
        "cpp",
        "c",
        "php",
        "go",
    ]
)
_ARROWS = frozenset({"rust", "kotlin"})

NEXT, OTHER = 0.5, 0.3
"""Shares of the member that follows the last one in the enum, and of all others."""


def cases(place: Place) -> Weighted:
    """At the start of a line in a block of cases, or behind `case`."""
    if place.language not in _LANGUAGES or not _AT_START.fullmatch(place.line):
        return []
    return _next_cases(place)


def _next_cases(place: Place) -> Weighted:
    word = place.language not in _ARROWS and place.language != "php"
    seen: list[tuple[str, str, str]] = []  # owner, name, what follows
    header = ""
    indent = len(place.indent)
    for line in place.block_above(indent):
        match = _CASE.fullmatch(line)
        if indent_of(line) < indent or _SWITCH.fullmatch(line):
            header = line
            break
        elif match is not None and (bool(match[1]) == word) and (word or "=>" in match[4] or "->" in match[4]):
            seen.append((match[2], match[3], match[4]))
    switch = _SWITCH.fullmatch(header)
    if switch is None:
        return []
    if place.language in _ARROWS and place.continues_block:
        return []
    if not seen:
        return _first_cases(place, switch[1]) if word or not place.line.strip() else []
    owner, last, rest = seen[0]
    members = _members(place, owner, last, switch[1])
    named = {name for _, name, _ in seen}
    if last not in members or not named & set(members):
        return []
    after = members.index(last) + 1
    left = [name for name in (*members[after:], *members[:after]) if name not in named]
    end = _ending(rest)
    found: Weighted = []
    for rank, name in enumerate(left[:12]):
        ends = _payload(place, owner, switch[1], name) or end or " =>" if place.language == "rust" else end
        text = f"{'case ' if word else ''}{owner}{name}{ends}"
        found += place.rest_of(text, NEXT if rank == 0 else OTHER / (len(left) - 1))
    return found


def _payload(place: Place, owner: str, subject: str, name: str) -> str:
    """The bracket behind a variant of an enum of Rust that has values, "" for one without."""
    facts = place.facts
    dotted = owner.replace("::", ".").strip(".")
    value = type_named(facts, dotted, place.line) if dotted else None
    value = value or facts.value(subject, place.line)
    definition = facts.graph.definition(value.path, value.name) if value is not None else None
    if value is None or definition is None:
        return ""
    text = "\n".join(facts.lines_of(value.path)[definition.header_line : definition.end_line])
    found = re.search(rf"(?:[{{,]|^)\s*{re.escape(name)}(\(| \{{)", text, re.MULTILINE)
    return found[1] if found is not None else ""


def _ending(rest: str) -> str:
    """What follows the name of a case, as the last case has it, up to its body."""
    found = re.match(r"\s*(?::\s*\n?|=>|->)", rest)
    if found is None:
        return ""
    sign = found[0].rstrip()
    is_last = not rest[found.end() :].strip()
    return f"{sign}\n" if is_last else sign


def _first_cases(place: Place, subject: str) -> Weighted:
    value = place.facts.value(subject, place.line)
    if value is None or value.kind != INSTANCE_VALUE:
        return []
    members = enum_members(place.facts, value)
    if not members:
        return []
    owner = value.name.rpartition(".")[2]
    word = {"rust": f"{owner}::", "kotlin": f"{owner}.", "swift": "case .", "java": "case ", "cpp": f"case {owner}::"}
    text = word.get(place.language, f"case {owner}.") + members[0]
    if place.language == "rust":
        text += _payload(place, "", subject, members[0]) or " =>"
    return place.rest_of(text, 0.4)


def _members(place: Place, owner: str, name: str, subject: str) -> Sequence[str]:
    """The members of the enum that a case names."""
    facts = place.facts
    for dotted in (owner.replace("::", ".").strip("."), ""):
        if not dotted:
            break
        value = type_named(facts, dotted, place.line)
        found = enum_members(facts, value) if value is not None else ()
        if name in found:
            return found
    value = facts.value(subject, place.line)
    if value is not None and value.kind == INSTANCE_VALUE:
        found = enum_members(facts, value)
        if name in found:
            return found
    if not owner.strip("."):
        value = facts.value(name, place.line)
        if value is not None and value.kind in (CLASS_VALUE, INSTANCE_VALUE):
            return _constants(facts, value.path, value.name)
        bound = facts.symbols.entries.get(name, (None,))[0]
        if isinstance(bound, BoundName) and bound.how == "annotation":
            return _constants(facts, facts.path, bound.value)
    return ()


def enum_members(facts: CursorFacts, value: Value) -> Sequence[str]:
    """The members of an enum in their order; () of another type."""
    table = facts.graph.symbols(value.path)
    definition = table.definition(value.name) if table is not None else None
    if definition is None:
        return ()
    is_enum = definition.kind == "enum" or any(
        base.rpartition(".")[2].endswith(("Enum", "Flag")) for base in definition.bases
    )
    if not is_enum:
        return _constants(facts, value.path, value.name) if facts.language.name == "go" else ()
    if facts.language.name in ("typescript", "tsx", "javascript"):
        return _written_members(facts, value.path, definition)
    return tuple(declared_fields(facts, value.path, value.name))


def _written_members(facts: CursorFacts, path: str, definition: Definition) -> Sequence[str]:
    text = "\n".join(facts.lines_of(path)[definition.header_line : definition.end_line])
    return tuple(
        re.findall(r"(?:[{,]|^)\s*(\w+)\s*(?==|,|\}|$)", text.partition("{")[1] + text.partition("{")[2], re.M)
    )


def _constants(facts: CursorFacts, path: str, kind: str) -> Sequence[str]:
    """The constants of a type in the file of the type, in order."""
    file = facts.graph.files.get(path)
    if file is None:
        return ()

    def find() -> Sequence[str]:
        of_file = (each for each in file.bindings if each.scope == MODULE_SCOPE and each.how == "annotation")
        return tuple(each.name for each in of_file if each.value == kind and each.name[:1].isalpha())

    return facts.remembered("constants", path, kind, find=find)
