"""What strategies remember of documents or of a conversation, for a person: summary, gists, graph, clues and notes.

Each part is what a strategy uses itself: QRMeM's summary and graph, MemoRAG's gists and clues, the notes of Segment+.
Without `reads` the model is not called, and only what is stored is shown. Owns the parts and the reasons for missing
ones. Knows no terminal and no workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..llm.protocol import Cancel
from .memorag import MemoRAG
from .memorag.backends import KINDS, choose_kind, text_room
from .memorag.gists import GistPlan, write_gists
from .memorag.strategy import MemoRAGSettings
from .memorag.text import memorized_text
from .metered_model import MeteredModel, PromptTooLong, UnparsableAnswer
from .qrmem import MemoryGraph, QRMeM
from .segment_plus import SegmentPlus
from .strategies import SHARED_GRAPH
from .strategy import StrategyContext
from .usage import NO_LIMITS, LimitReached, Limits
from .values import Budget, Cost, Item, Question, Segment, Step

PARTS = ("summary", "gists", "graph", "clues", "notes")
"""In this order; the last two are about a question."""

N_FOUND = 5  # segments that the walk over the graph looks for

NO_MODEL = "It needs a chat model, and none is configured or available."
NO_QUESTION = "It is about a question, and none is given."
NOT_STORED = "The model has not read all of this yet."
WHOLE = "The text fits the context window of the model, so MemoRAG reads it whole."
NOT_STORED_CLUES = "Clues are not stored: the model writes them for each question."
NO_WALK = "The walk for the question needs calls of the model."
BY_PATTERNS = "Names and sentences were found by patterns, without a model."


@dataclass(frozen=True)
class Inspection:
    """The parts that were asked for. `missing` gives the reason of each one that is not there."""

    summary: str = ""
    gists: tuple[str, ...] = ()
    graph: MemoryGraph | None = None
    segments: Sequence[Segment] = ()  # of the graph
    walk: tuple[Step, ...] = ()  # over the graph, for the question
    found: tuple[str, ...] = ()  # the places where the walk ended, with reasons
    clues: tuple[tuple[str, str], ...] = ()  # kind and text
    notes: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()  # part and reason
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspector:
    """Collects the parts for the items of one context."""

    context: StrategyContext
    items: Sequence[Item]
    question: str = ""
    reads: bool = False
    cancel: Cancel = field(default_factory=Cancel)

    def inspect(self, parts: Sequence[str] = PARTS) -> Inspection:
        """The parts; without `reads` as far as they are stored or need no model. Raises ModelError."""
        if self.context.model is not None:
            self.context.model.usage.limit_question(NO_LIMITS if self.reads else Limits(n_calls=0))
        readers = {
            "summary": self._summary,
            "gists": self._gists,
            "graph": self._graph,
            "clues": self._clues,
            "notes": self._notes,
        }
        inspection, missing = Inspection(), list[tuple[str, str]]()
        for part in parts:
            try:
                found = readers[part](inspection)
            except LimitReached:
                found = NOT_STORED
            except (UnparsableAnswer, PromptTooLong) as error:
                found = str(error)
            if isinstance(found, str):
                missing.append((part, found))
            else:
                inspection = found
        return replace(inspection, missing=tuple(missing))

    def estimate(self) -> Cost:
        """An upper bound of the cost of reading the graph and, with a question, of walking it."""
        return self._qrmem(self.context).estimate(Question(self.question))

    def _summary(self, so_far: Inspection) -> Inspection | str:
        if self.context.model is None:
            return NO_MODEL
        return replace(so_far, summary=self._qrmem(self.context).summary(self.cancel))

    def _gists(self, so_far: Inspection) -> Inspection | str:
        if self.context.model is None:
            return NO_MODEL
        model: MeteredModel = self.context.model.for_strategy("memorag")
        memorized = memorized_text(self.items, MemoRAGSettings().segment_tokens, self.context.count)
        kind = choose_kind(model, model.count_tokens(memorized.article), memorized.language)
        if not KINDS[kind].has_gists:
            return WHOLE
        room = text_room(model, memorized.language)
        gists = write_gists(model, memorized.article, memorized.language, room, GistPlan(), self.cancel)
        return replace(so_far, gists=tuple(gists))

    def _graph(self, so_far: Inspection) -> Inspection | str:
        """The stored graph, or the one of patterns; with a question also the walk."""
        asked, remarks = Question(self.question), list(so_far.remarks)
        memory = self._qrmem(self.context)
        if self.context.model is None:
            remarks.append(BY_PATTERNS)
        try:
            graph = memory.graph(asked, self.cancel)
        except LimitReached:
            remarks.append(f"{NOT_STORED} {BY_PATTERNS}")
            memory = self._qrmem(replace(self.context, model=None, count_tokens=self.context.count))
            graph = memory.graph(asked, self.cancel)
        walk, found = tuple[Step, ...](), tuple[str, ...]()
        if asked.text:
            try:
                walked = memory.recall(asked, Budget(n=N_FOUND), self.cancel)
            except LimitReached:
                remarks.append(NO_WALK)
            else:
                walk = walked.trace
                found = tuple(f"{each.segment.place}: {each.why}" for each in walked.evidence)
        return replace(so_far, graph=graph, segments=memory.segments, walk=walk, found=found, remarks=tuple(remarks))

    def _clues(self, so_far: Inspection) -> Inspection | str:
        if not self.question:
            return NO_QUESTION
        if self.context.model is None:
            return NO_MODEL
        if not self.reads:
            return NOT_STORED_CLUES
        memory = MemoRAG(self.context)
        memory.remember(self.items)
        trace = memory.recall(Question(self.question), Budget(), self.cancel).trace
        memory.reset()
        said = next((step.detail for step in trace if step.name == "clues"), {})
        clues = tuple((kind, text) for kind, texts in said.items() if isinstance(texts, list) for text in texts)
        return replace(so_far, clues=clues)

    def _notes(self, so_far: Inspection) -> Inspection | str:
        if not self.question:
            return NO_QUESTION
        memory = SegmentPlus(self.context)
        memory.remember(self.items)
        recalled = memory.recall(Question(self.question), Budget(), self.cancel)
        return replace(so_far, notes=tuple(filter(None, (recalled.context or "").split("\n"))))

    def _qrmem(self, context: StrategyContext) -> QRMeM:
        memory = QRMeM(context, SHARED_GRAPH)
        memory.remember(self.items)
        return memory
