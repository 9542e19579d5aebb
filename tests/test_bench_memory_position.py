"""`weft bench memory position`: the arrangements, the facts in them, and the command."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.benchmarks.memory.adapters import read_samples
from weft.benchmarks.memory.position import arrangements, as_one_text, at_position, gold_and_others, main, with_gap


@pytest.mark.parametrize(("where", "order"), [("head", "ABabcd"), ("middle", "abABcd"), ("tail", "abcdAB")])
def test_gold_stands_at_the_head_in_the_middle_or_at_the_tail(where, order):
    assert "".join(at_position("AB", "abcd", where)) == order


def test_another_place_is_refused():
    with pytest.raises(ValueError, match="head, middle, tail"):
        at_position("A", "a", "somewhere")


def test_the_gap_between_gold_pieces_grows():
    assert ["".join(with_gap("AB", "abcd", gap)) for gap in (0, 1, 3, 9)] == ["AB", "AaB", "AabcB", "AabcdB"]


@given(st.lists(st.integers(), max_size=4), st.lists(st.integers(), max_size=9), st.integers(0, 12))
def test_nothing_is_lost_or_doubled(gold, others, gap):
    for where in ("head", "middle", "tail"):
        assert sorted(at_position(gold, others, where)) == sorted([*gold, *others])
    assert sorted(with_gap(gold, others, gap)) == sorted([*gold, *others[:gap]])


def record(number):
    return {
        "_id": str(number),
        "title_a": f"Lamp {number}",
        "para_a": [f"The lamp of keeper {number} burns.", " It is old."],
        "title_b": f"Keeper {number}",
        "para_b": [f"Keeper {number} came from Orsk."],
        "question": f"Where did the keeper of lamp {number} come from?",
        "answer": "Orsk",
        "supporting_facts": [[0], [0]],
        "distractors": [[f"Noise {number} {i}", [f"Noise number {i} about rain."], 1.0] for i in range(3)],
    }


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps([record(i) for i in range(3)]), encoding="utf-8")
    return path


def test_facts_stand_where_they_came_to_stand(data):
    samples = read_samples("hotpotqa", data)
    gold, others = gold_and_others(samples, 0, 8)
    assert {item.source for item in gold} == {"Lamp 0", "Keeper 0"}
    assert len(others) == 8 and not {item.source for item in others} & {"Lamp 0", "Keeper 0"}
    for order in arrangements(gold, others).values():
        text = as_one_text(samples[0], order)
        (item,) = text.items
        shown = {item.text[fact.start : fact.end] for fact in text.facts}
        assert shown == {"The lamp of keeper 0 burns.", "Keeper 0 came from Orsk."}


def test_the_command_prints_a_table_in_which_cuts_lose_what_stands_elsewhere(data, capsys):
    assert main([str(data), "--tokens", "60", "--n-others", "10"]) == 0
    results = json.loads(capsys.readouterr().out.splitlines()[-1])["results"]
    assert results["the beginning"]["head"] == 1.0 and results["the beginning"]["tail"] == 0.0
    assert results["the end"]["tail"] == 1.0 and results["the end"]["head"] == 0.0
    assert results["cut in the middle"]["middle"] == 0.0
    assert set(results["qrmem"]) == {"head", "middle", "tail", "gap 0", "gap 5", "gap 10"}


def test_texts_are_written_for_runs_with_a_model(data, tmp_path, capsys):
    assert main([str(data), "--write", str(tmp_path / "out"), "--n-others", "5"]) == 0
    (sample, *_) = read_samples("generic", tmp_path / "out" / "gap-5.jsonl")
    assert sample.answers == ("Orsk",) and len(sample.facts) == 2


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path, capsys):
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
