"""The next member of a chain whose type is unknown: what follows the same call or the same name elsewhere.

Owns the reading of chains, also of those with a line for each call. Members of a known type are those of `members`,
except at the start of a line, where the receiver is on the lines above.
"""

from __future__ import annotations

import re

from .cursor_facts import CursorFacts, expression_before
from .followers import MAX_CALL, followers
from .members import ranked_members, value_before
from .values import Suggested, weighted

MAX_CHAIN_LINES = 12
N_TEXTS = 20
PRIOR = 2.0
"""Uses that count for members that no code shows."""

_AT_MEMBER = re.compile(r"(?:(?<=[\w)\]}?!])(?:\?\.|\.|->)|^\s*(?:\?\.|\.|->))\Z")


def chains(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions behind the sign of a member whose receiver has no known type."""
    if written[-1:] not in (".", ">"):
        return []
    line = written.rpartition("\n")[2]
    sign = _AT_MEMBER.search(line[-MAX_CALL:])
    if sign is None or _IMPORT(line):
        return []
    before = line[: len(line) - len(sign[0].lstrip())]
    begins_line = not before.strip()
    if begins_line:
        before = _chain_above(facts)
    receiver = expression_before(before)
    if begins_line and receiver:
        value = facts.value(receiver, line)
        known = ranked_members(facts, value, receiver, sign[0].strip(), line) if value is not None else []
        if known:
            return weighted("chain", sorted(known, key=lambda item: -item[1])[:N_TEXTS])
    elif value_before(facts, line, receiver) is not None:
        return []
    return _usual(facts, before)


def _chain_above(facts: CursorFacts) -> str:
    """The end of the statement above on one line, as far as it is a chain."""
    found = ""
    for line in reversed(facts.lines[-MAX_CHAIN_LINES:]):
        text = line.strip()
        if not text:
            break
        found = text + found
        if not text.startswith((".", "?.", "->", ")", "}")):
            break
    return found


def _usual(facts: CursorFacts, before: str) -> list[Suggested]:
    """What follows the last name or call of an expression most often, in the lines above and in files nearby."""
    text = before.rstrip("?!")
    is_call = text.endswith(")")
    if is_call:
        text = text[: _opening_of_last(text)]
    name = _NAME_AT_END.search(text)
    if name is None:
        return []
    key = name[0]
    counts = followers(facts, key, is_call)
    total = sum(counts.values())
    texts = [(text, count / (total + PRIOR)) for text, count in counts.most_common(N_TEXTS)]
    return weighted("chain", texts, total / (total + PRIOR)) if texts else []


def _opening_of_last(text: str) -> int:
    depth = 0
    for at in range(len(text) - 1, max(-1, len(text) - MAX_CALL), -1):
        depth += (text[at] in ")]}") - (text[at] in "([{")
        if not depth:
            return at
    return 0


_IMPORT = re.compile(r"\s*(?:import|package|from|using|use|namespace)\s").match
_NAME_AT_END = re.compile(r"[^\W\d]\w*\Z")
