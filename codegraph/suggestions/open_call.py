"""The call, or the literal of a type, that a cursor is in: its callee, the arguments before the cursor, its layout.

Owns the reading of the text before the cursor. Knows no name resolution.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...languages.dotted import dotted_name
from ..parameters import pieces_of
from .cursor_facts import CursorFacts, expression_start

MAX_ARGUMENTS = 4_000
"""Characters of a call before the cursor."""


class Argument(NamedTuple):
    """An argument as written; `keyword` is "" for one by position."""

    keyword: str
    text: str


class OpenCall(NamedTuple):
    """A call whose next argument begins at the cursor."""

    callee: str  # dotted; "name!" of a macro
    is_literal: bool  # `Type{`
    given: tuple[Argument, ...]  # the arguments before the cursor's
    keyword: str  # of the cursor's argument, where it is written already
    space: str  # the white space before the next argument
    has_lines: bool  # each argument has a line of its own
    is_behind_comma: bool  # on the line of the comma


def open_call(facts: CursorFacts, written: str) -> OpenCall | None:
    """The innermost call at the end of `written`; None where no argument begins there, and in a header."""
    syntax = facts.language.call_syntax
    if syntax is None or not _may_begin_argument(facts, written):
        return None
    text = facts.above + written
    opened, _ = facts.language.lexer.read(text, facts.opened_above, len(facts.above), len(text))
    if not opened or opened[-1].kind != "bracket":
        return None
    bracket, at = opened[-1].text[-1], opened[-1].at
    is_literal = bracket == "{" and syntax.has_literals
    if (bracket != "(" and not is_literal) or len(text) - at > MAX_ARGUMENTS or text[at : at + 1] != bracket:
        return None
    before = text[max(0, at - 400) : at]
    is_macro = syntax.has_macros and before.endswith("!")
    callee = _callee_before(before.removesuffix("!") if is_macro else before, is_literal=is_literal)
    if callee and is_macro:
        callee = f"{callee.rpartition('.')[2]}!"
    if not callee:
        return None
    inside = text[at + 1 :]
    pieces = pieces_of(inside) if inside.strip() else []
    last = ""
    if not inside.rstrip().endswith(",") and pieces:
        last = pieces.pop()
    sign = ":" if is_literal else syntax.keyword_sign.strip()
    keyword = ""
    if last:
        match = re.fullmatch(rf"([^\W\d]\w*)\s*{re.escape(sign)}", last) if sign else None
        if match is None:
            return None
        keyword = match[1]
    given = tuple(argument_of(piece, sign) for piece in pieces)
    if any(_SPREAD.match(each.keyword) for each in given):
        return None
    is_behind_comma = inside.rstrip(" \t").endswith(",")
    wants_space = is_behind_comma or (keyword and syntax.keyword_sign.endswith(" ")) or (keyword and is_literal)
    if is_literal and not inside and syntax.has_spaced_literals:
        wants_space = True
    space = " " if wants_space and not inside.endswith((" ", "\t", "\n")) else ""
    first_line = inside.partition("\n")[0]
    has_lines = "\n" in inside and not first_line.strip()
    return OpenCall(callee, is_literal, given, keyword, space, has_lines, is_behind_comma)


def argument_of(piece: str, sign: str) -> Argument:
    """An argument as written, `name=value`; of one that spreads a value its sign, `**`, is the keyword."""
    spread = _SPREAD.match(piece)
    if spread is not None:
        return Argument(spread[0], piece[spread.end() :])
    match = re.match(rf"([^\W\d]\w*)\s*{re.escape(sign)}(?![=:])\s*", piece) if sign else None
    return Argument(match[1], piece[match.end() :]) if match is not None else Argument("", piece)


def _may_begin_argument(facts: CursorFacts, written: str) -> bool:
    end = written.rstrip()
    if end:
        return end[-1] in "(,{" or (end[-1] in "=:" and _KEYWORD.search(end[-80:]) is not None)
    above = facts.end_above
    return bool(above) and above in "(,{"


def _callee_before(text: str, *, is_literal: bool) -> str:
    """The dotted callee at the end of a text, "" for the header of a definition."""
    if "\n" in text:
        text = _CONTINUED.sub("", text)
    end = text.rstrip() if is_literal else text
    if end.endswith(">"):
        end = _TYPE_ARGUMENTS.sub("", end)
    start = expression_start(end)
    expression = dotted_name(end[start:].lstrip("."))
    if not expression or _HEADER.search(end[end.rfind("\n") + 1 :]):
        return ""
    if end[start : start + 1] == "." or end[:start].endswith(("?.", "::")):  # a member of something else
        return f"?.{expression.rpartition('.')[2]}"
    return "" if is_declared(end[:start]) else expression


def is_declared(before: str) -> bool:
    """Whether the word before an expression makes it the name in a header: `void pay(`."""
    word = _WORD_BEFORE.search(before)
    return word is not None and word[1] not in _OPERATORS


_SPREAD = re.compile(r"\*\*?(?=[\w(])|\.\.\.?(?=[\w(])")
_KEYWORD = re.compile(r"(?:^|[(,{\s])[^\W\d]\w*\s*[=:]\Z")
_CONTINUED = re.compile(r"\s*\n\s*(?=\.|\?\.|->)")
_TYPE_ARGUMENTS = re.compile(r"(?:::)?<[\w\s.,:<>?&'\[\]]{0,80}>\Z")
_HEADER = re.compile(
    r"(?:^|[\s(])(?:def|func|fun|fn|function\*?|class|interface|struct|enum|record|type|impl|trait|constructor"
    r"|object|case\s+class|match|switch|package|namespace|for|if|while|import)\s+(?:\([^()]*\)\s*)?[\w$.<>~]*\Z"
)
_WORD_BEFORE = re.compile(r"([^\W\d]\w*|(?<![-=])>|\])[ \t]+\Z")
_WORDS = """
    return new await throw else case yield in not and or is assert if elif while typeof from with async print del raise
    go defer try unless until when do then echo lambda as move unsafe match co_return co_await delete by
"""
_OPERATORS = frozenset(_WORDS.split())
"""Words before an expression; behind another word comes the name in a header."""
