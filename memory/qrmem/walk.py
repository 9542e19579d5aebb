"""State of a graph walk, entity linking, and the first segments.

Owns the segment window, the walk and its trace. Knows no model: `navigation` decides the next step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..embedding import Embedder
from ..values import Segment, Step
from .entities import headings_of
from .graph import EntityRelation, MemoryGraph, normalise, words_of
from .settings import QRMeMSettings

LINK_COSINE = 0.5  # smallest cosine of a name and an entity
NEAR_SEGMENTS = 20  # segments whose entities are compared with a name, so that not all names are embedded
MAX_TRIED = 50  # segments tried for the rest of the window, best first
MAX_COMPARED = 400  # edges embedded in one step
FIRST_ENTITIES = 3  # first entities if the question names none


@dataclass(frozen=True)
class SegmentWindow:
    """Limits of the segments in the window, each with the size of a segment in its unit."""

    limits: tuple[tuple[float, Callable[[int], int]], ...] = ()

    def fits(self, segments: Iterable[int]) -> bool:
        shown = list(segments)
        return all(sum(map(takes, shown)) <= limit for limit, takes in self.limits)

    def part(self, share: float) -> SegmentWindow:
        """A share of the window; counted segments are rounded up to at least one."""
        return SegmentWindow(tuple((math.ceil(limit * share), takes) for limit, takes in self.limits))


@dataclass(frozen=True)
class WalkContext:
    """A graph over segments, the segment scores for the question (at most 1), and the window."""

    graph: MemoryGraph
    segments: Sequence[Segment]
    question: str
    scores: Sequence[float]
    window: SegmentWindow
    embedder: Embedder
    opening_bonus: float = QRMeMSettings.opening_bonus  # of a segment that begins with an entity, and so is about it
    _openings: dict[int, list[str]] = field(default_factory=dict)
    _vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)  # embeds each text once in a walk

    @cached_property
    def ranked(self) -> list[int]:
        """The segments with a positive score, best first."""
        numbers = [number for number, score in enumerate(self.scores) if score > 0]
        return sorted(numbers, key=lambda number: -self.scores[number])

    def nearness(self, question: str, texts: Sequence[str]) -> list[float]:
        """The cosines of texts with the question."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors.update(zip(new, self.embedder.embed(new), strict=True))
        asked = self.embedder.embed([question], are_queries=True)[0]
        return [float(self._vectors[text] @ asked) for text in texts]

    def edges_from(self, entities: Sequence[int], guide: str) -> list[tuple[int, EntityRelation]]:
        """The edges from these entities to others, each with its start.

        Of too many edges, those that share most words with the guide.
        """
        reached = set(entities)
        edges = [
            (entity, relation)
            for entity in entities
            for relation in self.graph.relations_of[entity]
            if relation.other(entity) not in reached
        ]
        if len(edges) > MAX_COMPARED:
            words = set(words_of(guide))
            shared = [len(words.intersection(words_of(self.graph.edge_text(*edge)))) for edge in edges]
            best = sorted(range(len(edges)), key=lambda i: -shared[i])[:MAX_COMPARED]
            edges = [edges[i] for i in sorted(best)]
        return edges

    def openings(self, number: int) -> list[str]:
        """The beginning of a segment, its title and its headings, normalised."""
        if number not in self._openings:
            text, title = self.segments[number].text, self.segments[number].title.rpartition(" > ")[2]
            self._openings[number] = [normalise(each) + " " for each in (text[:100], title, *headings_of(text))]
        return self._openings[number]

    def next_for(self, walk: WalkState) -> int | None:
        """The best segment that fits into the rest of the window; None if there is none."""
        shown = set(walk.segments)
        others = islice((number for number in self.ranked if number not in shown), MAX_TRIED)
        return next((number for number in others if self.window.fits([*shown, number])), None)

    def places(self, numbers: Iterable[int]) -> list[str]:
        return [self.segments[number].place for number in numbers]


@dataclass
class WalkState:
    """The state of a walk: entities in order of arrival, and segments with their scores."""

    entities: list[int] = field(default_factory=list)
    important: dict[int, float] = field(default_factory=dict)  # segments of the first entities
    added: dict[int, float] = field(default_factory=dict)  # segments that edges led to
    dropped: set[int] = field(default_factory=set)
    why: dict[int, str] = field(default_factory=dict)
    path: list[tuple[int, EntityRelation]] = field(default_factory=list)  # each edge with its start
    steps: list[Step] = field(default_factory=list)
    first: int | None = None  # the best first segment, even if it does not fit the window
    is_enough: bool = False  # by the verdict of the model

    @property
    def segments(self) -> list[int]:
        """In document order."""
        return sorted({**self.important, **self.added})

    def take(self, entity: int, relation: EntityRelation) -> None:
        self.entities.append(relation.other(entity))
        self.path.append((entity, relation))

    def note(self, name: str, **detail: Any) -> None:
        self.steps.append(Step(name, detail))


