"""Removes artifacts of models: carriage returns, Markdown fences, special tokens of FIM and chat formats.

Owns the detection of text that cannot be code. It removes nothing in strings, comments and unknown languages.
"""

from __future__ import annotations

import re

from .draft import Draft
from .window import CursorWindow, unified

_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
# Special tokens of prompt formats; in no known language are they valid outside of strings.
_SPECIAL = re.compile(r"<[|｜][a-zA-Z_▁]{1,40}[|｜]>|<(?:fim|file|repo)_\w{1,20}>|[▁ ]?<(?:EOT|PRE|SUF|MID|END)>\s*\Z")


def remove_artifacts(draft: Draft) -> Draft:
    """The text without artifacts, with line breaks "\\n"."""
    window = draft.window
    text = unified(draft.text)
    if ("<" not in text and "```" not in text) or not window.language.is_code or window.scan.inside:
        return draft.with_text(text)
    # Repeated, because a cut can expose another fence, or a token that seemed to be in a string.
    left = ""
    while left != text:
        left = text
        text = _before_special(_unfenced(text, window), window)
    return draft.with_text(text)


def _before_special(text: str, window: CursorWindow) -> str:
    """The text before the first special token."""
    found = _SPECIAL.search(text) if "<" in text else None
    if found is None:
        return text
    scanned = window.scan_after(text)
    while found and not scanned.in_code(found.start()):
        found = _SPECIAL.search(text, found.end())
    return text[: found.start()] if found else text


def _unfenced(text: str, window: CursorWindow) -> str:
    """The text between the first two fences; before the only one, unless the text begins with it."""
    first = _FENCE.search(text) if "```" in text else None
    if first is None:
        return text
    if not text[: first.start()].strip():
        text = text[first.end() + 1 :]
        first = _FENCE.search(text)
    if first is None:
        return text
    before = text[: first.start()]
    # In a string or a comment a fence may be intended.
    return text if window.scan_after(before).inside else before.rstrip("\n")
