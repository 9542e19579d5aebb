"""The load test of many typists: which lines they type, and the figures of a run."""

from __future__ import annotations

import math

import pytest
from weft.benchmarks.latency.load import figures_of_run, jain_index
from weft.benchmarks.latency.many_typists import BLOCK_LINES, N_BLOCKS, Measured, typed_again
from weft.benchmarks.latency.replay import Session, TracedRequest
from weft.errors import UserError


@pytest.fixture
def tree(tmp_path):
    for at, n_lines in enumerate((40, 130, 300, 2000, 200)):
        (tmp_path / f"file_{at}.py").write_text("".join(f"line_{n} = {n}\n" for n in range(n_lines)))
    return tmp_path


def test_typists_type_blocks_of_different_files_again(tree):
    edits = typed_again(tree, 3, seed=1)
    assert {edit.path for edit in edits} == {"file_1.py", "file_2.py", "file_4.py"}  # neither short nor very long
    for edit in edits:
        assert edit.after == (tree / edit.path).read_text()
        assert edit.after.count("\n") - edit.before.count("\n") == BLOCK_LINES * N_BLOCKS
        assert "".join(hunk.removed for hunk in edit.hunks) == ""
    assert edits == typed_again(tree, 3, seed=1)


def test_a_tree_with_too_few_files_is_named(tree):
    with pytest.raises(UserError, match=r"has 3 files to type in, 4 are wanted"):
        typed_again(tree, 4, seed=1)


def test_jains_index_is_one_for_equals_and_one_nth_for_a_single_one():
    assert jain_index([3.0] * 7) == pytest.approx(1.0)
    assert jain_index([5.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert math.isnan(jain_index([]))


def session(*answered_ms, n_keys=10, n_unanswered=0):
    requests = [TracedRequest("u", 0.0, 1.0, 1.0 + ms / 1e3) for ms in answered_ms]
    requests += [TracedRequest("u", 0.0, 1.0) for _ in range(n_unanswered)]
    return Session(requests, n_keys)


def test_the_figures_name_the_slowest_typist_and_what_was_not_answered():
    sessions = (session(10, 10), session(10, 20), session(10, 60, n_unanswered=2))
    done = Measured(sessions, 3.0, 1.5, 0.3, 0.6, 2.0, 100.0, 130.0, 9)
    figures = figures_of_run(done)
    assert (figures["keys"], figures["keys_per_s"], figures["server_ms_per_key"]) == (30, 10.0, 50.0)
    assert (figures["p50"], figures["p95"], figures["longest"]) == (10.0, 60.0, 60.0)
    assert (figures["worst_to_median"], figures["unanswered"], figures["errors"]) == (3.0, 2, 0)
    assert figures["private_per_typist_mb"] == 10.0
    assert (figures["server_cores"], figures["typists_cores"], figures["others_cores"]) == (0.5, 0.1, 0.2)


def test_a_run_without_an_answer_in_time_has_no_times():
    late = TracedRequest("u", 0.0, 1.0, 2.0, superseded_s=1.5)
    figures = figures_of_run(Measured((Session([late], 1),), 1.0, 0.1, 0.0, 0.0, 0.1, 1.0, 1.0, 2))
    assert (figures["p95"], figures["worst_to_median"], figures["jain"], figures["in_time"]) == (None, None, None, 0)
