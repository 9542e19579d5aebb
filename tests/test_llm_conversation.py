"""What of a long conversation a model reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from weft.llm.prompting.conversation import FRAME_TOKENS, fit_messages
from weft.llm.protocol import Message

SYSTEM = Message("system", "s" * 10)


def talk(*lengths: int) -> tuple[Message, ...]:
    """Turns of so many letters, the user's first."""
    return tuple(Message("assistant" if i % 2 else "user", chr(97 + i) * length) for i, length in enumerate(lengths))


def cost(messages: tuple[Message, ...]) -> int:
    return sum(len(message.text) + FRAME_TOKENS for message in messages)


def test_what_fits_stays_as_it_is():
    messages = (SYSTEM, *talk(5, 5, 5))
    assert fit_messages(messages, len, cost(messages)) == messages


def test_the_oldest_question_goes_with_its_answer():
    messages = talk(5, 5, 5, 5, 5)
    assert fit_messages(messages, len, cost(messages) - 1) == messages[2:]


def test_system_messages_stay_and_stand_first():
    late = Message("system", "z")
    messages = (*talk(90, 90), SYSTEM, *talk(5), late)
    assert fit_messages(messages, len, 70) == (SYSTEM, late, *talk(5))


def test_a_question_that_is_too_long_loses_its_beginning():
    messages = (SYSTEM, Message("user", "a" * 50 + "b" * 50))
    assert fit_messages(messages, len, cost((SYSTEM,)) + FRAME_TOKENS + 50) == (SYSTEM, Message("user", "b" * 50))


def test_without_room_the_end_of_the_question_is_still_asked():
    assert fit_messages(talk(5, 5, 9), len, 0) == (Message("user", "c"),)


def test_nothing_of_nothing():
    assert fit_messages((), len, 100) == ()


@given(st.lists(st.integers(0, 40), max_size=9), st.integers(-10, 300))
def test_the_newest_turns_are_kept_whole_and_within_the_budget(lengths: list[int], budget: int):
    messages = talk(*lengths)
    kept = fit_messages(messages, len, budget)
    whole = messages[len(messages) - len(kept) :]
    if kept != whole:
        assert len(kept) == 1
        assert messages[-1].text.endswith(kept[0].text)
    elif kept:
        assert cost(kept) <= budget or len(kept[0].text) <= 1
        assert kept[0].role == "user" or len(kept) == 1
