"""What a walk over the graph stands on and remembers, and where it begins.

Owns the window, the ground, the record of a walk, finding the entities that a question names, and the first segments.
Knows no model: what comes next is decided in `navigation`.
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

LINK_COSINE = 0.5  # of a name with the nearest entity, below which they are strangers
NEAR_SEGMENTS = 20  # whose entities a name is compared with, so that a large graph need not be embedded whole
MOST_TRIED = 50  # segments for what is left of the window, the best first, so that not all need be counted
MOST_COMPARED = 400  # edges as vectors, in one step
FIRST_ENTITIES = 3  # to begin with, where the question names none

# A segment that opens with an entity is about it. Measured on HotpotQA, see benchmarks/results/memory-log.md.
OPENING = 0.5


@dataclass(frozen=True)
class SegmentWindow:
    """How many segments may be shown together: limits, each with what a segment takes of it."""

    limits: tuple[tuple[float, Callable[[int], int]], ...] = ()

    def fits(self, segments: Iterable[int]) -> bool:
        shown = list(segments)
        return all(sum(map(takes, shown)) <= limit for limit, takes in self.limits)

    def part(self, share: float) -> SegmentWindow:
        """A part of the window; of segments that are counted at least one."""
        return SegmentWindow(tuple((math.ceil(limit * share), takes) for limit, takes in self.limits))


@dataclass(frozen=True)
class WalkContext:
    """A graph over segments, how well each fits the question (at most 1), and how many of them may be shown."""

    graph: MemoryGraph
    segments: Sequence[Segment]
    question: str
    scores: Sequence[float]
    window: SegmentWindow
    embedder: Embedder
    _openings: dict[int, list[str]] = field(default_factory=dict)
    _vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)  # each text is embedded once in a walk

    @cached_property
    def ranked(self) -> list[int]:
        """The segments that have something in common with the question, the best first."""
        numbers = [number for number, score in enumerate(self.scores) if score > 0]
        return sorted(numbers, key=lambda number: -self.scores[number])

    def nearness(self, question: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text with the question."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors.update(zip(new, self.embedder.embed(new), strict=True))
        asked = self.embedder.embed([question], are_queries=True)[0]
        return [float(self._vectors[text] @ asked) for text in texts]

    def edges_from(self, entities: Sequence[int], guide: str) -> list[tuple[int, EntityRelation]]:
        """The edges from one of the entities to another one, each with the entity that it starts from.

        Of very many, as a common name has them, those that share most words with the guide.
        """
        reached = set(entities)
        edges = [
            (entity, relation)
            for entity in entities
            for relation in self.graph.relations_of[entity]
            if relation.other(entity) not in reached
        ]
        if len(edges) > MOST_COMPARED:
            words = set(words_of(guide))
            shared = [len(words.intersection(words_of(self.graph.edge_text(*edge)))) for edge in edges]
            best = sorted(range(len(edges)), key=lambda i: -shared[i])[:MOST_COMPARED]
            edges = [edges[i] for i in sorted(best)]
        return edges

    def openings(self, number: int) -> list[str]:
        """What a segment begins with, what it stands below, and its headings, normalised."""
        if number not in self._openings:
            text, title = self.segments[number].text, self.segments[number].title.rpartition(" > ")[2]
            self._openings[number] = [normalise(each) + " " for each in (text[:100], title, *headings_of(text))]
        return self._openings[number]

    def next_for(self, walk: WalkState) -> int | None:
        """The best segment that fits into what is left of the window; None when that is full."""
        shown = set(walk.segments)
        others = islice((number for number in self.ranked if number not in shown), MOST_TRIED)
        return next((number for number in others if self.window.fits([*shown, number])), None)

    def places(self, numbers: Iterable[int]) -> list[str]:
        return [self.segments[number].place for number in numbers]


@dataclass
class WalkState:
    """A walk so far: entities in the order in which they were reached, and segments with what speaks for them."""

    entities: list[int] = field(default_factory=list)
    important: dict[int, float] = field(default_factory=dict)  # those of the first entities
    added: dict[int, float] = field(default_factory=dict)  # those that edges led to
    dropped: set[int] = field(default_factory=set)
    why: dict[int, str] = field(default_factory=dict)
    path: list[tuple[int, EntityRelation]] = field(default_factory=list)  # each edge taken, with where it starts
    steps: list[Step] = field(default_factory=list)
    first: int | None = None  # the best segment to begin with, whether it fits the window or not
    is_enough: bool = False  # a judge said so

    @property
    def segments(self) -> list[int]:
        """In document order."""
        return sorted({**self.important, **self.added})

    def take(self, entity: int, relation: EntityRelation) -> None:
        """Go over an edge."""
        self.entities.append(relation.other(entity))
        self.path.append((entity, relation))

    def note(self, name: str, **detail: Any) -> None:
        self.steps.append(Step(name, detail))


def link(ground: WalkContext, names: Iterable[str]) -> list[int]:
    """The entities that the names stand for: written alike, else a part of the name, else the nearest that is near."""
    found = dict[int, None]()
    strangers = list[str]()
    for name in names:
        entities = ground.graph.named(name) or ground.graph.named_in(name)
        found.update(dict.fromkeys(entities))
        if not entities and normalise(name):
            strangers.append(name)
    if strangers:
        best = ground.ranked[:NEAR_SEGMENTS]
        nearby = list(dict.fromkeys(e for i in best for e in ground.graph.in_segment.get(i, ())))
        texts = [ground.graph.entities[entity].name for entity in nearby]
        for name in strangers:
            nearness = ground.nearness(name, texts)
            if nearness and max(nearness) >= LINK_COSINE:
                found[nearby[int(np.argmax(nearness))]] = None
    return list(found)


def begin(ground: WalkContext, walk: WalkState, names: Sequence[str], share: float = 1.0) -> None:
    """Begin the walk: the entities of the question and their best segments.

    Each entity that segments open with gets one of these, whatever that takes of the window; `share` of the window is
    for the others. Where the question names nothing, the best segments come first and their entities after them.
    """
    walk.entities = list(dict.fromkeys([*ground.graph.named_in(ground.question), *link(ground, names)]))
    entities = ground.graph.entities
    walk.note("question entities", asked=list(names), entities=[entities[entity].name for entity in walk.entities])
    if not walk.entities:
        _begin_with_words(ground, walk, share)
    else:
        _begin_with_entities(ground, walk, share)
    walk.note("first segments", segments=ground.places(walk.segments))


def close(ground: WalkContext, number: int, entities: Iterable[int]) -> float:
    """How well a segment fits the question and is about one of the entities."""
    return ground.scores[number] + OPENING * any(opens(ground, number, entity) for entity in entities)


def opens(ground: WalkContext, number: int, entity: int) -> bool:
    """Whether a segment, or what stands below a heading in it, begins with an entity."""
    mentions = [normalise(mention) + " " for mention in ground.graph.entities[entity].mentions]
    return any(opening.startswith(mention) for opening in ground.openings(number) for mention in mentions)


def fill(ground: WalkContext, walk: WalkState) -> None:
    """Fill what is left of the window with the segments that fit the question best."""
    filled = list[int]()
    while (number := ground.next_for(walk)) is not None:
        walk.added[number] = ground.scores[number]
        walk.why[number] = "fits the words of the question"
        filled.append(number)
    if filled:
        walk.note("filled by the question's words", segments=ground.places(filled))


def _begin_with_entities(ground: WalkContext, walk: WalkState, share: float) -> None:
    entities = ground.graph.entities
    named = dict.fromkeys(number for entity in walk.entities for number in entities[entity].segments)
    opened = {
        number: {e for e in walk.entities if number in entities[e].segments and opens(ground, number, e)}
        for number in named
    }
    ranked = sorted(named, key=lambda number: -(ground.scores[number] + OPENING * bool(opened[number])))
    walk.first = next(iter(ranked), None)
    first = ground.window.part(share)
    covered = set[int]()
    for number in ranked:
        if opened[number] - covered and ground.window.fits([*walk.important, number]):
            covered |= opened[number]
            _start(ground, walk, number)
    for number in ranked:
        if number not in walk.important and first.fits([*walk.important, number]):
            _start(ground, walk, number)


def _start(ground: WalkContext, walk: WalkState, number: int) -> None:
    here = [entity for entity in walk.entities if number in ground.graph.entities[entity].segments]
    walk.important[number] = close(ground, number, here)
    walk.why[number] = "names " + ", ".join(f"“{ground.graph.entities[entity].name}”" for entity in here)


def _begin_with_words(ground: WalkContext, walk: WalkState, share: float) -> None:
    first = ground.window.part(share)
    walk.first = next(iter(ground.ranked), None)
    for number in ground.ranked[:MOST_TRIED]:
        if first.fits([*walk.important, number]):
            walk.important[number] = ground.scores[number]
            walk.why[number] = "fits the words of the question"
    here = list(dict.fromkeys(e for number in walk.important for e in ground.graph.in_segment.get(number, ())))
    nearness = ground.nearness(ground.question, [ground.graph.entities[entity].name for entity in here])
    nearest = np.argsort(-np.array(nearness), kind="stable")[:FIRST_ENTITIES]
    walk.entities = [here[int(i)] for i in nearest]
