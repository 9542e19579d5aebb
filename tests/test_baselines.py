"""The strategies that the papers compare with, step by step with a scripted model."""

from __future__ import annotations

import json

import pytest
from weft.llm.protocol import Cancel, Message, ModelUnreachable
from weft.memory import Budget, Cost, Item, MeteredModel, Question, Strategy
from weft.memory.baselines import Decomposition, FullContext, Hyde, Rewriting, Summary, TopK
from weft.memory.strategy import CANCELLED, NO_MODEL, StrategyContext

DOCUMENTS = (
    Item("cats.md", "Cats sleep all day.\nThey hunt at night.\n"),
    Item("moon.md", "The moon circles the earth.\nRockets reach it in three days.\n"),
    Item("ann.md", "Ann was born in Oslo.\n"),
    Item("oslo.md", "Oslo lies in Norway.\n"),
)
ALL = (
    lambda context: FullContext(context),
    lambda context: TopK(context, 1),
    lambda context: TopK(context, None),
    Hyde,
    Rewriting,
    Decomposition,
    Summary,
)


def context(model=None) -> StrategyContext:
    """Tokens are words, as the scripted model counts them."""
    metered = None if model is None else MeteredModel(model)
    return StrategyContext(metered, count_tokens=lambda text: len(text.split()))


def ready(make, model=None, items=DOCUMENTS):
    strategy = make(context(model))
    strategy.remember(items)
    return strategy


def texts(recalled) -> list[str]:
    return [each.segment.text.strip() for each in recalled.evidence]


# All of them


@pytest.mark.parametrize("make", ALL)
def test_each_is_a_strategy_that_answers_from_one_last_call(scripted_chat, make):
    def script(messages):
        prompt = messages[-1].text
        if "JSON list of questions" in prompt:
            return '["Where do rockets go?"]'
        if "Answer with JSON" in prompt:
            return '{"how": "rewrite", "queries": ["rockets"]}'
        return "to the moon"

    strategy = ready(make, scripted_chat(script))
    assert isinstance(strategy, Strategy)
    answer = strategy.answer(Question("Where do rockets go?"))
    assert (answer.text, answer.model, answer.strategy) == ("to the moon", "scripted", strategy.name)
    assert answer.cost.n_calls >= 1
    expected = strategy.estimate(Question("Where do rockets go?"))
    assert answer.cost.n_calls <= expected.n_calls
    assert answer.cost.tokens_in <= expected.tokens_in


@pytest.mark.parametrize("make", ALL)
def test_without_a_model_there_is_evidence_alone(make):
    strategy = ready(make)
    answer = strategy.answer(Question("Where do rockets go?"))
    assert (answer.text, answer.notes, answer.cost) == ("", (NO_MODEL,), Cost())
    assert strategy.estimate(Question("x")) == Cost()
    if not isinstance(strategy, Summary):
        assert "Rockets reach it in three days." in texts(answer.recalled)[0] or isinstance(strategy, FullContext)


@pytest.mark.parametrize("make", ALL)
def test_nothing_remembered_is_nothing_recalled(scripted_chat, make):
    for model in (None, scripted_chat([("", "[]")])):
        strategy = ready(make, model, ())
        assert strategy.recall(Question("Where?"), Budget()).evidence == ()
        strategy.remember([Item("empty.md", "")])
        assert strategy.recall(Question("Where?"), Budget()).evidence == ()


@pytest.mark.parametrize("make", ALL)
def test_who_cancels_gets_what_there_is_and_asks_nobody(scripted_chat, make):
    model, cancel = scripted_chat([]), Cancel()
    strategy = ready(make, model)
    cancel.cancel()
    answer = strategy.answer(Question("Where do rockets go?"), cancel=cancel)
    assert answer.text == ""
    assert CANCELLED in answer.notes
    assert model.asked == []


@pytest.mark.parametrize("make", ALL)
def test_a_dead_endpoint_is_the_models_own_error(scripted_chat, make):
    with pytest.raises(ModelUnreachable, match="Nothing answers"):
        ready(make, scripted_chat([("", ModelUnreachable("Nothing answers at URL."))])).answer(Question("Where?"))


@pytest.mark.parametrize("make", ALL)
def test_a_model_that_talks_nonsense_still_answers(scripted_chat, make):
    answer = ready(make, scripted_chat([("", "blah")])).answer(Question("Where do rockets go?"))
    assert answer.text == "blah"


def test_what_is_forgotten_or_replaced_is_not_recalled():
    strategy = ready(lambda context: TopK(context, None))
    strategy.forget("moon.md")
    strategy.remember([Item("cats.md", "Dogs bark at the moon.")])
    assert texts(strategy.recall(Question("moon"), Budget())) == ["Dogs bark at the moon."]


