"""Questions with choices: their letters, and the letter in what a model writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import Item, MeteredModel, Question, StrategyContext
from weft.memory.prompting import as_answer, read_letter, with_choices
from weft.memory.strategies import strategy_named

CHOICES = ("in London", "in Paris", "in Paris and London", "nowhere")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(C)", "C"),
        ("Answer: B", "B"),
        ("The answer is D.", "D"),
        ("The correct answer is: **A**", "A"),
        ("A. Because (B) is wrong.", "A"),
        ("B\nin Paris", "B"),
        ("B is right, as the text says.", "B"),
        ("I think it is (D)", "D"),
        ("A person lives in Paris and London.", "C"),
        ("Nowhere", "D"),
        ("Reasons: none. Answer: C. The answer depends on nothing else.", "C"),
    ],
)
def test_a_letter_is_found_however_it_is_said(text, letter):
    assert read_letter(text, CHOICES) == letter


@pytest.mark.parametrize("text", ["", "E", "A or B.", "(A) or (B)", "I do not know", "a man", "in London, or nowhere"])
def test_no_letter_or_several_is_unreadable(text):
    assert as_answer(text, Question("Where?", CHOICES)) == text
    with pytest.raises(ValueError, match="no single option"):
        read_letter(text, CHOICES)


@given(st.text(), st.lists(st.text(max_size=4), min_size=1, max_size=6))
def test_any_text_gives_a_letter_of_the_choices_or_is_refused(text, choices):
    try:
        letter = read_letter(text, choices)
    except ValueError:
        return
    assert letter in "ABCDEF"[: len(choices)]


def test_more_choices_than_letters_can_still_be_read():
    assert read_letter("C", [f"number {i}" for i in range(30)]) == "C"


def test_choices_are_listed_with_their_letters():
    assert with_choices(Question("Where?", ("here", "there"))) == "Where?\nA. here\nB. there"
    assert with_choices(Question("Where?")) == "Where?"


def test_without_choices_an_answer_stays_as_it_was_written():
    assert as_answer("B. in Paris", Question("Where?")) == "B. in Paris"


@pytest.mark.parametrize("name", ["fragrel", "qrmem", "memorag", "segment_plus", "full_middle", "top_1", "auto"])
def test_every_strategy_answers_a_question_with_choices_by_the_letter(scripted_chat, name):
    """Notes and clues are asked for too; what is no JSON is then found without the model."""
    strategy = strategy_named(name, StrategyContext(MeteredModel(scripted_chat([("", "B. There, as the text says.")]))))
    strategy.remember([Item("a.md", "The mill stands there, by the river.")])
    assert strategy.answer(Question("Where does the mill stand?", ("here", "there"))).text == "B"
