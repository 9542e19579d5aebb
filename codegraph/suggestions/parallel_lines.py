"""The right side of a line as its counterparts above have it: after `self.a = data["a"]`, `data["b"]` for `self.b =`.

Owns the choice of counterparts, which are lines of the same form and indentation, and how a name is replaced in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...languages.indentation import indent_of
from .cursor_facts import CursorFacts, words_of

MAX_COUNTERPARTS = 4
MAX_LINES = 24
MAX_LENGTH = 160
"""Characters of a line above."""

_ASSIGNMENT = re.compile(
    r"""[^=()]*?(?<![\w$])(?P<name>[\w$]+)["']?(?:\s*:[^=]+)?\s*(?P<sign>:=|=|:)(?!=)\s*(?P<right>\S.*)""",
)


def counterparts(facts: CursorFacts, line: str, name: str, sign: str) -> Iterator[tuple[str, str, int]]:
    """Right sides for `name` with the end of their line, their kinds, and how many counterparts are nearer.

    `sign` is the one between name and right side.
    """
    found = 0
    indent = indent_of(line)
    for number in range(facts.line - 1, max(-1, facts.line - MAX_LINES), -1):
        above = facts.lines[number]
        if not above.strip() or len(above) > MAX_LENGTH:
            continue
        if indent_of(above) < indent:
            return
        match = _ASSIGNMENT.fullmatch(above.rstrip()) if indent_of(above) == indent else None
        if match is None or match["sign"] != sign:
            continue
        adapted = replaced(match["right"], match["name"], name)
        yield f"{adapted}\n", "adapted" if adapted != match["right"] else "same", found
        found += 1
        if found == MAX_COUNTERPARTS:
            return


def replaced(text: str, old: str, new: str) -> str:
    """A text with a name replaced by another, in every spelling; of names with one different word only that word."""
    olds, news = words_of(old), words_of(new)
    result = _in_all_spellings(text, old.lstrip("_@$"), new.lstrip("_@$"))
    if result == text and len(olds) == len(news):
        different = [pair for pair in zip(olds, news, strict=True) if pair[0] != pair[1]]
        if len(different) == 1 and len(different[0][0]) > 1:
            result = _in_all_spellings(text, *different[0])
    return result


def _in_all_spellings(text: str, old: str, new: str) -> str:
    if not old or not new:
        return text
    for spell in (str, _capital, str.upper, str.lower):
        text = re.sub(rf"(?<![^\W_]){re.escape(spell(old))}(?![a-z0-9])", _as_replacement(spell(new)), text)
        if spell is _capital:
            text = re.sub(rf"(?<=[a-z]){re.escape(_capital(old))}(?![a-z0-9])", _as_replacement(_capital(new)), text)
    return text


def _as_replacement(text: str) -> str:
    return text.replace("\\", r"\\")


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
