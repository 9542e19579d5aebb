"""Choice of the spans to fill in the middle, of the sizes that an editor requests.

Owns the choice of holes. Knows no tokens and no prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

MOST_LINES = 6
MOST_CHARACTERS = 400

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Hole:
    """`text[start:end]` is to be written; never empty and never only white space."""

    start: int
    end: int


def choose_hole(text: str, random: Random) -> Hole | None:
    """A hole anywhere in `text`: half are the rest of a line; the others whole lines, words, and any characters.

    None when chance met white space only; the caller tries again.
    """
    at = random.randrange(len(text))
    kind = random.random()
    if kind < 0.5:
        start, end = at, _line_end(text, at)
    elif kind < 0.75:
        start = _code_start(text, at)
        end = _line_end(text, start)
        for _ in range(random.choice((0, 0, 1, 2, MOST_LINES - 1))):
            end = _line_end(text, end + 1) if end < len(text) else end
    elif kind < 0.9:
        word = _WORD.search(text, at)
        start, end = word.span() if word else (at, at)
    else:
        start, end = at, at + random.randrange(1, MOST_CHARACTERS)
    return _trimmed(text, start, min(end, start + MOST_CHARACTERS))


def choose_line(text: str, random: Random) -> Hole | None:
    """A line of code whole, with its indentation: what the completion benchmark asks for. None as above."""
    at = random.randrange(len(text))
    return _trimmed(text, text.rfind("\n", 0, at) + 1, min(_line_end(text, at), at + MOST_CHARACTERS))


def choose_line_end(text: str, random: Random) -> Hole | None:
    """The end of a line of code from where a word begins, as evaluation asks for it; None as above, and for prose."""
    at = random.randrange(len(text))
    end = _line_end(text, at)
    starts = [word.start() for word in _WORD.finditer(text, _code_start(text, at), end)]
    is_comment = text.startswith("#", _code_start(text, at))
    is_docstring = any(text.count(quotes, 0, end) % 2 for quotes in ('"""', "'''"))
    return None if is_comment or is_docstring or not starts else _trimmed(text, random.choice(starts), end)


def _trimmed(text: str, start: int, end: int) -> Hole | None:
    """Without white space at its end: nobody wants that written, and the code behind the hole has it."""
    end = start + len(text[start:end].rstrip())
    return Hole(start, end) if end > start else None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _code_start(text: str, at: int) -> int:
    """Where the code of this line begins, behind its indentation."""
    start = text.rfind("\n", 0, at) + 1
    end = _line_end(text, start)
    return start + len(text[start:end]) - len(text[start:end].lstrip())
