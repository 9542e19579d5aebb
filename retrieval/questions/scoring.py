"""How well does a unit answer a question, and which of its lines do?

Owns the score of a unit: BM25 over its own lines, in which its name, its surroundings' names and its path count as
many mentions, times how much of the question it covers. Knows no graph and no kind of question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ..bm25 import length_norm, saturated
from ..terms import encode, terms_of_word, words_in
from ..values import ScorePart
from .units import Unit
from .wording import Wording

# Measured on 142 questions about six repositories: benchmarks/results/memory-log.md, "Questions about the code".

NAME_MENTIONS, OUTER_MENTIONS, PATH_MENTIONS, TITLE_MENTIONS = 5.0, 1.5, 1.5, 2.0
"""So many mentions is a word worth in the name of the unit, of what it is defined in, of its file, in its headings."""

OUTER_GAIN, PATH_GAIN = 0.6, 0.4
"""In the name of what it is defined in and of its file a word adds this share of its weight besides."""

K1, B = 1.2, 0.35
AVERAGE_WORDS = 80.0

COVERAGE = 0.7
"""Share of a score that is only there as far as the words of the question are: all of them, or a part."""

STRETCH_LINES = 30
"""Of a longer unit the lines count that follow each other and say most, so many of them."""

PROSE_WORTH = 0.5
"""Words of comments and docstrings, for questions about what code does."""

EXAMPLE_WORTH = 0.4
"""Words of examples in docstrings: they use things, and neither do nor explain them."""

VALUE_WORTH = 1.5
"""Words of a line that gives a value, for questions about values."""

LONGEST_READ = 400
"""Of a longer unit these many lines are read."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A unit with its score, and what of the question stands on its lines."""

    unit: Unit
    score: float
    parts: tuple[ScorePart, ...]
    covered: tuple[float, ...]  # of each concept 0 to 1: the best form in which the unit has it
    lines: tuple[tuple[int, float], ...]  # lines that say something of the question, with what the words weigh


_OF_CODE = frozenset({"decision", "raisers", "value"})
_GIVES_VALUE = re.compile(rb"[=:]\s*(?:[-+]?\.?\d|None\b|True\b|False\b|['\"]|[A-Z_]+\b)")


