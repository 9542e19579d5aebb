"""Members that follow a name or a call of a name, in the lines above and in files nearby.

Owns their counts. Knows no type.
"""

from __future__ import annotations

import re
from collections import Counter

from .cursor_facts import CursorFacts
from .usual_arguments import occurrences_nearby

MAX_ABOVE = 40_000
"""Characters above the cursor that are searched."""
MAX_OCCURRENCES = 50
"""Of a name in the lines above, the nearest ones."""
N_PER_FILE = 6
MAX_CALL = 300
"""Characters of the arguments of a call in a chain."""
NEARBY = 0.25
"""Weight of what follows in another file, against the lines above."""

_MEMBER = re.compile(r"[?!]?\s*(?:\.|->)([^\W\d]\w*)(\(?)")
_SIGNS = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`|[()\[\]{}]")


def followers(facts: CursorFacts, name: str, is_call: bool) -> Counter[str]:
    """The members that follow `name`, or `name(…)`, each as written, "name" or "name(", with weights."""
    return facts.remembered("followers", name, str(is_call), find=lambda: _find(facts, name, is_call))


def _find(facts: CursorFacts, name: str, is_call: bool) -> Counter[str]:
    found: Counter[str] = Counter()
    text = facts.above[-MAX_ABOVE:]
    needle = f"{name}(" if is_call else name
    at = text.rfind(needle)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            break
        if not (text[at - 1 : at].isalnum() or text[at - 1 : at] in ("_", "$")):
            found.update(_member_behind(text, at + len(needle), is_call))
        at = text.rfind(needle, 0, at)
    for _, behind in occurrences_nearby(facts, needle, N_PER_FILE):
        for member in _member_behind(behind, 0, is_call):
            found[member] += NEARBY  # type: ignore[assignment]
    return found


def _member_behind(text: str, start: int, is_call: bool) -> tuple[str, ...]:
    end = _end_of_call(text, start) if is_call else start
    member = _MEMBER.match(text, end) if end >= 0 else None
    return (f"{member[1]}{member[2]}",) if member is not None else ()


def _end_of_call(text: str, start: int) -> int:
    depth = 0
    for found in _SIGNS.finditer(text, start, start + MAX_CALL):
        sign = found[0]
        if sign[0] in "\"'`":
            continue
        if sign in "([{":
            depth += 1
        elif depth:
            depth -= 1
        else:
            return found.end()
    return -1
