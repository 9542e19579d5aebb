"""The strongest path between two places, told in words.

Owns the way back: given the exact strengths from a source, it walks from the target to a neighbour that explains the
strength, again and again. For explanations, which are asked for one at a time. Knows no scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .arrays import Floats
from .layout import Links, Points
from .layouts import Layouts


class _Place(NamedTuple):
    """A node, by number of its view and number in its layout."""

    view: int
    node: int


class _Step(NamedTuple):
    """A neighbour, how strong the edge to it is, and what to say when the path comes from there; "" for syntax."""

    place: _Place
    edge: float
    words: str


def trail(layouts: Layouts, strengths: Sequence[Floats], target: tuple[int, int]) -> tuple[str, ...]:
    """The steps between files and along calls from the source of `strengths`, per view, to a target (view, node).

    Source first; empty when syntax alone leads there, or nothing does.
    """
    words: list[str] = []
    place, seen = _Place(*target), set[_Place]()
    while place not in seen and 0 < strengths[place.view][place.node] < 1:
        seen.add(place)
        steps = [*_syntax(layouts, place), *_calls(layouts, place), *_directories(layouts, strengths, place)]
        best = max(steps, key=lambda step: step.edge * strengths[step.place.view][step.place.node])
        place = best.place
        words.append(best.words)
    return tuple(step for step in reversed(words) if step)


def _syntax(layouts: Layouts, place: _Place) -> list[_Step]:
    layout = layouts.views[place.view].layout
    steps = []
    if layout.parent[place.node] >= 0:
        parent = _Place(place.view, int(layout.parent[place.node]))
        steps.append(_Step(parent, float(layout.edge[place.node]), ""))
    child = place.node + 1
    while child < layout.end[place.node]:
        steps.append(_Step(_Place(place.view, child), float(layout.edge[child]), ""))
        child = int(layout.end[child])
    return steps


def _calls(layouts: Layouts, place: _Place) -> list[_Step]:
    layout = layouts.views[place.view].layout
    here = _path_at(layouts, place)
    steps = []
    for definition in _at(layout.calls, place.node):
        name = layouts.names.definition_name(definition)
        for other in _places(layouts, definition, of_calls=False):
            words = f"{_path_at(layouts, other)}: def {name} -> {here}: call {name}"
            steps.append(_Step(other, layouts.weights.call, words))
    for definition in _at(layout.definitions, place.node):
        name = layouts.names.definition_name(definition)
        for other in _places(layouts, definition, of_calls=True):
            words = f"{_path_at(layouts, other)}: call {name} -> {here}: def {name}"
            steps.append(_Step(other, layouts.weights.call, words))
    return steps


def _directories(layouts: Layouts, strengths: Sequence[Floats], place: _Place) -> list[_Step]:
    """The one file from which most comes through directories, when the place is the root of its file."""
    view = layouts.views[place.view]
    if view.layout.edge[place.node] > 0:
        return []
    here = int(view.layout.files[view.layout.file_at(np.array([place.node]))[0]])
    others = np.flatnonzero(layouts.home[0] >= 0)
    others = others[others != here]
    roots = [
        _Place(number, int(layouts.views[number].layout.node_start[index]))
        for number, index in layouts.home[:, others].T.tolist()
    ]
    if not roots:
        return []
    edges = layouts.directories.between(others, np.full(len(others), here))
    arriving = edges * np.array([strengths[root.view][root.node] for root in roots])
    best = int(arriving.argmax())
    words = f"{layouts.names.paths[int(others[best])]} -> {layouts.names.paths[here]}"
    return [_Step(roots[best], float(edges[best]), words)]


def _at(links: Links, node: int) -> list[int]:
    """The definitions that the links at a node speak of."""
    found: list[int] = links.definition[links.at.before[node] : links.at.before[node + 1]].tolist()
    return found


def _places(layouts: Layouts, definition: int, *, of_calls: bool) -> list[_Place]:
    places = []
    for number, view in enumerate(layouts.views):
        links = view.layout.calls if of_calls else view.layout.definitions
        found, _ = links.of(np.array([definition]), at_most=len(links.definition))
        nodes = links.at.node[found].astype(np.int64)
        live = view.live(Points(np.zeros(len(nodes), np.int64), nodes, np.ones(len(nodes))))
        places += [_Place(number, node) for node in live.nodes.tolist()]
    return places


def _path_at(layouts: Layouts, place: _Place) -> str:
    layout = layouts.views[place.view].layout
    return layouts.names.paths[int(layout.files[layout.file_at(np.array([place.node]))[0]])]
