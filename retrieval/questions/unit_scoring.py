"""Scores of units for a question: BM25 over weighted fields (lines, name, enclosing names, path), times coverage.

Owns the field weights and the coverage factor. Knows no graph and no kind of question but those that weigh lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..bm25 import length_norm, saturated
from ..terms import encode, term_keys, terms_of_word, words_in
from ..values import ScorePart
from .query_analysis import AnalysedQuestion
from .unit_texts import UnitText, UnitTexts
from .units import Unit

# Measured on 142 questions about six repositories: benchmarks/results/memory-log.md, "Questions about the code".

NAME_MENTIONS, OUTER_MENTIONS, PATH_MENTIONS, TITLE_MENTIONS = 5.0, 1.5, 1.5, 2.0
"""Field weights: the frequency that a word in the name, the enclosing names, the path or the headings counts as."""

OUTER_GAIN, PATH_GAIN = 0.6, 0.4
"""A word in the enclosing names and in the path also adds this share of its idf."""

K1, B = 1.2, 0.35
AVERAGE_WORDS = 80.0

COVERAGE = 0.7
"""Share of a score that is proportional to the coverage of the question's words."""

STRETCH_LINES = 30
"""Only the best consecutive lines of a longer unit count, this many."""

PROSE_WORTH = 0.5
"""Weight of comments and docstrings, for questions about what code does."""

EXAMPLE_WORTH = 0.4
"""Weight of examples in docstrings, which only use things."""

