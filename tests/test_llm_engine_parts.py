"""Shared parts of the engines: scores over arrays, and the choice of the number of threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from weft.llm.local.engines import ArrayScores, threads


def rows(*logits: list[float]) -> ArrayScores:
    return ArrayScores(np.array(logits, np.float32))


def test_each_row_has_its_best_token_and_its_probability():
    tokens, probabilities = rows([0, 2, 0], [5, 0, 0]).best()
    assert tokens == [1, 0]
    assert probabilities == pytest.approx([math.exp(2) / (math.exp(2) + 2), math.exp(5) / (math.exp(5) + 2)])


def test_the_lowest_number_wins_a_tie():
    assert rows([1, 3, 3]).best()[0] == [1]
    assert rows([1, 3, 3]).best_of(0, [2, 1])[0] == 1


def test_the_best_of_some_has_its_probability_among_all():
    token, probability = rows([0, 9, 1, 2]).best_of(0, [0, 2])
    assert token == 2
    assert probability == pytest.approx(math.exp(1) / (1 + math.exp(9) + math.exp(1) + math.exp(2)))


def test_large_logits_do_not_overflow():
    assert rows([1000, -1000]).best() == ([0], [1.0])
    assert rows([1000, -1000]).best_of(0, [1]) == (1, 0.0)


def test_logits_are_a_copy_that_stays():
    array = np.zeros((1, 2), np.float32)
    scores = ArrayScores(array).logits()
    array += 1
    assert scores.tolist() == [[0, 0]]


def measured(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float], cores: int) -> tuple[int, list[int]]:
    """The choice on a machine where a step with n threads takes so long, and the steps that were made."""
    now = 0.0
    steps: list[int] = []

    def use(n_threads: int) -> threads.Step:
        nonlocal now
        now += 10  # getting ready is not measured

        def step() -> None:
            nonlocal now
            now += seconds[n_threads]
            steps.append(n_threads)

        return step

    monkeypatch.setattr(threads.time, "perf_counter", lambda: now)
    return threads.fastest_threads(use, cores=cores), steps


def test_threads_are_added_as_long_as_they_help(monkeypatch):
    assert measured(monkeypatch, {1: 0.008, 2: 0.004, 4: 0.002, 8: 0.0025}, cores=8)[0] == 4


def test_a_little_faster_is_not_worth_more_threads(monkeypatch):
    assert measured(monkeypatch, {1: 0.0080, 2: 0.0075}, cores=2)[0] == 1


def test_every_core_is_tried_where_their_number_is_no_power_of_two(monkeypatch):
    assert measured(monkeypatch, {1: 0.006, 2: 0.003, 4: 0.0015, 6: 0.001}, cores=6)[0] == 6


def test_one_core_leaves_no_choice(monkeypatch):
    assert measured(monkeypatch, {1: 0.001}, cores=1)[0] == 1


def test_a_large_model_is_measured_once_a_number(monkeypatch):
    chosen, steps = measured(monkeypatch, {1: 0.4, 2: 0.2, 4: 0.1}, cores=4)
    assert (chosen, steps) == (4, [1, 1, 2, 2, 4, 4])


def test_threads_that_wait_for_each_other_are_given_up_at_once(monkeypatch):
    chosen, steps = measured(monkeypatch, {1: 0.001, 2: 0.4}, cores=2)
    assert (chosen, steps.count(2)) == (1, 1)
