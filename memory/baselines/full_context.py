"""Full context, and recursive summarization: the whole text in the prompt, truncated or shortened by a model.

Full context is row 7 of the papers' spec. The summary baseline of QRMeM summarizes until the text fits; its summaries
do not depend on the question, so the cache serves later questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ...llm.protocol import Cancel
from ..budgets import KeepSide, has_at_most, kept_lengths, room_beside, truncate
from ..metered_model import Call, MeteredModel
from ..prompting import fill
from ..splitters import by_tokens, most_pieces
from ..strategy import StrategyContext
from ..strategy_base import JOINED_BY
from ..values import Budget, Cost, Evidence, Item, Question, RecallResult, Segment, Step
from . import prompts
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


SUMMARY_TOKENS = 256
MAX_ROUNDS = 6

_WORDS_PER_TOKEN = 0.6  # keeps a summary of that many words below its token limit


class Summary(WholeText):
    """The prompt shows summaries only, so there is no evidence, and nothing at all without a model."""

    def __init__(self, context: StrategyContext) -> None:
        super().__init__(context, "summary")

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        if self._model is None:
            return RecallResult((), (Step("summary", {"note": "No model is configured, so there is no summary."}),))
        self._model.prepare(cancel)
        room = self._room(self._model, question)
        room = room if budget.tokens is None else min(room, budget.tokens)
        text, sizes = self._text(), list[int]()
        for _ in range(MAX_ROUNDS):
            sizes.append(self._count(text))
            if sizes[-1] <= room or (cancel is not None and cancel.cancelled):
                break
            shorter = self._shortened(self._model, text, cancel)
            if self._count(shorter) >= sizes[-1]:
                break  # the model does not shorten this text
            text = shorter
        return RecallResult((), (Step("summary", {"tokens": sizes}),), truncate(text, room, self._count, "middle"))

    def _shortened(self, model: MeteredModel, text: str, cancel: Cancel | None) -> str:
        size = self._piece_size(model)
        pieces = [piece.text for piece in by_tokens(size, self._count, hard=True)(Item("", text)) if piece.text.strip()]
        tasks = [partial(model.ask, Call.of("summarise", _prompt(piece), SUMMARY_TOKENS), cancel) for piece in pieces]
        return "\n".join(filter(None, model.ask_all(tasks)))

    def _piece_size(self, model: MeteredModel) -> int:
        return max(1, room_beside(model.window_tokens, self._count(_prompt("")), SUMMARY_TOKENS))

    def _cost_to_recall(self, question: Question) -> Cost:
        """The first round reads the whole text, each further round at most the output of the previous one."""
        assert self._model is not None
        n_tokens, room, cost = self._most_shown(), self._room(self._model, question), Cost()
        frame, size = self._count(_prompt("")), self._piece_size(self._model)
        for _ in range(MAX_ROUNDS):
            if n_tokens <= room:
                break
            n_pieces = most_pieces(n_tokens, size)
            cost += Cost(n_pieces, n_tokens + n_pieces * frame, n_pieces * SUMMARY_TOKENS)
            n_tokens = min(n_tokens, n_pieces * SUMMARY_TOKENS)
        return cost


def _prompt(text: str) -> str:
    return fill(prompts.SUMMARISE, text=text, n=int(SUMMARY_TOKENS * _WORDS_PER_TOKEN))
