"""Brackets and quotes that are open at the end of a line so far. Lexical, for any language.

Knows no index. A quote that is not closed on its line, as an apostrophe in a comment, is over on the next line.
It is no use of `languages/lexer.py`, which reads comments, quotes of several lines and the rules of a language: the
weights of the scorer are fitted to what is read here.
"""

from __future__ import annotations

from typing import NamedTuple

OPENERS, CLOSERS = "([{", ")]}"
_QUOTES = "\"'`"


class OpenSigns(NamedTuple):
    """The open brackets, innermost last, and the open quote or ""."""

    brackets: str
    quote: str


def open_signs(text: str, above: str = "") -> OpenSigns:
    """What is open at the end of a text; `above` are the brackets that are open before it."""
    brackets, quote, escaped = above, "", False
    for sign in text:
        if sign == "\n":
            quote, escaped = "", False
        elif escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in OPENERS:
            brackets += sign
        elif sign in CLOSERS and brackets[-1:] == OPENERS[CLOSERS.index(sign)]:
            brackets = brackets[:-1]
    return OpenSigns(brackets, quote)
