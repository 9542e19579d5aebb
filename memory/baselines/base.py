"""Base class of the baselines: stored items, and an answer from the recalled context in one call.

Each baseline implements its own retrieval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from ...llm.protocol import Cancel
from ..budgets import truncate
from ..choices import as_answer
from ..metered_model import Call, MeteredModel
from ..segmented_items import SegmentedItems
from ..splitters import by_tokens, by_turns
from ..strategy import CANCELLED, NO_MODEL, StrategyContext
from ..values import Answer, Budget, Cost, Evidence, Item, Question, RecallResult
from ..window import room_beside
from .prompts import answer_prompt

SEGMENT_TOKENS = 600  # QRMeM
ANSWER_TOKENS = 128
JOINED_BY = "\n\n"
"""Separator of segments in a prompt."""


class Baseline(ABC):
    """A strategy that splits documents into segments of whole sentences by tokens; a turn is one segment."""

    def __init__(
        self,
        context: StrategyContext,
        name: str,
        *,
        segment_tokens: int = SEGMENT_TOKENS,
        answer_tokens: int = ANSWER_TOKENS,
    ) -> None:
        self.name = name
        self._context = context
        self._answer_tokens = answer_tokens
        self._count = context.count
        self._model = None if context.model is None else context.model.for_strategy(name)
        self._items = SegmentedItems(by_turns(by_tokens(segment_tokens, self._count, hard=True)))

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Store the items. No model is called before a question."""
        self._items.take(items, cancel)

    def forget(self, source: str) -> None:
        self._items.forget(source)

    @abstractmethod
    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult: ...

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        model = self._model
        if model is None:
            return Answer("", self.recall(question, budget or Budget(), cancel), self.name, notes=(NO_MODEL,))
        model.prepare(cancel)
        before, name = model.usage.of(self.name), model.info.name
        room = self._room(model, question)
        recalled = self.recall(question, budget or Budget(tokens=room), cancel)
        text, notes = "", [str(step.detail["note"]) for step in recalled.trace if "note" in step.detail]
        if cancel is not None and cancel.cancelled:
            notes.append(CANCELLED)
        else:
            context = shown(recalled.evidence) if recalled.context is None else recalled.context
            prompt = answer_prompt(question, truncate(context, room, self._count, "left"))
            written = model.ask(Call.of("answer", prompt, max_new_tokens=self._answer_tokens), cancel)
            text = as_answer(written, question)
        return Answer(text, recalled, self.name, name, model.usage.of(self.name) - before, tuple(notes))

    def estimate(self, question: Question) -> Cost:
        if self._model is None:
            return Cost()
        frame = self._count(answer_prompt(question, ""))
        shown = min(self._room(self._model, question), self._most_shown())
        return self._cost_to_recall(question) + Cost(1, frame + shown, self._answer_tokens)

    def _cost_to_recall(self, question: Question) -> Cost:
        """An upper bound of the cost of `recall`, for baselines that call a model in it."""
        return Cost()

    def _most_shown(self) -> int:
        """Largest number of tokens that `recall` returns."""
        return sum(self._count(segment.text + JOINED_BY) for segment in self._items.segments)

    def _room(self, model: MeteredModel, question: Question) -> int:
        """Tokens that the context window leaves for the recalled text."""
        return room_beside(model.window_tokens, self._count(answer_prompt(question, "")), self._answer_tokens)


def shown(evidence: Iterable[Evidence]) -> str:
    """Evidence as text for a prompt."""
    return JOINED_BY.join(each.segment.text for each in evidence)