def link(context: WalkContext, names: Iterable[str]) -> list[int]:
    """Entity linking: entities with this mention, else mentioned in the name, else the most similar one."""
    found = dict[int, None]()
    strangers = list[str]()
    for name in names:
        entities = context.graph.named(name) or context.graph.named_in(name)
        found.update(dict.fromkeys(entities))
        if not entities and normalise(name):
            strangers.append(name)
    if strangers:
        best = context.ranked[:NEAR_SEGMENTS]
        nearby = list(dict.fromkeys(e for i in best for e in context.graph.in_segment.get(i, ())))
        texts = [context.graph.entities[entity].name for entity in nearby]
        for name in strangers:
            nearness = context.nearness(name, texts)
            if nearness and max(nearness) >= LINK_COSINE:
                found[nearby[int(np.argmax(nearness))]] = None
    return list(found)


def begin(context: WalkContext, walk: WalkState, names: Sequence[str], share: float = 1.0) -> None:
    """Begin the walk with the entities of the question and their best segments, which fill `share` of the window.

    With an opening bonus each entity first gets one segment that begins with it, if there is one, beside that share. If
    the question names no entity, the best segments come first, then their entities.
    """
    walk.entities = list(dict.fromkeys([*context.graph.named_in(context.question), *link(context, names)]))
    entities = context.graph.entities
    walk.note("question entities", asked=list(names), entities=[entities[entity].name for entity in walk.entities])
    if not walk.entities:
        _begin_with_words(context, walk, share)
    else:
        _begin_with_entities(context, walk, share)
    walk.note("first segments", segments=context.places(walk.segments))


def close(context: WalkContext, number: int, entities: Iterable[int]) -> float:
    """The score of a segment, with the bonus if it is about one of the entities."""
    bonus = context.opening_bonus
    return context.scores[number] + bonus * any(bonus and opens(context, number, entity) for entity in entities)


def opens(context: WalkContext, number: int, entity: int) -> bool:
    """Whether a segment, or the text below a heading in it, begins with an entity."""
    mentions = [normalise(mention) + " " for mention in context.graph.entities[entity].mentions]
    return any(opening.startswith(mention) for opening in context.openings(number) for mention in mentions)


def fill_window(context: WalkContext, walk: WalkState) -> None:
    """Fill the rest of the window with the best segments."""
    filled = list[int]()
    while (number := context.next_for(walk)) is not None:
        walk.added[number] = context.scores[number]
        walk.why[number] = "matches the words of the question"
        filled.append(number)
    if filled:
        walk.note("filled by the question's words", segments=context.places(filled))


def _begin_with_entities(context: WalkContext, walk: WalkState, share: float) -> None:
    entities = context.graph.entities
    named = dict.fromkeys(number for entity in walk.entities for number in entities[entity].segments)
    bonus = context.opening_bonus
    opened = {
        number: {e for e in walk.entities if bonus and number in entities[e].segments and opens(context, number, e)}
        for number in named
    }
    ranked = sorted(named, key=lambda number: -(context.scores[number] + bonus * bool(opened[number])))
    walk.first = next(iter(ranked), None)
    first = context.window.part(share)
    covered = set[int]()
    for number in ranked:
        if opened[number] - covered and context.window.fits([*walk.important, number]):
            covered |= opened[number]
            _start(context, walk, number)
    for number in ranked:
        if number not in walk.important and first.fits([*walk.important, number]):
            _start(context, walk, number)


def _start(context: WalkContext, walk: WalkState, number: int) -> None:
    here = [entity for entity in walk.entities if number in context.graph.entities[entity].segments]
    walk.important[number] = close(context, number, here)
    walk.why[number] = "mentions " + ", ".join(f"“{context.graph.entities[entity].name}”" for entity in here)


def _begin_with_words(context: WalkContext, walk: WalkState, share: float) -> None:
    first = context.window.part(share)
    walk.first = next(iter(context.ranked), None)
    for number in context.ranked[:MAX_TRIED]:
        if first.fits([*walk.important, number]):
            walk.important[number] = context.scores[number]
            walk.why[number] = "matches the words of the question"
    here = list(dict.fromkeys(e for number in walk.important for e in context.graph.in_segment.get(number, ())))
    nearness = context.nearness(context.question, [context.graph.entities[entity].name for entity in here])
    nearest = np.argsort(-np.array(nearness), kind="stable")[:FIRST_ENTITIES]
    walk.entities = [here[int(i)] for i in nearest]
