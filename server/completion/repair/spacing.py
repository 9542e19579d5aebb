"""Removes surplus white space: a second space at the cursor, trailing space at line ends.

Indentation is in `indentation.py`.
"""

from __future__ import annotations

import re

from .draft import Draft


def remove_duplicate_space(draft: Draft) -> Draft:
    """The text without a leading space, if there is one before the cursor already."""
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
        return draft.with_text(body)
    return draft


def strip_trailing_space(draft: Draft) -> Draft:
    """The text without trailing white space, except before code that follows the cursor."""
    window, text = draft.window, draft.text
    if re.search(r"[ \t]\n", text):
        text = _trimmed_lines(draft)
    after = window.after[draft.n_replaced :]
    if after.strip() and after[0] in ")]}" and "\n" in text and not text.rpartition("\n")[2].strip():
        # `{|}`: the closer gets a line of its own.
        return draft.with_text(text.rstrip() + "\n" + window.indent)
    if not after.strip() or after[0] in " \t,;" or (after[0] in ")]" and not _PADDED.search(window.before + text)):
        return draft.with_text(text.rstrip())
    return draft.with_text(text.rstrip("\n"))


_PADDED = re.compile(r"[(\[] ")
"""Brackets with inner white space, as in some styles."""


def _trimmed_lines(draft: Draft) -> str:
    scanned = draft.window.scan_after(draft.text)
    if not scanned.protected:
        return re.sub(r"[ \t]+\n", "\n", draft.text)
    return re.sub(r"[ \t]+\n", lambda found: "\n" if scanned.in_code(found.start() + 1) else found.group(), draft.text)
