"""Questions about stories and documents: segments by their own score and that of the segments around them.

Owns how a question becomes evidence, and the prompt of the story task (papers' spec 1.5 and 1.7).
Knows no formula: those are in `scores` and `relations`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...llm.protocol import Cancel
from ..accountant import Accountant, Call
from ..budgets import cut, fit
from ..choices import as_answer
from ..remembered import Remembered
from ..scoring import Indexer, indexer
from ..splitters import by_turns, by_words
from ..strategy import CANCELLED, NO_MODEL, Kit
from ..values import Answer, Budget, Cost, Evidence, Item, Order, Question, Recalled, Step
from ..window import room_beside
from .prompts import story_prompt
from .relations import ContextRelation, Relation
from .scores import RelatedIndex, named

JOINED_BY = "\n\n"
"""What stands between two segments in a prompt."""


@dataclass(frozen=True, slots=True)
class FragRelOptions:
    """How FragRel works; the defaults are the paper's, but for the order and the temperature (papers' spec 1.5)."""

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

    What is new is embedded and nothing else where the kit's embedder keeps its vectors (`KeepingEmbedder`).
    """

    def __init__(
        self, kit: Kit, options: FragRelOptions = FragRelOptions(), score: Indexer | None = None, name: str = "fragrel"
    ) -> None:
        self.name = name
        self._kit, self._options = kit, options
        self._score = score or indexer("auto", kit)
        self._remembered = Remembered(by_turns(by_words(options.segment_words)))
        self._lock = threading.Lock()
        # Made of the segments when it is asked for, and never changed: a running `recall` keeps the one it took.
        self._index: RelatedIndex | None = None

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        self._remembered.take(items, cancel)

    def forget(self, source: str) -> None:
        self._remembered.forget(source)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> Recalled:
        index = self._ready()
        if index is None or (cancel is not None and cancel.cancelled):
            return Recalled(())
        scores = index.related_scores(question.text)
        totals = scores.total
        found = [Evidence(index.segments[i], float(totals[i])) for i in np.flatnonzero(totals > 0).tolist()]
        chosen = fit(found, self._counted(budget), self._kit.count, self._options.order)
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
        return Recalled(tuple(explained), (step,))

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        accountant = self._kit.accountant
        if accountant is None:
            recalled = self.recall(question, budget or self._options.budget, cancel)
            return Answer("", recalled, self.name, notes=(NO_MODEL,))
        accountant.prepare(cancel)
        room = self._room(accountant, question)
        recalled = self.recall(question, budget or Budget(tokens=room), cancel)
        model = accountant.model.info.name
        if cancel is not None and cancel.cancelled:
            return Answer("", recalled, self.name, model, notes=(CANCELLED,))
        shown = JOINED_BY.join(each.segment.text for each in recalled.evidence)
        context = cut(shown, room, accountant.model.count_tokens)
        before = accountant.ledger.of(self.name)
        text = accountant.speaking_for(self.name).ask(self._call(question, context), cancel)
        return Answer(as_answer(text, question), recalled, self.name, model, accountant.ledger.of(self.name) - before)

    def estimate(self, question: Question) -> Cost:
        accountant = self._kit.accountant
        if accountant is None:
            return Cost()
        held = sum(accountant.model.count_tokens(segment.text + JOINED_BY) for segment in self._remembered.segments)
        frame = accountant.model.count_tokens(story_prompt(question, ""))
        return Cost(1, frame + min(held, self._room(accountant, question)), self._options.max_new_tokens)

    def _room(self, accountant: Accountant, question: Question) -> int:
        """Tokens that the model's window leaves for the story."""
        frame = accountant.model.count_tokens(story_prompt(question, ""))
        return room_beside(accountant.window_tokens, frame, self._options.max_new_tokens)

    def _call(self, question: Question, context: str) -> Call:
        call = Call.of("answer", story_prompt(question, context), max_new_tokens=self._options.max_new_tokens)
        return replace(call, temperature=self._options.temperature)

    def _counted(self, budget: Budget) -> Budget:
        """The budget with K: as many segments as its words hold segments of full size (papers' spec 1.5)."""
        if not budget.words:
            return budget
        n = max(1, budget.words // self._options.segment_words)
        return replace(budget, n=n if budget.n is None else min(n, budget.n))

    def _ready(self) -> RelatedIndex | None:
        """The index of what is remembered now, made when it is first asked; None when nothing is."""
        with self._lock:
            segments, options = self._remembered.segments, self._options
            if not segments:
                return None
            if self._index is None or self._index.segments is not segments:
                base = self._score(segments)
                self._index = RelatedIndex(base, options.relation, options.alpha, include_self=options.include_self)
            return self._index
