"""Syntax context of a cursor: code, comment or string, and the scope of a completion there.

Owns this analysis, which is fast enough for every key: the lexer finds the constructs that are open at the cursor, the
grammar whether a block is expected (`blocks.py`). Knows no model and no setting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...languages import UNKNOWN, Language, OpenStack
from ..workspace.text import Cursor
from .blocks import Block, block_opened_by, columns

Kind = Literal["code", "comment", "string"]

Scope = Literal["statement", "paragraph", "block"]
"""Extent of a completion of several lines: a statement with its block, statements up to a blank line, or the rest of a
block."""

MAX_LINE_CHARACTERS = 10_000
"""Characters of the cursor's line to read, because a minified file is one line."""

MAX_LINES_AWAY = 60
"""Lines above and below the cursor to search."""


@dataclass(frozen=True, slots=True)
class SyntaxContext:
    """`multi_line`: an empty body or a block is expected here, so a completion may have several lines.

    `block` is the block to fill, with scope "block" only.
    """

    kind: Kind = "code"
    multi_line: bool = False
    scope: Scope = "statement"
    block: Block | None = None


def syntax_context_at(cursor: Cursor) -> SyntaxContext:
    """The syntax context of a cursor; never raises."""
    opened = opened_at(cursor)
    kind = _kind_of(opened)
    if kind != "code" or not only_closes(cursor.rest_of_line, cursor.language):
        return SyntaxContext(kind)
    if cursor.start_of_line.strip():
        return _behind_code(cursor, opened)
    return _on_blank_line(cursor, opened)


def opened_at(cursor: Cursor) -> OpenStack:
    """The brackets, strings and comments that are open at the cursor."""
    lexer = cursor.language.lexer
    text, start = cursor.lines.text, cursor.lines.offset(cursor.line, 0)
    above = lexer.open_above(cursor.path, text[:start])
    opened, _ = lexer.read(text, above, max(start, cursor.offset - MAX_LINE_CHARACTERS), cursor.offset)
    return opened


# Also the call of a function literal (`func() {|}()`) and the dependencies of an effect (`useEffect(() => {|}, [x])`).
_CLOSES = re.compile(
    r"""(?:[)\]}>"'`;:,\s]|\*/|/>|</[\w.:-]*>|-->|\?>|(?<=[)>])[ \t]*(?:=>[ \t]*)?\{"""
    r"""|(?<=[>}])\(\)|(?<=\}),[ \t]*\[[\w$.,\s]*\])*"""
)
_BRACE_OF_BODY = re.compile(r"^[ \t]+\{[ \t]*$")  # as in `if | {`


def only_closes(rest: str, language: Language = UNKNOWN) -> bool:
    """Whether only closing punctuation and a comment follow the cursor on its line."""
    found = [at for mark in language.line_comments if (at := rest.find(mark)) >= 0]
    rest = rest[: min(found, default=len(rest))]
    if language.blocks == "braces":
        rest = _BRACE_OF_BODY.sub("", rest)
    return _CLOSES.fullmatch(rest) is not None


def allows_multi_line(syntax: SyntaxContext, setting: str) -> bool:
    """Whether a completion here may have several lines. `setting` is `completion.multi_line`."""
    return setting == "always" or (setting == "auto" and syntax.multi_line)


def line_below(cursor: Cursor) -> str:
    """The next non-blank line below the cursor's; "" if none is near."""
    last = min(cursor.lines.n_lines, cursor.line + 1 + MAX_LINES_AWAY)
    found = (cursor.lines.line(number) for number in range(cursor.line + 1, last))
    return next((line for line in found if line.strip()), "")


def _kind_of(opened: OpenStack) -> Kind:
    innermost = opened[-1].kind if opened else "bracket"
    if innermost == "comment":
        return "comment"
    return "string" if innermost == "string" else "code"


def _behind_code(cursor: Cursor, opened: OpenStack) -> SyntaxContext:
    """After code: a block is expected if its header ends the line and the block is empty."""
    block = block_opened_by(cursor.language, cursor.lines, cursor.line, cursor.start_of_line, opened)
    if block is None or not block.statements or _is_filled(cursor, block):
        return SyntaxContext()
    # A line of Ruby may continue; and without a grammar a colon at the end is ambiguous.
    if block.closer == "end" or not (block.closer or _grammar_has_blocks(cursor.language)):
        return SyntaxContext()
    return SyntaxContext("code", True, "block", block)


