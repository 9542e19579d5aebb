"""Closing of open brackets at the end of a source, for grammars whose error recovery loses unclosed definitions.

In a file that is cut at the cursor no enclosing body is closed. With the missing closers the grammar reads all of it
but the unfinished statement. Owns the place and the order of the closers. Knows no grammar; offsets before the last
token and the number of lines stay the same.
"""

from __future__ import annotations

import re

from .lexer import Lexer


def closed(source: bytes, lexer: Lexer, operand: str = "") -> bytes:
    """The source with closers for its open brackets, strings and comments, and with a line break at its end.

    `operand` is a word without a meaning that ends an expression after an operator.
    """
    whole = source if source.endswith(b"\n") else source + b"\n"
    if all(source.count(opening) == source.count(closing) for opening, closing in _PAIRS):
        return whole
    text = whole.decode("latin-1")[: len(source)]  # one character for each byte
    body = text.rstrip()
    tail = text[len(body) :].removesuffix("\n")  # closers come on the last line, where the cursor is
    stack, _ = lexer.read(body, (), 0, len(body))
    if stack and stack[-1].kind == "comment" and not stack[-1].lines:
        if "\n" not in tail:  # closers would belong to the comment
            tail = ""
            body = body[: stack[-1].at]
        stack = stack[:-1]
    if not stack:
        return whole
    before = body.rstrip()[-3:]
    operand = operand if stack[-1].is_code and _OPERATOR(before) else ""
    before += operand
    closers = ""
    for each in reversed(stack):
        ends_statement = (
            each.text == "{" and each.kind == "bracket" and not (before + closers).endswith(("{", ";", ">"))
        )
        closers += f";{each.closer}" if ends_statement else each.closer
    return f"{body}{operand}{tail}{closers}\n".encode("latin-1")


_OPERATOR = re.compile(r"(?:(?<!\*)[./]|[-+*%&|<=:!]|(?<!-)>)$").search
_PAIRS = ((b"{", b"}"), (b"(", b")"), (b"[", b"]"))
