"""Full context: the whole text in the prompt, truncated to the context window (papers' spec, row 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...llm.protocol import Cancel
from ..budgets import KeepSide, has_at_most, kept_lengths
from ..single_call import JOINED_BY
from ..strategy import StrategyContext
from ..values import Budget, Evidence, Item, Question, RecallResult, Segment, Step
from .base import WholeText


class FullContext(WholeText):
    """`keep` "left" shows the beginning, "right" the end, and "middle" removes the middle, as LongBench does."""

    def __init__(self, context: StrategyContext, keep: KeepSide = "middle") -> None:
        super().__init__(context, f"full_{keep}")
        self._keep: KeepSide = keep

    def fits(self, question: Question) -> bool:
        """Whether the context window holds the whole text and the question; false without a model."""
        if self._model is None:
            return False
        return has_at_most(self._text(), self._room(self._model, question), self._count)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The text in order, truncated to the tokens of the budget. Ignores its other limits."""
        items = self._items.items
        text = self._text()
        n_first, n_last = len(text), 0
        if budget.tokens is not None:
            n_first, n_last = kept_lengths(text, budget.tokens, self._count, self._keep)
        rest = len(text) - n_last
        pieces = [*_between(items, 0, n_first), *_between(items, rest, len(text))]
        evidence = tuple(Evidence(piece, 1.0, "in the part of the text that fits") for piece in pieces)
        step = Step("cut", {"keep": self._keep, "characters_cut": rest - n_first})
        return RecallResult(evidence, (step,), text[:n_first] + text[rest:])


def _between(items: Sequence[Item], first: int, last: int) -> Iterator[Segment]:
    """The part of each item between two offsets of the joined text."""
    at = 0
    for item in items:
        start, end = max(0, first - at), min(len(item.text), last - at)
        if start < end:
            line = item.first_line + item.text.count("\n", 0, start)
            number = item.number if item.kind == "turn" else int(start > 0)
            yield Segment(item.source, number, item.text[start:end], start, line, item.said_at)
        at += len(item.text) + len(JOINED_BY)
