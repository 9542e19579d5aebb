"""What fits into a budget, in which order it stands, and how a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import Budget, Evidence, Segment
from weft.memory.budgets import fit_evidence, order_evidence, truncate


def words(text: str) -> int:
    return len(text.split())


def evidence(*pieces: tuple[str, float]) -> list[Evidence]:
    """Segments of one document, one after the other, with their scores."""
    made, start = [], 0
    for number, (text, score) in enumerate(pieces):
        made.append(Evidence(Segment("a.md", number, text, start), score))
        start += len(text)
    return made


def texts(chosen: tuple[Evidence, ...]) -> list[str]:
    return [each.segment.text for each in chosen]


THREE = evidence(("one one", 2.0), ("two two two", 3.0), ("three", 1.0))


def test_without_a_limit_all_stands_best_first():
    assert texts(fit_evidence(THREE, Budget(), words)) == ["two two two", "one one", "three"]


def test_n_keeps_the_best():
    assert texts(fit_evidence(THREE, Budget(n=2), words)) == ["two two two", "one one"]


def test_the_lowest_scored_goes_first_when_tokens_are_short():
    assert texts(fit_evidence(THREE, Budget(tokens=5), words)) == ["two two two", "one one"]


def test_a_piece_that_does_not_fit_is_skipped_and_a_smaller_one_comes_in():
    assert texts(fit_evidence(THREE, Budget(tokens=4), words)) == ["two two two", "three"]


def test_words_and_tokens_both_bind():
    by_character = Budget(tokens=13, words=4)
    assert texts(fit_evidence(THREE, by_character, len)) == ["two two two"]


def test_each_piece_is_cut_at_its_end_with_the_quotes_that_go():
    piece = Evidence(Segment("a", 0, "first second"), 1.0, quotes=("first", "second"))
    (cut_piece,) = fit_evidence([piece], Budget(characters_each=6), words)
    assert (cut_piece.segment.text, cut_piece.quotes) == ("first ", ("first",))


def test_the_best_is_cut_when_not_even_one_piece_fits():
    assert texts(fit_evidence(THREE, Budget(tokens=0), words)) == []
    (piece,) = fit_evidence(evidence(("a b c d", 2.0), ("e f g", 1.0)), Budget(tokens=2), words)
    assert piece.segment.text.split() == ["a", "b"]


def test_the_same_piece_stands_once_with_its_best_score():
    twice = [Evidence(THREE[0].segment, 1.0, "low"), Evidence(THREE[0].segment, 2.0, "high")]
    assert [each.why for each in fit_evidence(twice, Budget(), words)] == ["high"]


def test_orders():
    assert texts(order_evidence(THREE, "rank")) == ["two two two", "one one", "three"]
    assert texts(order_evidence(THREE, "reverse_rank")) == ["three", "one one", "two two two"]
    assert texts(order_evidence(THREE, "document")) == ["one one", "two two two", "three"]


def test_document_order_begins_with_the_source_of_the_best():
    pieces = [
        Evidence(Segment(source, number, f"{source}{number}", start=5 * number), score)
        for source, number, score in (("a", 0, 1.0), ("b", 1, 3.0), ("b", 0, 2.0))
    ]
    assert texts(order_evidence(pieces, "document")) == ["b0", "b1", "a0"]
    assert texts(order_evidence(pieces[:2], "document")) == ["b1", "a0"]


def test_time_orders_turns_across_conversations_and_what_has_no_time_is_oldest():
    turns = [
        Evidence(Segment("c1", 0, "late", said_at=20.0), 3.0),
        Evidence(Segment("c2", 0, "early", said_at=10.0), 1.0),
        Evidence(Segment("c2", 1, "never"), 2.0),
    ]
    assert texts(order_evidence(turns, "time")) == ["never", "early", "late"]


def test_ties_stay_as_they_were_given():
    tied = evidence(("a", 1.0), ("b", 1.0), ("c", 1.0))
    assert texts(fit_evidence(tied, Budget(n=2), words)) == ["a", "b"]


@pytest.mark.parametrize(("keep", "left"), [("left", "a b c d"), ("right", "f g h i"), ("middle", "a b h i")])
def test_a_text_is_cut_where_it_is_asked(keep, left):
    assert truncate("a b c d e f g h i", 4, words, keep).split() == left.split()


def test_a_middle_cut_of_an_odd_number_keeps_one_more_of_the_beginning():
    assert truncate("a b c d e", 3, words).split() == ["a", "b", "e"]


@given(st.text(max_size=80), st.integers(0, 30), st.sampled_from(["left", "right", "middle"]))
def test_a_cut_text_is_as_long_as_the_limit_allows(text, limit, keep):
    left = truncate(text, limit, len, keep)
    assert len(left) == min(limit, len(text))
    assert {"left": text.startswith, "right": text.endswith, "middle": lambda _: True}[keep](left)


pieces = st.lists(st.tuples(st.text("ab \n", max_size=8), st.integers(0, 3)), max_size=6)


@given(pieces, st.integers(0, 12))
def test_what_is_chosen_never_exceeds_the_budget(pieces, tokens):
    given_pieces = evidence(*pieces)
    chosen = fit_evidence(given_pieces, Budget(tokens=tokens), len, "document")
    assert sum(len(each.segment.text) for each in chosen) <= tokens
    whole = {each.segment for each in given_pieces}
    assert len(chosen) == 1 or {each.segment for each in chosen} <= whole
