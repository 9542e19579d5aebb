"""The picture of QRMeM's graph and of the path through it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import Budget, Item, Question, Step, StrategyContext
from weft.memory.qrmem import Entity, EntityRelation, MemoryGraph, QRMeM, QRMeMSettings
from weft.memory.qrmem.drawing import draw_graph

TEXTS = (
    "The Northern Lamp is a novel by Ada Vells.",
    "Ada Vells grew up in Orsk. Ada Vells met Bo Tarn.",
    "Orsk has a harbour & <bridges>.",
)
QUESTION = Question("Where did the author of The Northern Lamp grow up?")


def drawn(navigation="reflection", n=2):
    memory = QRMeM(StrategyContext(), QRMeMSettings(navigation=navigation))
    memory.remember([Item(f"{i}.md", text) for i, text in enumerate(TEXTS)])
    found = memory.recall(QUESTION, Budget(n=n))
    return ElementTree.fromstring(draw_graph(memory.graph(QUESTION), found.trace))


def texts(svg):
    return ["".join(each.itertext()) for each in svg.iter() if each.tag.endswith("text")]


def paths(svg, width):
    return [each for each in svg.iter() if each.tag.endswith("path") and each.get("stroke-width") == width]


@pytest.mark.parametrize("navigation", ["reflection", "expansion", "trial"])
def test_entities_and_every_step_stand_in_the_picture(navigation):
    said = texts(drawn(navigation))
    assert any(each.startswith("Northern Lamp") for each in said)
    assert "question entities" in said and "first segments" in said


def test_the_path_is_thick_and_numbered_and_neighbours_are_thin():
    svg = drawn()
    (edge,) = paths(svg, "3")
    assert "".join(edge.itertext()) == TEXTS[0]
    assert "1" in texts(svg)
    assert "    1. Northern Lamp → Ada Vells" in "\n".join(texts(svg))
    assert len(paths(svg, "1")) == 2  # Orsk and Bo Tarn, where nobody went


def test_the_picture_needs_nothing_else():
    svg = drawn()
    for element in svg.iter():
        assert not {"href", "src"} & {name.rpartition("}")[2] for name in element.attrib}
        assert element.tag.rpartition("}")[2] in {"svg", "rect", "path", "circle", "text", "title"}


def test_an_empty_graph_is_an_empty_picture():
    assert ElementTree.fromstring(draw_graph(MemoryGraph(), ())).tag.endswith("svg")


def test_nothing_lies_on_something_else():
    graph = MemoryGraph(
        tuple(Entity(f"name {i}", (f"name {i}",), (i,)) for i in range(30)),
        tuple(EntityRelation(i // 4, i, "x", (0,)) for i in range(1, 30)),
    )
    step = Step("question entities", {"entities": ["name 0", "name 1"]})
    svg = ElementTree.fromstring(draw_graph(graph, (step,)))
    places = [(each.get("cx"), each.get("cy")) for each in svg.iter() if each.tag.endswith("circle")]
    assert len(places) == len(set(places)) > 2


@given(st.text(min_size=1), st.text())
def test_any_name_and_relation_can_be_drawn(name, relation):
    entities = (Entity(name, (name,), (0,)), Entity("b", ("b",), (0,)))
    graph = MemoryGraph(entities, (EntityRelation(0, 1, relation, (0,)),))
    edge = {"from": name, "to": "b", "relation": relation, "nearness": 0.5, "added": [name]}
    trace = (Step("question entities", {"entities": [name, "stranger"]}), Step("edge", edge))
    ElementTree.fromstring(draw_graph(graph, trace).encode("utf-8"))