VALUE_WORTH = 1.5
"""Weight of a line that assigns a value, for questions about values."""


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit with its score, and the words of the question on its lines."""

    unit: Unit
    score: float
    parts: tuple[ScorePart, ...]
    covered: tuple[float, ...]  # of each concept 0 to 1: the largest weight of an expansion in the unit
    coverage: float  # share of the idf of the question's words that is covered
    lines: tuple[tuple[int, float], ...]  # lines with words of the question, and the weight of these
    nearest: tuple[int, int] = (0, 0)  # of a long unit, the lines that are nearest by meaning, half-open


_OF_CODE = frozenset({"decision", "raisers", "value"})
_GIVES_VALUE = re.compile(rb"[=:]\s*(?:[-+]?\.?\d|None\b|True\b|False\b|['\"]|[A-Z_]+\b)")


class UnitScorer:
    """Scores units for one question. `idf` is that of each concept, weight included."""

    def __init__(self, question: AnalysedQuestion, idf: Sequence[float], texts: UnitTexts) -> None:
        self._texts = texts
        self._idf = idf
        self._total = sum(idf) or 1.0
        self._kinds = question.kinds
        self._prose = PROSE_WORTH if question.kinds & _OF_CODE and "documentation" not in question.kinds else 1.0
        self._weighs_prose = self._prose != 1.0 or "value" in question.kinds
        self._n = len(question.concepts)
        forms: dict[str, list[tuple[int, float]]] = {}
        for number, concept in enumerate(question.concepts):
            for form, weight in concept.forms.items():
                forms.setdefault(form, []).append((number, weight))
        self._mentions = _ConceptsOfWord(forms)
        self._in_names: dict[str, tuple[tuple[int, float], ...]] = {}
        # Only the lines with a word of the question are read.
        self._lines = texts.lines_with(term_keys(list(forms)))

    def score(self, number: int) -> ScoredUnit:
        """The unit with this number in the texts."""
        own = self._texts[number]
        unit, read = own.unit, self._read(own, self._lines[number])
        first, end = self._best_stretch(read, len(own.lines))
        body, covered = [0.0] * self._n, [0.0] * self._n
        for line in read:
            if first <= line.at < end:
                for concept, weight in line.mentions:
                    body[concept] += weight * line.worth
                    covered[concept] = max(covered[concept], weight)
        n_words = self._texts.n_words(number, first, end)
        norm = length_norm(n_words, AVERAGE_WORDS, K1, B)
        mentions = list(body)
        before = self._sum(mentions, norm)
        parts = [ScorePart("words", before)]
        for name, text, worth, gain in _surroundings(unit):
            said = self._concepts_in(text)
            for concept, weight in said:
                mentions[concept] += worth * weight
                covered[concept] = max(covered[concept], weight)
            reached = self._sum(mentions, norm)
            parts.append(ScorePart(name, reached - before + gain * self._weight(said)))
            before = reached
        share = sum(idf * weight for idf, weight in zip(self._idf, covered, strict=True)) / self._total
        factor = 1 - COVERAGE + COVERAGE * share
        scaled = tuple(ScorePart(part.name, part.value * factor, part.detail) for part in parts if part.value)
        on_line = tuple((own.numbers[line.at], line.worth * self._weight(line.mentions)) for line in read)
        return ScoredUnit(unit, sum(part.value for part in scaled), scaled, tuple(covered), share, on_line)

    def _concepts_in(self, text: str) -> tuple[tuple[int, float], ...]:
        """The concepts in a name or a path, each with its largest weight. Units share paths and the names around."""
        known = self._in_names.get(text)
        if known is None:
            found: dict[int, float] = {}
            for word in words_in(encode(text).replace(b"\n", b" ")):
                for concept, weight in self._mentions[word]:
                    found[concept] = max(weight, found.get(concept, 0.0))
            known = self._in_names[text] = tuple(found.items())
        return known

    def _sum(self, mentions: Sequence[float], norm: float) -> float:
        return sum(idf * saturated(n, norm, K1) for idf, n in zip(self._idf, mentions, strict=True) if n)

    def _read(self, text: UnitText, lines: Sequence[int]) -> list[_Line]:
        """The lines of a unit with words of the question; `lines` are those with one of their terms."""
        found = []
        quoted = _quoted(text.lines) if lines and self._weighs_prose else ()
        for at in lines:
            line = text.lines[at]
            here: dict[int, float] = {}
            for word in words_in(line):
                for concept, weight in self._mentions[word]:
                    here[concept] = max(weight, here.get(concept, 0.0))
            bare = line.lstrip()
            if bare.startswith(_EXAMPLE_MARKS):
                worth = EXAMPLE_WORTH
            else:
                worth = self._prose if at in quoted or bare.startswith(_PROSE_MARKS) else self._line_weight(line)
            found.append(_Line(at, tuple(here.items()), worth))
        return found

    def _line_weight(self, line: bytes) -> float:
        """The weight of the words of a line of code."""
        return VALUE_WORTH if "value" in self._kinds and _GIVES_VALUE.search(line) else 1.0

    def _best_stretch(self, read: Sequence[_Line], n_lines: int) -> tuple[int, int]:
        """The best consecutive lines of a unit of `n_lines`, half-open: all of a short one."""
        if n_lines <= STRETCH_LINES:
            return 0, n_lines
        best, at = -1.0, 0
        for first in range(0, n_lines, STRETCH_LINES // 4):
            inside: dict[int, float] = {}
            for line in read:
                if first <= line.at < first + STRETCH_LINES:
                    for concept, weight in line.mentions:
                        inside[concept] = max(weight * line.worth, inside.get(concept, 0.0))
            weight = self._weight(inside.items())
            if weight > best:
                best, at = weight, first
        return at, min(at + STRETCH_LINES, n_lines)

    def _weight(self, mentions: Iterable[tuple[int, float]]) -> float:
        return sum(self._idf[concept] * weight for concept, weight in mentions)


_QUOTES = (b'"""', b"'''")
_EXAMPLE_MARKS = (b">>> ", b"... ")
_PROSE_MARKS = (*_QUOTES, b"#", b"//", b"*")


def _quoted(lines: Sequence[bytes]) -> set[int]:
    """The lines that begin inside a text in triple quotes."""
    marked = [at for at, line in enumerate(lines) if b'"""' in line or b"'''" in line]
    found: set[int] = set()
    quotes = b""
    for at, following in pairwise((*marked, len(lines))):
        opened = next((mark for mark in _QUOTES if lines[at].count(mark) % 2), b"")
        quotes = b"" if quotes and opened else quotes or opened
        if quotes:
            found.update(range(at + 1, following + 1))
    return found


class _Line(NamedTuple):
    """A line with words of the question. `worth` is the weight of its words: of code, or of prose inside code."""

    at: int  # its index in the lines of the unit
    mentions: tuple[tuple[int, float], ...]
    worth: float


class _ConceptsOfWord(dict[bytes, tuple[tuple[int, float], ...]]):
    """Word -> its concepts with weights, computed on demand."""

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
