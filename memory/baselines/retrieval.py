"""Top-k retrieval, with hypothetical answers (HyDE) or query rewriting (RQ-RAG).

Owns the queries and how the results of several queries are merged. The indexer scores segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...llm.protocol import Cancel
from ..budgets import fit_evidence
from ..metered_model import Call, CallCancelled, UnparsableAnswer
from ..prompting import fill
from ..scoring import Indexer, Scores, indexer
from ..strategy import StrategyContext
from ..values import Budget, Cost, Evidence, Order, Question, RecallResult, Step
from . import prompts
from .base import Baseline

MAX_QUERIES = 4
PASSAGE_TOKENS = 200
QUERY_TOKENS = 256


class TopK(Baseline):
    """The `k` best segments; None fills the context window ("Max"). The prompt order is the rank, as in LongBench."""

    _name = ""
    _order: Order = "rank"
    _most_queries = 1

    def __init__(self, context: StrategyContext, k: int | None = 3, score: Indexer | None = None) -> None:
        super().__init__(context, self._name or f"top_{k or 'max'}", score or indexer("auto", context))
        self._k = k

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        return self._found([question.text], budget, ())

    def _found(self, queries: Sequence[str], budget: Budget, steps: Sequence[Step]) -> RecallResult:
        """The `k` best segments of each query; scores are shares of the query's maximum, the best over all queries."""
        index = self._current_index()
        best: dict[int, Evidence] = {}
        for query in queries:
            scores = _shares(index.scores(query))
            for i in np.argsort(-scores, kind="stable")[: self._k].tolist():
                if scores[i] > 0 and (i not in best or scores[i] > best[i].score):
                    best[i] = Evidence(index.segments[i], float(scores[i]), _why(query, queries))
        found = [best[i] for i in sorted(best)]
        evidence = fit_evidence(found, budget, self._count, self._order)
        step = Step("search", {"queries": list(queries), "found": len(found), "shown": _places(evidence)})
        return RecallResult(evidence, (*steps, step))

    def _most_shown(self) -> int:
        sizes = sorted((self._count(segment.text) for segment in self._items.segments), reverse=True)
        n = None if self._k is None else self._k * self._most_queries
        return sum(sizes[:n])


class GeneratedQueries(TopK):
    """Top-k retrieval with queries that a model writes in one call."""

    _purpose: str
    _template: str
    _query_tokens = QUERY_TOKENS

    def _call(self, question: Question) -> Call:
        history = prompts.history_of(question)
        prompt = fill(self._template, question=question.text, history=history, n=MAX_QUERIES)
        return Call.of(self._purpose, prompt, self._query_tokens)

    def _cost_to_recall(self, question: Question) -> Cost:
        call = self._call(question)
        return Cost(1, self._count(call.messages[-1].text), call.max_new_tokens)


class Hyde(GeneratedQueries):
    """HyDE: retrieves by a generated hypothetical passage. The score of the question weighs the same."""

    _name, _purpose, _template, _query_tokens = "hyde", "invent", prompts.HYPOTHETICAL, PASSAGE_TOKENS

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        if self._model is None:
            return self._found([question.text], budget, ())
        passage = self._model.ask(self._call(question), cancel)
        index = self._current_index()
        scores = _shares(index.scores(question.text)) + _shares(index.scores(passage))
        order = [i for i in np.argsort(-scores, kind="stable")[: self._k].tolist() if scores[i] > 0]
        why = "similar to a hypothetical answer" if passage else _why(question.text, [question.text])
        found = [Evidence(index.segments[i], float(scores[i]) / 2, why) for i in order]
        evidence = fit_evidence(found, budget, self._count, self._order)
        steps = (Step("invent", {"passage": passage}), Step("search", {"shown": _places(evidence)}))
        return RecallResult(evidence, steps)


class Rewriting(GeneratedQueries):
    """RQ-RAG: the model rewrites, decomposes or disambiguates the question, and each resulting query is searched.

    The original question is searched too. RQ-RAG trains a model for this; here the model is prompted.
    """

    _name, _purpose, _template = "rewriting", "rewrite", prompts.REWRITE
    _most_queries = MAX_QUERIES + 1

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        if self._model is None:
            return self._found([question.text], budget, ())
        try:
            how, queries = self._model.ask_json(self._call(question), _read_queries, cancel)
            step = Step("rewrite", {"how": how, "queries": queries})
        except CallCancelled:
            return RecallResult(())
        except UnparsableAnswer as error:
            queries, step = [], Step("rewrite", {"note": f"The original question was searched: {error}"})
        return self._found(list(dict.fromkeys([*queries, question.text])), budget, (step,))


def _read_queries(value: Any) -> tuple[str, list[str]]:
    queries = [str(query).strip() for query in value["queries"] if isinstance(query, str) and query.strip()]
    if not queries:
        raise ValueError("no queries")
    return str(value.get("how", "rewrite")), queries[:MAX_QUERIES]


def _shares(scores: Scores) -> Scores:
    """Scores divided by their maximum, so that scores of different queries are comparable."""
    most = scores.max(initial=0.0)
    shares: Scores = scores / most if most > 0 else scores
    return shares


def _why(query: str, queries: Sequence[str]) -> str:
    return "matches the question" if len(queries) == 1 else f"matches “{query}”"


def _places(evidence: Sequence[Evidence]) -> list[str]:
    return [each.segment.place for each in evidence]
