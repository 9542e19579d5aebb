"""Measured throughput: the token budget that follows from it, and the time of a forward pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from weft.llm.protocol import Speed
from weft.llm.throughput import FEWEST_TOKENS, SHORTEST_CONTEXT_TOKENS, ForwardPassTimes, ThroughputMeter


def meter(tokens_per_second: float) -> ThroughputMeter:
    measured = ThroughputMeter()
    measured.record_prefill(1000, 1000 / tokens_per_second)
    return measured


def test_nothing_measured_is_unknown_and_bounds_nothing():
    assert ThroughputMeter().speed == Speed(0, 0)
    assert ThroughputMeter().context_tokens(4096, 1000) == 4096


def test_the_budget_is_what_is_read_within_the_time():
    assert meter(2000).context_tokens(4096, 1000) == 2000
    assert meter(2000).context_tokens(4096, 500) == 1000
    assert meter(20_000).context_tokens(4096, 1000) == 4096


def test_on_the_slowest_machine_something_is_shown():
    assert meter(1).context_tokens(4096, 1000) == SHORTEST_CONTEXT_TOKENS


def test_a_busy_second_does_not_change_the_budget_and_a_busy_minute_does():
    measured = meter(2000)
    measured.context_tokens(4096, 1000)
    measured.record_prefill(1000, 1.0)
    assert measured.context_tokens(4096, 1000) == 2000
    for _ in range(20):
        measured.record_prefill(1000, 1.0)
        measured.context_tokens(4096, 1000)
    assert measured.context_tokens(4096, 1000) < 1400


def test_short_prompts_measure_nothing():
    measured = ThroughputMeter()
    measured.record_prefill(FEWEST_TOKENS - 1, 0.001)
    measured.record_prefill(1000, 0)
    measured.record_decode(0, 1)
    assert measured.speed == Speed(0, 0)


def test_writing_is_measured_in_tokens_a_second():
    measured = ThroughputMeter()
    measured.record_decode(10, 0.5)
    assert measured.speed.decode == 20


def test_pass_times_between_two_measurements_are_in_proportion():
    times = ForwardPassTimes()
    assert times.seconds(4) == 0
    times.record(2, 1.0)
    times.record(6, 3.0)
    assert (times.seconds(1), times.seconds(2), times.seconds(4), times.seconds(6)) == (1.0, 1.0, 2.0, 3.0)
    assert times.seconds(8) > 3.0


def test_a_pass_that_was_interrupted_counts_as_a_slow_one():
    times = ForwardPassTimes()
    times.record(1, 1.0)
    times.record(1, 1000.0)
    assert times.seconds(1) < 2.0


@given(st.dictionaries(st.integers(1, 32), st.floats(1e-3, 10), min_size=1), st.integers(1, 32))
def test_a_pass_takes_no_less_than_the_fastest_and_within_what_was_measured_no_more_than_the_slowest(
    seconds: dict[int, float], n_tokens: int
):
    times = ForwardPassTimes()
    for n, each in seconds.items():
        times.record(n, each)
    assert times.seconds(n_tokens) >= min(seconds.values()) * (1 - 1e-9)
    if n_tokens <= max(seconds):
        assert times.seconds(n_tokens) <= max(seconds.values()) * (1 + 1e-9)
