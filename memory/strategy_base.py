"""The items of a strategy and their segments, and the base classes of strategies.

Owns the items, by source and number, their segmentation and index, and the final call of strategies that answer in one
model call: its token budget, truncation and cost estimate. Subclasses own retrieval and the prompt.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..llm.protocol import Cancel
from .budgets import KeepSide, room_beside, truncate
from .metered_model import Call, MeteredModel
from .prompting import as_answer
from .scoring import Bm25Index, Indexer, SegmentIndex
from .splitters import Splitter, by_turns
from .strategy import CANCELLED, NO_MODEL, StrategyContext
from .values import Answer, Budget, Cost, Evidence, Item, Question, RecallResult, Segment


class SegmentedItems:
    """Thread-safe. Returned tuples never change: an index is rebuilt when `segments` is a different object."""

    def __init__(self, split: Splitter | None = None) -> None:
        """`split` cuts an item into segments; without it each item is one segment."""
        self._split = split or by_turns()
        self._lock = threading.RLock()
        self._by_source: dict[str, dict[int, Item]] = {}  # by source and number
        self._items: tuple[Item, ...] | None = ()
        self._segments: tuple[Segment, ...] | None = ()
        self._pieces: dict[Item, list[Segment]] = {}

    def add(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Add items: a document replaces the earlier one of its source, a turn the one with its number.

        Several documents with the same source in one call are parts of it: two folders may each have a README. Adds
        nothing when cancelled.
        """
        if cancel is not None and cancel.cancelled:
            return
        with self._lock:
            replaced = set[str]()
            for item in items:
                if item.kind == "document" and item.source not in replaced:
                    self._by_source.pop(item.source, None)
                    replaced.add(item.source)
                numbered = self._by_source.setdefault(item.source, {})
                numbered[item.number if item.kind == "turn" else len(numbered)] = item
            self._items = self._segments = None

    def forget(self, source: str) -> None:
        with self._lock:
            if self._by_source.pop(source, None) is not None:
                self._items = self._segments = None

    @property
    def items(self) -> tuple[Item, ...]:
        """All items in the order in which their sources were added, turns by number. The same object until a change."""
        with self._lock:
            if self._items is None:
                self._items = tuple(
                    numbered[number] for numbered in self._by_source.values() for number in sorted(numbered)
                )
            return self._items

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments with words, in item order. The same object until a change; each item is split once."""
        with self._lock:
            if self._segments is None:
                self._pieces = {item: self._pieces.get(item) or self._split(item) for item in self.items}
                self._segments = tuple(segment for segment in self._numbered() if segment.text.strip())
            return self._segments

    def _numbered(self) -> Iterator[Segment]:
        """Numbers the parts of a document consecutively, so that a number is unique within its source."""
        n_before = Counter[str]()
        for item in self.items:
            first = n_before[item.source] if item.kind == "document" else 0
            for segment in self._pieces[item]:
                yield replace(segment, number=first + segment.number) if first else segment
            n_before[item.source] += len(self._pieces[item])


JOINED_BY = "\n\n"  # separator of segments in a prompt


class ItemStrategy:
    """Base class of strategies that only store items in `remember`."""

    def __init__(
        self, context: StrategyContext, name: str, split: Splitter | None = None, score: Indexer = Bm25Index
    ) -> None:
        self.name = name
        self._context, self._count = context, context.count
        self._model = None if context.model is None else context.model.for_strategy(name)
        self._items = SegmentedItems(split)
        self._score = score
        self._lock = threading.RLock()
        self._index: SegmentIndex | None = None

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Store the items. No model is called before a question."""
        self._items.add(items, cancel)

    def forget(self, source: str) -> None:
        self._items.forget(source)

    def _current_index(self) -> SegmentIndex:
        """The index of the current segments, built on first use and never changed: a running `recall` may keep it."""
        with self._lock:
            segments = self._items.segments
            if self._index is None or self._index.segments is not segments:
                self._index = self._score(segments)
            return self._index

    def _answered(self, text: str, recalled: RecallResult, before: Cost, notes: Iterable[str]) -> Answer:
        """The answer of the model, with the cost since `before`."""
        name = "" if self._model is None else self._model.info.name
        return Answer(text, recalled, self.name, name, self._spent() - before, tuple(notes))

    def _spent(self) -> Cost:
        return Cost() if self._model is None else self._model.usage.of(self.name)


class SingleCallStrategy(ItemStrategy, ABC):
    """Subclasses implement `recall` and `_prompt`."""

    _keep: KeepSide = "left"  # of a context that exceeds the window
    _temperature = 0.0
    _budget_without_model = Budget()

    _answer_tokens = 128

    @abstractmethod
    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult: ...

    @abstractmethod
    def _prompt(self, question: Question, context: str) -> str: ...

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        model = self._model
        if model is None:
            recalled = self.recall(question, budget or self._budget_without_model, cancel)
            return Answer("", recalled, self.name, notes=(NO_MODEL,))
        model.prepare(cancel)
        before, room = self._spent(), self._room(model, question)
        recalled = self.recall(question, budget or Budget(tokens=room), cancel)
        text, notes = "", recalled.notes
        if cancel is not None and cancel.cancelled:
            notes += (CANCELLED,)
        else:
            context = joined(recalled.evidence) if recalled.context is None else recalled.context
            prompt = self._prompt(question, truncate(context, room, self._count, self._keep))
            call = Call.of("answer", prompt, self._answer_tokens, temperature=self._temperature)
            text = as_answer(model.ask(call, cancel), question)
        return self._answered(text, recalled, before, notes)

    def estimate(self, question: Question) -> Cost:
        if self._model is None:
            return Cost()
        shown = min(self._room(self._model, question), self._most_shown())
        final = Cost(1, self._count(self._prompt(question, "")) + shown, self._answer_tokens)
        return self._cost_to_recall(question) + final

    def _cost_to_recall(self, question: Question) -> Cost:
        """An upper bound of the cost of `recall`, for strategies that call a model in it."""
        return Cost()

    def _most_shown(self) -> int:
        """Largest number of tokens that `recall` returns."""
        return sum(self._count(segment.text + JOINED_BY) for segment in self._items.segments)

    def _room(self, model: MeteredModel, question: Question) -> int:
        """Tokens that the context window leaves for the recalled text."""
        return room_beside(model.window_tokens, self._count(self._prompt(question, "")), self._answer_tokens)


def joined(evidence: Iterable[Evidence]) -> str:
    """Evidence as text for a prompt."""
    return JOINED_BY.join(each.segment.text for each in evidence)
