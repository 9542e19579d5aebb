"""Speculative decoding: where drafts come from, their length, and that they stop when they do not pay."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.local.speculative import (
    MAX_DRAFT_TOKENS,
    RETRY_AFTER_DECLINED,
    RETRY_TOKENS,
    Draft,
    Drafter,
    DraftPolicy,
    PromptLookup,
    find_text_continuation,
)
from weft.llm.throughput import ForwardPassTimes

tokens = st.lists(st.integers(0, 3), max_size=20)


def longest_match(sources: list[list[int]], history: list[int]) -> int:
    """Read slowly: for how many tokens, at most eight, some place before the end of the history agrees with it."""
    texts = [*sources, history]
    best = 0
    for number, text in enumerate(texts):
        for end in range(1, len(text) + (number < len(texts) - 1)):
            behind = zip(reversed(text[:end]), reversed(history), strict=False)
            best = max(best, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], behind)))
    return min(best, 8)


def test_the_continuation_of_the_same_tokens_is_drafted():
    assert PromptLookup([[1, 2, 3, 4, 5]], [9, 2, 3]).find() == (2, [4, 5])


def test_the_longer_match_wins_over_the_nearer_one():
    assert PromptLookup([[1, 2, 3, 4]], [3, 7, 1, 2, 3]).find() == (3, [4])


def test_of_equal_matches_the_last_wins():
    assert PromptLookup([[2, 3, 4], [2, 3, 5]], [2, 3]).find() == (2, [5])


def test_the_history_itself_is_searched():
    assert PromptLookup([], [1, 2, 3, 1, 2]).find() == (2, [3, 1, 2])


def test_matches_do_not_cross_sources():
    assert PromptLookup([[1, 2], [3, 4]], [5, 1, 2]).find() == (2, [])
    assert PromptLookup([[1, 2], [3, 4]], [2, 3]).find() == (1, [4])


def test_written_tokens_become_history_and_source():
    lookup = PromptLookup([], [1])
    for token in [2, 3] * 200:
        lookup.add([token])
    n_equal, following = lookup.find()
    assert n_equal == 8
    assert following[:2] == [2, 3]


def test_nothing_is_found_in_nothing():
    assert PromptLookup([], []).find() == (0, [])
    assert PromptLookup([[1, 2]], []).find() == (0, [])
    assert PromptLookup([], [1]).find() == (0, [])


@given(st.lists(tokens, max_size=3), tokens, tokens)
def test_the_lookup_finds_what_a_slow_search_finds(sources: list[list[int]], history: list[int], written: list[int]):
    lookup = PromptLookup(sources, history)
    lookup.add(written)
    whole = [*history, *written]
    n_equal, following = lookup.find()
    assert n_equal == longest_match(sources, whole)
    assert len(following) <= MAX_DRAFT_TOKENS
    if following:
        found = [*whole[len(whole) - n_equal :], *following]
        assert any(
            text[at : at + len(found)] == found for text in [*sources, whole] for at in range(len(text) - n_equal + 1)
        )


@pytest.mark.parametrize(
    "texts, before, expected",
    [
        (["def total(items):\n"], "x = tot", "al(items):\n"),  # a word that is half typed
        (["first(one)", "first(two)"], "first(", "two)"),  # the last text is the likeliest
        (["other.first(one)"], "first(two)\nfirst(", "two)\nfirst"),  # what is written counts most
        (["y = self.first(one)", "first(two)"], "x = self.first(", "one)"),  # unless another agrees much longer
        (["total"], "to", ""),  # two characters agree everywhere
        (["a\n        b"], "x\n        ", ""),  # blanks as well
        ([], "", ""),
    ],
)
def test_text_lookup_continues_the_last_match(texts: list[str], before: str, expected: str):
    assert find_text_continuation(texts, before) == expected


def policy_with(**seconds_by_tokens: float) -> DraftPolicy:
    times = ForwardPassTimes()
    for name, seconds in seconds_by_tokens.items():
        times.record(int(name.removeprefix("n")), seconds)
    return DraftPolicy(times)


FLAT = {"n1": 1.0, "n32": 1.1}  # several tokens cost hardly more than one: a GPU, or big weights
STEEP = {"n1": 1.0, "n2": 2.0, "n32": 32.0}


def test_where_more_tokens_cost_nothing_drafts_are_long():
    assert policy_with(**FLAT).draft_length("5 tokens", 31) >= 11


def test_where_every_token_costs_as_much_as_the_first_nothing_is_drafted():
    assert policy_with(**STEEP).draft_length("5 tokens", 31) == 0


def test_rejected_drafts_become_shorter_until_there_are_none():
    policy = policy_with(n1=1.0, n2=1.5, n32=4.0)
    lengths = [policy.draft_length("text lookup", 31)]
    for _ in range(40):
        policy.record_draft(Draft((1, 2, 3), "text lookup"), [9])
        lengths.append(policy.draft_length("text lookup", 31))
    assert lengths[0] > 0
    assert lengths[-1] == 0
    assert lengths[:3] == sorted(lengths[:3], reverse=True)


def test_drafts_that_are_not_verified_count_as_well():
    policy = policy_with(**FLAT)
    for _ in range(40):
        policy.record_draft(Draft((1, 2, 3), "text lookup"), [9])
    assert policy.acceptance_rate("text lookup") < 0.1
    for _ in range(40):
        policy.record_draft(Draft((1, 2, 3), "text lookup"), [1])
    assert policy.acceptance_rate("text lookup") > 0.8


def test_a_declined_kind_of_draft_is_retried_with_few_tokens():
    policy = policy_with(**STEEP)
    lengths = [policy.draft_length("text lookup", 31) for _ in range(3 * RETRY_AFTER_DECLINED)]
    assert sum(length > 0 for length in lengths) == 3
    assert max(lengths) == RETRY_TOKENS


def test_nothing_to_draft_is_no_draft():
    policy = policy_with(**STEEP)
    assert [policy.draft_length("text lookup", 0) for _ in range(2 * RETRY_AFTER_DECLINED)] == [
        0
    ] * 2 * RETRY_AFTER_DECLINED


@given(st.dictionaries(st.integers(1, 40), st.floats(1e-4, 10), max_size=6), st.integers(0, 40))
def test_a_length_is_never_more_than_there_is(seconds: dict[int, float], n_most: int):
    policy = policy_with(**{f"n{n}": s for n, s in seconds.items()})
    assert 0 <= policy.draft_length("2 tokens", n_most) <= n_most


def test_a_draft_source_slower_than_its_gain_is_not_called():
    policy = policy_with(**FLAT)
    assert policy.should_request("draft source")
    for _ in range(100):
        policy.record_request("draft source", 50.0, True)
    assert not policy.should_request("draft source")


def test_a_draft_source_without_results_is_not_called():
    policy = policy_with(**FLAT)
    for _ in range(100):
        policy.record_request("draft source", 0.5, False)
    assert not policy.should_request("draft source")


def drafter(lookup: PromptLookup, policy: DraftPolicy, *, single_line: bool = True, **sources: Any) -> Drafter:
    """Over a tokenizer whose tokens are the characters."""
    return Drafter(
        lookup,
        policy,
        **sources,
        encode=lambda text: [ord(c) for c in text],
        bytes_of=lambda token: chr(token).encode(),
        ends=frozenset({0}),
        single_line=single_line,
    )


def letters(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def test_a_draft_ends_before_the_line_break_when_a_line_is_wanted():
    source = letters("xab\ncd")
    assert drafter(PromptLookup([source], letters("x")), policy_with(**FLAT)).propose(31) == letters("ab")
    several = drafter(PromptLookup([letters("uvwxyab\ncd")], letters("uvwxy")), policy_with(**FLAT), single_line=False)
    assert several.propose(31) == letters("ab\ncd")


def test_a_draft_ends_before_an_end():
    assert drafter(PromptLookup([[1, 2, 3, 0, 5]], [1, 2]), policy_with(**FLAT)).propose(31) == [3]


def test_a_draft_is_used_until_it_is_refuted_and_then_requested_again():
    asked: list[str] = []

    def source(written: str) -> str:
        asked.append(written)
        return "price()" if not written else "ing"

    drafts = drafter(PromptLookup([], []), policy_with(**FLAT), draft_source=source)
    assert drafts.propose(31) == letters("price()")
    drafts.record(letters("pri"))
    assert drafts.propose(31) == letters("ce()")
    drafts.record(letters("cl"))
    assert drafts.propose(31) == letters("ing")
    assert asked == ["", "pricl"]


def test_a_text_draft_is_used_until_something_else_is_written():
    drafts = drafter(PromptLookup([], []), policy_with(**FLAT), text_draft="price()")
    assert drafts.propose(31) == letters("price()")
    drafts.record(letters("pri"))
    assert drafts.propose(31) == letters("ce()")
    drafts.record(letters("cl"))
    assert drafts.propose(31) == []


def test_an_empty_draft_is_requested_again():
    asked: list[str] = []
    drafts = drafter(
        PromptLookup([], []), policy_with(**FLAT), draft_source=lambda written: asked.append(written) or ""
    )
    assert drafts.propose(31) == []
    drafts.record(letters("a"))
    assert drafts.propose(31) == []
    assert asked == ["", "a"]


def test_no_draft_is_requested_in_the_middle_of_a_character():
    asked: list[str] = []
    drafts = Drafter(
        PromptLookup([], []),
        policy_with(**FLAT),
        draft_source=lambda written: asked.append(written) or "x",
        encode=lambda text: list(text.encode()),
        bytes_of=lambda token: bytes([token]),
        ends=frozenset(),
        single_line=True,
    )
    drafts.propose(31)
    drafts.record([0xC3])
    drafts.propose(31)
    drafts.record([0xA9])
    drafts.propose(31)
    assert asked == ["", "é"]


def test_the_kind_with_the_highest_acceptance_rate_is_used():
    policy = policy_with(**FLAT)
    lookup = PromptLookup([letters("uvwxyab")], letters("uvwxy"))
    for _ in range(40):
        policy.record_draft(Draft((1, 2), "draft source"), [9])
    assert drafter(lookup, policy, draft_source=lambda written: "cd").propose(31) == letters("ab")
    for _ in range(80):
        policy.record_draft(Draft((1, 2), "draft source"), [1, 2])
        policy.record_draft(Draft((1, 2), "5 tokens"), [9])
    assert drafter(lookup, policy, draft_source=lambda written: "cd").propose(31) == letters("cd")
