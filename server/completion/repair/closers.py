"""Prevents duplicates of the code right of the cursor: closing brackets, quotes, the rest of the line.

Owns the range that a text replaces. A text that closes a bracket from before the cursor replaces the closer that the
editor inserted, so the document is correct and the cursor ends up after the closer; a text that closes nothing leaves
it. Surplus closers are found by balancing brackets over the surrounding lines, not over this line alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ....languages import Closing, Open, Scan
from ...workspace.text import is_word
from .draft import Draft
from .window import CursorWindow

_CLOSING = " \t)]}>\"'`;:,"
_MIN_CODE = 8  # characters; a shorter match may be a coincidence
_ARROW_OR_ANGLE = re.compile(r"[-=]>|<=|>=|[<>]")


def remove_duplicate_closers(draft: Draft) -> Draft:
    """The text with the number of characters right of the cursor that it replaces; cut where it cannot replace them."""
    window = draft.window
    rest = window.after.rstrip()
    text, n = _fitted(draft.text, rest, window) if rest else (_without_closers_below(draft.text, window), 0)
    if draft.text.strip() and (not text.strip() or (n and text.rstrip() == rest[:n].strip())):
        return draft.refused("the model only repeated what follows the cursor")
    return replace(draft, text=text, n_replaced=n)


def _fitted(text: str, rest: str, window: CursorWindow) -> tuple[str, int]:
    """The text, and the number of characters of the rest of the line that it replaces."""
    next_character = rest.lstrip()[0]
    closing = _first_extra_closing(text, window)
    extra = closing.start if closing and text[closing.start] == next_character else None
    if extra is None and next_character == ">":
        extra = _first_open_angle(text, window)
    is_replaceable = window.scan.inside == "comment" or next_character not in ")]}"
    if extra is not None:
        fitted, n = _aligned(text, extra, rest)
    elif is_replaceable and _ends_with(window.before, text, rest.strip()):
        fitted, n = text, len(rest)
    else:
        cut = _rest_in(text, rest)
        fitted, n = text[:cut], 0
    if not n or _is_subsequence(rest[:n], fitted):
        return fitted, n
    # An editor would display nothing then. The rest of the line stays, and the text ends before it.
    cut = text.rfind(next_character, extra or 0)
    return (text[:cut] if cut >= 0 and not text[cut:].strip(_CLOSING) else text), 0


def _first_extra_closing(text: str, window: CursorWindow) -> Closing | None:
    """The first closer in the text that the code after the cursor has too."""
    stack = window.scan.stack
    scanned = window.scan_after(text, len(window.indent))
    closings = scanned.closings
    if not closings:
        return None
    # Brackets that the text leaves open are closed after it too, unless the rest of the line opens them again.
    n_opened = _n_left_open(scanned, stack) - _n_left_open(window.scan_after(window.after), stack)
    n_needed = len(stack) + max(0, n_opened) - window.n_closed_below
    return closings[max(0, n_needed)] if len(closings) > max(0, n_needed) else None


def _n_left_open(scanned: Scan, stack: Sequence[Open]) -> int:
    return len(scanned.stack) - len(stack) + sum(closing.opened is not None for closing in scanned.closings)


def _first_open_angle(text: str, window: CursorWindow) -> int | None:
    """The position at which the text closes an angle bracket that it did not open, as in `List<|>`."""
    if "<" not in window.before:
        return None
    depth = 0
    for found in _ARROW_OR_ANGLE.finditer(text.split("\n", 1)[0]):
        depth += {"<": 1, ">": -1}.get(found.group(), 0)
        if depth < 0:
            return found.start()
    return None


def _aligned(text: str, start: int, rest: str) -> tuple[str, int]:
    """`_fitted` for a text whose end, from `start` on, is aligned with the rest of the line."""
    tail, white = text[start:], len(rest) - len(rest.lstrip())
    code = rest[white:]
    common = 0
    while common < min(len(tail), len(code)) and tail[common] == code[common]:
        common += 1
    if common in (len(tail.rstrip()), len(code)):
        return text, white + common
    tail_further, code_further = tail[common:], code[common:]
    if tail_further.rstrip().endswith(code_further.strip()):
        return text, len(rest)
    if not code_further.strip(_CLOSING):
        # `foo(a|);` and `).then(b)`: the bracket is replaced, the semicolon stays.
        n_characters = len(code[:common].rstrip(" \t"))
        return text, white + n_characters
    return text[:start], 0


def _ends_with(before: str, text: str, rest: str) -> bool:
    """Whether the text ends with the rest of the line, at a word boundary."""
    text = text.rstrip()
    if not text.endswith(rest):
        return False
    return not (is_word(rest[0]) and is_word((before + text)[: -len(rest)][-1:]))


def _rest_in(text: str, rest: str) -> int | None:
    """The position of the rest of the line inside the first line of the text."""
    rest = rest.strip()
    if len(rest) < _MIN_CODE or not rest.strip(_CLOSING):
        return None
    start = text.split("\n", 1)[0].find(rest)
    end = start + len(rest)
    is_apart = not (is_word(text[start - 1 : start]) and is_word(rest[0]))
    return start if start > 0 and is_apart and not (is_word(rest[-1]) and is_word(text[end : end + 1])) else None


def _is_subsequence(characters: str, text: str) -> bool:
    remaining = iter(text)
    return all(character in remaining for character in characters)


def _without_closers_below(text: str, window: CursorWindow) -> str:
    """The text without the closers at its end that are already on the next lines."""
    closing = _first_extra_closing(text, window)
    # A closer whose opener is above the window may be needed.
    if closing is None or closing.opened is None or text[closing.start :].strip(_CLOSING + "\n"):
        return text
    return text[: closing.start].rstrip()
