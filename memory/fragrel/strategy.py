"""FragRel as a strategy: retrieval of story and document segments with neighbourhood scores.

Owns the retrieval of evidence for a question, and the prompt of the story task (papers' spec 1.5 and 1.7). The formulas
are in `scores` and `relations`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...llm.protocol import Cancel
from ..budgets import fit_evidence
from ..scoring import Indexer, indexer
from ..splitters import by_turns, by_words
from ..strategy import StrategyContext
from ..strategy_base import SingleCallStrategy
from ..values import Budget, Evidence, Order, Question, RecallResult, Step
from .prompts import story_prompt
from .relations import ContextRelation, Relation
from .scores import RelatedIndex, named, related


@dataclass(frozen=True, slots=True)
class FragRelOptions:
    """Options of FragRel for stories and documents (papers' spec 1.5).

    The defaults are the paper's except for score, order and temperature; `AS_PRINTED` has all of them, and
    docs/papers.md the reasons.
    """

    relation: Relation = ContextRelation(0.3)  # noqa: RUF009 - frozen
    alpha: float = 0.5
    include_self: bool = False
    score: str = "auto"  # of one segment, s_ind (Eq. 4): one of `SCORERS`
    segment_words: int = 500
    order: Order = "document"  # of the segments in the prompt
    budget: Budget = Budget(words=4000)  # noqa: RUF009 - frozen; of `answer` without a model's window to fill
    max_new_tokens: int = 128
    temperature: float = 0.0


AS_PRINTED = FragRelOptions(score="dense", order="rank", temperature=1.0)
"""Eq. 4 with the cosine of embeddings, Eq. 11 as it reads (best first), and the temperature of appendix B.1."""


class FragRel(SingleCallStrategy):
    """FragRel as a strategy. Documents are split by words; a turn is one segment.

    With a `CachingEmbedder` only new segments are embedded.
    """

    _keep = "middle"

    def __init__(
        self,
        context: StrategyContext,
        options: FragRelOptions = FragRelOptions(),
        score: Indexer | None = None,
        name: str = "fragrel",
    ) -> None:
        score = related(
            score or indexer(options.score, context), options.relation, options.alpha, include_self=options.include_self
        )
        super().__init__(context, name, by_turns(by_words(options.segment_words)), score)
        self._options, self._answer_tokens = options, options.max_new_tokens
        self._temperature, self._budget_without_model = options.temperature, options.budget

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        if not self._items.segments or (cancel is not None and cancel.cancelled):
            return RecallResult(())
        index = self._current_index()
        assert isinstance(index, RelatedIndex)
        scores = index.related_scores(question.text)
        totals = scores.total
        found = [Evidence(index.segments[i], float(totals[i])) for i in np.flatnonzero(totals > 0).tolist()]
        chosen = fit_evidence(found, self._counted(budget), self._count, self._options.order)
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

    def _prompt(self, question: Question, context: str) -> str:
        return story_prompt(question, context)

    def _counted(self, budget: Budget) -> Budget:
        """The budget with K: the number of full-size segments that its words hold (papers' spec 1.5)."""
        if not budget.words:
            return budget
        n = max(1, budget.words // self._options.segment_words)
        return replace(budget, n=n if budget.n is None else min(n, budget.n))
