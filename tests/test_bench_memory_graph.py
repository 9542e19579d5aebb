"""`weft bench memory graph`: from files and a question to a picture and a record."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from weft.benchmarks.memory.graph import main
from weft.memory.qrmem import MemoryGraph


def test_picture_and_record_are_written(tmp_path, capsys):
    (tmp_path / "lamp.md").write_text("# The Northern Lamp\n\nA novel by Ada Vells.", encoding="utf-8")
    (tmp_path / "vells.md").write_text("# Ada Vells\n\nAda Vells grew up in Orsk.", encoding="utf-8")
    files = sorted(map(str, tmp_path.glob("*.md")))
    svg, record = tmp_path / "graph.svg", tmp_path / "graph.json"
    question = ["--question", "Where did the author of The Northern Lamp grow up?", "--embeddings", "hashing"]
    assert main([*files, *question, "--svg", str(svg), "--json", str(record), "--n", "2"]) == 0
    printed = capsys.readouterr().out
    assert "vells.md:1-3: mentions “Ada Vells”, reached from “The Northern Lamp”: A novel by Ada Vells." in printed
    written = json.loads(record.read_text(encoding="utf-8"))
    assert [step["step"] for step in written["steps"]] == ["question entities", "first segments", "edge"]
    assert MemoryGraph.from_json(written["graph"]).named("orsk")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")


def test_a_file_that_is_not_there_is_an_error(tmp_path, capsys):
    assert main([str(tmp_path / "none.md"), "--question", "Where?"]) == 2
    assert "none.md" in capsys.readouterr().err
