"""Removal of a rejected citation from its sentence, without empty brackets, "in ." or empty list items.

Owns the words and signs that belong to a citation. Knows no files. Text before `lead_start` of a mention never changes,
so it can be shown before the mention is complete.
"""

from __future__ import annotations

import re

from .citation_parsing import Mention

_SIGNS = " \t([{,;:\u2013\u2014-*_`\"'<>#|+\u2022"
_LEAD_WORD = re.compile(
    r"(?<![\w.])(?:see|also|in|at|from|on|of|by|per|via|within|inside|under|near|around|cf|files?|the|lines?|and|or|as)\.?$",
    re.IGNORECASE,
)
_LONGEST_WORD = 8

_OPENED = re.compile(r"[ \t]*[(\[][^\w\n]*(?:(?:see|also|in|at|from|cf\.?|the|file|lines?)[ \t]+)*$", re.IGNORECASE)
_CLOSED = re.compile(r"[^\w\n()\[\]]*[)\]]")
_BULLET = re.compile(r"[ \t]*(?:[-*+\u2022>#|]+[ \t]*)*$")
_JOINT_BEFORE = re.compile(r"[ \t]*(?:[,;:\u2013\u2014]|(?<=[ \t])-|\b(?:and|or)\b)?[ \t]*$", re.IGNORECASE)
_JOINT_AFTER = re.compile(r"[ \t]*(?:[,;]|\b(?:and|or)\b)[ \t]*", re.IGNORECASE)
_TITLE_AFTER = re.compile(r"[ \t]*[:,\u2013\u2014-]+[ \t]*")
_PREPOSITION = re.compile(
    r"(?:[ \t]+|(?<![\w.]))(?:see|in|at|from|on|of|by|per|via|within|inside|under|near|around|cf\.?)"
    r"(?:[ \t]+(?:the|file|files|lines?|also))*[ \t]*$",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[ \t]*(?:[.!?)\],;:]|$|\n)")


def lead_start(text: str, end: int) -> int:
    """The offset of the words and signs that lead to a citation at `end`: " (see", " in the file"."""
    while True:
        at = len(text[:end].rstrip(_SIGNS))
        found = _LEAD_WORD.search(text[max(0, at - _LONGEST_WORD) : at])
        if found is None:
            return at
        end = at - len(found[0])


def is_footnote(text: str, mention: Mention) -> bool:
    """Whether a citation follows a sentence as a note and is no part of it."""
    before = text[: mention.start].rstrip(" ")
    return bool(before) and before[-1] not in "([{,;:\n-" and lead_start(text, mention.start) == len(before)


def without_mention(text: str, mention: Mention) -> str:
    """The text without a citation and the words that lead to it."""
    before, after = text[: mention.start], text[mention.end :]
    if mention.label:
        return before + mention.label + after
    if mention.item_numbers and is_footnote(text, mention):
        return _joined(before.rstrip(" "), after)
    opened, closed = _OPENED.search(before[-200:]), _CLOSED.match(after)
    if opened and closed:  # only the citation is in brackets
        return _joined(before[: len(before) - len(opened[0])], after[closed.end() :])
    if opened and (joint := _JOINT_AFTER.match(after)):  # the first of several in brackets
        return before + after[joint.end() :]
    line_start = before.rfind("\n") + 1
    bullet = _BULLET.fullmatch(before, line_start)
    title = _after_title(after)
    if bullet and (title or not after.strip(" ") or after.startswith("\n")):  # at the start of a line
        rest = after[title:]
        return before + rest if rest.strip(" \n") and not rest.startswith("\n") else before[:line_start] + rest[1:]
    preposition = _PREPOSITION.search(before[-200:])
    if preposition:
        kept = before[: len(before) - len(preposition[0])]
        if _BULLET.fullmatch(kept, kept.rfind("\n") + 1):
            return kept + after[_after_title(after) :].lstrip(" ")
        return _joined(kept, after)
    if _ENDS.match(after):
        joint = _JOINT_BEFORE.search(before[-200:])
        cut = len(joint[0]) if joint else 0
        # After a comma, a dash or a colon the sentence is complete without the citation; after a verb it is not.
        if joint and joint[0].strip():
            return _joined(before[: len(before) - cut], after)
    return before + ("the code" if _is_latin(before[-1:]) or before[-1:] in (" ", "") else "") + after


def _joined(before: str, after: str) -> str:
    """Both parts joined with one space between words and none before a full stop."""
    if _ENDS.match(after):
        return before.rstrip(" \t,;:\u2013\u2014") + after.lstrip(" \t")
    if before[-1:] in (" ", "\n", "") and after[:1] == " ":
        return before + after[1:]
    needs_blank = before[-1:].isalnum() and after[:1].isalnum()
    return f"{before}{' ' if needs_blank else ''}{after}"


def _after_title(after: str) -> int:
    found = _TITLE_AFTER.match(after)
    return found.end() if found else 0


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalpha()
