"""The campaign on secrets, in its short form."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from weft.benchmarks.reliability import secrets
from weft.benchmarks.reliability.campaign import Settings, failures
from weft.benchmarks.reliability.canaries import file_canaries, line_canaries


def test_the_canaries_are_as_many_and_as_varied_as_they_are_said_to_be() -> None:
    files, lines = file_canaries(random.Random(1)), line_canaries(random.Random(1))
    assert len(files) >= 120 and len(lines) >= 300 and len({canary.syntax for canary in lines}) >= 25
    assert all(canary.values for canary in (*files, *lines))
    for canaries in (files, lines):
        held_out = sum(canary.is_held_out for canary in canaries)
        assert abs(len(canaries) - 2 * held_out) <= 1


@pytest.mark.slow
def test_no_secret_file_and_hardly_a_line_reaches_the_model(tmp_path: Path) -> None:
    counts = secrets.run(Settings(tmp_path, is_short=True))
    assert failures(secrets, counts) == {}
    assert counts["canary_lines_sent"] == counts["canary_lines"]  # else nothing was tried
