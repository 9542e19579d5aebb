"""Structural stop rules: the end of the statement, the paragraph or the block, and the next definition.

Owns the rules, which read a text while it is generated, each line once. Of an incomplete line they read the indentation
and the first word, which are final; so generation stops at the start of the first line after the block. Knows no model.
"""

from __future__ import annotations

import re

from ..workspace.text import Cursor
from .blocks import Block, code_of, columns
from .syntax_context import SyntaxContext, line_below, opened_at
from .values import Request

MAX_LINES = 60
"""More lines than fit on a screen are of no use as ghost text."""

BLANK_LINES = 2
"""Consecutive blank lines that end every text."""


class Stopping:
    """The stop rules at one cursor, for one stream: each text extends the one before."""

    def __init__(self, cursor: Cursor, syntax: SyntaxContext, *, single_line: bool) -> None:
        # In a comment only the rest of the line is completed.
        self._lines = None if single_line or syntax.kind == "comment" else _Lines(cursor, syntax)

    def end_of(self, text: str) -> int | None:
        """The length at which to stop, for the text so far with "\\n" line breaks; None to continue."""
        return _end_of_line(text) if self._lines is None else self._lines.end_of(text)


def stopping_for(request: Request) -> Stopping:
    """The stop rules for one generation of a request."""
    return Stopping(request.cursor, request.syntax, single_line=request.single_line)


def _end_of_line(text: str) -> int | None:
    """The end of the first non-empty line."""
    end = text.find("\n", len(text) - len(text.lstrip("\n")))
    return end if end >= 0 else None


