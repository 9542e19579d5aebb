"""The fit of the mixture: it learns which of the two to trust, keeps what models said, and weighs nothing unseen."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from weft.llm.mixture import FEATURES, Rule, Surroundings, Way, features_of
from weft.llm.scoring import LineScore
from weft.llm.workspace_model import Candidate

pytestmark = pytest.mark.local
pytest.importorskip("torch", reason="fitting needs torch")

from weft.benchmarks.completion.fit_mixture import Sample, fit, held_out_report, main  # noqa: E402


def sample(number: int, random: Random) -> Sample:
    """Two lines: the workspace model prefers the first, the neural model the right one. Of every fourth none is."""
    neural = random.random() < 0.5
    logs = (-9.0, -1.0) if neural else (-1.0, -9.0)
    if number % 4 == 0:
        logs, neural = (-30.0, -30.0), False
    ways = tuple(
        Way(
            text, Candidate(text, adapted), not at, False, LineScore(log, -0.1, 3), Surroundings(False, False, 0.5, 1.0)
        )
        for at, (text, adapted, log) in enumerate(zip(("total(a)", "total(b)"), (0.5, 0.3), logs, strict=True))
    )
    right = (False, False) if number % 4 == 0 else (not neural, neural)
    return Sample(f"repo{number % 5}", f"repo{number % 5}/line/{number}", number % 2 == 0, ways, right)


def samples(n: int) -> list[Sample]:
    random = Random(7)
    return [sample(number, random) for number in range(n)]


def test_the_rule_learns_to_trust_the_model_that_is_right():
    rule = Rule.of(fit(samples(200)))
    for each in samples(40):
        probabilities = rule.probabilities(features_of(each.ways))
        if any(each.right):
            assert probabilities.argmax() == each.right.index(True)
        else:
            assert probabilities.sum() < 0.5


def test_repositories_are_judged_by_a_rule_that_has_not_seen_them():
    table = held_out_report(samples(200))
    assert "200 lines of 5 repositories" in table
    right = {line.split(" | ")[0]: float(line.split(" | ")[1]) for line in table.split("\n")[4:]}
    assert right["| the rule"] == right["| the right one, where it is there"] == 75.0
    assert right["| a rule that asks no neural model"] < 50.0


def test_what_models_said_is_kept_as_it_was(tmp_path: Path):
    (one,) = samples(1)
    assert Sample.from_row(json.loads(json.dumps(asdict(one)))) == one


def test_a_fit_is_written_by_the_names_of_what_it_weighs(tmp_path: Path, tiny_model: Path):
    pytest.importorskip("onnxruntime")
    for number in range(4):
        tree = tmp_path / "trees" / f"repo{number}"
        tree.mkdir(parents=True)
        lines = [f"def pay{at}(basket, rate):\n    return total(basket, {at} * rate)\n" for at in range(4)]
        (tree / "shop.py").write_text("".join(lines), encoding="utf-8")
    kept, output = tmp_path / "kept.jsonl", tmp_path / "rule.json"
    arguments = ["--trees", str(tmp_path / "trees"), "--model", f"onnx={tiny_model / 'onnx'}", "--limit", "2"]
    arguments += ["--work", str(kept), "--output", str(output)]
    assert main(arguments) == 0
    assert set(json.loads(output.read_text(encoding="utf-8"))) == set(FEATURES)
    said = kept.read_text(encoding="utf-8")
    assert main(arguments) == 0
    assert kept.read_text(encoding="utf-8") == said
