"""QRMeM as a strategy: a graph made for the question, a walk over it, and an answer from the segments it found.

Owns the window and how the parts work together. How a graph is built is in `building`, where a
walk begins in `walking`, how it goes on in `navigation`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from ...llm.protocol import Cancel
from ..budgets import fit_evidence
from ..choices import with_choices
from ..documents.splitter import by_headings
from ..metered_model import CallCancelled
from ..scoring import Bm25Index, Indexer, SegmentIndex
from ..segmented_items import SegmentedItems
from ..splitters import by_turns, count_words
from ..strategy import CANCELLED, StrategyContext
from ..values import Answer, Budget, Cost, Evidence, Item, Question, RecallResult, Segment, Step
from ..window import room_beside, window_of
from . import costs
from .answer_parsing import Verdict
from .calls import ANSWER_TOKENS, QRMeMCalls, shown
from .entities import entity_tool
from .graph import MemoryGraph
from .graph_builder import GraphBuilder
from .navigation import expand, reflect, try_entities
from .settings import QRMeMSettings
from .walk import SegmentWindow, WalkContext, WalkState, begin, fill

NO_MODEL = "No model is configured: the graph is made of names and sentences, and this is the evidence alone."
NOTHING = "Nothing that is remembered has to do with the question, so no model was asked for an answer."


class QRMeM:
    """Documents are cut by tokens, at headings where there are any; a round of a conversation is one segment.

    What was read of a segment and the graphs of questions are kept in the kit.
    """

    def __init__(
        self, context: StrategyContext, settings: QRMeMSettings | None = None, indexer: Indexer = Bm25Index
    ) -> None:
        self._context, self._settings, self._indexer = context, settings or QRMeMSettings(), indexer
        self._model = None if context.model is None else context.model.for_strategy(self.name)
        self._count = context.count
        split = by_headings(self._settings.segment_tokens, self._count, hard=True)
        self._items = SegmentedItems(by_turns(split))
        self._tool = entity_tool(self._settings.entity_tool)
        self._lock = threading.Lock()
        self._index: SegmentIndex | None = None
        self._latest: tuple[str, MemoryGraph] | None = None  # with its key, as reading a large one takes time

    @property
    def name(self) -> str:
        return "qrmem"

    def remember(self, items: Sequence[Item], cancel: Cancel | None = None) -> None:
        """Nothing is read before a question is asked: graphs are made for questions."""
        self._items.take(items, cancel)

    def forget(self, source: str) -> None:
        self._items.forget(source)

    def graph(self, question: Question, cancel: Cancel | None = None) -> MemoryGraph:
        """The graph for a question, for whoever wants to look at it. Raises ModelError, `CallCancelled` when cancelled."""
        return self._graph(self._builder(self._ready(), self._calls(cancel), cancel), question)

    def recall(self, question: Question, budget: Budget, cancel: Cancel | None = None) -> RecallResult:
        """The segments of the walk in document order; its steps are the trace."""
        index, calls = self._ready(), self._calls(cancel)
        if not index.segments or (cancel is not None and cancel.cancelled):
            return RecallResult(())
        if self._model is not None:
            self._model.prepare(cancel)
        room = self._room(question)
        if room is not None:
            budget = replace(budget, tokens=room if budget.tokens is None else min(room, budget.tokens))
        scores = _scaled(index.scores(question.text).tolist())
        walk = WalkState()
        try:
            graph = self._graph(self._builder(index, calls, cancel), question)
            window = self._window(index.segments, budget, room)
            ground = WalkContext(graph, index.segments, question.text, scores, window, self._context.embedder)
            self._walk(ground, walk, index, question, calls)
        except CallCancelled:
            walk.note("cancelled")
        if calls is not None:
            walk.steps += [Step("trouble", {"note": trouble}) for trouble in calls.failures]
        return self._recalled(index.segments, scores, walk, budget)

    def answer(self, question: Question, budget: Budget | None = None, cancel: Cancel | None = None) -> Answer:
        """From the segments that `recall` finds; for a question with choices the letter."""
        if self._model is None:
            budget = budget or Budget(tokens=self._settings.window_tokens)
            return Answer("", self.recall(question, budget, cancel), self.name, notes=(NO_MODEL,))
        before, name = self._model.usage.of(self.name), self._model.info.name
        recalled = self.recall(question, budget or Budget(), cancel)
        calls = QRMeMCalls(self._model, cancel)
        context = shown([each.segment for each in recalled.evidence])
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
        spent = self._model.usage.of(self.name) - before
        return Answer(text, recalled, self.name, name, spent, tuple(notes))

    def estimate(self, question: Question) -> Cost:
        """What reading, walking and answering cost at most, as far as each answer can be read at once.

        What is kept is not counted. Questions that the text has not raised yet count as its longest segment each.
        """
        if self._model is None:
            return Cost()
        index = self._ready()
        builder = self._builder(index, self._calls(None))
        return costs.estimate(builder, question, self._count, self._room(question) or 0)

    def _walk(
        self, ground: WalkContext, walk: WalkState, index: SegmentIndex, question: Question, calls: QRMeMCalls | None
    ) -> None:
        settings = self._settings
        judge = None if calls is None else _QuestionWalkModel(calls, question)
        names = self._tool(question.text)
        if calls is not None:
            asked = calls.attempt(
                lambda: calls.question_entities(question.text), "its names were found without the model"
            )
            names = asked or names
        goes_on = settings.navigate and settings.navigation == "reflection"
        begin(ground, walk, names, settings.first_share if goes_on else 1.0)
        if goes_on:
            reflect(
                ground,
                walk,
                judge,
                max_updates=settings.max_updates,
                with_reason=settings.reflection,
                segments_per_update=settings.segments_per_update,
                common_penalty=settings.common_penalty,
            )
        elif settings.navigate and settings.navigation == "expansion":

            def search(text: str) -> list[float]:
                return _scaled(index.scores(text).tolist())

            expand(ground, walk, judge, search, max_rounds=settings.expansion_rounds)
        elif settings.navigate:
            try_entities(ground, walk, judge, max_updates=settings.max_updates)
        if not walk.is_enough:
            fill(ground, walk)

    def _recalled(
        self, segments: Sequence[Segment], scores: Sequence[float], walk: WalkState, budget: Budget
    ) -> RecallResult:
        found = {**walk.important, **walk.added}
        if not found and walk.first is not None:
            found = {walk.first: scores[walk.first]}  # not even one fits whole: the best is cut
        evidence = [Evidence(segments[i], score, walk.why.get(i, "")) for i, score in found.items()]
        return RecallResult(fit_evidence(evidence, budget, self._count, "document"), tuple(walk.steps))

    def _room(self, question: Question) -> int | None:
        """Tokens that the window leaves for segments and their places; None without a model, which has no window."""
        if self._model is None:
            return None
        window = window_of(self._model, self._settings.window_tokens)
        words = self._count(with_choices(question)) + costs.most_prompt_tokens(self._count)
        return max(1, room_beside(window, words, ANSWER_TOKENS))

    def _window(self, segments: Sequence[Segment], budget: Budget, room: int | None) -> SegmentWindow:
        """The budget counts the text of segments, the model's window also the places above them."""

        def text(number: int) -> str:
            return segments[number].text[: budget.characters_each]

        def with_place(number: int) -> str:
            return shown([replace(segments[number], text=text(number))]) + "\n\n"

        limits: list[tuple[int | None, Callable[[int], int]]] = [
            (budget.n, lambda number: 1),
            (budget.tokens, cache(lambda number: self._count(text(number)))),
            (budget.words, cache(lambda number: count_words(text(number)))),
            (room, cache(lambda number: self._count(with_place(number)))),
        ]
        return SegmentWindow(tuple((limit, takes) for limit, takes in limits if limit is not None))

    def _ready(self) -> SegmentIndex:
        """The index of what is remembered now, made when it is first asked."""
        with self._lock:
            segments = self._items.segments
            if self._index is None or self._index.segments is not segments:
                self._index = self._indexer(segments)
            return self._index

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


class _QuestionWalkModel:
    """One question's `WalkModel`: what cannot be read is no verdict, no other entity and no longer question."""

    def __init__(self, calls: QRMeMCalls, question: Question) -> None:
        self._calls, self._question = calls, question

    def enough(self, segments: Sequence[Segment]) -> Verdict:
        instead = "segments were taken for too few"
        return self._calls.attempt(lambda: self._calls.enough(self._question, segments), instead) or Verdict(False)

    def other_entities(self, tried: Sequence[str], missing: str, names: Sequence[str]) -> list[str]:
        calls, text = self._calls, self._question.text
        return (
            calls.attempt(lambda: calls.other_entities(text, tried, missing, names), "no other names were tried") or []
        )

    def elaborated(self, relations: Sequence[str]) -> str:
        calls, text = self._calls, self._question.text
        longer = calls.attempt(lambda: calls.elaborated(text, relations), "relations were searched for as they are")
        return " ".join(relations) if longer is None else longer


def _scaled(scores: Sequence[float]) -> list[float]:
    """Scores with 1 for the best, and 0 for what has nothing in common with the question."""
    most = max(scores, default=0.0)
    return [max(0.0, score) / most if most > 0 else 0.0 for score in scores]
