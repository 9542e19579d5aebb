"""Graph navigation from the entities of a question to segments that answer it (papers' spec 3.2).

Owns the three navigation methods: the next edge, the segments in the window, and the trace. A model judges whether the
segments suffice; without one, navigation ends when the window is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .calls import Verdict, WalkModel
from .graph import EntityRelation
from .walk import WalkContext, WalkState, close, link

MIN_EXPANSION = 0.5  # of the best edge so far, for an edge to be followed by expansion (papers' spec 3.3)
MAX_PER_EXPANSION = 10  # edges in one round, so that a common name does not use up the window
# Entities whose names extend the query without a model. Measured on HotpotQA, see benchmarks/results/memory-log.md.
MAX_NAMED = 4
MAX_OFFERED = 100  # entities offered in Entity Trial


def reflect(
    context: WalkContext,
    walk: WalkState,
    model: WalkModel | None,
    *,
    max_updates: int,
    with_reason: bool = True,
    segments_per_update: int | None = 1,
    common_penalty: float = 0.0,
    only_new_segments: bool = True,
) -> None:
    """Algorithm 1: follows the edge most similar to the guide while the model reports missing information.

    The guide is question, reason and entities, or the question alone without `with_reason`. Adds the best
    `segments_per_update` segments of the neighbour (None is all) and drops the worst added ones if the window is full.
    Dropped segments do not return. With `only_new_segments` an edge to segments that were all seen is not followed.
    """
    verdict, changed = Verdict(False), True
    for update in range(max_updates + 1):
        if model is None:
            if context.next_for(walk) is None:
                return
        elif changed:
            verdict = _judge_segments(context, walk, model)
        if verdict.answerable or update == max_updates:
            return
        names = [context.graph.entities[entity].name for entity in walk.entities]
        guided = with_reason and model is not None
        guide = " ".join([context.question, verdict.missing, *names]) if guided else context.question
        seen = {*walk.segments, *walk.dropped} if only_new_segments else set[int]()
        edge = _next_edge(context, walk, guide, common_penalty, seen)
        if edge is None:
            walk.note("no further edge")
            return
        changed = _follow(context, walk, *edge, segments_per_update)


def expand(
    context: WalkContext,
    walk: WalkState,
    model: WalkModel | None,
    search: Callable[[str], Sequence[float]],
    *,
    max_rounds: int,
) -> None:
    """Graph Expansion Search: expand over similar edges, then search with their relations.

    `search` scores all segments for the extended query. An edge qualifies with half the best cosine so far.
    """
    relations, best = dict[tuple[int, int, str], str](), 0.0
    for _ in range(max_rounds):
        edges = context.edges_from(walk.entities, context.question)
        texts = [context.graph.edge_text(entity, relation) for entity, relation in edges]
        nearness = context.nearness(context.question, texts)
        best = max([best, *nearness])
        order = np.argsort(-np.array(nearness), kind="stable")[:MAX_PER_EXPANSION]
        near = [int(i) for i in order if nearness[i] > 0 and nearness[i] >= MIN_EXPANSION * best]
        if not near:
            break
        for i in near:
            entity, relation = edges[i]
            relations[relation.first, relation.second, relation.text] = texts[i]
            if relation.other(entity) not in walk.entities:
                walk.take(entity, relation)
        walk.note("expanded", edges=[_edge_detail(context, *edges[i], nearness[i]) for i in near])
    said = list(relations.values())
    named = [context.graph.entities[relation.other(entity)].name for entity, relation in walk.path[:MAX_NAMED]]
    longer = model.elaborated(said) if model is not None else " ".join(named)
    walk.note("elaborated question", question=longer)
    scores = search(f"{context.question} {longer}")
    walk.important.clear()
    walk.added.clear()
    found = replace(context, scores=scores)
    while (number := found.next_for(walk)) is not None:
        walk.important[number] = scores[number]
        walk.why[number] = "matches the question and the relations of its entities"
    walk.note("segments", segments=context.places(walk.important))


def try_entities(context: WalkContext, walk: WalkState, model: WalkModel | None, *, max_updates: int) -> None:
    """Entity Trial: the segments of a set of entities, and another set while the model reports missing information.

    Ignores relations. Ends when the window cannot hold all segments of the set. Without a model the first set stays.
    """
    if model is None:
        return
    tried = list(walk.entities)
    for update in range(max_updates + 1):
        verdict = _judge_segments(context, walk, model)
        if verdict.answerable or update == max_updates or context.next_for(walk) is None:
            return
        names = _offered(context, f"{context.question} {verdict.missing}", tried)
        chosen = model.other_entities([context.graph.entities[e].name for e in tried], verdict.missing, names)
        entities = [entity for entity in link(context, chosen) if entity not in tried]
        walk.note("other entities", entities=[context.graph.entities[e].name for e in entities])
        if not entities:
            return
        tried += entities
        walk.entities += entities
        for entity in entities:
            for segment in sorted(context.graph.entities[entity].segments, key=lambda s: -close(context, s, [entity])):
                if segment not in walk.important and context.window.fits([*walk.segments, segment]):
                    walk.important[segment] = close(context, segment, [entity])
                    walk.why[segment] = f"mentions “{context.graph.entities[entity].name}”, which the model selected"


def _judge_segments(context: WalkContext, walk: WalkState, model: WalkModel) -> Verdict:
    verdict = model.enough([context.segments[number] for number in walk.segments])
    walk.note(
        "judged",
        answerable=verdict.answerable,
        draft=verdict.answer,
        reason=verdict.missing,
        entities=[context.graph.entities[entity].name for entity in walk.entities],
        segments=context.places(walk.segments),
    )
    walk.is_enough = verdict.answerable
    return verdict


def _next_edge(
    context: WalkContext, walk: WalkState, guide: str, common_penalty: float, seen: set[int]
) -> tuple[int, EntityRelation, float] | None:
    """The edge most similar to the guide among those that lead to a new entity with segments outside of `seen`."""
    edges = [
        (entity, relation)
        for entity, relation in context.edges_from(walk.entities, guide)
        if not seen or not seen.issuperset(context.graph.entities[relation.other(entity)].segments)
    ]
    if not edges:
        return None
    nearness = context.nearness(guide, [context.graph.edge_text(*edge) for edge in edges])
    spread = [len(context.graph.entities[relation.other(entity)].segments) for entity, relation in edges]
    best = int(np.argmax(np.array(nearness) - common_penalty * np.log1p(spread)))
    return *edges[best], nearness[best]


def _follow(
    context: WalkContext, walk: WalkState, entity: int, relation: EntityRelation, nearness: float, most: int | None
) -> bool:
    """Follow an edge; returns whether the segments in the window changed."""
    reached = relation.other(entity)
    before = walk.segments
    walk.take(entity, relation)
    detail = _edge_detail(context, entity, relation, nearness)
    new = [s for s in context.graph.entities[reached].segments if s not in walk.dropped and s not in before]
    for segment in sorted(new, key=lambda number: -close(context, number, [reached]))[:most]:
        walk.added[segment] = nearness
        walk.why[segment] = f"mentions “{detail['to']}”, reached from “{detail['from']}”: {_short(relation.text)}"
    _drop(context, walk)
    added, dropped = set(walk.segments) - set(before), set(before) - set(walk.segments)
    walk.note("edge", **detail, added=context.places(sorted(added)), dropped=context.places(sorted(dropped)))
    return walk.segments != before


def _edge_detail(context: WalkContext, entity: int, relation: EntityRelation, nearness: float) -> dict[str, Any]:
    entities = context.graph.entities
    return {
        "from": entities[entity].name,
        "to": entities[relation.other(entity)].name,
        "relation": relation.text,
        "nearness": round(nearness, 4),
    }


def _drop(context: WalkContext, walk: WalkState) -> None:
    """Drop the lowest-scored segments until the rest fits: first added ones, then the others."""
    for held in (walk.added, walk.important):
        while held and not context.window.fits(walk.segments):
            worst = min(held, key=lambda number: (held[number], context.scores[number], -number))
            del held[worst]
            walk.dropped.add(worst)


def _offered(context: WalkContext, guide: str, tried: Iterable[int]) -> list[str]:
    """The entity names to choose from: all, or the most similar ones if there are too many."""
    names = [entity.name for i, entity in enumerate(context.graph.entities) if i not in set(tried)]
    if len(names) <= MAX_OFFERED:
        return names
    nearest = np.argsort(-np.array(context.nearness(guide, names)), kind="stable")[:MAX_OFFERED]
    return [names[i] for i in sorted(nearest)]


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:119].rstrip() + "…"
