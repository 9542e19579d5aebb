"""Builds the memory graph of a text for a question, segment by segment (papers' spec 3.1).

Owns the order of the calls and their caching: extractions under the segment text, the graph under all texts. Knows no
navigation. Without a model the entity tool finds the entities, and a sentence with two entities is their relation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...llm.protocol import Cancel
from ..budgets import window_of
from ..embedding import Embedder
from ..metered_model import CallCancelled
from ..scoring import SegmentIndex
from ..strategy import ResultCache
from ..values import Segment, content_key
from . import entity_resolution, prompts
from .calls import QRMeMCalls
from .entities import EntityTool, sentences_of
from .entity_resolution import EntityName, Pair, SegmentExtraction
from .graph import FORMAT, MemoryGraph, normalise, words_of
from .questions import raise_questions, summarise
from .settings import QRMeMSettings

MAX_NAMES = 24  # of a segment, for which relations are extracted
MAX_FUSED_SEGMENTS = 3  # in the prompt that fuses relations
VERSION = 1  # of results without a model


@dataclass
class GraphBuilder:
    """Builds graphs for one index of segments."""

    index: SegmentIndex
    settings: QRMeMSettings
    tool: EntityTool
    embedder: Embedder
    cache: ResultCache
    count_tokens: Callable[[str], int]
    calls: QRMeMCalls | None = None
    cancel: Cancel | None = None

    def build(self, question: str) -> MemoryGraph:
        """The graph for a question; without a model the same for all. Raises ModelError and `CallCancelled`."""
        if (value := self.cache.get("graph", self.key(question))) is not None:
            with suppress(ValueError):  # damaged: built again
                return MemoryGraph.from_json(value)
        part = self.part(question)
        found = self._read([(i, part) for i in range(len(self.index.segments))])
        if self.calls is None:
            graph = entity_resolution.combine(found, sure, keep_apart)
        else:
            if self.settings.graph_update and self.index.segments:
                found += self._read(self.matching(self._raise_questions(self.calls, question)))
            most_fusions = self.settings.most_fusions if self.settings.fuse_relations else 0
            deciding = _ModelDecisions(self.calls, self.index.segments, most_fusions)
            graph = entity_resolution.combine(found, deciding.same, deciding.fuse, self.embedder)
        if self.calls is None or self._keeps_fallbacks or not self.calls.failures:
            self.cache.put("graph", self.key(question), graph.to_json())
        return graph

    def is_built(self, question: str) -> bool:
        return self.cache.get("graph", self.key(question)) is not None

    def is_read(self, segment: Segment, part: str) -> bool:
        """Whether the extraction of a segment, for a question or for all, is cached."""
        return self.cache.get("entities", self._segment_key(segment, part)) is not None

    def raised(self, question: str) -> list[str] | None:
        """The generated questions about the text; None if they are not generated yet."""
        value = self.cache.get("questions", self._questions_key(question))
        return None if value is None else list(value)

    def summary(self) -> str | None:
        """The summary of the text; None if it is not generated yet."""
        value = self.cache.get("summary", self._whole_key())
        return None if value is None else str(value)

    def summarised(self, calls: QRMeMCalls) -> str:
        """The summary of the text, generated if it is not yet. Raises ModelError and `CallCancelled`."""
        if (summary := self.summary()) is None:
            summary = summarise(calls, self.index.segments, self.count_tokens, self.summary_room)
            if not calls.failures:
                self.cache.put("summary", self._whole_key(), summary)
        return summary

    @property
    def summary_room(self) -> int:
        """Tokens of the summaries that are merged at once."""
        return window_of(None if self.calls is None else self.calls.model, self.settings.window_tokens) // 2

    def part(self, question: str) -> str:
        """The question that segments are read for; "" if they are read for all questions."""
        return question if self.settings.query_oriented and self.calls is not None else ""

    def matching(self, questions: Sequence[str]) -> list[tuple[int, str]]:
        """The best segments for each question, or all of them, which are read again for it."""
        wanted = list[tuple[int, str]]()
        for question in questions:
            scores = self.index.scores(question)
            most = self.settings.update_segments
            best = np.argsort(-scores, kind="stable")[:most]
            wanted += [(int(i), question) for i in best if most is None or scores[i] > 0]
        return wanted

    def key(self, question: str) -> str:
        """The cache key of the graph for a question."""
        s = self.settings
        how = (FORMAT, s.n_questions if s.graph_update else 0, s.update_segments, s.fuse_relations, s.most_fusions)
        return content_key(self._reading_key(self.part(question)), repr(how), self.embedder.name, self._whole_key())

    def _whole_key(self) -> str:
        return content_key(self._model_name, str(prompts.VERSION), *(segment.key for segment in self.index.segments))

    def _questions_key(self, question: str) -> str:
        return content_key(self._whole_key(), self.part(question), str(self.settings.n_questions))

    def _reading_key(self, part: str) -> str:
        how = (self.settings.entity_tool, self.settings.open_entity, VERSION, prompts.VERSION)
        return content_key(self._model_name, repr(how), part)

    @property
    def _keeps_fallbacks(self) -> bool:
        """Whether results are cached that replace unparsable responses.

        Of a graph for all questions they are: otherwise each process would ask in vain again, four retries a call.
        """
        return not self.settings.query_oriented

    @property
    def _model_name(self) -> str:
        return self.calls.model.info.name if self.calls is not None else ""

    def _segment_key(self, segment: Segment, part: str) -> str:
        return content_key(self._reading_key(part), segment.key)

    def _read(self, wanted: Sequence[tuple[int, str]]) -> list[SegmentExtraction]:
        if self.calls is None:
            found = list[SegmentExtraction]()
            for number, _ in wanted:
                if self.cancel is not None and self.cancel.cancelled:
                    raise CallCancelled("building the graph was cancelled.")
                found.append(self._by_tool(number))
            return found
        return self.calls.model.ask_all([partial(self._by_model, self.calls, number, part) for number, part in wanted])

    def _by_tool(self, number: int) -> SegmentExtraction:
        text = self.index.segments[number].text
        names = self.tool(text)
        return SegmentExtraction(number, tuple(map(EntityName, names)), tuple(relations_by_sentence(text, names)))

    def _by_model(self, calls: QRMeMCalls, number: int, part: str) -> SegmentExtraction:
        segment = self.index.segments[number]
        key = self._segment_key(segment, part)
        if (value := self.cache.get("entities", key)) is not None:
            with suppress(ValueError, TypeError, KeyError, IndexError, AttributeError):  # damaged: read again
                return SegmentExtraction.from_json(number, value)
        by_tool = self._by_tool(number)
        said: list[EntityName] | None = []
        if self.settings.open_entity and segment.text.strip():
            instead = f"patterns replaced the entities of {segment.place}"
            said = calls.attempt(lambda: calls.entities(segment, part), instead)
        names = dict[str, EntityName]()
        for name in (*(said or ()), *by_tool.names):
            if key_of_name := normalise(name.name):
                names.setdefault(key_of_name, name)
        listed = [name.name for name in names.values()][:MAX_NAMES]
        related: list[tuple[str, str, str]] | None = []
        if len(listed) > 1:
            instead = f"sentences replaced the relations of {segment.place}"
            related = calls.attempt(lambda: calls.relations(segment, listed), instead)
        relations = [r for r in by_tool.relations if {r[0], r[1]} <= set(listed)] if related is None else related
        found = SegmentExtraction(number, tuple(names.values()), tuple(relations))
        if self._keeps_fallbacks or (said is not None and related is not None):
            self.cache.put("entities", key, found.to_json())
        return found

    def _raise_questions(self, calls: QRMeMCalls, question: str) -> list[str]:
        if (cache := self.raised(question)) is not None:
            return cache
        summary = self.summarised(calls)
        asked = [part] if (part := self.part(question)) else []
        questions = raise_questions(calls, summary, asked, self.settings.n_questions)
        if not calls.failures:
            self.cache.put("questions", self._questions_key(question), questions)
        return questions


def relations_by_sentence(text: str, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Pairs of names with a sentence that contains both.

    The first name of a text, then of each heading, is the topic of the sentences below it.
    """
    keys = {normalise(name): name for name in names}
    topic = names[0] if names else ""
    related = list[tuple[str, str, str]]()
    for sentence in sentences_of(text):
        words = f" {' '.join(words_of(sentence))} "
        here = [name for key, name in keys.items() if f" {key} " in words]
        if here and sentence.startswith("#"):
            topic = max(here, key=len)
        elif here and topic not in here:
            here.insert(0, topic)
        for first, second in itertools.combinations(here[:MAX_NAMES], 2):
            one, other = f" {normalise(first)} ", f" {normalise(second)} "
            if one not in other and other not in one:
                related.append((first, second, sentence))
    return related


