"""Removes the partial line or word at the end of a text that a token limit or time limit cut.

Owns the choice of the last complete position.
"""

from __future__ import annotations

import re
from dataclasses import replace

from .draft import Draft
from .window import CursorWindow

_LAST_WORD = re.compile(r"[^\W]+\Z")
_NUMBER = re.compile(r"(?:\d[\w.]*|\d*\.\d+)\Z")
_WHOLE_LINE = re.compile(r"[;})\]:,]\s*\Z")


def remove_partial_end(draft: Draft) -> Draft:
    """The text up to its last complete line; of a single line, up to the last complete word."""
    if not draft.cut_by_limit:
        return draft
    text = draft.text.rstrip(" \t")
    head, line_break, last = text.rpartition("\n")
    if line_break and head.strip() and last.strip() and not _WHOLE_LINE.search(last):
        text = head
    elif last.strip():
        text = head + line_break + _whole_words(last, head + line_break, draft.window)
    if not text.strip():
        return draft.refused("a limit stopped the model before its first word was complete")
    # The text now ends at a complete word.
    return replace(draft, text=text, cut_by_limit=False)


def _whole_words(line: str, before: str, window: CursorWindow) -> str:
    scanned = window.scan_after(before + line)
    if any(opened.kind == "string" for opened in scanned.stack) and scanned.protected:
        start, _ = scanned.protected[-1]
        if start >= len(before):
            # A string that the text opens and does not close.
            return line[: start - len(before)].rstrip(" \t")
    number = _NUMBER.search(line)
    if number and not scanned.inside:
        cut = number.start()
        # `item2` is a name.
        return line[:cut].rstrip(" \t") if not cut or not (line[cut - 1].isalnum() or line[cut - 1] == "_") else line
    word = _LAST_WORD.search(line)
    if word is None or _is_known(word, line, window):
        return line
    return line[: word.start()].rstrip(" \t")


def _is_known(word: re.Match[str], line: str, window: CursorWindow) -> bool:
    """Whether the last word of a line occurs elsewhere near the cursor, so it is probably complete."""
    name = word.group()
    if not word.start():
        name = (re.search(r"\w*\Z", window.before) or word).group() + name
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(whole.search(text) for text in (window.above, window.below, line[: word.start()]))
