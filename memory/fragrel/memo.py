"""MemoChat memory: the model writes memos of earlier turns and selects the relevant ones.

Owns the memos: topic, summary, and the turns that they cover. A baseline of the chat task (papers' spec 1.5, row 24).
Knows no context window: it is the backing memory of `chat.ChatMemory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...llm.protocol import Cancel
from ..budgets import fit_evidence
from ..metered_model import Call, PromptTooLong, UnparsableAnswer
from ..strategy import StrategyContext
from ..values import Budget, Cost, Evidence, Item, Question, RecallResult, Segment, Step
from .prompts import CHOOSE_TOPICS, WRITE_MEMO, flattened

MEMO_TOKENS = 512  # of a response with memos
CHOICE_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Memo:
    """Turns of a conversation under one topic, oldest first; the model writes the summary."""

    topic: str
    summary: str
    rounds: tuple[Item, ...]

    @property
    def segment(self) -> Segment:
        """The memo and its turns as one segment, at the position of its first turn."""
        first = self.rounds[0]
        text = "\n".join([f"{self.topic}: {self.summary}", *(item.text for item in self.rounds)])
        return Segment(first.source, first.number, text, 0, first.first_line, first.said_at)


class MemoChatMemory:
    """Writes memos for each batch of turns that leaves the window. Thread-safe for readers."""

    name = "memochat"

    def __init__(self, context: StrategyContext) -> None:
        self._context = context
        self.memos: tuple[Memo, ...] = ()  # replaced whole

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Write memos of the turns. Without a model, or after an unparsable response, one memo holds all of them."""
        if items:
            self.memos = (*self.memos, *self._written(items, cancel))

    def forget(self, source: str) -> None:
        self.memos = tuple(memo for memo in self.memos if memo.rounds[0].source != source)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The memos that the model selects, with their turns, in chronological order."""
        memos, model = self.memos, self._context.model
        if model is None or not memos:
            return RecallResult(())
        topics = "\n".join(f"{i}. {memo.topic}: {memo.summary}" for i, memo in enumerate(memos, 1))
        call = Call.of("topics", CHOOSE_TOPICS.format(prompt=question.text, topics=topics), CHOICE_TOKENS)
        try:
            chosen = model.for_strategy(self.name).ask_json(call, _read_numbers, cancel)
        except (PromptTooLong, UnparsableAnswer) as error:
            return RecallResult((), (Step("topics", {"failed": str(error)}),))
        valid = [i for i in chosen if 1 <= i <= len(memos)]
        ranked = [(rank, memos[i - 1]) for rank, i in enumerate(valid, 1)]
        evidence = [Evidence(memo.segment, 1 / rank, f"about “{memo.topic}”") for rank, memo in ranked]
        step = Step("topics", {"offered": [memo.topic for memo in memos], "chosen": valid})
        return RecallResult(fit_evidence(evidence, budget, self._context.count, "time"), (step,))

    def recall_cost(self, question: Question) -> Cost:
        """An upper bound of the cost of the selection."""
        count = self._context.count
        tokens = sum(count(f"{memo.topic}: {memo.summary}") + 4 for memo in self.memos)
        return Cost(1, tokens + count(CHOOSE_TOPICS) + count(question.text), CHOICE_TOKENS) if self.memos else Cost()

    def _written(self, items: Sequence[Item], cancel: Cancel | None) -> list[Memo]:
        whole = [_plain_memo(items)]
        if self._context.model is None or (cancel is not None and cancel.cancelled):
            return whole
        model = self._context.model.for_strategy(self.name)
        rounds = "\n".join(f"{i}. {flattened(item.text)}" for i, item in enumerate(items, 1))
        call = Call.of("memo", WRITE_MEMO.format(n=len(items), rounds=rounds), MEMO_TOKENS)
        try:
            return model.ask_json(call, lambda value: _read_memos(value, items), cancel)
        except (PromptTooLong, UnparsableAnswer):
            return whole


def _read_memos(value: Any, items: Sequence[Item]) -> list[Memo]:
    """The memos of the model, and one more with the turns that it left out, so that no turn is lost.

    Raises ValueError if no memo covers a turn.
    """
    memos, left_out = list[Memo](), list(items)
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, dict):
            raise ValueError(f"a memo is {entry!r}, not an object")
        first, last = _whole(entry.get("start")), _whole(entry.get("end"))
        if rounds := tuple(items[max(0, first - 1) : max(0, last)]):
            memos.append(Memo(str(entry.get("topic") or "conversation"), str(entry.get("summary") or ""), rounds))
            left_out = [item for item in left_out if item not in rounds]
    if not memos:
        raise ValueError("no memo covers a turn")
    return [*memos, *([_plain_memo(left_out)] if left_out else [])]


def _plain_memo(items: Sequence[Item]) -> Memo:
    return Memo("conversation", flattened(items[0].text)[:80], tuple(items))


def _read_numbers(value: Any) -> list[int]:
    """The distinct numbers in order. Raises ValueError for any other value."""
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return list(dict.fromkeys(map(_whole, value)))


def _whole(value: Any) -> int:
    """An integer as a model writes it. Raises ValueError for any other value."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a number") from None
