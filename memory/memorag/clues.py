"""Parsing of clues from the output of the memory model.

Owns which lines are clues. Knows no model and no index.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..splitters import count_words

ClueKind = Literal["span", "surrogate", "key point", "draft", "question"]

MIN_WORDS = 4
"""A clue has more than three words, or in Chinese more than three characters (papers' spec 4.4)."""


@dataclass(frozen=True, slots=True)
class Clue:
    kind: ClueKind
    text: str


def read_clues(answer: str, kind: ClueKind) -> list[Clue]:
    """The lines that are long enough to be clues, in order, without list markers.

    A draft answer is one clue of any length, because answers are short.
    """
    if kind == "draft":
        return [Clue(kind, text)] if (text := " ".join(answer.split())) else []
    lines = map(_without_marks, answer.splitlines())
    return [Clue(kind, line) for line in lines if count_words(line) >= MIN_WORDS and line[-1] not in ":："]


def each_once(clues: list[Clue]) -> list[Clue]:
    """Distinct clues, compared without case, whitespace and final punctuation."""
    seen: dict[str, Clue] = {}
    for clue in clues:
        seen.setdefault(" ".join(clue.text.casefold().split()).rstrip(".?!。？！"), clue)
    return list(seen.values())


def _without_marks(line: str) -> str:
    """A line without bullet, number, emphasis and enclosing quotation marks."""
    line = _EMPHASIS.sub("", line).strip()
    line = _MARK.sub("", line, count=1).strip()
    while len(line) > 1 and (line[0], line[-1]) in _QUOTES:
        line = line[1:-1].strip()
    return line


_EMPHASIS = re.compile(r"\*\*")
_MARK = re.compile(
    r"""^(?:
        [-*+•·▪◦–—>]+\s+ | \#+\s+          # bullets, headings
      | [(（]?\d{1,3}(?:[.、:：](?!\d)|[)）])\s*  # 1. 1) (1) 1: but not 1.5
      | [(（]?[a-zA-Z][.)）]\s+            # a. b)
      | [①-⑳]\s*
    )""",
    re.VERBOSE,
)
_QUOTES = {('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』"), ("«", "»")}