class _Lines:
    """Stop rules for several lines; stores its position in the text."""

    def __init__(self, cursor: Cursor, syntax: SyntaxContext) -> None:
        self._language = cursor.language
        self._lexer = cursor.language.lexer
        self._scope, self._block = syntax.scope, syntax.block
        self._before = cursor.start_of_line
        below = line_below(cursor)
        self._below = columns(below), below.strip()
        # The closer of the block is below the cursor. A closer right of the cursor belongs to the completion.
        self._is_closed_below = (
            self._block is not None
            and self._block.closer != ""
            and not cursor.rest_of_line.lstrip().startswith(self._block.closer)
            and self._below[0] == self._block.indent
            and self._below[1].startswith(tuple(_RUBY_CLAUSES) if self._block.closer == "end" else self._block.closer)
        )
        # A statement ends outside of all constructs that its line opens; the content of a block ends inside the block.
        self._opened = self._base = opened_at(cursor)
        if self._block is None and self._before.strip():
            line_start = cursor.offset - cursor.character
            self._base = tuple(found for found in self._opened if found.at < line_start)
        self._end: int | None = None
        self._at = 0  # start of the first incomplete line
        self._content_end = 0  # end of the last non-blank line
        self._code_end = 0  # end of the last line of code, without comments and decorators
        self._last_statement_end = 0  # end of the last statement with a successor
        self._n_lines = self._n_blank = 0
        self._column = columns(self._before)  # of the first line after a header
        self._has_content = self._has_code = self._block is None and bool(self._before.strip())
        self._has_definition = False
        self._is_compound = False  # the statement has a block
        self._is_continued = False  # a backslash ends the line above

    def end_of(self, text: str) -> int | None:
        while self._end is None:
            line_end = text.find("\n", self._at)
            if line_end < 0:
                self._end = self._end_before(text[self._at :], is_complete=False)
                break
            line = text[self._at : line_end]
            self._end = self._end_before(line, is_complete=True)
            if self._end is None:
                self._end = self._end_in(text, line, line_end)
            self._at = line_end + 1
        return self._end

    @property
    def _continues_cursor(self) -> bool:
        """Whether the current line continues code before the cursor."""
        return self._at == 0 and bool(self._before.strip())

    @property
    def _is_at_base(self) -> bool:
        """Whether nothing is open that the text, or the statement that it continues, has opened."""
        return len(self._opened) == len(self._base)

    @property
    def _is_in_brackets(self) -> bool:
        """Whether the cursor is inside parentheses or brackets, which its statement must close first."""
        return bool(self._base) and self._base[-1].text in ("(", "[")

    @property
    def _is_code(self) -> bool:
        return not self._opened or self._opened[-1].is_code

    def _column_of(self, line: str) -> int:
        return columns(self._before + line if self._at == 0 else line)

    def _end_before(self, line: str, *, is_complete: bool) -> int | None:
        """The end of the text if it ends before this line, which may be incomplete."""
        found = _FIRST_WORD.match(line)
        if found is None or self._continues_cursor or self._is_continued or not self._is_at_base or not self._is_code:
            return None
        first, column = found[1], self._column_of(line)
        if not is_complete and first not in _CLOSERS and (not first[0].isidentifier() or found.end() == len(line)):
            return None  # may become another word or operator
        is_definition = is_complete and _is_definition(line)
        # A sign continues a statement, but not the slashes of a comment.
        continues = first in _CONTINUES and not line.lstrip().startswith(self._language.line_comments)
        end = self._end_by_structure(column, first, is_definition, continues) if self._has_content else None
        if end is None and is_complete and (column, line.strip()) == self._below:
            return self._content_end
        return end

    def _end_by_structure(self, column: int, first: str, is_definition: bool, continues: bool) -> int | None:
        if self._block is not None:
            return self._end_of_block_before(self._block, column, first, is_definition)
        if self._is_in_brackets:
            return None
        if column < self._column:
            return self._content_end
        if column > self._column or continues:
            return None
        if self._scope == "paragraph":
            is_over = self._n_blank > 0 or (self._has_definition and is_definition)
        else:
            is_over = self._has_code
        return self._content_end if is_over else None

    def _end_of_block_before(self, block: Block, column: int, first: str, is_definition: bool) -> int | None:
        is_outside = column <= min(block.indent, self._column - 1)
        if block.closer in ("", "end"):
            is_clause = block.closer == "end" and column == block.indent and first in _RUBY_CLAUSES
            if is_outside and (not is_clause or (first == "end" and self._is_closed_below)):
                return self._content_end
        elif first == block.closer:
            return self._content_end if self._is_closed_below else None
        # Labels are at the column of the block's header; preprocessor lines may be further left.
        elif is_outside and first not in ")]}#" and (column < block.indent or is_definition):
            return self._content_end
        if self._has_definition and column == self._column and (first == "@" or is_definition):
            return self._code_end
        return None

    def _end_in(self, text: str, line: str, line_end: int) -> int | None:
        """The end of the text if it ends in or after this line, which is complete."""
        starts_statement = self._is_at_base and self._is_code and not self._continues_cursor
        closed = self._read(text, line_end)
        if closed is not None:
            return closed
        if not line.strip():
            self._n_blank += 1 if self._has_content and self._is_at_base and self._is_code else 0
            return self._content_end if self._n_blank >= BLANK_LINES else None
        column = self._column_of(line)
        if starts_statement:
            if not self._has_content:
                self._column = column
            elif column == self._column:
                self._last_statement_end = self._code_end
            self._has_definition |= column == self._column and _is_definition(line)
        code = code_of(self._language, line).strip()
        if code and not _DECORATOR.fullmatch(code):
            self._has_code = True
            self._code_end = line_end
        self._is_continued = code.endswith("\\")
        self._has_content = True
        self._content_end = line_end
        self._n_blank = 0
        self._n_lines += 1
        if self._n_lines >= MAX_LINES:
            return self._last_statement_end or line_end
        return line_end if self._is_last_line(line, code) else None

    def _is_last_line(self, line: str, code: str) -> bool:
        """Whether the line just read is the last one."""
        if not self._is_at_base or not self._is_code:
            self._is_compound |= code.endswith("{")
            return False
        if self._block is not None:
            if self._block.closer == "end" and line.strip() == "end":
                return columns(line) == self._block.indent
            # Code after the header on the same line is the whole block.
            return self._block.closer == "" and self._continues_cursor
        if self._scope != "statement" or self._is_in_brackets or self._is_continued or not self._has_code or not code:
            return False
        if self._language.blocks == "indentation":
            self._is_compound |= code.endswith(":")
            return not self._is_compound
        return code.endswith(";") and not self._is_compound

    def _read(self, text: str, line_end: int) -> int | None:
        """Read the line; the end of the text if the line closes a construct from before the cursor."""
        opened, at = self._lexer.read(text, self._opened, self._at, line_end + 1, len(self._base))
        while len(opened) < len(self._base):
            if self._block is not None or (text[at] == "}" and not self._continues_cursor):
                return self._end_at_closer(text, at, line_end)
            # The statement continues outside of the bracket.
            self._base = opened
            opened, at = self._lexer.read(text, opened, at + 1, line_end + 1, len(opened))
        self._opened = opened
        return None

    def _end_at_closer(self, text: str, at: int, line_end: int) -> int:
        if self._block is None or self._is_closed_below:
            before = text[self._at : at].rstrip()
            return self._at + len(before) if before else self._content_end
        further = _FURTHER_CLOSERS.match(text, at + 1, line_end)
        return further.end() if further and not text[further.end() : line_end].strip() else at + 1


def _is_definition(line: str) -> bool:
    return _DEFINITION.match(line) is not None and not line.rstrip().endswith(";")


_FIRST_WORD = re.compile(r"[ \t]*(\w+|\S)")
_CLOSERS = frozenset(")]}")
_FURTHER_CLOSERS = re.compile(r"(?:\(\)|[)\];,])*")
_DECORATOR = re.compile(r"@[\w.]+(?:\(.*\))?|#!?\[.*\]|\[[A-Z]\w*(?:\(.*\))?\]")
_DEFINITION = re.compile(
    r"\s*(?:(?:public|private|protected|internal)\s[^=;]*\(|(?:export\s+|default\s+|async\s+|static\s+|abstract\s+"
    r"|final\s+|pub(?:\([^)]*\))?\s+|unsafe\s+)*(?:(?:def|class|fn|func|interface|trait|impl|module)\s+\w"
    r"|function\b\s*\*?\s*[\w(]))"
)

_RUBY_CLAUSES = frozenset(("end", "else", "elsif", "when", "in", "rescue", "ensure"))
_CLAUSES = ("elif", "except", "finally", "catch", "case", "default", "then", "do", "and", "or")
_CONTINUES = frozenset((*_RUBY_CLAUSES, *_CLAUSES, *")]}{.?:&|+-*/%=<>,"))
"""First words and characters of lines that continue the statement above without a deeper indentation."""
