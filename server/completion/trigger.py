"""Trigger rules: the positions at which automatic requests are refused, with the reasons.

Owns these rules. Knows no model, and no rules on files: those for secret and excluded files are in `service.py`.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from ..config import CompletionOptions
from ..workspace.text import Cursor, is_word
from .import_names import import_line
from .syntax_context import SyntaxContext, only_closes, opened_at
from .values import Trigger

REFUSALS = MappingProxyType(
    {
        "comment": "the cursor is in a comment; set completion.in_comments to true, or request a completion by hand",
        "string": "the cursor is in a string; set completion.in_strings to true, or request a completion by hand",
        "word": "the cursor is inside a word; request a completion by hand",
        "mid-line": "code follows the cursor on its line; request a completion by hand",
        "finished": "the statement before the cursor is complete; continue on the next line",
        "empty": "the file is empty; request a completion by hand",
    }
)
"""Reasons to refuse an automatic request: a stable short name, and the message."""


def refusal_for(cursor: Cursor, syntax: SyntaxContext, trigger: Trigger, options: CompletionOptions) -> str:
    """The message of `REFUSALS` that applies, "" if none does. Invoked requests are never refused."""
    return "" if trigger == "invoked" else REFUSALS.get(_refusal(cursor, syntax, options), "")


def _refusal(cursor: Cursor, syntax: SyntaxContext, options: CompletionOptions) -> str:
    before, rest = cursor.start_of_line, cursor.rest_of_line
    if syntax.kind == "comment" and not options.in_comments:
        return "comment"
    if syntax.kind == "string" and not options.in_strings:
        return "string"
    if is_word(rest[:1]):
        return "word"
    if not only_closes(rest, cursor.language) and import_line(cursor) is None:
        return "mid-line"
    if syntax.kind == "code" and not syntax.multi_line and _is_finished(cursor):
        return "finished"
    # The only context would be the name of the file, and such completions are nearly always wrong.
    if not before.strip() and not cursor.lines.text.strip():
        return "empty"
    return ""


_ONLY_CLOSERS = re.compile(r"\s*(?:[)\]]*\}[)\]};,]*|end)\s*")


def _is_finished(cursor: Cursor) -> bool:
    """Whether a statement ends right before the cursor, at its semicolon or at the end of its block.

    A closing parenthesis does not end it, because a dot may follow; nor does the end of a literal.
    """
    before = cursor.start_of_line
    if cursor.rest_of_line.strip() or cursor.language.blocks == "indentation":
        return False
    if before.rstrip().endswith(";"):
        opened = opened_at(cursor)
        return not opened or opened[-1].text != "("  # as in `for (i = 0;`
    return _ONLY_CLOSERS.fullmatch(before) is not None
