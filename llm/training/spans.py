"""Random spans for fill-in-the-middle training, with the sizes of an editor's requests.

Knows no tokens and no prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

MAX_LINES = 6
MAX_CHARACTERS = 400

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Span:
    """The middle `text[start:end]`; never empty and never only white space."""

    start: int
    end: int


def choose_span(text: str, random: Random) -> Span | None:
    """A random span of `text`: half are the rest of a line, the others are whole lines, words, or any characters.

    None when the drawn span is white space; the caller draws again.
    """
    at = random.randrange(len(text))
    kind = random.random()
    if kind < 0.5:
        start, end = at, _line_end(text, at)
    elif kind < 0.75:
        start = _code_start(text, at)
        end = _line_end(text, start)
        for _ in range(random.choice((0, 0, 1, 2, MAX_LINES - 1))):
            end = _line_end(text, end + 1) if end < len(text) else end
    elif kind < 0.9:
        word = _WORD.search(text, at)
        start, end = word.span() if word else (at, at)
    else:
        start, end = at, at + random.randrange(1, MAX_CHARACTERS)
    return _trimmed(text, start, min(end, start + MAX_CHARACTERS))


def choose_line(text: str, random: Random) -> Span | None:
    """A whole line of code with its indentation, as in the completion benchmark. None as above."""
    at = random.randrange(len(text))
    return _trimmed(text, text.rfind("\n", 0, at) + 1, min(_line_end(text, at), at + MAX_CHARACTERS))


def choose_line_end(text: str, random: Random) -> Span | None:
    """The end of a line of code from the start of a word, as in evaluation. None as above, and for comments."""
    at = random.randrange(len(text))
    end = _line_end(text, at)
    starts = [word.start() for word in _WORD.finditer(text, _code_start(text, at), end)]
    is_comment = text.startswith("#", _code_start(text, at))
    is_docstring = any(text.count(quotes, 0, end) % 2 for quotes in ('"""', "'''"))
    return None if is_comment or is_docstring or not starts else _trimmed(text, random.choice(starts), end)


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """Without trailing white space, which then belongs to the suffix."""
    end = start + len(text[start:end].rstrip())
    return Span(start, end) if end > start else None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _code_start(text: str, at: int) -> int:
    """The start of the code in this line, after the indentation."""
    start = text.rfind("\n", 0, at) + 1
    end = _line_end(text, start)
    return start + len(text[start:end]) - len(text[start:end].lstrip())
