"""What all strategies do with what they are given: documents replaced, rounds added, sources forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm import Cancel
from weft.memory import Budget, Item, Question, StrategyContext
from weft.memory.splitters import by_turns, by_words
from weft.memory.strategies import STRATEGIES, strategy_named
from weft.memory.strategy_base import SegmentedItems

SOURCES = st.sampled_from("abc")
DOCUMENTS = st.builds(Item, SOURCES, st.text(" xy.\n", max_size=12))
TURNS = st.builds(
    lambda source, text, number: Item(source, text, "turn", number), SOURCES, st.text("xy. "), st.integers(0, 4)
)


def remembered(*items, n_words=2):
    made = SegmentedItems(by_turns(by_words(n_words)))
    made.add(items)
    return made


def texts(made):
    return [item.text for item in made.items]


def test_a_document_replaces_what_its_source_held_and_keeps_no_old_segment():
    made = remembered(Item("a", "one two. three four."), Item("b", "five."))
    made.add([Item("a", "six.")])
    assert texts(made) == ["five.", "six."]
    assert [segment.text for segment in made.segments] == ["five.", "six."]


def test_turns_stand_by_their_numbers_and_the_last_with_a_number_is_the_one():
    made = remembered(*(Item("talk", f"said {n}", "turn", n) for n in (2, 0)))
    made.add([Item("talk", "said 1", "turn", 1), Item("talk", "said 2 better", "turn", 2)])
    assert texts(made) == ["said 0", "said 1", "said 2 better"]
    assert [segment.number for segment in made.segments] == [0, 1, 2]


def test_documents_with_one_source_that_come_together_are_its_parts():
    made = remembered(Item("README.md", "one two. three four."), Item("README.md", "five six. seven."))
    assert [(segment.text.strip(), segment.number) for segment in made.segments] == [
        ("one two.", 0),
        ("three four.", 1),
        ("five six.", 2),
        ("seven.", 3),
    ]
    made.add([Item("README.md", "eight.")])
    assert texts(made) == ["eight."]


def test_what_is_forgotten_is_gone_and_what_was_never_there_changes_nothing():
    made = remembered(Item("a", "one."), Item("b", "two."))
    held = made.items, made.segments
    made.forget("c")
    assert made.items is held[0] and made.segments is held[1]
    made.forget("a")
    assert texts(made) == ["two."] and [segment.source for segment in made.segments] == ["b"]


def test_who_cancels_changes_nothing():
    made, cancel = remembered(Item("a", "one.")), Cancel()
    cancel.cancel()
    made.add([Item("a", "two."), Item("b", "three.")], cancel)
    assert texts(made) == ["one."]


def test_an_item_is_cut_once_and_what_was_handed_out_stays():
    cut = []

    def split(item):
        cut.append(item.source)
        return by_words(2)(item)

    made = SegmentedItems(split)
    made.add([Item("a", "one."), Item("b", "two.")])
    before = made.segments
    made.add([Item("c", "three."), Item("a", "one.")])
    assert sorted(segment.source for segment in made.segments) == ["a", "b", "c"]
    assert cut == ["a", "b", "c"]
    assert [segment.source for segment in before] == ["a", "b"]


@given(st.lists(st.lists(st.one_of(DOCUMENTS, TURNS), max_size=4), max_size=5))
def test_segments_have_words_and_places_of_their_own_whatever_comes(batches):
    made = SegmentedItems(by_turns(by_words(1)))
    for batch in batches:
        made.add(batch)
    assert {item.source for item in made.items} == {item.source for batch in batches for item in batch}
    for segment in made.segments:
        assert segment.text.strip()
        assert any(item.text[segment.start :].startswith(segment.text) for item in made.items)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if not name.startswith("chat") and name != "summary"])
def test_every_strategy_replaces_forgets_and_keeps_parts(name):
    strategy = strategy_named(name, StrategyContext())
    strategy.remember([Item("a.md", "Old zeppelins land in Oslo."), Item("b.md", "Zeppelins are made in Bergen.")])
    strategy.remember([Item("a.md", "New zeppelins fly to Narvik."), Item("a.md", "Blue zeppelins fly to Hamar.")])

    def found():
        return {each.segment.text for each in strategy.recall(Question("Where do zeppelins fly?"), Budget()).evidence}

    shown = found()
    assert not any("Oslo" in text for text in shown)
    if not name.startswith("top_"):
        assert any("Narvik" in text for text in shown) and any("Hamar" in text for text in shown)
    strategy.forget("a.md")
    assert found() == {"Zeppelins are made in Bergen."}
    strategy.forget("b.md")
    assert found() == set()
