"""What all baselines share: what is remembered, and an answer from what is recalled in one last call.

How a baseline finds what it shows is its own.
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
"""What stands between two segments in a prompt."""


class Baseline(ABC):
    """A strategy: documents are cut by tokens into segments of whole sentences; a turn is one segment."""

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
        """Nothing is read before a question is asked."""
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
        """An upper bound of what `recall` would cost. For those that ask a model before the last call."""
        return Cost()

    def _most_shown(self) -> int:
        """Tokens of what `recall` shows, at most."""
        return sum(self._count(segment.text + JOINED_BY) for segment in self._items.segments)

    def _room(self, model: MeteredModel, question: Question) -> int:
        """Tokens that the window leaves for what is shown in the last prompt."""
        return room_beside(model.window_tokens, self._count(answer_prompt(question, "")), self._answer_tokens)


def shown(evidence: Iterable[Evidence]) -> str:
    """Evidence as a prompt shows it."""
    return JOINED_BY.join(each.segment.text for each in evidence)
