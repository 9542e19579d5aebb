"""The next name of `__all__`: public names of the module, or of a package what it imports, that the list lacks.

Owns the order of the list. Source: the definitions and imports above, and the export lists of star imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ..file_graph import Definition
from ..symbol_table import STAR_IMPORTS, ImportedName
from ..values import MODULE_VALUE, Value
from .cursor_facts import CursorFacts
from .place import Place, Weighted

_LIST_OF_NAMES = re.compile(r"__all__(?::[^=]+)? (?:\+?=) [\[(]\s*")
_ALL = re.compile(r"^__all__[^=\n]*= ?[\[(]([^\])]*)", re.MULTILINE)
_QUOTED = re.compile(r"\s+(['\"])(\w+)\1,\s*")

NEXT, OTHER = 0.5, 0.3
"""Shares of the next name in the order of the list, and of all others."""


def export_lists(place: Place) -> Weighted:
    """The names of a module that a list `__all__` does not have yet."""
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
    last = listed[0] if listed else ""
    is_sorted = listed == sorted(listed, reverse=True) or [n.lower() for n in listed] == sorted(
        (n.lower() for n in listed), reverse=True
    )
    if is_sorted and last:
        after = sorted((name for name in after if name.lower() > last.lower()), key=str.lower)
    elif last in names:
        at = names.index(last)
        after = [name for name in (*names[at:], *names[:at]) if name in set(after)]
    return [
        (f"{quote}{name}{quote},\n", NEXT if rank == 0 else OTHER / (len(after) - 1))
        for rank, name in enumerate(after[:20])
    ]


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
