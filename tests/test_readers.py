"""The model of the settings that reads long texts: what it can hold, and what is said where it is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.errors import ModelError
from weft.memory.memorag.beacon import TextTooLong, parse_policy
from weft.memory.memorag.beacon.backend import DEFAULT_RATIO
from weft.memory.memorag.beacon.chat_model import RatioPlan
from weft.memory.memorag.beacon.ratios import RatioSequence
from weft.server.config import Config, MemoryOptions
from weft.server.models.beacon_reader import reader_of
from weft.server.workspace.workspace import Workspace

FILES = """
#- docs/guide.md
# Guide

A basket over one hundred euros is ten percent cheaper: that is the discount.
"""
GONE = MemoryOptions(beacon_model="/no/such/model", embeddings="hashing")


def test_none_is_set():
    assert reader_of(MemoryOptions()) == (None, "")
    assert MemoryOptions().beacon_ratio == DEFAULT_RATIO


def test_weights_without_their_model_are_named():
    reader, why = reader_of(MemoryOptions(beacon_weights="weights"))
    assert reader is None
    assert "Set both" in why


def test_one_that_is_not_there_is_said():
    reader, why = reader_of(GONE)
    assert reader is None
    assert why.startswith("/no/such/model does not exist.")
    assert why.endswith("Until then the chat model reads the text itself.")


@pytest.mark.parametrize(("strategy", "is_said"), [("memorag", True), ("auto", True), ("top_1", False)])
def test_a_question_is_answered_without_it_and_says_so_where_it_would_read(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, is_said: bool
):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    with Workspace([project(FILES)], Config(memory=GONE), cache=False) as workspace:
        workspace.index()
        reply = workspace.ask("When is a basket cheaper?", strategy=strategy)
    assert reply.found
    assert any("/no/such/model" in note for note in reply.notes) == is_said


def test_a_reader_that_fails_leaves_the_evidence(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted_chat: Any
):
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    failing = scripted_chat([("", ModelError("The reader broke. Mend it."))])
    monkeypatch.setattr("weft.server.chat.strategy_answers.reader_of", lambda options: (failing, "a reader is set"))
    options = MemoryOptions(embeddings="hashing")
    with Workspace([project(FILES)], Config(memory=options), cache=False) as workspace:
        workspace.index()
        reply = workspace.ask("When is a basket cheaper?", strategy="memorag")
    assert reply.found
    assert reply.model == ""
    assert {"a reader is set", "The reader broke. Mend it."} <= set(reply.notes)


@given(
    policy=st.sampled_from(["2", "4", "8", "sequence:2,8", "step-random", "adapt-0", "adapt-64", "adapt-1024"]),
    window=st.sampled_from([8, 64, 2048]),
    n_behind=st.integers(0, 40_000),
    share=st.floats(0, 1),
)
def test_what_a_reader_says_it_holds_it_can_read(policy: str, window: int, n_behind: int, share: float):
    max_positions = window + n_behind
    written = parse_policy(policy, window=window, max_positions=max_positions, ratios=(2, 4, 8))
    reach = RatioPlan(written, window, max_positions)
    if (most := reach.most_tokens) > 1:
        n_text = max(1, int(most * share))
        reach.ratios(n_text, most - n_text)


@given(st.sampled_from([2, 4, 8]), st.integers(1, 20))
def test_it_says_all_that_a_ratio_holds(ratio: int, n_windows: int):
    max_positions = 64 + n_windows * 64 // ratio
    reach = RatioPlan(RatioSequence((ratio,)), 64, max_positions)
    assert reach.most_tokens == n_windows * 64 + 63
    with pytest.raises(TextTooLong):
        reach.ratios(reach.most_tokens + 64 * ratio, 0)