class Reader:
    """Reads units for one question. `idf` is that of each concept, weight included."""

    def __init__(self, wording: Wording, idf: Sequence[float]) -> None:
        self._idf = idf
        self._total = sum(idf) or 1.0
        self._kinds = wording.kinds
        self._prose = PROSE_WORTH if wording.kinds & _OF_CODE and "documentation" not in wording.kinds else 1.0
        self._n = len(wording.concepts)
        forms: dict[str, list[tuple[int, float]]] = {}
        for number, concept in enumerate(wording.concepts):
            for form, weight in concept.forms.items():
                forms.setdefault(form, []).append((number, weight))
        self._mentions = _Mentions(forms)

    def weigh(self, unit: Unit, lines: Sequence[bytes]) -> Weighed:
        """`lines` are those of the whole file."""
        read = self._read(unit, lines)
        stretch = self._best_stretch(read)
        body, covered = [0.0] * self._n, [0.0] * self._n
        for line in stretch:
            for concept, weight in line.mentions:
                body[concept] += weight * line.worth
                covered[concept] = max(covered[concept], weight)
        n_words = sum(line.n_words for line in stretch)
        norm = length_norm(n_words, AVERAGE_WORDS, K1, B)
        mentions = list(body)
        before = self._sum(mentions, norm)
        parts = [ScorePart("words", before)]
        for name, text, worth, gain in _surroundings(unit):
            said = self._said_by_name(text)
            for concept, weight in said:
                mentions[concept] += worth * weight
                covered[concept] = max(covered[concept], weight)
            reached = self._sum(mentions, norm)
            parts.append(ScorePart(name, reached - before + gain * self._weight(said)))
            before = reached
        share = sum(idf * weight for idf, weight in zip(self._idf, covered, strict=True)) / self._total
        factor = 1 - COVERAGE + COVERAGE * share
        scaled = tuple(ScorePart(part.name, part.value * factor, part.detail) for part in parts if part.value)
        on_line = tuple((line.number, line.worth * self._weight(line.mentions)) for line in read if line.mentions)
        return Weighed(unit, sum(part.value for part in scaled), scaled, tuple(covered), on_line)

    def _said_by_name(self, text: str) -> tuple[tuple[int, float], ...]:
        """The concepts that a name or a path says, each with the weight of the best form."""
        found: dict[int, float] = {}
        for word in words_in(encode(text).replace(b"\n", b" ")):
            for concept, weight in self._mentions[word]:
                found[concept] = max(weight, found.get(concept, 0.0))
        return tuple(found.items())

    def _sum(self, mentions: Sequence[float], norm: float) -> float:
        return sum(idf * saturated(n, norm, K1) for idf, n in zip(self._idf, mentions, strict=True) if n)

    def _read(self, unit: Unit, lines: Sequence[bytes]) -> list[_Line]:
        """The unit's own lines, as many as are read."""
        found, quotes = [], b""
        mentions_of = self._mentions.__getitem__
        for number in islice(unit.lines(), LONGEST_READ):
            if number >= len(lines):
                break
            line = lines[number]
            was_quoted = quotes
            if b'"""' in line or b"'''" in line:
                opened = next((mark for mark in _QUOTES if line.count(mark) % 2), b"")
                quotes = b"" if quotes and opened else quotes or opened
            words = words_in(line)
            said = [mentions for mentions in map(mentions_of, words) if mentions]
            if not said:
                found.append(_Line(number, len(words), (), 1.0))
                continue
            here: dict[int, float] = {}
            for mentions in said:
                for concept, weight in mentions:
                    here[concept] = max(weight, here.get(concept, 0.0))
            bare = line.lstrip()
            if bare.startswith(_EXAMPLE_MARKS):
                worth = EXAMPLE_WORTH
            else:
                worth = self._prose if was_quoted or bare.startswith(_PROSE_MARKS) else self._worth(line)
            found.append(_Line(number, len(words), tuple(here.items()), worth))
        return found

    def _worth(self, line: bytes) -> float:
        """What the words of a line of code count."""
        return VALUE_WORTH if "value" in self._kinds and _GIVES_VALUE.search(line) else 1.0

    def _best_stretch(self, read: Sequence[_Line]) -> Sequence[_Line]:
        """The lines that follow each other and say most: all of a short unit."""
        if len(read) <= STRETCH_LINES:
            return read
        best, at = -1.0, 0
        for first in range(0, len(read), STRETCH_LINES // 4):
            inside: dict[int, float] = {}
            for line in read[first : first + STRETCH_LINES]:
                for concept, weight in line.mentions:
                    inside[concept] = max(weight * line.worth, inside.get(concept, 0.0))
            weight = self._weight(inside.items())
            if weight > best:
                best, at = weight, first
        return read[at : at + STRETCH_LINES]

    def _weight(self, mentions: Iterable[tuple[int, float]]) -> float:
        return sum(self._idf[concept] * weight for concept, weight in mentions)


_QUOTES = (b'"""', b"'''")
_EXAMPLE_MARKS = (b">>> ", b"... ")
_PROSE_MARKS = (*_QUOTES, b"#", b"//", b"*")


class _Line(NamedTuple):
    """A line as it was read. `worth` is what its words count: code, or prose inside of code."""

    number: int
    n_words: int
    mentions: tuple[tuple[int, float], ...]
    worth: float


class _Mentions(dict[bytes, tuple[tuple[int, float], ...]]):
    """Word -> the concepts that it says, with weights; what is missing is made on the way."""

    def __init__(self, forms: Mapping[str, Sequence[tuple[int, float]]]) -> None:
        super().__init__()
        self._forms = forms

    def __missing__(self, word: bytes) -> tuple[tuple[int, float], ...]:
        found: dict[int, float] = {}
        for term in terms_of_word(word):
            for concept, weight in self._forms.get(term, ()):
                found[concept] = max(weight, found.get(concept, 0.0))
        self[word] = tuple(found.items())
        return self[word]


def _surroundings(unit: Unit) -> tuple[tuple[str, str, float, float], ...]:
    outer, _, name = unit.symbol.rpartition(".")
    return (
        ("name", name, NAME_MENTIONS, 0.0),
        ("inside", outer, OUTER_MENTIONS, OUTER_GAIN),
        ("title", unit.title, TITLE_MENTIONS, 0.0),
        ("path", unit.path, PATH_MENTIONS, PATH_GAIN),
    )
