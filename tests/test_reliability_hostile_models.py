"""The short form of the campaign with hostile model servers and documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from weft.benchmarks.reliability import hostile_models
from weft.benchmarks.reliability.campaign import Settings, failures


@pytest.mark.slow
def test_hostile_servers_and_documents_hold_up_and_act_on_nothing(tmp_path: Path):
    counts = hostile_models.run(Settings(tmp_path, is_short=True))
    assert failures(hostile_models, counts) == {}
    assert counts["attacks"] and counts["documents_asked"] and counts["answered_with_text"]
