"""Whether to ask at all: what an editor's unasked request is refused for, with the reason a person reads.

Owns these rules. Knows no model; files that are never completed (secrets, excluded ones) are the workspace's matter.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from ..config import CompletionOptions
from ..workspace.text import Cursor
from .syntax_context import SyntaxContext, only_closes, opened_at
from .values import Trigger

REFUSALS = MappingProxyType(
    {
        "comment": "the cursor is in a comment, and completion.in_comments is off",
        "string": "the cursor is in a string, and completion.in_strings is off",
        "word": "the cursor is inside a word; invoke it to complete here",
        "mid-line": "code follows the cursor on its line; invoke it to complete here",
        "finished": "the statement before the cursor is finished; the next line is completed",
        "empty": "the file is empty; invoke it to complete here",
    }
)
"""Why an unasked request is refused: a short name that stays, for counting, and the sentence for a person."""


def why_not(cursor: Cursor, syntax: SyntaxContext, trigger: Trigger, options: CompletionOptions) -> str:
    """The reason not to complete here, one of `REFUSALS`; "" when there is none. Who asks is never refused."""
    return "" if trigger == "invoked" else REFUSALS.get(_refusal(cursor, syntax, options), "")


def _refusal(cursor: Cursor, syntax: SyntaxContext, options: CompletionOptions) -> str:
    before, rest = cursor.start_of_line, cursor.rest_of_line
    if syntax.kind == "comment" and not options.in_comments:
        return "comment"
    if syntax.kind == "string" and not options.in_strings:
        return "string"
    if _is_word(rest[:1]):
        return "word"
    if not only_closes(rest, cursor.language):
        return "mid-line"
    if syntax.kind == "code" and not syntax.multi_line and _is_finished(cursor):
        return "finished"
    # A model would have nothing to go by but the file's name, and nearly never guesses right.
    if not before.strip() and not cursor.lines.text.strip():
        return "empty"
    return ""


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_ONLY_CLOSERS = re.compile(r"\s*(?:[)\]]*\}[)\]};,]*|end)\s*")


def _is_finished(cursor: Cursor) -> bool:
    """Whether a statement ends right before the cursor: with its semicolon, or with the end of its block.

    A call that is closed may go on with a dot, and a literal on its line with anything.
    """
    before = cursor.start_of_line
    if cursor.rest_of_line.strip() or cursor.language.blocks == "indentation":
        return False
    if before.rstrip().endswith(";"):
        opened = opened_at(cursor)
        return not opened or opened[-1].text != "("  # as in `for (i = 0;`
    return _ONLY_CLOSERS.fullmatch(before) is not None
