"""Building blocks of lexers: line and block comments, quoted strings, and rules that several languages share.

Owns no language; the files of `known/` build their lexers from these. A comment or a string that ends inside the text
is one match, which is much faster.
"""

from __future__ import annotations

import re

from .lexer import Lexer, Open, Rule

# On a complete line, an unmatched quote is an apostrophe, unless a backslash escapes the line break.
GOES_ON = r"(?:(?![^\r\n]*[\r\n])|(?=[^\r\n]*\\\r?\n))"


def line_comment(pattern: str) -> tuple[Rule, ...]:
    """A comment up to the end of its line."""
    return Rule(rf"(?:{pattern})[^\r\n]*(?=[\r\n])"), Rule(pattern, Open("comment", lines=False))


def block_comment(start: str, end: str, *, nests: bool = False) -> tuple[Rule, ...]:
    """A comment over several lines, between two marks in plain text."""
    opening = Rule(re.escape(start), Open("comment", end=re.escape(end), nests=nests, closing=end))
    return (opening,) if nests else (Rule(f"{re.escape(start)}(?s:.)*?{re.escape(end)}"), opening)


def quoted(quote: str, *, lines: bool = False, interpolation: str = "", before: str = "") -> tuple[Rule, ...]:
    """A string in `quote` with escapes; one of a single line is skipped whole when it has no interpolation.

    `before` is a pattern, without width, for what must precede it.
    """
    opens = Open("string", end=quote, lines=lines, escapes=True, interpolation=interpolation)
    not_inside = rf"{quote}\\\r\n" + (rf"\{interpolation[0]}" if interpolation else "")
    whole = Rule(rf"{before}{quote}(?:[^{not_inside}]|\\[^\r\n])*{quote}")
    return whole, Rule(before + quote + ("" if lines else GOES_ON), opens)


SLASH_COMMENTS = (*line_comment("//"), *block_comment("/*", "*/"))
"""Comments of C and similar languages."""

SLASH_MARKS = ("//", "/*")

CHARACTER = Rule(r"'(?:\\[^\r\n][^'\r\n]*|[^'\\\r\n])'")
"""A character literal, where a lone apostrophe means something else."""

NOT_AN_APOSTROPHE = "(?<![a-z])"
"""As in "don't", which is prose."""

QUOTES = (*quoted('"'), *quoted("'", before=NOT_AN_APOSTROPHE))
"""Strings of one line in both kinds of quotes."""

HASH_LEXER = Lexer((*line_comment(r"(?<![^\s])#"), *QUOTES), signs="#\"'", comment_marks=("#",))
DASH_LEXER = Lexer((*line_comment("--"), *QUOTES), signs="-\"'", comment_marks=("--",))
SLASH_LEXER = Lexer((*SLASH_COMMENTS, *QUOTES), signs="/\"'", comment_marks=SLASH_MARKS)
"""Lexers for languages without further rules."""

SLASHES = ("// ", "")
DASHES = ("-- ", "")
"""Start and end of comment lines in prompts."""