def test_turns_are_segments_of_their_own_and_keep_their_numbers():
    strategy = ready(lambda context: TopK(context, None), items=[Item("c", f"moon {i}", "turn", i) for i in (2, 0, 1)])
    assert [each.segment.number for each in strategy.recall(Question("moon"), Budget()).evidence] == [0, 1, 2]


# Full context


@pytest.mark.parametrize(("keep", "left"), [("left", "a b c d"), ("right", "e f g h"), ("middle", "a b g h")])
def test_the_full_context_is_cut_exactly_to_the_tokens(keep, left):
    strategy = ready(lambda context: FullContext(context, keep), items=[Item("a", "a b c\nd "), Item("b", "e f\ng h")])
    recalled = strategy.recall(Question("?"), Budget(tokens=4))
    assert recalled.context.split() == left.split()
    assert strategy.name == f"full_{keep}"


def test_the_evidence_of_a_cut_text_is_what_is_shown_with_its_places():
    strategy = ready(FullContext, items=[Item("a", "a b\nc d\n"), Item("b", "e f\ng h")])
    recalled = strategy.recall(Question("?"), Budget(tokens=6))
    shown = [(each.segment.place, each.segment.text.split(), each.segment.start) for each in recalled.evidence]
    assert shown == [("a:1-2", ["a", "b", "c"], 0), ("b:1-2", ["f", "g", "h"], 1)]


def test_a_text_that_fits_is_shown_whole(scripted_chat):
    model = scripted_chat([("", "yes")])
    ready(FullContext, model).answer(Question("Where do rockets go?"))
    assert all(item.text in model.prompts[0] for item in DOCUMENTS)


def test_a_text_beyond_the_window_is_cut_to_fill_it(scripted_chat):
    model = scripted_chat([("", "yes")], context_tokens=300)
    ready(FullContext, model, [Item("a", "start " + "word " * 5000 + "end")]).answer(Question("Where?"))
    prompt = model.prompts[0]
    assert "start" in prompt and "end" in prompt
    assert 290 <= len(prompt.split()) + 8 + model.asked[0].max_new_tokens <= 300


# Retrieval


def test_top_k_shows_the_best_in_the_order_of_their_rank():
    strategy = ready(lambda context: TopK(context, 2))
    assert strategy.name == "top_2"
    assert texts(strategy.recall(Question("Oslo Norway"), Budget())) == [
        "Oslo lies in Norway.",
        "Ann was born in Oslo.",
    ]


def test_rank_is_the_order_inside_a_source_too():
    turns = [Item("talk", "Oslo is far away", "turn", 0), Item("talk", "Oslo in Norway", "turn", 1)]
    recalled = ready(lambda context: TopK(context, 2), items=turns).recall(Question("Oslo Norway"), Budget())
    assert [each.segment.number for each in recalled.evidence] == [1, 0]


def test_max_fills_the_budget():
    strategy = ready(lambda context: TopK(context, None))
    assert strategy.name == "top_max"
    assert len(strategy.recall(Question("Oslo moon cats"), Budget()).evidence) == 4
    assert texts(strategy.recall(Question("Oslo moon cats"), Budget(tokens=5)))[0].count(" ") < 5


def test_hyde_searches_for_an_invented_passage_as_well(scripted_chat):
    model = scripted_chat([("Write a short passage", "It hunts at night and sleeps."), ("", "cats")])
    answer = ready(lambda context: Hyde(context, 1), model).answer(Question("Which pet is nocturnal?"))
    assert texts(answer.recalled) == ["Cats sleep all day.\nThey hunt at night."]
    assert answer.recalled.trace[0].detail["passage"] == "It hunts at night and sleeps."
    assert answer.cost.n_calls == 2


def test_hyde_searches_for_the_question_too(scripted_chat):
    """Passage and question weigh the same: the best of each has half of the highest score."""
    model = scripted_chat([("Write a short passage", "Rockets reach the moon."), ("", "Oslo")])
    recalled = ready(lambda context: Hyde(context, 4), model).recall(Question("Where was Ann born?"), Budget())
    assert [(text.split()[0], each.score) for text, each in zip(texts(recalled), recalled.evidence, strict=True)] == [
        ("The", 0.5),
        ("Ann", 0.5),
    ]


def test_rewriting_searches_for_each_query_and_the_question(scripted_chat):
    queries = {"how": "decompose", "queries": ["Ann born", "Norway"]}
    model = scripted_chat([("search engine", json.dumps(queries)), ("", "Norway")])
    answer = ready(lambda context: Rewriting(context, 1), model).answer(Question("In which country was she born, Ann?"))
    assert texts(answer.recalled) == ["Ann was born in Oslo.", "Oslo lies in Norway."]
    assert answer.recalled.trace[0].detail == queries
    assert [each.why for each in answer.recalled.evidence] == ["matches “Ann born”", "matches “Norway”"]


