"""`weft bench memory hops`: recall on questions whose second paragraph shares no word with them."""

from __future__ import annotations

import json

import pytest
from weft.benchmarks.memory.hops import main


@pytest.fixture
def data(tmp_path):
    people, towns = ("Ada Vells", "Bo Tarn", "Cy Morn"), ("Orsk", "Ulm", "Brod")
    records = [
        {
            "_id": str(i),
            "title_a": f"{lamp} Lamp",
            "para_a": [f"The {lamp} Lamp is a novel by {person}."],
            "title_b": person,
            "para_b": [f"{person} grew up in {town}."],
            "question": f"In which town was the author of the {lamp} Lamp born?",
            "answer": town,
            "supporting_facts": [[0], [0]],
            "distractors": [[f"Noise {i} {n}", ["Every author was born in which town?"], 1.0] for n in range(3)],
        }
        for i, (lamp, person, town) in enumerate(zip(("Northern", "Southern", "Eastern"), people, towns, strict=True))
    ]
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_the_graph_finds_the_second_paragraph_and_words_alone_do_not(data, capsys):
    assert main([str(data), "--depths", "2", "--systems", "bm25", "qrmem", "--machine", "test"]) == 0
    table, line = capsys.readouterr().out.strip().rsplit("\n", 1)
    results = json.loads(line)["results"]
    assert results["pooled qrmem"]["2"] == results["own qrmem"]["2"] == 1.0
    assert results["pooled bm25"]["2"] == 0.5
    assert "| pooled | qrmem | 100.0 [100.0, 100.0] | 100.0 |" in table


def test_a_file_of_another_form_is_an_error(tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text('[{"question": 3}]', encoding="utf-8")
    assert main([str(path)]) == 2
    assert "other.json" in capsys.readouterr().err


def test_the_walk_as_printed_can_end_after_fewer_updates(data, capsys):
    printed, once = "qrmem, as printed", "qrmem, as printed, 1 of 5 updates"
    assert main([str(data), "--depths", "2", "5", "--systems", printed, once, "--machine", "test"]) == 0
    results = json.loads(capsys.readouterr().out.strip().rsplit("\n", 1)[1])["results"]
    # The second paragraph is one edge away.
    assert results[f"own {once}"]["2"] == results[f"own {printed}"]["2"] == 1.0
