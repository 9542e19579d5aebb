"""Drafts: where they come from, how long they are, and that they stop when they do not pay."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.local.speculative import (
    LONGEST_DRAFT,
    TRIED_TOKENS,
    TRY_AGAIN_AFTER,
    Draft,
    Drafter,
    DraftWorth,
    Lookup,
    continue_text,
)
from weft.llm.throughput import PassTimes

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


def test_what_followed_the_same_tokens_is_drafted():
    assert Lookup([[1, 2, 3, 4, 5]], [9, 2, 3]).find() == (2, [4, 5])


def test_the_place_that_agrees_longer_wins_over_the_nearer_one():
    assert Lookup([[1, 2, 3, 4]], [3, 7, 1, 2, 3]).find() == (3, [4])


def test_of_equal_places_the_last_wins():
    assert Lookup([[2, 3, 4], [2, 3, 5]], [2, 3]).find() == (2, [5])


def test_the_history_itself_is_looked_at():
    assert Lookup([], [1, 2, 3, 1, 2]).find() == (2, [3, 1, 2])


def test_sources_are_not_read_across_their_borders():
    assert Lookup([[1, 2], [3, 4]], [5, 1, 2]).find() == (2, [])
    assert Lookup([[1, 2], [3, 4]], [2, 3]).find() == (1, [4])


def test_what_is_written_becomes_history_and_source():
    lookup = Lookup([], [1])
    for token in [2, 3] * 200:
        lookup.add([token])
    n_equal, following = lookup.find()
    assert n_equal == 8
    assert following[:2] == [2, 3]


def test_nothing_is_found_in_nothing():
    assert Lookup([], []).find() == (0, [])
    assert Lookup([[1, 2]], []).find() == (0, [])
    assert Lookup([], [1]).find() == (0, [])


@given(st.lists(tokens, max_size=3), tokens, tokens)
def test_the_lookup_finds_what_a_slow_search_finds(sources: list[list[int]], history: list[int], written: list[int]):
    lookup = Lookup(sources, history)
    lookup.add(written)
    whole = [*history, *written]
    n_equal, following = lookup.find()
    assert n_equal == longest_match(sources, whole)
    assert len(following) <= LONGEST_DRAFT
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
def test_text_continues_as_at_the_last_place_that_ends_alike(texts: list[str], before: str, expected: str):
    assert continue_text(texts, before) == expected


def worth_with(**seconds_by_tokens: float) -> DraftWorth:
    times = PassTimes()
    for name, seconds in seconds_by_tokens.items():
        times.measured(int(name.removeprefix("n")), seconds)
    return DraftWorth(times)


FLAT = {"n1": 1.0, "n32": 1.1}  # several tokens cost hardly more than one: a GPU, or big weights
STEEP = {"n1": 1.0, "n2": 2.0, "n32": 32.0}


def test_where_more_tokens_cost_nothing_drafts_are_long():
    assert worth_with(**FLAT).best_length("5 tokens", 31) >= 11


def test_where_every_token_costs_as_much_as_the_first_nothing_is_drafted():
    assert worth_with(**STEEP).best_length("5 tokens", 31) == 0


def test_drafts_that_are_wrong_become_shorter_until_there_are_none():
    worth = worth_with(n1=1.0, n2=1.5, n32=4.0)
    lengths = [worth.best_length("opening", 31)]
    for _ in range(40):
        worth.learn(Draft((1, 2, 3), "opening"), [9])
        lengths.append(worth.best_length("opening", 31))
    assert lengths[0] > 0
    assert lengths[-1] == 0
    assert lengths[:3] == sorted(lengths[:3], reverse=True)


def test_drafts_that_were_not_checked_are_learnt_from_as_well():
    worth = worth_with(**FLAT)
    for _ in range(40):
        worth.learn(Draft((1, 2, 3), "opening"), [9])
    assert worth.share_right("opening") < 0.1
    for _ in range(40):
        worth.learn(Draft((1, 2, 3), "opening"), [1])
    assert worth.share_right("opening") > 0.8


def test_what_does_not_pay_is_tried_again_now_and_then_with_few_tokens():
    worth = worth_with(**STEEP)
    lengths = [worth.best_length("opening", 31) for _ in range(3 * TRY_AGAIN_AFTER)]
    assert sum(length > 0 for length in lengths) == 3
    assert max(lengths) == TRIED_TOKENS


def test_nothing_to_draft_is_no_draft():
    worth = worth_with(**STEEP)
    assert [worth.best_length("opening", 0) for _ in range(2 * TRY_AGAIN_AFTER)] == [0] * 2 * TRY_AGAIN_AFTER


@given(st.dictionaries(st.integers(1, 40), st.floats(1e-4, 10), max_size=6), st.integers(0, 40))
def test_a_length_is_never_more_than_there_is(seconds: dict[int, float], n_most: int):
    worth = worth_with(**{f"n{n}": s for n, s in seconds.items()})
    assert 0 <= worth.best_length("2 tokens", n_most) <= n_most


def test_a_guess_that_takes_longer_than_it_gains_is_not_asked_for():
    worth = worth_with(**FLAT)
    assert worth.is_worth_asking("guess")
    for _ in range(100):
        worth.asked("guess", 50.0, True)
    assert not worth.is_worth_asking("guess")


def test_a_guess_that_has_never_an_answer_is_not_asked_for():
    worth = worth_with(**FLAT)
    for _ in range(100):
        worth.asked("guess", 0.5, False)
    assert not worth.is_worth_asking("guess")


def drafter(lookup: Lookup, worth: DraftWorth, *, single_line: bool = True, **guesses: Any) -> Drafter:
    """Over a tokenizer whose tokens are the characters."""
    return Drafter(
        lookup,
        worth,
        **guesses,
        encode=lambda text: [ord(c) for c in text],
        bytes_of=lambda token: chr(token).encode(),
        ends=frozenset({0}),
        single_line=single_line,
    )


def letters(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def test_a_draft_ends_before_the_line_break_when_a_line_is_wanted():
    source = letters("xab\ncd")
    assert drafter(Lookup([source], letters("x")), worth_with(**FLAT)).next(31) == letters("ab")
    several = drafter(Lookup([letters("uvwxyab\ncd")], letters("uvwxy")), worth_with(**FLAT), single_line=False)
    assert several.next(31) == letters("ab\ncd")


def test_a_draft_ends_before_an_end():
    assert drafter(Lookup([[1, 2, 3, 0, 5]], [1, 2]), worth_with(**FLAT)).next(31) == [3]


def test_a_guess_is_followed_as_long_as_it_is_right_and_asked_for_again_when_it_is_not():
    asked: list[str] = []

    def guess(written: str) -> str:
        asked.append(written)
        return "price()" if not written else "ing"

    drafts = drafter(Lookup([], []), worth_with(**FLAT), guess=guess)
    assert drafts.next(31) == letters("price()")
    drafts.wrote(letters("pri"))
    assert drafts.next(31) == letters("ce()")
    drafts.wrote(letters("cl"))
    assert drafts.next(31) == letters("ing")
    assert asked == ["", "pricl"]


def test_an_opening_is_followed_until_something_else_is_written():
    drafts = drafter(Lookup([], []), worth_with(**FLAT), opening="price()")
    assert drafts.next(31) == letters("price()")
    drafts.wrote(letters("pri"))
    assert drafts.next(31) == letters("ce()")
    drafts.wrote(letters("cl"))
    assert drafts.next(31) == []


def test_a_guess_that_was_empty_is_asked_for_again():
    asked: list[str] = []
    drafts = drafter(Lookup([], []), worth_with(**FLAT), guess=lambda written: asked.append(written) or "")
    assert drafts.next(31) == []
    drafts.wrote(letters("a"))
    assert drafts.next(31) == []
    assert asked == ["", "a"]


def test_a_guess_is_not_asked_for_in_the_middle_of_a_character():
    asked: list[str] = []
    drafts = Drafter(
        Lookup([], []),
        worth_with(**FLAT),
        guess=lambda written: asked.append(written) or "x",
        encode=lambda text: list(text.encode()),
        bytes_of=lambda token: bytes([token]),
        ends=frozenset(),
        single_line=True,
    )
    drafts.next(31)
    drafts.wrote([0xC3])
    drafts.next(31)
    drafts.wrote([0xA9])
    drafts.next(31)
    assert asked == ["", "é"]


def test_the_kind_that_was_right_most_often_is_taken():
    worth = worth_with(**FLAT)
    lookup = Lookup([letters("uvwxyab")], letters("uvwxy"))
    for _ in range(40):
        worth.learn(Draft((1, 2), "guess"), [9])
    assert drafter(lookup, worth, guess=lambda written: "cd").next(31) == letters("ab")
    for _ in range(80):
        worth.learn(Draft((1, 2), "guess"), [1, 2])
        worth.learn(Draft((1, 2), "5 tokens"), [9])
    assert drafter(lookup, worth, guess=lambda written: "cd").next(31) == letters("cd")
