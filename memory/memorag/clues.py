"""Clues: parsing from the output of the memory model, and retrieval by them, merged by reciprocal rank.

Owns which lines are clues, and the score of a segment that several clues find. Knows no model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...retrieval import ScorePart
from ..scoring import SegmentIndex, best
from ..splitters import count_words
from ..values import Evidence, Segment

ClueKind = Literal["span", "surrogate", "key point", "draft", "question"]

MIN_WORDS = 4  # a clue has more than three words, or in Chinese more than three characters (papers' spec 4.4)


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


MAX_SHOWN = 60  # characters of a clue in a reason


def search(index: SegmentIndex, clues: Sequence[Clue], n_each: int) -> list[Evidence]:
    """The `n_each` best segments of each clue, each segment once.

    Scores of different clues are not comparable, so a segment gets the sum of its reciprocal ranks. The score only
    decides what is dropped if not all segments fit.
    """
    parts: dict[Segment, list[ScorePart]] = {}
    for clue in clues:
        for place, (segment, _) in enumerate(best(index, clue.text, n_each), 1):
            parts.setdefault(segment, []).append(ScorePart(clue.kind, 1 / place, clue.text))
    return [
        Evidence(segment, sum(part.value for part in found), _why(found), tuple(found))
        for segment, found in parts.items()
    ]


def from_beginning(segments: Sequence[Segment]) -> list[Evidence]:
    """All segments, the first with the highest score: the fallback without clues."""
    return [Evidence(segment, 1 / place, "no clues: from the beginning") for place, segment in enumerate(segments, 1)]


def _why(parts: Sequence[ScorePart]) -> str:
    first = max(parts, key=lambda part: part.value)
    text = first.detail if len(first.detail) <= MAX_SHOWN else first.detail[: MAX_SHOWN - 1] + "…"
    more = len(parts) - 1
    others = f" and {more} more clue{'s' if more > 1 else ''}" if more else ""
    return f"found by the {first.name} “{text}”{others}"
