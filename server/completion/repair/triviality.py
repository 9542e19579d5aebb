"""Refuses trivial text: only punctuation, a comment marker, or a single character.

Owns the criteria. Invoked completions are refused only if they change nothing.
"""

from __future__ import annotations

import re

from ....languages import Language
from .draft import Draft

# Closers, quotes and statement ends. Opening brackets are content: `x = []`.
_TRIVIAL = " \t\n)]}>\"'`;:,"


def refuse_trivial_text(draft: Draft) -> Draft:
    """The draft, refused with a reason if its text is trivial."""
    window, text = draft.window, draft.text.strip()
    if draft.n_replaced >= len(draft.text) and window.after.startswith(draft.text):
        return draft.refused("the text is already present")
    if draft.invoked:
        return draft
    # github.com/TabbyML/tabby/issues/2674
    if not text.strip(_TRIVIAL) and not _has_a_string(draft):
        return draft.refused("only closing punctuation")
    if _is_comment_marker(text, window.language) and not window.scan.inside:
        return draft.refused("only a comment marker")
    if len(text) == 1 and not _completes_a_word(draft.text, window.before):
        return draft.refused("only one character")
    return draft


def _has_a_string(draft: Draft) -> bool:
    """Whether the text contains a complete string."""
    spans = draft.window.scan_after(draft.text).protected
    return any(start >= 0 and end <= len(draft.text) for start, end in spans)


def _is_comment_marker(text: str, language: Language) -> bool:
    marks = language.lexer.comment_marks
    return any(text.startswith(mark) and not text[len(mark) :].strip("/*!# ") for mark in marks)


def _completes_a_word(text: str, before: str) -> bool:
    return re.search(r"\w\Z", before) is not None and re.match(r"\w", text) is not None
