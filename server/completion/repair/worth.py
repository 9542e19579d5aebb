"""What is too little to be shown: it costs a look, and comes in the way of a key.

Owns that measure. Who asks for a completion gets it all the same, unless it changes nothing.
"""

from __future__ import annotations

import re

from ....languages import Language
from .draft import Draft

# Closers, quotes and what ends a statement. Brackets that open say more: `x = []`.
_LITTLE = " \t\n)]}>\"'`;:,"


def is_worth_showing(draft: Draft) -> Draft:
    """The draft, or the reason why its text is too little."""
    window, text = draft.window, draft.text.strip()
    if draft.n_replaced >= len(draft.text) and window.after.startswith(draft.text):
        return draft.refused("the text is there already")
    if draft.invoked:
        return draft
    # github.com/TabbyML/tabby/issues/2674
    if not text.strip(_LITTLE) and not _has_a_string(draft):
        return draft.refused("only closing punctuation")
    if _is_comment_mark(text, window.language) and not window.scan.inside:
        return draft.refused("only the mark of a comment")
    if len(text) == 1 and not _completes_a_word(draft.text, window.before):
        return draft.refused("only one character")
    return draft


def _has_a_string(draft: Draft) -> bool:
    """Whether the text begins a string and ends it."""
    spans = draft.window.scan_after(draft.text).protected
    return any(start >= 0 and end <= len(draft.text) for start, end in spans)


def _is_comment_mark(text: str, language: Language) -> bool:
    marks = language.lexer.comment_marks
    return any(text.startswith(mark) and not text[len(mark) :].strip("/*!# ") for mark in marks)


def _completes_a_word(text: str, before: str) -> bool:
    return re.search(r"\w\Z", before) is not None and re.match(r"\w", text) is not None