def test_rewriting_searches_for_the_question_beside_the_queries(scripted_chat):
    model = scripted_chat([("search engine", '{"queries": ["moon"]}'), ("", "Norway")])
    recalled = ready(lambda context: Rewriting(context, 1), model).recall(Question("Where is Norway?"), Budget())
    assert {text.split()[0] for text in texts(recalled)} == {"The", "Oslo"}


def test_rewriting_shows_the_model_what_was_said_before(scripted_chat):
    model = scripted_chat([("search engine", '{"queries": ["moon"]}'), ("", "x")])
    history = (Message("user", "Tell me of the moon."), Message("assistant", "It is far."))
    ready(Rewriting, model).answer(Question("How long to get there?", history=history))
    assert "user: Tell me of the moon.\nassistant: It is far." in model.prompts[0]


def test_a_question_that_cannot_be_rewritten_is_searched_for_as_it_is_and_a_note_says_so(scripted_chat):
    model = scripted_chat([("search engine", "no"), ("", "x")])
    answer = ready(lambda context: Rewriting(context, 1), model).answer(Question("moon"))
    assert len(texts(answer.recalled)) == 1
    assert answer.notes[0].startswith("The original question was searched")


# Decomposition


def test_parts_are_answered_in_turn_and_later_ones_see_the_answers_of_earlier_ones(scripted_chat):
    parts = '["Where was Ann born?", "In which country is #1?"]'
    model = scripted_chat(
        [
            ("smaller questions", parts),
            ("Question: Where was Ann born?", "Oslo"),
            ("Question: In which country is Oslo?", "Norway"),
            ("What was found out before", "Norway, of course"),
        ]
    )
    answer = ready(lambda context: Decomposition(context, 1), model).answer(Question("In which country was Ann born?"))
    assert answer.text == "Norway, of course"
    assert "Where was Ann born? Oslo\nIn which country is Oslo? Norway" in model.prompts[-1]
    assert "Oslo lies in Norway." in model.prompts[-1]
    assert [step.name for step in answer.recalled.trace] == ["part", "part"]
    assert answer.cost.n_calls == 4


def test_a_part_refers_to_an_earlier_one_by_its_number(scripted_chat):
    parts = '["Where was Ann born?", "When?", "In which country is #1?"]'
    model = scripted_chat([("smaller questions", parts), ("born?", "Oslo"), ("When?", "1911"), ("", "Norway")])
    recalled = ready(Decomposition, model).recall(Question("In which country was Ann born?"), Budget())
    assert recalled.trace[-1].detail["question"] == "In which country is Oslo?"


def test_a_question_that_cannot_be_taken_apart_is_one_part(scripted_chat):
    model = scripted_chat([("smaller questions", "none"), ("", "Oslo")])
    answer = ready(Decomposition, model).answer(Question("Where was Ann born?"))
    assert [step.name for step in answer.recalled.trace] == ["decompose", "part"]
    assert answer.notes[0].startswith("The question was not decomposed")


def test_what_was_found_out_fits_the_budget_with_the_evidence(scripted_chat):
    model = scripted_chat([("smaller questions", '["Where was Ann born?"]'), ("", "Oslo " * 50)])
    recalled = ready(Decomposition, model).recall(Question("Where was Ann born?"), Budget(tokens=20))
    assert len(recalled.context.split()) <= 20
    assert texts(recalled)


# Summary


def test_a_text_is_summarised_until_it_fits_and_the_summaries_are_kept(scripted_chat):
    def script(messages):
        prompt = messages[-1].text
        return "short " * 40 if "Short text:" in prompt else "yes"

    model = scripted_chat(script, context_tokens=500)
    long = [Item("a", "A sentence of six words stands. " * 400)]
    strategy = ready(Summary, model, long)
    answer = strategy.answer(Question("Where?"))
    tokens = answer.recalled.trace[0].detail["tokens"]
    assert tokens == sorted(tokens, reverse=True)
    assert len(tokens) >= 3, "two rounds"
    assert answer.text == "yes"
    assert len(model.prompts[-1].split()) <= 500
    assert answer.cost.n_calls <= strategy.estimate(Question("Where?")).n_calls


def test_a_model_that_does_not_shorten_ends_the_rounds(scripted_chat):
    def script(messages):
        return messages[-1].text if "Short text:" in messages[-1].text else "yes"

    model = scripted_chat(script, context_tokens=500)
    answer = ready(Summary, model, [Item("a", "A sentence of six words stands. " * 100)]).answer(Question("Where?"))
    assert len(answer.recalled.trace[0].detail["tokens"]) == 1
    assert answer.text == "yes"


# A real model


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.parametrize("make", ALL)
def test_each_runs_on_a_real_small_model(small_chat_model, make):
    from weft.llm import ModelConfig, open_model

    model = open_model(ModelConfig("transformers", path=str(small_chat_model)))
    try:
        answer = ready(make, model).answer(Question("Where do rockets go?", task="short"))
        assert answer.text
        assert answer.cost.n_calls >= 1
    finally:
        model.close()
