"""The benchmark of the trained beacon memory: texts, tables, and a run too small to learn."""

import json
import re
from random import Random

import pytest
from weft.benchmarks.beacon.measure import AskedTexts, Measurement
from weft.benchmarks.beacon.report import by_depth, figures, tables
from weft.benchmarks.beacon.texts import VOCABULARY, make_text, to_tokens


def facts_of(text):
    """First names and surnames, as the sentences say them, in order."""
    return re.findall(r"met (\w+) (\w+) \.", " ".join(text.words))


@pytest.mark.parametrize("seed", range(5))
def test_questions_have_one_answer_which_the_text_says_once(seed):
    text = make_text(Random(seed), 700, 20, 8)
    facts = facts_of(text)
    assert len(facts) == len({first for first, _ in facts}) == 20
    assert len(text.words) == 700
    assert len(text.questions) == 12
    for question in text.questions:
        first = question.words[-1]
        assert dict(facts)[first] == question.answer
        assert text.words.count(first) == 1
        assert abs(text.words.index(first) - question.depth * 700) < 10


def test_answers_in_the_text_come_after_their_fact():
    text = make_text(Random(1), 500, 20, 15)
    facts = dict(facts_of(text))
    assert len(text.answers) == 15
    for place in text.answers:
        first, answer = text.words[place - 1], text.words[place]
        assert text.words[place - 3 : place - 1] == ("full", "name")
        assert facts[first] == answer
        assert text.words.index(first) < place - 1


def test_texts_of_a_seed_are_the_same_and_of_another_differ():
    texts = [next(AskedTexts(seed=seed).of(2048)) for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_facts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="Ask for fewer"):
        make_text(Random(0), 64, 20, 20)


def test_words_are_their_places_in_the_vocabulary():
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    words = make_text(Random(0), 300, 10, 5).words
    assert [VOCABULARY[token] for token in to_tokens(words)] == list(words)


def row(method, length, text, right, **values):
    defaults = {"loss": 2.0, "kept_tokens": 512, "kept_bytes": 1_500_000, "beyond": False, "seconds": 1.0}
    return Measurement(
        method=method, length=length, text=text, depths=(0.1, 0.5, 0.999), right=right, **(defaults | values)
    )


ROWS = [
    row("full", 2048, 0, (True, True, True)),
    row("full", 2048, 1, (True, True, False)),
    row("full", 4096, 0, (False, False, True), beyond=True, loss=3.0),
    row("none", 2048, 0, (False, False, False), kept_tokens=0, kept_bytes=0),
]


def test_tables_hold_every_way_and_mark_what_is_beyond_the_trained_positions():
    text = tables(ROWS)
    assert "| full | 2.000 | 3.000* |" in text
    assert "| none | 2.000 | - |" in text
    assert "| full | 512 (1.50 MB) | 512 (1.50 MB)* |" in text
    assert "6 questions a cell" in text


def test_depths_are_fifths_of_the_text():
    assert by_depth(ROWS[:2])[::2] == [1.0, 1.0, 0.5]


def test_figures_are_json_by_way_and_length():
    found = json.loads(json.dumps(figures(ROWS)))
    assert found["full"]["2048"]["recall"] == pytest.approx(5 / 6, abs=1e-4)
    assert found["full"]["4096"]["beyond"] is True
    assert found["none"]["2048"]["n"] == 3


@pytest.mark.local
def test_commands_refuse_a_folder_without_an_example(tmp_path, capsys):
    pytest.importorskip("torch")
    from weft.benchmarks.beacon.__main__ import main

    assert main(["evaluate", str(tmp_path)])
    assert "Make it with" in capsys.readouterr().err


@pytest.mark.local
def test_training_and_evaluation_run_end_to_end(tmp_path, capsys):
    pytest.importorskip("torch")
    from weft.benchmarks.beacon.__main__ import main

    assert main(["train", "--micro", "--out", str(tmp_path)]) == 0
    assert main(["evaluate", str(tmp_path), "--lengths", "820", "--texts", "1"]) == 0
    results = json.loads(capsys.readouterr().out.splitlines()[-1])["results"]
    assert {method: of["820"]["n"] for method, of in results.items()} == dict.fromkeys(results, 64)
    kept = {method: of["820"]["kept_tokens"] for method, of in results.items()}
    # 25 full windows of 32 tokens, and 20 tokens of an open one.
    assert kept["full attention"] == 820
    assert kept["no memory"] == 0
    assert [kept[f"beacon, ratio {ratio}"] for ratio in (2, 4, 8, 16)] == [20 + 800 // ratio for ratio in (2, 4, 8, 16)]
