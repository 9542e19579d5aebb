"""Shared parts of the benchmarks: text similarity, bootstrap intervals, tables, and the command runner."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.benchmarks import command
from weft.benchmarks.bootstrap import bootstrap_interval, difference, differences, interval, mean, percentile
from weft.benchmarks.command import Report, command_parser, run_command
from weft.benchmarks.similarity import best_similarity, common_length, edit_similarity
from weft.benchmarks.tables import aligned, bracketed, markdown, number
from weft.llm import ModelError

# Similarity


def plain_edit_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def plain_similarity(first: str, second: str) -> float:
    longest = max(len(first), len(second))
    return 1.0 - plain_edit_distance(first, second) / longest if longest else 1.0


@settings(max_examples=200, deadline=None)
@given(st.text("ab(é\ud800", max_size=12), st.text("ab(é\ud800", max_size=12))
def test_edit_similarity_equals_the_plain_one(first: str, second: str) -> None:
    assert edit_similarity(first, second) == plain_similarity(first, second)


def test_edit_similarity_of_long_lines() -> None:
    first, second = "abc" * 50, "acb" * 40
    assert edit_similarity(first, second) == plain_similarity(first, second)


@settings(max_examples=100, deadline=None)
@given(st.text("abc", max_size=8), st.lists(st.text("abc", max_size=8), max_size=6))
def test_the_nearest_line_is_the_best_of_all(target: str, lines: list[str]) -> None:
    assert best_similarity(target, lines) == max((plain_similarity(target, line) for line in lines), default=0.0)


def test_a_common_subsequence_is_of_characters_or_of_words() -> None:
    assert common_length("abcde", "xbyd") == 2
    assert common_length(["to", "be", "or", "not"], ["be", "not"]) == 2


# Intervals


def test_an_interval_is_paired_and_ignores_tasks_that_are_not_asked() -> None:
    first = {"a": [2.0, 3.0, math.nan, 5.0], "b": [1.0] * 4}
    second = {"a": [1.0, 2.0, 9.0, 4.0], "b": [0.0] * 4}
    assert bootstrap_interval(differences(first, second)) == (1.0, 1.0)
    low, high = bootstrap_interval({"a": [1.0, -1.0] * 50})
    assert low < 0 < high
    assert difference(first, first)[1] == 0.0


def test_strata_count_the_same_or_each_value_does() -> None:
    strata = {"a": [0.0] * 5, "b": [1.0] * 15}
    assert bootstrap_interval(strata) == (0.5, 0.5)
    assert bootstrap_interval(strata, equal_strata=False) == (0.75, 0.75)
    assert interval(strata) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("is_equal", [True, False])
def test_an_interval_equals_the_plain_bootstrap(is_equal: bool) -> None:
    strata = {"a": [0.0, 1.0, 0.3], "b": [0.5] * 4 + [0.9]}
    generator, means = np.random.default_rng(20230116), np.zeros(2000)
    for values in map(np.array, strata.values()):
        drawn = values[generator.integers(len(values), size=(2000, len(values)))]
        means += drawn.mean(axis=1) / 2 if is_equal else drawn.sum(axis=1) / 8
    wanted = tuple(np.percentile(means, [2.5, 97.5]))
    assert bootstrap_interval(strata, equal_strata=is_equal) == pytest.approx(wanted, abs=1e-12)


def test_where_nothing_is_asked_there_is_no_figure() -> None:
    assert all(map(math.isnan, (*bootstrap_interval({}), *bootstrap_interval({"a": [math.nan]}), mean([math.nan]))))
    assert mean([math.nan, 1.0, 2.0]) == 1.5
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0 and math.isnan(percentile([], 0.5))


# Tables


def test_a_table_is_markdown() -> None:
    text = markdown(("a", "b"), [("x", "1")])
    assert text == "| a | b |\n| --- | ---: |\n| x | 1 |"
    assert aligned(f"Said.\n\n{text}\nEnd.").split("\n")[2:] == [
        "| a   |    b |",
        "| --- | ---: |",
        "| x   |    1 |",
        "End.",
    ]


def test_a_figure_that_there_is_not_is_a_dash() -> None:
    assert [number(None), number(math.nan), number(1.25)] == ["-", "-", "1.2"]
    assert bracketed((math.nan, math.nan)) == "" and bracketed((-1.0, 2.0)) == " [-1.0, +2.0]"


# Commands


def run(measure: object, *arguments: str) -> int:
    return run_command(command_parser("weft bench toy", "Toy.", "machine", "html", "write-results"), measure, arguments)


def test_a_command_prints_a_table_and_a_line_and_writes_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path)

    def measure(options: argparse.Namespace) -> Report:
        return Report("toy", "| a |", {"figures": [1]}, "Title", "<svg/>", notes="Noted.", status=1)

    assert run(measure, "--machine", "a quiet one", "--write-results", "--html", str(tmp_path / "page.html")) == 1
    *text, line = capsys.readouterr().out.splitlines()
    assert text == ["Title", "", "| a |", ""]
    assert json.loads(line).items() >= {"benchmark": "toy", "figures": [1], "machine": "a quiet one"}.items()
    assert "<svg/>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    written = (tmp_path / "toy.md").read_text(encoding="utf-8")
    assert written.startswith("# Title\n\n```\nweft bench toy\n```\n") and written.endswith("| a |\n\nNoted.\n")
    assert (tmp_path / "toy.jsonl").read_text(encoding="utf-8") == f"{line}\n"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ModelError("no model"), 2, "no model"),
        (FileNotFoundError("gone"), 2, "gone"),
        (ModuleNotFoundError("x", name="scipy"), 2, "scipy is not installed"),
        (KeyboardInterrupt(), 130, "Run the same command to continue"),
    ],
)
def test_an_error_is_a_message_and_a_status(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(options: argparse.Namespace) -> Report:
        raise error

    assert run(measure) == status
    assert said in capsys.readouterr().err


def test_a_command_without_a_table_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lambda options: 0) == 0
    assert capsys.readouterr().out == ""
