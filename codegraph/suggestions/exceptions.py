"""Classes of exceptions behind `raise`, `throw` and `except`: those of the code above, of the file, and built-in ones.

Owns the places and the order. Sources: `raise` and `except` of the lines above, and names of the file.
"""

from __future__ import annotations

import re
from collections import Counter

from ..symbol_table import BoundName
from .cursor_facts import CursorFacts
from .place import Place, Weighted

N_NAMES = 12
PRIOR = 1.0
"""Uses that count for exceptions that no code shows."""
NAMED = 0.3
"""Weight of an exception that the file only names, against one that the lines above raise."""

_RAISED = re.compile(r"\s*(?:raise|throw(?: new)?)(?P<space>\s)\Z")
_CAUGHT = re.compile(r"\s*(?:except|rescue|\}? ?catch)(?P<space>\s)\(?\Z")
_USES = {
    True: re.compile(r"(?<!\w)(?:raise|throw) ((?:new )?[A-Za-z_][\w.]*)\("),
    False: re.compile(r"(?<!\w)(?:except|catch|rescue) \(?(?:final )?([A-Z][\w.:]*)"),
}
_WRITTEN = re.compile(r"(?<!\w)(?:raise|throw) ([A-Z][\w.:]*(?:\.new)?\(?)")
_NAME = re.compile(r"[A-Z]\w*(?:Error|Exception)").fullmatch
_WITH_NEW = frozenset({"java", "csharp", "typescript", "tsx", "javascript", "php"})
_AS_WRITTEN = frozenset({"ruby", "swift"})
"""Languages whose exceptions have no brackets, or may have some."""
_LANGUAGES = frozenset({"python", "kotlin", "scala", *_WITH_NEW, *_AS_WRITTEN})


def exceptions(place: Place) -> Weighted:
    """Behind the word that raises or catches."""
    line = place.line
    if line[-1:] not in (" ", "(") or place.language not in _LANGUAGES:
        return []
    is_raised = _RAISED.fullmatch(line) is not None
    if not is_raised and _CAUGHT.fullmatch(line) is None:
        return []
    if not is_raised and place.language in ("typescript", "tsx", "javascript", "swift"):
        return []
    names = place.facts.remembered("exceptions", str(is_raised), find=lambda: _names(place.facts, is_raised))
    total = sum(names.values())
    end = "(" if is_raised and place.language not in _AS_WRITTEN else ""
    is_behind_new = line.rstrip().endswith("new")
    texts = [
        (f"{name.removeprefix('new ') if is_behind_new else name}{end}", weight)
        for name, weight in names.most_common(N_NAMES)
        if name.startswith("new ") or not is_behind_new
    ]
    return [(text, weight / (total + PRIOR)) for text, weight in texts]


def _names(facts: CursorFacts, is_raised: bool) -> Counter[str]:
    found: Counter[str] = Counter()
    uses = _WRITTEN if is_raised and facts.language.name in _AS_WRITTEN else _USES[is_raised]
    for distance, name in enumerate(reversed(uses.findall("\n".join(facts.lines[-400:])))):
        found[name] += 1.0 / (1.0 + 0.2 * distance)  # type: ignore[assignment]
    new = "new " if is_raised and facts.language.name in _WITH_NEW else ""
    for name, entries in facts.symbols.entries.items():
        if _NAME(name) and not isinstance(entries[0], BoundName):
            found[f"{new}{name}"] += NAMED  # type: ignore[assignment]
    if facts.language.name == "python":
        for name in ("ValueError", "TypeError", "KeyError", "RuntimeError"):
            found[name] += NAMED / 2  # type: ignore[assignment]
    return found
