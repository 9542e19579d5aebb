"""The campaign of kills, damage, special files and hostile rules, in its short form."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from weft.benchmarks.reliability import damage
from weft.benchmarks.reliability.campaign import Settings, failures
from weft.benchmarks.reliability.damaged_files import KINDS, damaged

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the campaign makes named pipes")


@pytest.mark.slow
def test_nothing_is_lost_left_over_stuck_or_deleted(tmp_path: Path) -> None:
    n_kills, n_histories, _, n_others, _ = damage.SHORT
    counts = damage.run(Settings(tmp_path, is_short=True))
    assert not failures(damage, counts)
    assert counts["kills"] == n_kills and counts["starts checked"]
    assert counts["history damages"] == n_histories and counts["histories moved aside"]
    assert counts["turns recovered"] > 0.8 * counts["turns there"]
    assert counts["other damages"] == n_others and counts["special files"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_damage_changes_a_file_and_no_other_time_another_way(kind) -> None:
    sound = random.Random(1).randbytes(16_384)
    first, again = (damaged(sound, random.Random(3), kind) for _ in range(2))
    assert first == again != sound
    assert damaged(b"", random.Random(3), kind) == b""
