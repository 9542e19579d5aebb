"""The next name of an export list, `__all__` of Python and `export { }` of JavaScript: names that it lacks.

Owns the order of the list. Source: the definitions and imports above that are not exported yet; of a Python module its
public names, and of a package what it imports, with the export lists of star imports.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..file_graph import MODULE_SCOPE, Definition
from ..symbol_table import STAR_IMPORTS, ImportedName
from ..values import MODULE_VALUE, Value
from .brace_lists import brace_list_at, names_in
from .cursor_facts import CursorFacts
from .place import Place, Weighted, shared

_LIST_OF_NAMES = re.compile(r"__all__(?::[^=]+)? (?:\+?=) [\[(]\s*")
_ALL = re.compile(r"^__all__[^=\n]*= ?[\[(]([^\])]*)", re.MULTILINE)
_QUOTED = re.compile(r"\s+(['\"])(\w+)\1,\s*")

_JAVASCRIPT = frozenset({"typescript", "tsx", "javascript"})
_EXPORT = re.compile(r"export (?:type )?")
_EXPORTED = re.compile(
    r"^export (?:default )?(?:declare )?(?:abstract )?(?:async )?"
    r"(?:const|let|var|function\*?|class|interface|type|enum|namespace) ([\w$]+)",
    re.MULTILINE,
)
_EXPORT_LISTS = re.compile(r"^export (?:type )?\{([^{}]*)\}", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ([\w$]+)", re.MULTILINE)
_SELDOM = re.compile(r"^(?:declare )?(?:let|type|interface) ([\w$]+)", re.MULTILINE)
_NAME = re.compile(r"[\w$]+")

NEXT, OTHER = 0.5, 0.3
"""Shares of the next name in the order of the list, and of all others."""
WHOLE = 0.2
"""Share of all names that are left, on the line of the opening brace."""
MAX_WHOLE = 4
MAX_NAMES = 20
UNUSED, UNUSED_IMPORT, SELDOM = 4.0, 1.5, 0.3
"""Weights of a definition and of an import without a use in the file, and of an import, a type or a variable with one,
against a function that is used."""
FOLLOWING = 3.0
"""Factor for the name that follows in the order of the list."""


def export_lists(place: Place) -> Weighted:
    """The names of a module that the list of the cursor's line does not have yet."""
    if place.language in _JAVASCRIPT:
        return _of_braces(place)
    if place.language != "python" or not place.indent or place.line.strip():
        return []
    header, listed, quote = "", [], '"'
    for line in reversed(place.above):
        match = _QUOTED.fullmatch(line)
        if match is None:
            header = line
            break
        listed.append(match[2])
        quote = match[1]
    if not _LIST_OF_NAMES.fullmatch(header):
        return []
    names = list(public_names(place.facts))
    after = [name for name in names if name not in listed]
    after = _in_order(names, after, listed[::-1])
    return [
        (f"{quote}{name}{quote},\n", NEXT if rank == 0 else OTHER / (len(after) - 1))
        for rank, name in enumerate(after[:20])
    ]


def _in_order(names: Sequence[str], left: Sequence[str], listed: Sequence[str]) -> list[str]:
    """The names that are left behind those of the list: sorted if the list is, else from its last name on."""
    lower = [name.lower() for name in listed]
    is_sorted = list(listed) == sorted(listed) or lower == sorted(lower)
    if 0 < len(lower) < 3:  # which may be sorted by chance
        is_sorted = is_sorted and all(lower[0] < name.lower() for name in left)
    if listed and is_sorted:
        return sorted((name for name in left if name.lower() > lower[-1]), key=str.lower)
    at = names.index(listed[-1]) if listed and listed[-1] in names else 0
    return [name for name in (*names[at:], *names[:at]) if name in set(left)]


def _of_braces(place: Place) -> Weighted:
    """`export { a, b }`: names of the file that are not exported yet."""
    opened = brace_list_at(place, _EXPORT)
    if opened is None:
        return []
    listed, has_lines = opened.names, opened.has_lines
    weights = place.facts.remembered("exportable", find=lambda: _exportable(place.facts))
    names = list(weights)
    left = [name for name in names if name not in listed]
    if opened.header.endswith("type "):
        left = [name for name in left if name[:1].isupper()]
    if not left:
        return []
    following = next(iter(_in_order(names, left, listed)), "") if listed else ""
    found = [(name, weights[name] * (FOLLOWING if name == following else 1.0)) for name in left]
    found = sorted(found, key=lambda item: -item[1])[:MAX_NAMES]
    end = ",\n" if has_lines else ""
    space = "" if has_lines or place.line[-1].isspace() else " "
    texts = shared(NEXT + OTHER, [(f"{space}{name}{end}", weight) for name, weight in found])
    likely = [name for name in left if weights[name] >= UNUSED]
    if not has_lines and 1 <= len(likely) <= MAX_WHOLE:
        texts.append((f"{space}{', '.join(likely)} }}", WHOLE))
    return texts


def _exportable(facts: CursorFacts) -> dict[str, float]:
    """The names at the top level that no line above exports, in order, and how likely each is to be exported.

    What the file defines or imports and does not use is there to be exported.
    """
    above = facts.above
    exported = {*_EXPORTED.findall(above), *_DEFAULT.findall(above)}
    for names in _EXPORT_LISTS.findall(above):
        exported.update(names_in(names))
    lines = {each.name: each.start_line for each in facts.symbols.definitions}
    bindings = facts.graph.files[facts.path].bindings
    lines.update((each.name, each.line) for each in reversed(bindings) if each.scope == MODULE_SCOPE)
    uses = Counter(_NAME.findall(above))
    seldom = {*_SELDOM.findall(above)}
    found: dict[str, float] = {}
    for name, entries in facts.symbols.entries.items():
        is_imported = isinstance(entries[0], ImportedName)
        if name in exported or not _NAME.fullmatch(name) or facts.is_closed_name(name):
            continue
        if uses[name] == 1:
            found[name] = UNUSED_IMPORT if is_imported else UNUSED
        else:
            found[name] = SELDOM if is_imported or name in seldom or name[0] == "_" else 1.0
    return dict(sorted(found.items(), key=lambda item: lines.get(item[0], -1)))


@lru_cache(maxsize=64)
def _listed_names(source: bytes) -> frozenset[str] | None:
    """The names in `__all__` of a module, None without one."""
    match = _ALL.search(source.decode("utf-8", "replace"))
    return frozenset(re.findall(r"['\"](\w+)['\"]", match[1])) if match is not None else None


def public_names(facts: CursorFacts) -> Iterator[str]:
    """The names at the top level of a module that others may import, in order; of a package those that it imports."""
    is_package = facts.path.endswith("__init__.py")
    found: dict[str, None] = {}
    for key, entries in facts.symbols.entries.items():
        entry = entries[0]
        if isinstance(entry, Definition) or (is_package and isinstance(entry, ImportedName) and entry.level):
            found[key] = None
    if is_package and STAR_IMPORTS in facts.symbols.entries:
        exports = facts.resolver.exports(Value(MODULE_VALUE, facts.path, "", ""))
        for name, value in exports.items():
            listed = _listed_names(facts.texts.get(value.path, b"")) if value is not None else None
            if listed is None or name in listed:
                found[name] = None
    yield from (name for name in found if name.isidentifier() and not name.startswith("_"))
