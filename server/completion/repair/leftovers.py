"""What a model writes around code: carriage returns, the fences of an answer, the tokens that its format ends with.

Owns what is provably no code. In strings, comments and files of no known language nothing of it is.
"""

from __future__ import annotations

import re

from .draft import Draft
from .window import CursorWindow, unified

_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
# Tokens by which formats mark the parts of a prompt; no known language has such a sign outside of strings.
_SPECIAL = re.compile(r"<[|｜][a-zA-Z_▁]{1,40}[|｜]>|<(?:fim|file|repo)_\w{1,20}>|[▁ ]?<(?:EOT|PRE|SUF|MID|END)>\s*\Z")


def without_leftovers(draft: Draft) -> Draft:
    """The code of the text alone, with line breaks "\\n"."""
    window = draft.window
    text = unified(draft.text)
    if not window.language.is_code or window.scan.inside:
        return draft.rewritten(text)
    # What is cut may lay bare another fence, or a token that stood in what looked like a string.
    left = ""
    while left != text:
        left = text
        text = _before_special(_unfenced(text, window), window)
    return draft.rewritten(text)


def _before_special(text: str, window: CursorWindow) -> str:
    """What stands before the first token of a prompt's format."""
    found = _SPECIAL.search(text) if "<" in text else None
    if found is None:
        return text
    scanned = window.scan_after(text)
    while found and not scanned.in_code(found.start()):
        found = _SPECIAL.search(text, found.end())
    return text[: found.start()] if found else text


def _unfenced(text: str, window: CursorWindow) -> str:
    """What stands between the first fence and the next; before the only one, when no text begins with it."""
    first = _FENCE.search(text) if "```" in text else None
    if first is None:
        return text
    if not text[: first.start()].strip():
        text = text[first.end() + 1 :]
        first = _FENCE.search(text)
    if first is None:
        return text
    before = text[: first.start()]
    # In a string or a comment of the text it may be meant.
    return text if window.scan_after(before).inside else before.rstrip("\n")
