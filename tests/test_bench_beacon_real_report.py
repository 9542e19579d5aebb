"""`python -m weft.benchmarks.beacon real-report`: recall by group, paired differences, losses, what was left out."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from weft.benchmarks.beacon.__main__ import main
from weft.benchmarks.beacon.real_report import read_results, real_figures, real_tables
from weft.errors import UserError


def cell(method: str, stage: str, ratio: int | None, right: list[int], nats: list[float]) -> dict[str, Any]:
    return {"method": method, "stage": stage, "ratio": ratio, "length": 2048, "right": right, "nats": nats}


def results() -> dict[str, Any]:
    """Five questions: two compressed direct, one compressed bridged, two in the open window."""
    places = [(True, False), (True, False), (True, True), (False, False), (False, True)]
    return {
        "machine": {"device": "GPU"},
        "parts": [
            {"part": "stage-2", "step": 30, "tokens": 12345, "train_seconds": 7.5},
            {"part": "answers stage-2 2048"},
        ],
        "left_out": ["losses of more", "repeatability"],
        "logs": {"stage-2": [{"step": n, "loss": 3.0 - n / 10} for n in (10, 20, 30)] + [{"step": 30, "tokens": 1}]},
        "questions": {
            "2048": [{"text": 0, "compressed": of, "bridged": is_bridged, "position": 1} for of, is_bridged in places]
        },
        "answers": [
            cell("beacon", "stage-2", 4, [1, 0, 0, 1, 1], [1.0, 2.0, 3.0, 1.0, 1.0]),
            cell("beacon", "stage-2", 32, [0, 0, 0, 1, 0], [2.0, 3.0, 4.0, 1.0, 1.0]),
            cell("kv", "base", None, [1, 1, 1, 1, 0], [0.5] * 5),
        ],
        "losses": [
            {"method": "no memory", "ratio": None, "loss": 2.0, "nats": [4.0], "labels": [2]},
            {"method": "stage-2", "ratio": 4, "loss": 1.75, "nats": [4.0, 3.0], "labels": [2, 2]},
        ],
    }


def lines_of(text: str, heading: str) -> dict[str, list[str]]:
    """The cells of the table below a heading, by the first one."""
    table = text[text.index(heading) :].split("\n\n")[1]
    rows = [line[2:-2].split(" | ") for line in table.split("\n")]
    return {row[0]: row[1:] for row in rows}


def test_recall_is_shown_for_compressed_and_open_facts_alone():
    text = real_tables(results())
    assert lines_of(text, "Recall of facts, compressed, direct")["stage-2, ratio 4"] == ["50.0 [0.0, 100.0]"]
    assert lines_of(text, "Recall of facts, compressed, bridged")["stage-2, ratio 4"] == ["0.0 [0.0, 0.0]"]
    assert lines_of(text, "Recall of facts, compressed, bridged")["full attention"] == ["100.0 [100.0, 100.0]"]
    assert lines_of(text, "Recall of facts, open window")[""] == ["2,048 (n 2)"]
    assert lines_of(text, "Recall of facts, open window")["stage-2, ratio 4"] == ["100.0 [100.0, 100.0]"]


def test_differences_are_paired_by_question_and_nats_by_ratio():
    text = real_tables(results())
    changed = lines_of(text, "Recall of facts in the compressed part, difference to full attention")
    assert changed["stage-2, ratio 32"] == ["-100.0 [-100.0, -100.0]"]
    assert changed["stage-2, ratio 4"][0].startswith("-66.7 [")
    assert "full attention" not in changed
    assert lines_of(text, "The same at the smallest ratio")["2,048"] == [
        "4 - 32",
        "-1.00 [-1.00, -1.00]",
        "+0.00 [+0.00, +0.00]",
    ]
    assert lines_of(text, "Nats per token of the right answer")["stage-2, ratio 4"] == ["2.00"]


def test_a_run_is_compared_with_the_one_before_on_the_same_questions():
    before = results()
    before["answers"][0]["right"] = [0] * 5
    changed = lines_of(real_tables(results(), before), "Recall of all facts, difference to the run before")
    assert changed["stage-2, ratio 4"][0].startswith("+60.0 [") and changed["stage-2, ratio 32"][0].startswith("+0.0 [")
    before = deepcopy(before)
    before["questions"]["2048"][0]["position"] = 2
    other = lines_of(real_tables(results(), before), "Recall of all facts, difference to the run before")
    assert other["stage-2, ratio 4"] == ["-"]


def test_learning_losses_and_missing_parts_are_shown():
    text = real_tables(results())
    assert lines_of(text, "Learning")["stage-2"] == [
        "30",
        "12,345",
        "7.5",
        "2.000 (step 10)",
        "1.000 (step 20)",
        "0.000 (step 30)",
    ]
    losses = lines_of(text, "Held-out next-token loss")
    assert losses["no memory"] == ["2.000", "-", "-"] and losses["stage-2, ratio 4"] == ["1.750", "2.000", "1.500"]
    assert text.endswith("Left out, because the time ended: losses of more, repeatability.")


def test_figures_for_machines_count_right_answers():
    found = real_figures(results())
    assert found["recall"]["stage-2, ratio 4"]["2048"] == {
        "compressed, direct": {"n": 2, "right": 1},
        "compressed, bridged": {"n": 1, "right": 0},
        "open window": {"n": 2, "right": 2},
    }
    assert found["losses"] == {"no memory": 2.0, "stage-2, ratio 4": 1.75}
    assert found["stages"] == {"stage-2": {"step": 30, "tokens": 12345, "train_seconds": 7.5}}


def test_the_command_prints_tables_and_one_line(tmp_path: Path, capsys: Any):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results()), encoding="utf-8")
    assert main(["real-report", str(path), "--before", str(path), "--machine", "one GPU"]) == 0
    text, line = capsys.readouterr().out.strip().rsplit("\n", 1)
    assert "| full attention | 100.0 [100.0, 100.0] |" in text
    assert json.loads(line)["benchmark"] == "beacon real" and json.loads(line)["machine"] == "one GPU"


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]"])
def test_another_file_is_refused(tmp_path: Path, capsys: Any, text: str):
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    assert main(["real-report", str(path)]) == 2
    assert "Name its `results.json`." in capsys.readouterr().err
    with pytest.raises(UserError, match="is no result"):
        read_results(path)