def _on_blank_line(cursor: Cursor, opened: OpenStack) -> SyntaxContext:
    number = _line_above(cursor, cursor.line)
    if number < 0:
        return SyntaxContext()
    above = cursor.lines.line(number)
    block = block_opened_by(cursor.language, cursor.lines, number, above, opened)
    if block is None:
        block = _block_with_docstring(cursor, number, opened)
    if block is None and not _grammar_has_blocks(cursor.language) and columns(cursor.start_of_line) > columns(above):
        block = Block(columns(above))
    if block is not None and block.closer in ("", "end") and cursor.character and not _deeper(cursor, block):
        block = None
    if block is not None:
        if not _is_filled(cursor, block):
            return SyntaxContext("code", True, "block", block)
        return SyntaxContext("code", True, "paragraph") if block.statements else SyntaxContext()
    if number == cursor.line - 1 and not _continues_below(cursor):
        if _is_decorator(above, cursor.language):
            return SyntaxContext("code", True, "statement")
        if _is_comment(above, cursor.language):
            return SyntaxContext("code", True, "statement" if _DOC_COMMENT.match(above) else "paragraph")
    return SyntaxContext()


def _grammar_has_blocks(language: Language) -> bool:
    """Whether the grammar detects all blocks; elsewhere the indentation does, as in `if … then` of a shell."""
    return language.grammar is not None and bool(language.blocks or language.embedded)


def _deeper(cursor: Cursor, block: Block) -> bool:
    """Whether the indentation of the blank line is inside the block."""
    return columns(cursor.start_of_line) > block.indent


def _line_above(cursor: Cursor, line: int) -> int:
    """The number of the nearest non-blank line above, -1 if none is near."""
    first = max(0, line - MAX_LINES_AWAY)
    return next((number for number in range(line - 1, first - 1, -1) if cursor.lines.line(number).strip()), -1)


_DOCSTRING_START = re.compile(r"""\s*[rRuU]?(\"\"\"|''')""")


def _block_with_docstring(cursor: Cursor, last: int, opened: OpenStack) -> Block | None:
    """The block that contains only a docstring so far, which ends in line `last`."""
    end = cursor.lines.line(last).rstrip()
    if not cursor.language.docstring_in_body or not end.endswith(('"""', "'''")):
        return None
    one_line = _DOCSTRING_START.match(end)
    first = last
    if not (one_line and len(end) >= one_line.end() + 3):
        above = range(last - 1, max(-1, last - 1 - MAX_LINES_AWAY), -1)
        first = next((number for number in above if _DOCSTRING_START.match(cursor.lines.line(number))), 0)
    header = _line_above(cursor, first)
    if header < 0:
        return None
    return block_opened_by(cursor.language, cursor.lines, header, cursor.lines.line(header), opened)


def _is_filled(cursor: Cursor, block: Block) -> bool:
    """Whether the block has content below the cursor."""
    if block.closer and cursor.rest_of_line.lstrip().startswith(block.closer):
        return False
    return columns(line_below(cursor)) > block.indent


def _continues_below(cursor: Cursor) -> bool:
    """Whether the code that the line above introduces already follows below the cursor."""
    if cursor.line + 1 >= cursor.lines.n_lines:
        return False
    below = cursor.lines.line(cursor.line + 1)
    return bool(below.strip()) and columns(below) >= columns(cursor.lines.line(cursor.line - 1))


def _is_decorator(line: str, language: Language) -> bool:
    return bool(language.decorator) and re.fullmatch(language.decorator, line.strip()) is not None


_DOC_COMMENT = re.compile(r"\s*(?:/\*\*|\*|///|//!)")


def _is_comment(line: str, language: Language) -> bool:
    """Whether the line is a comment with words, which introduces code."""
    line = line.strip()
    marks = (*language.lexer.comment_marks, "*") if "/*" in language.lexer.comment_marks else language.line_comments
    if line.startswith("#!") or not line.startswith(marks):
        return False
    return not (line.startswith(("/*", "*")) and not line.endswith("*/")) and any(map(str.isalpha, line))
