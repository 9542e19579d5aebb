"""The graph of a text for a question: read segment by segment, asked about, and put together (papers' spec 3.1).

Owns the order of the work and what is kept of it: what was read in a segment under its text, the whole graph under all
texts. Knows no walk. Without a model the entities are those of the tool, and a relation is the sentence that holds two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...llm.protocol import Cancel
from ..accountant import Stopped
from ..embedding import Embedder
from ..scoring import SegmentIndex
from ..strategy import Kept
from ..values import Segment, content_key
from ..window import window_of
from . import merging, prompts
from .asking import Asking
from .entities import EntityTool, sentences_of
from .graph import FORMAT, MemoryGraph, normalise, words_of
from .merging import Extracted, Name, Pair
from .questions import raise_questions, summarise
from .settings import QRMeMSettings

MOST_NAMES = 24  # of a segment, between which relations are asked for
MOST_FUSED_SEGMENTS = 3  # in the prompt that makes one relation of several
VERSION = 1  # of what is kept without a model


@dataclass
class Builder:
    """Builds graphs of one index of segments."""

    index: SegmentIndex
    settings: QRMeMSettings
    tool: EntityTool
    embedder: Embedder
    kept: Kept
    count_tokens: Callable[[str], int]
    asking: Asking | None = None
    cancel: Cancel | None = None

    def build(self, question: str) -> MemoryGraph:
        """The graph for a question; the same for all without a model. Raises ModelError, `Stopped` when cancelled."""
        if (value := self.kept.get("graph", self.key(question))) is not None:
            return MemoryGraph.from_json(value)
        part = self.part(question)
        found = self._read([(i, part) for i in range(len(self.index.segments))])
        if self.asking is None:
            graph = merging.combine(found, sure, keep_apart)
        else:
            if self.settings.graph_update and self.index.segments:
                found += self._read(self.matching(self._raise_questions(self.asking, question)))
            most_fusions = self.settings.most_fusions if self.settings.fuse_relations else 0
            deciding = _Deciding(self.asking, self.index.segments, most_fusions)
            graph = merging.combine(found, deciding.same, deciding.fuse, self.embedder)
        # What was done without the model is done again next time.
        if self.asking is None or not self.asking.troubles:
            self.kept.put("graph", self.key(question), graph.to_json())
        return graph

    def is_built(self, question: str) -> bool:
        return self.kept.get("graph", self.key(question)) is not None

    def is_read(self, segment: Segment, part: str) -> bool:
        """Whether what the model would say of a segment, for a question or for all, is kept."""
        return self.kept.get("entities", self._segment_key(segment, part)) is not None

    def raised(self, question: str) -> list[str] | None:
        """The questions that the text raises beside the one asked; None when nobody asked for them yet."""
        value = self.kept.get("questions", self._questions_key(question))
        return None if value is None else list(value)

    def summary(self) -> str | None:
        """What the text is about; None when nobody asked for it yet."""
        value = self.kept.get("summary", self._whole_key())
        return None if value is None else str(value)

    @property
    def summary_room(self) -> int:
        """Tokens of the summaries that are put together at once."""
        accountant = None if self.asking is None else self.asking.accountant
        return window_of(accountant, self.settings.window_tokens) // 2

    def part(self, question: str) -> str:
        """What segments are read for: a question, or "" for all of them."""
        return question if self.settings.query_oriented and self.asking is not None else ""

    def matching(self, questions: Sequence[str]) -> list[tuple[int, str]]:
        """The segments to be read again for each of the questions: those that fit it best."""
        wanted = list[tuple[int, str]]()
        for question in questions:
            scores = self.index.scores(question)
            best = np.argsort(-scores, kind="stable")[: self.settings.update_segments]
            wanted += [(int(i), question) for i in best if scores[i] > 0]
        return wanted

    def key(self, question: str) -> str:
        """What the graph for a question is kept under."""
        s = self.settings
        how = (FORMAT, s.n_questions if s.graph_update else 0, s.update_segments, s.fuse_relations, s.most_fusions)
        return content_key(self._reading_key(self.part(question)), repr(how), self.embedder.name, self._whole_key())

    def _whole_key(self) -> str:
        model = self.asking.accountant.model.info.name if self.asking is not None else ""
        return content_key(model, str(prompts.VERSION), *(segment.key for segment in self.index.segments))

    def _questions_key(self, question: str) -> str:
        return content_key(self._whole_key(), self.part(question), str(self.settings.n_questions))

    def _reading_key(self, part: str) -> str:
        model = self.asking.accountant.model.info.name if self.asking is not None else ""
        how = (self.settings.entity_tool, self.settings.open_entity, VERSION, prompts.VERSION)
        return content_key(model, repr(how), part)

    def _segment_key(self, segment: Segment, part: str) -> str:
        return content_key(self._reading_key(part), segment.key)

    def _read(self, wanted: Sequence[tuple[int, str]]) -> list[Extracted]:
        if self.asking is None:
            found = list[Extracted]()
            for number, _ in wanted:
                if self.cancel is not None and self.cancel.cancelled:
                    raise Stopped("building the graph was cancelled.")
                found.append(self._by_tool(number))
            return found
        asking = self.asking

        def task(number: int, part: str) -> Callable[[], Extracted]:
            return lambda: self._by_model(asking, number, part)

        return asking.accountant.ask_all([task(number, part) for number, part in wanted])

    def _by_tool(self, number: int) -> Extracted:
        text = self.index.segments[number].text
        names = self.tool(text)
        return Extracted(number, tuple(map(Name, names)), tuple(relations_by_sentence(text, names)))

    def _by_model(self, asking: Asking, number: int, part: str) -> Extracted:
        segment = self.index.segments[number]
        key = self._segment_key(segment, part)
        if (value := self.kept.get("entities", key)) is not None:
            return Extracted.from_json(number, value)
        by_tool = self._by_tool(number)
        said: list[Name] | None = []
        if self.settings.open_entity and segment.text.strip():
            said = asking.tried(lambda: asking.entities(segment, part), f"{segment.place} was read without the model")
        names = dict[str, Name]()
        for name in (*(said or ()), *by_tool.names):
            if key_of_name := normalise(name.name):
                names.setdefault(key_of_name, name)
        listed = [name.name for name in names.values()][:MOST_NAMES]
        related: list[tuple[str, str, str]] | None = []
        if len(listed) > 1:
            instead = f"names in {segment.place} are related by its sentences"
            related = asking.tried(lambda: asking.relations(segment, listed), instead)
        relations = [r for r in by_tool.relations if {r[0], r[1]} <= set(listed)] if related is None else related
        found = Extracted(number, tuple(names.values()), tuple(relations))
        if said is not None and related is not None:
            self.kept.put("entities", key, found.to_json())
        return found

    def _raise_questions(self, asking: Asking, question: str) -> list[str]:
        if (kept := self.raised(question)) is not None:
            return kept
        if (summary := self.summary()) is None:
            summary = summarise(asking, self.index.segments, self.count_tokens, self.summary_room)
            if not asking.troubles:
                self.kept.put("summary", self._whole_key(), summary)
        asked = [part] if (part := self.part(question)) else []
        questions = raise_questions(asking, summary, asked, self.settings.n_questions)
        if not asking.troubles:
            self.kept.put("questions", self._questions_key(question), questions)
        return questions


def relations_by_sentence(text: str, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Pairs of names with the sentence that holds both.

    The first name of a text, and then each heading, is what the sentences below are about.
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
        for first, second in itertools.combinations(here[:MOST_NAMES], 2):
            one, other = f" {normalise(first)} ", f" {normalise(second)} "
            if one not in other and other not in one:
                related.append((first, second, sentence))
    return related


def sure(pairs: Sequence[Pair]) -> list[bool]:
    """Without a model only acronyms count as another name of the same thing."""
    return [merging.is_acronym(first, second) for first, second in pairs]


def keep_apart(pair: Pair, texts: Sequence[str], segments: Sequence[int]) -> None:
    """Without a model several relations of a pair stay as they are."""


class _Deciding:
    """What a model decides when segments are put together, within the bounds of the settings."""

    def __init__(self, asking: Asking, segments: Sequence[Segment], most_fusions: int) -> None:
        self._asking, self._segments = asking, segments
        self._left = most_fusions

    def same(self, pairs: Sequence[Pair]) -> list[bool]:
        asked = pairs[: merging.MOST_CANDIDATES]
        decided = self._asking.tried(lambda: self._asking.same(asked), "names were compared by their letters")
        return (decided or sure(asked)) + sure(pairs[len(asked) :])

    def fuse(self, pair: Pair, texts: Sequence[str], segments: Sequence[int]) -> str | None:
        if self._left == 0:
            return None
        self._left -= 1
        shown = [self._segments[number] for number in segments[:MOST_FUSED_SEGMENTS]]
        instead = f"relations of {pair[0]} and {pair[1]} stay apart"
        return self._asking.tried(lambda: self._asking.fused(pair, texts, shown), instead)
