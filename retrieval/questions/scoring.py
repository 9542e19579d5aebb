"""How well does a unit answer a question, and which of its lines do?

Owns the score of a unit: BM25 over its own lines, in which its name, its surroundings' names and its path count as
many mentions, times how much of the question it covers. Knows no graph and no kind of question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..terms import encode, terms_of_word, words_in
from ..values import ScorePart
from .units import Unit
from .wording import Wording

# Measured on 76 questions about five repositories: benchmarks/results/memory-log.md, "Questions about the code".

NAME_MENTIONS, OUTER_MENTIONS, PATH_MENTIONS, TITLE_MENTIONS = 3.0, 1.5, 1.0, 2.0
"""So many mentions is a word worth in the name of the unit, of a class around it, of its file, in its headings."""

K1, B = 1.2, 0.35
AVERAGE_WORDS = 80.0

COVERAGE = 0.7
"""Share of a score that is only there as far as the words of the question are: all of them, or a part."""

NEAR_LINES = 7
NEARNESS = 0.35
"""Words of the question within so many lines of each other add this share of what they weigh."""

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


class Reader:
    """Reads units for one question. `idf` is that of each concept, weight included."""

    def __init__(self, wording: Wording, idf: Sequence[float]) -> None:
        self._idf = idf
        self._total = sum(idf) or 1.0
        self._n = len(wording.concepts)
        forms: dict[str, list[tuple[int, float]]] = {}
        for number, concept in enumerate(wording.concepts):
            for form, weight in concept.forms.items():
                forms.setdefault(form, []).append((number, weight))
        self._mentions = _Mentions(forms)

    def weigh(self, unit: Unit, lines: Sequence[bytes]) -> Weighed:
        """`lines` are those of the whole file."""
        body = [0.0] * self._n
        covered = [0.0] * self._n
        on_line: list[tuple[int, tuple[tuple[int, float], ...]]] = []
        n_words = 0
        for count, number in enumerate(unit.lines()):
            if count >= LONGEST_READ or number >= len(lines):
                break
            words = words_in(lines[number])
            n_words += len(words)
            here: dict[int, float] = {}
            for word in words:
                for concept, weight in self._mentions[word]:
                    body[concept] += weight
                    here[concept] = max(weight, here.get(concept, 0.0))
            if here:
                on_line.append((number, tuple(here.items())))
                for concept, weight in here.items():
                    covered[concept] = max(covered[concept], weight)
        norm = K1 * (1 - B + B * n_words / AVERAGE_WORDS)
        mentions = list(body)
        parts = [ScorePart("words", self._sum(mentions, norm))]
        for name, texts, worth in _surroundings(unit):
            for concept, weight in self._of(texts).items():
                mentions[concept] += worth * weight
                covered[concept] = max(covered[concept], weight)
            parts.append(ScorePart(name, self._sum(mentions, norm) - sum(part.value for part in parts)))
        nearest = self._nearest(on_line)
        parts.append(ScorePart("together", NEARNESS * nearest))
        share = sum(idf * weight for idf, weight in zip(self._idf, covered, strict=True)) / self._total
        factor = 1 - COVERAGE + COVERAGE * share
        scaled = tuple(ScorePart(part.name, part.value * factor, part.detail) for part in parts if part.value)
        weights = tuple(
            (number, sum(self._idf[concept] * weight for concept, weight in found)) for number, found in on_line
        )
        return Weighed(unit, sum(part.value for part in scaled), scaled, tuple(covered), weights)

    def mentions_of(self, text: str) -> Mapping[int, float]:
        """The concepts that a text says, each with the weight of the best form."""
        return self._of((text,))

    def _of(self, texts: Sequence[str]) -> dict[int, float]:
        found: dict[int, float] = {}
        for text in texts:
            for word in words_in(encode(text).replace(b"\n", b" ")):
                for concept, weight in self._mentions[word]:
                    found[concept] = max(weight, found.get(concept, 0.0))
        return found

    def _sum(self, mentions: Sequence[float], norm: float) -> float:
        return sum(idf * (K1 + 1) * n / (n + norm) for idf, n in zip(self._idf, mentions, strict=True) if n)

    def _nearest(self, on_line: Sequence[tuple[int, tuple[tuple[int, float], ...]]]) -> float:
        """What the words weigh that stand nearest each other, beyond the heaviest of them."""
        best = 0.0
        for at, (first, _) in enumerate(on_line):
            inside: dict[int, float] = {}
            for number, found in on_line[at:]:
                if number >= first + NEAR_LINES:
                    break
                for concept, weight in found:
                    inside[concept] = max(weight, inside.get(concept, 0.0))
            weights = [self._idf[concept] * weight for concept, weight in inside.items()]
            best = max(best, sum(weights) - max(weights))
        return best


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


def _surroundings(unit: Unit) -> tuple[tuple[str, tuple[str, ...], float], ...]:
    outer, _, name = unit.symbol.rpartition(".")
    return (
        ("name", (name,), NAME_MENTIONS),
        ("inside", (outer,), OUTER_MENTIONS),
        ("title", (unit.title,), TITLE_MENTIONS),
        ("path", (unit.path,), PATH_MENTIONS),
    )
