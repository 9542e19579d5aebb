"""FragRel as a strategy: retrieval of story and document segments with neighbourhood scores.

Owns the retrieval of evidence for a question, and the prompt of the story task (papers' spec 1.5 and 1.7). The formulas
are in `scores` and `relations`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...llm.protocol import Cancel
from ..budgets import fit_evidence, truncate
from ..choices import as_answer
from ..metered_model import Call, MeteredModel
from ..scoring import Indexer, indexer
from ..segmented_items import SegmentedItems
from ..splitters import by_turns, by_words
from ..strategy import CANCELLED, NO_MODEL, StrategyContext
from ..values import Answer, Budget, Cost, Evidence, Item, Order, Question, RecallResult, Step
from ..window import room_beside
from .prompts import story_prompt
from .relations import ContextRelation, Relation
from .scores import RelatedIndex, named

JOINED_BY = "\n\n"
"""Separator of segments in a prompt."""


@dataclass(frozen=True, slots=True)
class FragRelOptions:
    """Options of FragRel; the defaults are the paper's, except for order and temperature (papers' spec 1.5)."""

    relation: Relation = ContextRelation(0.3)  # noqa: RUF009 - frozen
    alpha: float = 0.5
    include_self: bool = False
    segment_words: int = 500
    order: Order = "document"
    budget: Budget = Budget(words=4000)  # noqa: RUF009 - frozen; of `answer` without a model's window to fill
    max_new_tokens: int = 128
    temperature: float = 0.0  # 1.0 in the paper


class FragRel:
    """FragRel as a strategy. Documents are split by words; a turn is one segment.

    With a `CachingEmbedder` only new segments are embedded.
    """

    def __init__(
        self,
        context: StrategyContext,
        options: FragRelOptions = FragRelOptions(),
        score: Indexer | None = None,
        name: str = "fragrel",
    ) -> None:
        self.name = name
        self._context, self._options = context, options
        self._score = score or indexer("auto", context)
        self._items = SegmentedItems(by_turns(by_words(options.segment_words)))
        self._lock = threading.Lock()
        # Built on first use and never changed, so that a running `recall` keeps a consistent view.
        self._index: RelatedIndex | None = None

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        self._items.take(items, cancel)

    def forget(self, source: str) -> None:
        self._items.forget(source)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        index = self._ready()
        if index is None or (cancel is not None and cancel.cancelled):
            return RecallResult(())
        scores = index.related_scores(question.text)
        totals = scores.total
        found = [Evidence(index.segments[i], float(totals[i])) for i in np.flatnonzero(totals > 0).tolist()]
        chosen = fit_evidence(found, self._counted(budget), self._context.count, self._options.order)
        at = {(segment.source, segment.number): i for i, segment in enumerate(index.segments)}
        explained = []
        for each in chosen:
            reasons = index.evidence(scores, at[each.segment.source, each.segment.number])
            explained.append(replace(each, why=reasons.why, parts=reasons.parts))
        step = Step(
            "score",
            {
                "relation": self._options.relation.name,
                "alpha": self._options.alpha,
                "n_segments": len(index.segments),
                "n_scored": len(found),
                "chosen": [named(each.segment) for each in explained],
            },
        )
        return RecallResult(tuple(explained), (step,))

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        model = self._context.model
        if model is None:
            recalled = self.recall(question, budget or self._options.budget, cancel)
            return Answer("", recalled, self.name, notes=(NO_MODEL,))
        model.prepare(cancel)
        room = self._room(model, question)
        recalled = self.recall(question, budget or Budget(tokens=room), cancel)
        if cancel is not None and cancel.cancelled:
            return Answer("", recalled, self.name, model.info.name, notes=(CANCELLED,))
        shown = JOINED_BY.join(each.segment.text for each in recalled.evidence)
        context = truncate(shown, room, model.count_tokens)
        before = model.usage.of(self.name)
        text = model.for_strategy(self.name).ask(self._call(question, context), cancel)
        cost = model.usage.of(self.name) - before
        return Answer(as_answer(text, question), recalled, self.name, model.info.name, cost)

    def estimate(self, question: Question) -> Cost:
        model = self._context.model
        if model is None:
            return Cost()
        held = sum(model.count_tokens(segment.text + JOINED_BY) for segment in self._items.segments)
        frame = model.count_tokens(story_prompt(question, ""))
        return Cost(1, frame + min(held, self._room(model, question)), self._options.max_new_tokens)

    def _room(self, model: MeteredModel, question: Question) -> int:
        """Tokens that the context window leaves for the story."""
        frame = model.count_tokens(story_prompt(question, ""))
        return room_beside(model.window_tokens, frame, self._options.max_new_tokens)

    def _call(self, question: Question, context: str) -> Call:
        call = Call.of("answer", story_prompt(question, context), max_new_tokens=self._options.max_new_tokens)
        return replace(call, temperature=self._options.temperature)

    def _counted(self, budget: Budget) -> Budget:
        """The budget with K: the number of full-size segments that its words hold (papers' spec 1.5)."""
        if not budget.words:
            return budget
        n = max(1, budget.words // self._options.segment_words)
        return replace(budget, n=n if budget.n is None else min(n, budget.n))

    def _ready(self) -> RelatedIndex | None:
        """The index of the current segments, built on first use; None without segments."""
        with self._lock:
            segments, options = self._items.segments, self._options
            if not segments:
                return None
            if self._index is None or self._index.segments is not segments:
                base = self._score(segments)
                self._index = RelatedIndex(base, options.relation, options.alpha, include_self=options.include_self)
            return self._index
