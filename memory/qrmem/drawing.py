"""SVG of a QRMeM graph and the walk over it, self-contained.

Entities of the question are on the left, each step leads to the right; neighbours that were not visited are grey. The
steps are listed below. Reads the walk from its trace. Without a walk, the entities with most relations are on the left.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from textwrap import wrap
from typing import Any

from ..values import Step
from .graph import MemoryGraph

MOST_NEIGHBOURS = 4  # unvisited neighbours of an entity
MOST_CENTRES = 8  # entities on the left without a walk
COLUMN, ROW, MARGIN = 280, 34, 24
LABEL_CHARACTERS = 28
LINE, LINE_CHARACTERS = 18, 120
FIRST, REACHED, OTHER = "#1f77b4", "#2ca02c", "#b5b5b5"


@dataclass(frozen=True, slots=True)
class _Edge:
    start: int
    end: int
    text: str


def draw_graph(graph: MemoryGraph, trace: Sequence[Step]) -> str:
    """The SVG. Entities that the graph lacks appear in the list of steps only. With an empty trace, the centres."""
    number_of = {entity.name: i for i, entity in reversed(list(enumerate(graph.entities)))}
    first = list(dict.fromkeys(number_of[name] for name in _first_names(trace) if name in number_of))
    first = first if trace else centres(graph)[:MOST_CENTRES]
    path = [
        _Edge(number_of[edge["from"]], number_of[edge["to"]], edge["relation"])
        for edge in _edges(trace)
        if edge["from"] in number_of and edge["to"] in number_of
    ]
    columns = {entity: 0 for entity in first}
    for edge in path:
        columns.setdefault(edge.end, columns.setdefault(edge.start, 0) + 1)
    walked = list(columns)
    others = list(_neighbours(graph, walked))
    if not trace:  # a second ring, because nothing leads further
        others += _neighbours(graph, [edge.end for edge in others], walked)
    for edge in others:
        columns.setdefault(edge.end, columns[edge.start] + 1)
    between = [] if trace else list(_between(graph, first))
    places = _places(columns)
    bottom = max((y for _, y in places.values()), default=0) + ROW + MARGIN
    words = list(_words(trace))
    width = max(max((x for x, _ in places.values()), default=0) + COLUMN, LINE_CHARACTERS * 7 + 2 * MARGIN)
    height = bottom + LINE * (len(words) + 1)
    labels = {entity: _label(graph.entities[entity].name) for entity in places}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    thin = [("", each) for each in (*others, *between)]
    for number, edge in [*thin, *((str(i), each) for i, each in enumerate(path, 1))]:
        parts.append(_line(places[edge.start], labels[edge.start], places[edge.end], edge.text, number))
    for entity, place in places.items():
        colour = FIRST if entity in first else REACHED if entity in walked else OTHER
        parts.append(_node(place, labels[entity], ", ".join(graph.entities[entity].mentions), colour))
    for i, line in enumerate(words):
        parts.append(f'<text x="{MARGIN}" y="{bottom + LINE * i}" xml:space="preserve">{_clean(line)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _first_names(trace: Sequence[Step]) -> Iterator[str]:
    for step in trace:
        if step.name in ("question entities", "other entities"):
            yield from step.detail.get("entities", ())


def _edges(trace: Sequence[Step]) -> Iterator[Mapping[str, Any]]:
    for step in trace:
        if step.name == "edge":
            yield step.detail
        elif step.name == "expanded":
            yield from step.detail.get("edges", ())


def centres(graph: MemoryGraph) -> list[int]:
    """The entities with relations, those with most other entities first."""
    n_others = [len({relation.other(i) for relation in of} - {i}) for i, of in enumerate(graph.relations_of)]
    return sorted((i for i, n in enumerate(n_others) if n), key=lambda i: -n_others[i])


def _between(graph: MemoryGraph, entities: Sequence[int]) -> Iterator[_Edge]:
    """An edge for each related pair of these entities."""
    pairs = dict[tuple[int, int], str]()
    for relation in graph.relations:
        if relation.first in entities and relation.second in entities and relation.first != relation.second:
            pairs.setdefault(
                (min(relation.first, relation.second), max(relation.first, relation.second)), relation.text
            )
    for (start, end), text in pairs.items():
        yield _Edge(start, end, text)


def _neighbours(graph: MemoryGraph, walked: Sequence[int], seen_before: Sequence[int] = ()) -> Iterator[_Edge]:
    """Edges to unvisited entities, a few for each entity, each entity once."""
    seen = {*walked, *seen_before}
    for entity in walked:
        n = 0
        for relation in graph.relations_of[entity]:
            other = relation.other(entity)
            if other not in seen and n < MOST_NEIGHBOURS:
                seen.add(other)
                n += 1
                yield _Edge(entity, other, relation.text)


def _places(columns: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    rows = defaultdict[int, "count[int]"](count)
    return {entity: (MARGIN + column * COLUMN, MARGIN + next(rows[column]) * ROW) for entity, column in columns.items()}


def _line(start: tuple[int, int], label: str, end: tuple[int, int], text: str, number: str = "") -> str:
    """An edge from a label to the next node; visited edges are thick and numbered."""
    (x1, y1), (x2, y2) = start, end
    if x2 > x1:
        x1 += 14 + 7 * len(label)
    # Within a column and backwards, the edge bends to the left, so that it does not cross labels.
    middle = (x1 + x2) / 2 if x2 > x1 else x2 - 20
    look = f'stroke="{REACHED}" stroke-width="3"' if number else f'stroke="{OTHER}" stroke-width="1"'
    way = f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"
    line = f'<path d="{way}" fill="none" {look}><title>{_clean(text)}</title></path>'
    if not number:
        return line
    return (
        f'{line}<circle cx="{x2 - 20}" cy="{y2}" r="9" fill="white" stroke="{REACHED}"/>'
        f'<text x="{x2 - 20}" y="{y2 + 4}" text-anchor="middle" font-size="11">{number}</text>'
    )


def _node(place: tuple[int, int], label: str, mentions: str, colour: str) -> str:
    x, y = place
    return (
        f'<circle cx="{x}" cy="{y}" r="7" fill="{colour}"/>'
        f'<text x="{x + 12}" y="{y + 4}">{_clean(label)}<title>{_clean(mentions)}</title></text>'
    )


def _label(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= LABEL_CHARACTERS else name[: LABEL_CHARACTERS - 1].rstrip() + "…"


def _clean(text: str) -> str:
    """Text without characters that XML forbids, escaped."""
    return escape(_NOT_XML.sub("�", text))


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _words(trace: Sequence[Step]) -> Iterator[str]:
    """The steps as text; edges with their number in the drawing."""
    n = 0
    for step in trace:
        yield step.name
        for edge in _edges([step]):
            n += 1
            yield from _wrapped(f"{n}. {edge['from']} → {edge['to']} ({edge['nearness']}): {edge['relation']}")
        for key, value in step.detail.items():
            if key not in ("edges", "from", "to", "nearness", "relation") and value not in ("", [], ()):
                yield from _wrapped(f"{key}: {'; '.join(map(str, value)) if isinstance(value, list) else value}")


def _wrapped(text: str) -> list[str]:
    return [f"    {line}" for line in wrap(text, LINE_CHARACTERS - 4, max_lines=3, placeholder=" …")]
