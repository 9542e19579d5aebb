"""Measurement of loss and recall of each method, text by text.

Owns the test texts and the recorded figures. Knows no training and no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from .texts import SyntheticText, make_text, to_tokens

if TYPE_CHECKING:
    from .reading import ReadingMethod


@dataclass(frozen=True, slots=True)
class AskedTexts:
    """The same number of facts at each length, so longer texts have greater distances. Other seeds than in training."""

    lengths: tuple[int, ...] = (2048, 4096, 8192, 16384, 32768)
    n_texts: int = 2  # of each length
    n_facts: int = 80
    n_asked: int = 16  # questions within the text; the others follow it
    seed: int = 0

    def of(self, length: int) -> Iterator[SyntheticText]:
        draw = Random(f"beacon test {length} {self.seed}")
        return (make_text(draw, length, self.n_facts, self.n_asked) for _ in range(self.n_texts))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One method to read one text."""

    method: str
    length: int
    text: int
    loss: float  # mean nats of all tokens but the first
    depths: tuple[float, ...]  # of each question's fact
    right: tuple[bool, ...]  # whether the likeliest token after each question is its answer
    kept_tokens: int
    kept_bytes: int
    beyond: bool  # whether positions were used that the base model was not trained on
    seconds: float


def measure(
    methods: Iterable[ReadingMethod], texts: Sequence[SyntheticText], max_positions: int
) -> Iterator[Measurement]:
    """Rows of texts of one length."""
    for method in methods:
        for number, text in enumerate(texts):
            questions = [to_tokens(question.words) for question in text.questions]
            expected = to_tokens([question.answer for question in text.questions])
            read = method.read(to_tokens(text.words), questions)
            yield Measurement(
                method=method.name,
                length=len(text.words),
                text=number,
                loss=read.loss,
                depths=tuple(question.depth for question in text.questions),
                right=tuple(got == want for got, want in zip(read.answers, expected, strict=True)),
                kept_tokens=read.kept_tokens,
                kept_bytes=read.kept_bytes,
                beyond=read.positions > max_positions,
                seconds=read.seconds,
            )
