"""QRMeM as a strategy: builds a graph for the question, navigates it, and answers from the segments found.

Owns the context window and the order of the parts: `graph_builder`, `walk` (first segments) and `navigation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from ...llm.protocol import Cancel
from ..budgets import fit_evidence, room_beside, window_of
from ..documents.reading import by_headings
from ..metered_model import CallCancelled
from ..prompting import with_choices
from ..scoring import Bm25Index, Indexer, SegmentIndex
from ..splitters import by_tokens, by_turns, count_words
from ..strategy import CANCELLED, StrategyContext
from ..strategy_base import ItemStrategy
from ..values import Answer, Budget, Cost, Evidence, Question, RecallResult, Segment, Step
from . import costs
from .calls import ANSWER_TOKENS, QRMeMCalls, WalkModel, format_segments
from .entities import entity_tool
from .graph import MemoryGraph
from .graph_builder import GraphBuilder
from .navigation import expand, reflect, try_entities
from .settings import QRMeMSettings
from .walk import SegmentWindow, WalkContext, WalkState, begin, fill_window

NO_MODEL = "No model is configured: the graph consists of names and sentences, and only evidence is returned."
NOTHING = "No item matches the question, so the model was not called."


class QRMeM(ItemStrategy):
    """Documents are split by tokens, with `at_headings` also at their headings; a turn is one segment.

    Extractions and graphs are cached in the context.
    """

    def __init__(
        self, context: StrategyContext, settings: QRMeMSettings | None = None, indexer: Indexer = Bm25Index
    ) -> None:
        self._settings = settings or QRMeMSettings()
        split_document = by_headings if self._settings.at_headings else by_tokens
        split = by_turns(split_document(self._settings.segment_tokens, context.count, hard=True))
        super().__init__(context, "qrmem", split, indexer)
        self._tool = entity_tool(self._settings.entity_tool)
        self._latest: tuple[str, MemoryGraph] | None = None  # with its cache key, because parsing a large graph is slow

    def graph(self, question: Question, cancel: Cancel | None = None) -> MemoryGraph:
        """The graph for a question. Raises ModelError, `CallCancelled` when cancelled."""
        return self._graph(self._builder(self._current_index(), self._calls(cancel), cancel), question)

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments whose numbers a graph has."""
        return self._current_index().segments

    def summary(self, cancel: Cancel | None = None) -> str:
        """The summary of all segments; "" without a model or a segment. Raises ModelError."""
        calls = self._calls(cancel)
        if calls is None or not self.segments:
            return ""
        return self._builder(self._current_index(), calls, cancel).summarised(calls)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The segments that navigation found, in document order, and its trace."""
        index, calls = self._current_index(), self._calls(cancel)
        if not index.segments or (cancel is not None and cancel.cancelled):
            return RecallResult(())
        if self._model is not None:
            self._model.prepare(cancel)
        room = self._room(question)
        if room is not None:
            budget = replace(budget, tokens=room if budget.tokens is None else min(room, budget.tokens))
        scores = _scores(index, question.text)
        walk = WalkState()
        try:
            graph = self._graph(self._builder(index, calls, cancel), question)
            window = self._window(index.segments, budget, room)
            context = WalkContext(
                graph,
                index.segments,
                question.text,
                scores,
                window,
                self._context.embedder,
                self._settings.opening_bonus,
            )
            self._walk(context, walk, index, question, calls)
        except CallCancelled:
            walk.note("cancelled")
        if calls is not None:
            walk.steps += [Step("trouble", {"note": trouble}) for trouble in calls.failures]
        return self._recalled(index.segments, scores, walk, budget)

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        """The answer from the recalled segments; for multiple choice, the letter."""
        if self._model is None:
            budget = budget or Budget(tokens=self._settings.window_tokens)
            return Answer("", self.recall(question, budget, cancel), self.name, notes=(NO_MODEL,))
        before = self._spent()
        recalled = self.recall(question, budget or Budget(), cancel)
        calls = QRMeMCalls(self._model, cancel)
        context = format_segments([each.segment for each in recalled.evidence])
        notes = [str(step.detail["note"]) for step in recalled.trace if step.name == "trouble"]
        text = ""
        if cancel is not None and cancel.cancelled:
            notes.append(CANCELLED)
        elif not recalled.evidence:
            notes.append(NOTHING)
        else:
            try:
                text = calls.attempt(lambda: calls.answer(question, context), "there is no answer") or ""
                notes += calls.failures
            except CallCancelled:
                notes.append(CANCELLED)
        return self._answered(text, recalled, before, notes)

    def estimate(self, question: Question) -> Cost:
        """An upper bound of graph, navigation and answer, without retries.

        Cached results cost nothing. Generated questions that do not exist yet are counted with the longest segment.
        """
        if self._model is None:
            return Cost()
        builder = self._builder(self._current_index(), self._calls(None))
        return costs.estimate(builder, question, self._room(question) or 0)

    def _walk(
        self, context: WalkContext, walk: WalkState, index: SegmentIndex, question: Question, calls: QRMeMCalls | None
    ) -> None:
        settings = self._settings
        walk_model = None if calls is None else WalkModel(calls, question)
        names = self._tool(question.text)
        if calls is not None:
            instead = "patterns replaced the entities of the question"
            names = calls.attempt(lambda: calls.question_entities(question.text), instead) or names
        goes_on = settings.navigate and settings.navigation == "reflection"
        begin(context, walk, names, settings.first_share if goes_on else 1.0)
        if goes_on:
            reflect(
                context,
                walk,
                walk_model,
                max_updates=settings.max_updates,
                with_reason=settings.reflection,
                segments_per_update=settings.segments_per_update,
                common_penalty=settings.common_penalty,
                only_new_segments=settings.only_new_segments,
            )
        elif settings.navigate and settings.navigation == "expansion":
            expand(context, walk, walk_model, partial(_scores, index), max_rounds=settings.expansion_rounds)
        elif settings.navigate:
            try_entities(context, walk, walk_model, max_updates=settings.max_updates)
        if settings.navigate and settings.fills_window and not walk.is_enough:
            fill_window(context, walk)

    def _recalled(
        self, segments: Sequence[Segment], scores: Sequence[float], walk: WalkState, budget: Budget
    ) -> RecallResult:
        found = {**walk.important, **walk.added}
        if not found and walk.first is not None:
            found = {walk.first: scores[walk.first]}  # no segment fits whole: the best one is truncated
        evidence = [Evidence(segments[i], score, walk.why.get(i, "")) for i, score in found.items()]
        return RecallResult(fit_evidence(evidence, budget, self._count, "document"), tuple(walk.steps))

    def _room(self, question: Question) -> int | None:
        """Tokens that the context window leaves for segments and their locations; None without a model."""
        if self._model is None:
            return None
        window = window_of(self._model, self._settings.window_tokens)
        words = self._count(with_choices(question)) + costs.most_prompt_tokens(self._count)
        return max(1, room_beside(window, words, ANSWER_TOKENS))

    def _window(self, segments: Sequence[Segment], budget: Budget, room: int | None) -> SegmentWindow:
        """Limits of the segments: the budget counts their text, the context window also their locations."""

        def text(number: int) -> str:
            return segments[number].text[: budget.characters_each]

        def with_place(number: int) -> str:
            return format_segments([replace(segments[number], text=text(number))]) + "\n\n"

        limits: list[tuple[int | None, Callable[[int], int]]] = [
            (budget.n, lambda number: 1),
            (budget.tokens, cache(lambda number: self._count(text(number)))),
            (budget.words, cache(lambda number: count_words(text(number)))),
            (room, cache(lambda number: self._count(with_place(number)))),
        ]
        return SegmentWindow(tuple((limit, takes) for limit, takes in limits if limit is not None))

    def _graph(self, builder: GraphBuilder, question: Question) -> MemoryGraph:
        key, latest = builder.key(question.text), self._latest
        if latest is not None and latest[0] == key:
            return latest[1]
        graph = builder.build(question.text)
        self._latest = key, graph
        return graph

    def _calls(self, cancel: Cancel | None) -> QRMeMCalls | None:
        return None if self._model is None else QRMeMCalls(self._model, cancel)

    def _builder(self, index: SegmentIndex, calls: QRMeMCalls | None, cancel: Cancel | None = None) -> GraphBuilder:
        context = self._context
        return GraphBuilder(
            index, self._settings, self._tool, context.embedder, context.cache, self._count, calls, cancel
        )


def _scores(index: SegmentIndex, text: str) -> list[float]:
    """Scores divided by their maximum, with negative scores as 0."""
    scores = index.scores(text).tolist()
    most = max(scores, default=0.0)
    return [max(0.0, score) / most if most > 0 else 0.0 for score in scores]
