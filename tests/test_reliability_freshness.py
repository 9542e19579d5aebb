"""The campaign of changes during an index, in its short form."""

from __future__ import annotations

import pytest
from weft.benchmarks.reliability import freshness
from weft.benchmarks.reliability.campaign import Settings, failures


@pytest.mark.slow
def test_the_index_equals_the_disk_after_every_round(tmp_path):
    counts = freshness.run(Settings(tmp_path, is_short=True))
    assert counts["rounds"] == freshness.N_ROUNDS_SHORT
    assert counts["changes"] and counts["indexes_compared_over_stdio"] and counts["indexes_compared_in_process"]
    assert not failures(freshness, counts)
