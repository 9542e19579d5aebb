"""`weft memory show`: what strategies remember of documents, in a terminal, as JSON and as a picture."""

from __future__ import annotations

import json
import shlex
from typing import Any
from xml.etree import ElementTree

import pytest
from weft.memory import Item, MeteredModel, StrategyContext
from weft.memory.inspection import BY_PATTERNS, NO_MODEL, NO_QUESTION, NOT_STORED, PARTS, WHOLE, Inspector
from weft.memory.qrmem import Entity, EntityRelation, MemoryGraph
from weft.memory.qrmem.drawing import centres, draw_graph
from weft.memory.strategies import READING_PURPOSES
from weft.memory.strategy import InProcessCache
from weft.server.cli import main
from weft.server.cli.parser import MEMORY_PARTS

GUIDE = """# The Northern Lamp

The Northern Lamp is a novel by Ada Vells.

# Ada Vells

Ada Vells grew up in Orsk. Orsk has a harbour.
"""
FILES = f"#- docs/guide.md\n{GUIDE}#- shop.py\nx = 1\n"
WHERE = "Where did the author of The Northern Lamp grow up?"


def said(messages: Any) -> str:
    text = messages[-1].text
    if '"relations"' in text:
        relation = {"first": "The Northern Lamp", "second": "Ada Vells", "relation": "was written by"}
        return json.dumps({"relations": [relation]})
    if '"entities"' in text:
        return json.dumps({"entities": [{"name": name} for name in ("The Northern Lamp", "Ada Vells", "Orsk")]})
    if '"summary"' in text:
        return json.dumps({"summary": "A novel and its author."})
    if '"answerable"' in text:
        return json.dumps({"answerable": True, "answer": "Orsk", "missing": ""})
    if '"same"' in text:
        return json.dumps({"same": []})
    return "Ada Vells grew up in Orsk."


def inspector(model: Any, cache: Any, *, reads: bool, question: str = "", text: str = GUIDE) -> Inspector:
    metered = None if model is None else MeteredModel(model, cache=cache, cached_purposes=READING_PURPOSES)
    return Inspector(StrategyContext(metered, cache=cache), [Item("guide.md", text)], question, reads)


def test_without_a_model_the_graph_is_of_names_and_sentences():
    found = inspector(None, InProcessCache(), reads=True).inspect()
    assert found.graph is not None and found.graph.named("orsk") and found.remarks == (BY_PATTERNS,)
    assert found.missing == (
        ("summary", NO_MODEL),
        ("gists", NO_MODEL),
        ("clues", NO_QUESTION),
        ("notes", NO_QUESTION),
    )


def test_what_is_not_stored_is_not_read_without_a_word(scripted_chat):
    model = scripted_chat(said)
    found = inspector(model, InProcessCache(), reads=False, question=WHERE).inspect()
    missing = dict(found.missing)
    assert model.asked == []
    assert (missing["summary"], missing["gists"], missing["notes"]) == (NOT_STORED, WHOLE, NOT_STORED)
    assert found.graph is not None and NOT_STORED in found.remarks[0]


def test_what_was_read_is_shown_later_without_a_call(scripted_chat):
    cache = InProcessCache()
    first = inspector(scripted_chat(said), cache, reads=True, question=WHERE).inspect()
    assert first.missing == (("gists", WHOLE),)
    assert first.summary == "A novel and its author."
    assert ("span", "Ada Vells grew up in Orsk.") in first.clues and first.notes
    assert first.found and first.walk[0].name == "question entities"
    again = scripted_chat(said)
    stored = inspector(again, cache, reads=False).inspect(("summary", "graph"))
    assert again.asked == [] and (stored.summary, stored.graph) == (first.summary, first.graph)
    assert {relation.text for relation in stored.graph.relations} == {"was written by"}


def test_gists_of_a_text_that_does_not_fit_are_shown(scripted_chat):
    cache = InProcessCache()
    long = GUIDE + "The harbour of Orsk is calm and deep, and boats come from everywhere. " * 100
    found = inspector(scripted_chat(said, context_tokens=900), cache, reads=True, text=long).inspect(("gists",))
    assert len(found.gists) > 1 and set(found.gists) == {"Ada Vells grew up in Orsk."}
    again = scripted_chat(said, context_tokens=900)
    assert inspector(again, cache, reads=False, text=long).inspect(("gists",)).gists == found.gists
    assert again.asked == []


# The command


@pytest.fixture
def weft(project, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(project(FILES))
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))

    def run(arguments: str) -> tuple[int, str, str]:
        status = main([*shlex.split(arguments), "--folder", "."])
        return (status, *capsys.readouterr())

    return run


def test_parts_are_the_same_in_the_command_line():
    assert MEMORY_PARTS == PARTS


def test_show_prints_the_graph_with_its_places(weft, tmp_path):
    status, out, err = weft(f"memory show docs/guide.md --question {shlex.quote(WHERE)} --svg {tmp_path}/graph.svg")
    assert status == 0 and "Graph (QRMeM)" in out and "docs/guide.md:" in out
    assert "→ Ada Vells: The Northern Lamp is a novel by Ada Vells." in out
    assert "[docs/guide.md, part 1]" in out  # a note
    assert BY_PATTERNS in err
    assert ElementTree.parse(tmp_path / "graph.svg").getroot().tag.endswith("svg")


def test_show_as_json_has_every_part_that_was_asked_for(weft):
    status, out, _ = weft("memory show docs/guide.md --json --part graph --part gists")
    shown = json.loads(out)
    assert status == 0 and set(shown) == {"title", "gists", "graph", "missing", "remarks"}
    assert shown["gists"] is None and shown["missing"] == {"gists": NO_MODEL}
    assert MemoryGraph.from_json(shown["graph"]).named("orsk")
    assert shown["graph"]["segments"][0].startswith("docs/guide.md:1-")


def test_a_conversation_is_shown(weft):
    id = json.loads(weft("ask 'where is Orsk?' --json")[1])["conversationId"]
    status, out, _ = weft(f"memory show --conversation {id} --part graph")
    assert status == 0 and f"conversation {id}" in out and "Orsk" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("memory show", "Give the path of a document"),
        ("memory show shop.py", "shop.py is not a document of this workspace"),
        ("memory show --conversation nowhere", "No conversation has the id nowhere"),
        ("memory show docs/guide.md --conversation x", "not both"),
        ("memory show docs/guide.md --part gists --svg x.svg", "Add --part graph"),
    ],
)
def test_a_mistake_names_the_next_step(weft, arguments, message):
    status, out, err = weft(arguments)
    assert (status, out) == (2, "") and message in err


def test_if_nothing_can_be_shown_the_status_is_one(weft):
    assert weft("memory show docs/guide.md --part summary")[0] == 1


# The picture without a question


def test_without_a_walk_the_most_related_names_are_on_the_left():
    names = [Entity(name, (name,), (0,)) for name in ("hub", "a", "b", "c", "alone")]
    graph = MemoryGraph(tuple(names), tuple(EntityRelation(0, i, "knows", (0,)) for i in (1, 2, 3)))
    assert centres(graph) == [0, 1, 2, 3]
    svg = ElementTree.fromstring(draw_graph(graph, ()))
    labels = {"".join(each.itertext()): each for each in svg.iter() if each.tag.endswith("text")}
    assert len([each for each in svg.iter() if each.tag.endswith("path")]) == 3
    assert not any(label.startswith("alone") for label in labels)
