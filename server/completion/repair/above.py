"""What stands above the cursor is not written again.

Owns the comparison with the cursor's line up to the cursor, and with the lines above it.
"""

from __future__ import annotations

import re

from .draft import Draft
from .place import Place

_WORDS = re.compile(r"\w+")


def without_lines_above(draft: Draft) -> Draft:
    """The text without the part of the cursor's line, or the lines above it, that it begins with."""
    place = draft.place
    text = draft.text
    if not place.scan.inside:
        text = _without_start_of_line(text, place)
    n = _n_lines_of_above(text, place)
    if n:
        lines = text.split("\n")
        text = "\n".join(lines[n:])
        if not text.strip():
            return draft.refused("the model only repeated the lines above")
        if place.at_line_start:
            text = text.lstrip("\n")
    return draft.rewritten(text)


def _without_start_of_line(text: str, place: Place) -> str:
    start = place.before.strip()
    body = text.lstrip(" \t\n")
    # A single word may stand twice (`long long`), a sign as well.
    if len(_WORDS.findall(start)) < 1 or not re.search(r"\w\W|\W\w", start) or len(start) < 4:
        return text
    if body.startswith(start) and (place.before.endswith((" ", "\t")) or not start[-1].isalnum() or body != start):
        rest = body[len(start) :]
        return rest.lstrip(" \t") if place.before.endswith((" ", "\t")) else rest
    return text


def _n_lines_of_above(text: str, place: Place) -> int:
    """How many lines at the start of the text stand right above the cursor, in the same order."""
    lines = text.rstrip("\n").split("\n")
    whole = [place.before + lines[0], *lines[1:]]
    if place.after.strip():
        whole[-1] += place.after
    above = [line for line in place.lines_above if line.strip()][: len(whole)][::-1]
    for n in range(min(len(whole), len(above)), 0, -1):
        same = all(a.strip() == b.strip() for a, b in zip(whole[:n], above[-n:], strict=True))
        # Elements of a list may stand there twice, statements hardly.
        if same and (n == len(whole) or n > 1) and not _are_elements(whole[:n]) and _says_something(whole[:n]):
            return n
    return 0


def _are_elements(lines: list[str]) -> bool:
    return all(line.rstrip().endswith(",") for line in lines)


def _says_something(lines: list[str]) -> bool:
    return len(_WORDS.findall(" ".join(lines))) >= 3
