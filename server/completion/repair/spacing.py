"""White space where a text meets the cursor, and at the ends of its lines.

Owns which of it nobody needs. Indentation is another rule's matter.
"""

from __future__ import annotations

import re

from .draft import Draft


def meets_the_cursor(draft: Draft) -> Draft:
    """The text without a second space behind the one that stands before the cursor."""
    window = draft.window
    body = draft.text.lstrip(" \t")
    n_blank = len(draft.text) - len(body)
    if not n_blank or window.at_line_start or window.scan.inside or body.startswith("\n"):
        return draft
    # Two spaces before a comment are a style.
    if body.startswith(window.language.lexer.comment_marks or "#"):
        return draft
    # github.com/TabbyML/tabby/issues/3261
    if re.search(r"\S[ \t]\Z", window.before) or re.search(r"[\w)\]]\.\Z", window.before):
        return draft.rewritten(body)
    return draft


def without_white_space_at_line_ends(draft: Draft) -> Draft:
    """The text without white space at the ends of its lines, but before code that goes on behind the cursor."""
    window, text = draft.window, draft.text
    if re.search(r"[ \t]\n", text):
        text = _trimmed_lines(draft)
    after = window.after[draft.n_replaced :]
    if after.strip() and after[0] in ")]}" and "\n" in text and not text.rpartition("\n")[2].strip():
        # `{|}`: the closer comes on a line of its own.
        return draft.rewritten(text.rstrip() + "\n" + window.indent)
    if not after.strip() or after[0] in " \t,;" or (after[0] in ")]" and not _PADDED.search(window.before + text)):
        return draft.rewritten(text.rstrip())
    return draft.rewritten(text.rstrip("\n"))


_PADDED = re.compile(r"[(\[] ")
"""Brackets with white space inside, as some write them."""


def _trimmed_lines(draft: Draft) -> str:
    scanned = draft.window.scan_after(draft.text)
    if not scanned.protected:
        return re.sub(r"[ \t]+\n", "\n", draft.text)
    return re.sub(r"[ \t]+\n", lambda found: "\n" if scanned.in_code(found.start() + 1) else found.group(), draft.text)
