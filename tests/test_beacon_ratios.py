"""Ratios of a beacon memory, where its tokens stand, and how long a text may be. Without torch."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory.memorag.beacon import BeaconError, TextTooLong, parse_policy
from weft.memory.memorag.beacon.ratios import (
    check_length,
    longest_text,
    memory_places,
    positions_needed,
    raw_places,
    smallest_ratio,
    windows,
)


def capacity(max_positions: int, window: int, ratio: int) -> int:
    """Capacity in tokens (MemoRAG, 4.2): all windows but the last one are compressed with `ratio`."""
    return (max_positions - window) * ratio + window


def policy_of(text: str, window: int = 64, max_positions: int = 1024, **others: object):
    return parse_policy(text, window=window, max_positions=max_positions, **others)


def ratios_of(text: str, n_windows: int = 6, n_tokens: int = 384, seed: int = 0, **others: object) -> list[int]:
    ratio_of = policy_of(text, **others).for_text(n_tokens, Random(seed))
    return [ratio_of(number) for number in range(n_windows)]


def test_a_number_is_the_ratio_of_every_window():
    assert ratios_of("8", 3) == [8, 8, 8]


def test_a_sequence_goes_on_with_its_last_ratio():
    assert ratios_of("sequence:4,8,16", 5) == [4, 8, 16, 16, 16]


def test_random_steps_draw_each_window_and_instances_once():
    steps = ratios_of("step-random", 200)
    assert set(steps) == {2, 4, 8, 16}
    assert steps == ratios_of("step-random", 200)
    assert len(set(ratios_of("instance-random", 200))) == 1
    assert {ratios_of("instance-random", 1, seed=seed)[0] for seed in range(40)} == {2, 4, 8, 16}
    assert set(ratios_of("step-random", 100, ratios=(2, 32))) == {2, 32}


def test_a_window_asked_for_twice_or_out_of_order_has_one_ratio():
    ratio_of = policy_of("step-random").for_text(0, Random(3))
    late = ratio_of(7)
    assert [ratio_of(number) for number in range(8)][7] == late == ratio_of(7)


def test_adapt_takes_the_smallest_ratio_that_holds_text_and_extra():
    # (1024 - 64) * 2 + 64 = 1984 tokens with ratio 2, and 3904 with ratio 4
    assert [ratios_of("adapt-100", 1, n_tokens=n)[0] for n in (10, 1883, 1884, 3803, 3804)] == [2, 2, 4, 4, 8]


def test_adapt_says_what_the_largest_ratio_holds():
    with pytest.raises(TextTooLong, match="99999 tokens and 100 are reserved; ratio 16 holds 15423"):
        ratios_of("adapt-100", n_tokens=99_999)


@pytest.mark.parametrize(
    "text", ["", "four", "sequence:", "sequence:4,x", "adapt", "adapt-", "adapt-x", "random", "4.0"]
)
def test_no_policy_is_an_error_with_the_known_ones(text):
    with pytest.raises(BeaconError, match=r"is not a ratio policy\. Use a ratio"):
        policy_of(text)


@pytest.mark.parametrize("text", ["0", "-4", "3", "sequence:4,5", "sequence:4,0"])
def test_a_ratio_must_divide_the_window(text):
    with pytest.raises(BeaconError, match="does not divide the window of 64 tokens"):
        policy_of(text)


def test_capacity_is_the_papers():
    # Qwen2-7B with its 32,768 positions: the published "400-600K" at ratio 16
    assert capacity(32_768, 2048, 16) == 493_568
    assert capacity(32_768, 2048, 4) == 124_928


@given(st.sampled_from([2, 4, 8, 16]), st.integers(64, 700))
def test_the_longest_text_is_just_what_has_positions(ratio, max_positions):
    longest = longest_text(max_positions, 64, ratio)
    assert longest < capacity(max_positions, 64, ratio)

    def needed(n_tokens: int) -> int:
        return positions_needed(0, 0, n_tokens, window=64, ratio_of=lambda number: ratio)

    assert needed(longest) <= max_positions < needed(longest + 1)


def test_the_smallest_ratio_may_not_exist():
    assert smallest_ratio(1000, (8, 2, 4), 64, 512) == 4
    assert smallest_ratio(9000, (8, 2, 4), 64, 512) is None


@pytest.mark.parametrize(("window", "ratio"), [(4, 1), (4, 2), (6, 3), (8, 8), (64, 16)])
def test_a_memory_token_stands_behind_each_ratio_raw_tokens(window, ratio):
    row = ["raw"] * (window + window // ratio)
    for place in memory_places(window, ratio):
        row[place] = "memory"
    assert row == (["raw"] * ratio + ["memory"]) * (window // ratio)
    assert [place for place, kind in enumerate(row) if kind == "raw"] == raw_places(window, ratio)


@pytest.mark.parametrize(("window", "ratio"), [(4, 1), (4, 2), (6, 3), (8, 8), (64, 16)])
def test_appended_memory_tokens_are_behind_the_whole_window(window, ratio):
    assert raw_places(window, ratio, "appended") == list(range(window))
    assert memory_places(window, ratio, "appended") == list(range(window, window + window // ratio))


def test_windows_cover_a_text_and_the_last_may_be_short():
    assert list(windows(10, 4)) == [(0, 4), (4, 8), (8, 10)]
    assert list(windows(8, 4)) == [(0, 4), (4, 8)]
    assert list(windows(0, 4)) == []


def test_positions_count_memory_and_window_together():
    def needed(n_memory: int, n_read: int, n_new: int, **others: bool) -> int:
        return positions_needed(n_memory, n_read, n_new, window=8, ratio_of=lambda number: [2, 4][number % 2], **others)

    assert needed(0, 0, 7) == 7
    assert needed(0, 0, 8) == 12  # with its four memory tokens
    assert needed(0, 0, 8, last_stays_open=True) == 8
    assert needed(0, 0, 11) == 12
    assert needed(0, 0, 16) == 4 + 8 + 2
    assert needed(4, 8, 3) == 4 + 3
    assert needed(4, 11, 5) == 4 + 8 + 2


def test_a_text_that_is_too_long_names_the_ratio_that_fits():
    def check(n_tokens: int, ratio: int) -> None:
        check_length(0, 0, n_tokens, window=64, max_positions=512, ratio_of=lambda number: ratio)

    check(959, 2)
    with pytest.raises(TextTooLong, match=r"960 tokens needs 544 .* ratio 2, .* has 512: room for 959 tokens. .* 4"):
        check(960, 2)
    with pytest.raises(TextTooLong, match="Shorten it, or take a model with more positions"):
        check(90_000, 2)