def sure(pairs: Sequence[Pair]) -> list[bool]:
    """Without a model only acronyms are merged."""
    return [entity_resolution.is_acronym(first, second) for first, second in pairs]


def keep_apart(pair: Pair, texts: Sequence[str], segments: Sequence[int]) -> None:
    """Without a model relations of a pair stay separate."""


class _ModelDecisions:
    """Merge decisions by the model, within the limits of the settings."""

    def __init__(self, calls: QRMeMCalls, segments: Sequence[Segment], most_fusions: int | None) -> None:
        self._calls, self._segments = calls, segments
        self._left = most_fusions

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        asked = pairs[: entity_resolution.MAX_CANDIDATES]
        decided = self._calls.attempt(lambda: self._calls.same(asked), "only acronyms were merged")
        return (decided or sure(asked)) + sure(pairs[len(asked) :])

    def fuse(self, pair: Pair, texts: Sequence[str], segments: Sequence[int]) -> str | None:
        if self._left is not None:
            if self._left == 0:
                return None
            self._left -= 1
        shown = [self._segments[number] for number in segments[:MAX_FUSED_SEGMENTS]]
        instead = f"the relations of {pair[0]} and {pair[1]} were not fused"
        return self._calls.attempt(lambda: self._calls.fused(pair, texts, shown), instead)
