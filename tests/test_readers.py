"""The model of the settings that reads long texts: what is said of it where it is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from weft.memory.memorag.beacon.backend import DEFAULT_RATIO
from weft.server.config import Config, MemoryOptions
from weft.server.readers import reader_of
from weft.server.workspace import Workspace

FILES = """
#- docs/guide.md
# Guide

A basket over one hundred euros is ten percent cheaper: that is the discount.
"""
GONE = MemoryOptions(beacon_model="/no/such/model")


def test_none_is_set():
    assert reader_of(MemoryOptions()) == (None, "")
    assert MemoryOptions().beacon_ratio == DEFAULT_RATIO


def test_weights_without_their_model_are_named():
    reader, why = reader_of(MemoryOptions(beacon_weights="weights"))
    assert reader is None
    assert "set both" in why


def test_one_that_is_not_there_is_said():
    reader, why = reader_of(GONE)
    assert reader is None
    assert why.startswith("/no/such/model is not there.")
    assert why.endswith("Until then the model that answers reads the text itself.")


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
