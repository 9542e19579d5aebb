"""What fits beside a prompt, and how every strategy keeps to it."""

import pytest
from weft.llm.prompting.conversation import FRAME_TOKENS
from weft.memory import Item, MeteredModel, Question, StrategyContext
from weft.memory.budgets import room_beside, window_of
from weft.memory.strategies import strategy_named


def test_the_room_is_what_prompt_answer_and_their_frames_leave():
    assert room_beside(1000, 200, 100) == 700 - 2 * FRAME_TOKENS
    assert room_beside(100, 90, 50) == 0


def test_the_smaller_of_setting_and_model_is_the_window(scripted_chat):
    metered = MeteredModel(scripted_chat([], context_tokens=500))
    assert window_of(metered, 4096) == 500
    assert window_of(metered, 300) == 300
    assert window_of(None, 4096) == 4096


def test_tokens_are_counted_by_the_model_where_there_is_one(scripted_chat):
    assert StrategyContext(count_tokens=len).count("three words here") == 16
    assert StrategyContext(MeteredModel(scripted_chat([])), count_tokens=len).count("three words here") == 3


@pytest.mark.parametrize("name", ["fragrel", "qrmem", "memorag", "segment_plus", "full_middle", "top_max", "summary"])
def test_no_strategy_asks_for_more_than_the_window_holds(scripted_chat, name):
    model = scripted_chat([("", "by the river")], context_tokens=1600)
    strategy = strategy_named(name, StrategyContext(MeteredModel(model)))
    strategy.remember([Item("a.md", "The mill stands by the river, and nobody lives there now. " * 400)])
    strategy.answer(Question("Where does the mill stand?"))
    assert model.asked
    for request in model.asked:
        said = sum(len(message.text.split()) + FRAME_TOKENS for message in request.messages)
        assert said + request.max_new_tokens <= 1600
