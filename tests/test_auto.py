"""The strategy that suits a question, what decides, and every strategy by its name."""

from __future__ import annotations

import pytest
from weft.llm.protocol import Cancel, Message, ModelUnreachable
from weft.memory import Answer, Budget, Cost, Item, MeteredModel, Question, RecallResult, Strategy, UnparsableAnswer
from weft.memory.auto import CHEAPEST, RULES, AutoStrategy, CostLimit, kind_of
from weft.memory.fragrel import RelatedIndex
from weft.memory.strategies import STRATEGIES, score_named, strategy_named
from weft.memory.strategy import StrategyContext

LONG = Item("book.md", "".join(f"Chapter {i}. Ann sails to island number {i} and meets a king. " for i in range(400)))
SHORT = Item("note.md", "Rockets reach the moon in three days.")
TURNS = [Item("chat", f"user: I like the number {i}.\nbot: Fine.", "turn", i) for i in range(3)]

FREE = CostLimit(None, None, None)


def words(text: str) -> int:
    return len(text.split())


def auto(model=None, items=(LONG,), limit=FREE) -> AutoStrategy:
    strategy = AutoStrategy(StrategyContext(None if model is None else MeteredModel(model), count_tokens=words), limit)
    strategy.remember(items)
    return strategy


# What is picked


@pytest.mark.parametrize(
    ("question", "picked"),
    [
        (Question("Where does Ann sail?"), "fragrel"),
        (Question("Summarise the book."), "memorag"),
        (Question("What happens?", task="summary"), "memorag"),
        (Question("Where?", choices=("here", "there")), "qrmem shared"),
        (Question("Who met both kings, Ann or Bob?"), "qrmem shared"),
        (Question("Why does Ann sail?"), "memorag"),
        (Question("安去了哪里？"), "fragrel"),
        (Question("这本书讲了什么？"), "memorag"),
    ],
)
def test_a_long_text_is_asked_by_the_kind_of_question(scripted_chat, question, picked):
    assert auto(scripted_chat([])).pick(question).name == picked


def test_what_fits_into_the_window_is_shown_whole(scripted_chat):
    pick = auto(scripted_chat([]), [SHORT]).pick(Question("Why do rockets fly?"))
    assert pick.description.startswith("`full_middle`: everything fits the context window; at most 1 call, ")


def test_without_a_model_only_several_facts_are_worth_a_walk():
    assert auto().pick(Question("Who met both kings, Ann or Bob?")).name == "qrmem"
    assert auto().pick(Question("Why does Ann sail?")).name == CHEAPEST


def test_one_conversation_is_a_chat_and_turns_beside_documents_are_not(scripted_chat):
    assert auto(scripted_chat([]), TURNS).pick(Question("What do I like?")).name == "chat returning"
    assert auto(scripted_chat([]), [*TURNS, LONG]).pick(Question("What do I like?")).name == "fragrel"


def test_without_a_model_there_is_evidence_whatever_is_asked():
    strategy = auto()
    answer = strategy.answer(Question("Summarise what island number 77 is."))
    assert answer.text == ""
    assert answer.recalled.evidence
    assert answer.notes[0] == "`auto` selected `fragrel`: no model is configured, so the evidence is the answer."
    assert strategy.estimate(Question("x")) == Cost()


@pytest.mark.parametrize(
    "limit", [CostLimit(1, None, None), CostLimit(None, 10_000, None), CostLimit(None, None, 30.0)], ids=str
)
def test_what_costs_too_much_is_passed_over_and_named(scripted_chat, limit):
    model = scripted_chat([])
    model.speed = type(model.speed)(prefill=500, decode=50)
    pick = auto(model, limit=limit).pick(Question("Where?", choices=("here", "there")))
    assert pick.name == CHEAPEST
    assert set(pick.passed_over) <= {"qrmem shared", "memorag"} and pick.is_beyond_limit
    assert "would exceed the cost limit" in pick.description


def test_where_even_the_cheapest_costs_too_much_it_is_taken_all_the_same(scripted_chat):
    pick = auto(scripted_chat([]), limit=CostLimit(0, 0, 0.0)).pick(Question("Summarise the book."))
    assert (pick.name, pick.passed_over) == (CHEAPEST, ("memorag", "summary"))


def test_every_pick_of_the_table_is_a_strategy_and_the_last_rule_always_holds():
    assert {name for rule in RULES for name in rule.picks} <= set(STRATEGIES)
    assert RULES[-1].holds(None)


# What it does with it


def test_the_answer_says_what_was_picked_and_why(scripted_chat):
    model = scripted_chat([("", "three days")])
    answer = auto(model, [SHORT]).answer(Question("How long do rockets take?"))
    assert (answer.text, answer.strategy) == ("three days", "auto")
    assert answer.notes[0].startswith("`auto` selected `full_middle`: everything fits")
    assert answer.recalled.trace[0].name == "auto"
    assert answer.recalled.trace[0].detail["picked"] == "full_middle"
    assert answer.cost.n_calls == 1


def test_evidence_too_says_what_was_picked(scripted_chat):
    recalled = auto(scripted_chat([])).recall(Question("Where is island number 77?"), Budget(n=3))
    assert recalled.trace[0].detail["picked"] == "fragrel"
    assert any("77" in each.segment.text for each in recalled.evidence)


def test_what_is_picked_later_remembers_what_came_before_and_after(scripted_chat):
    strategy = auto(scripted_chat([("", "x")]), [SHORT])
    strategy.answer(Question("rockets?"))
    strategy.remember([Item("note.md", "Whales sing.")])
    assert [each.segment.text for each in strategy.recall(Question("whales?"), Budget()).evidence] == ["Whales sing."]
    strategy.remember([LONG])
    assert strategy.pick(Question("Where does Ann sail?")).name == "fragrel"
    strategy.forget("book.md")
    strategy.forget("note.md")
    assert strategy.recall(Question("Where does Ann sail?"), Budget()).evidence == ()


def test_what_a_model_cannot_do_fragrel_answers(scripted_chat):
    class Stuck:
        name = "stuck"

        def answer(self, *_):
            raise UnparsableAnswer("No readable answer.")

        def estimate(self, question):
            return Cost(1)

    strategy = auto(scripted_chat([("", "sails")]))
    strategy._made["memorag"] = Stuck()
    answer = strategy.answer(Question("Why does Ann sail?"))
    assert answer.text == "sails"
    assert answer.notes[1] == "No readable answer. `fragrel` answered instead."


def test_a_dead_endpoint_and_a_cancel_are_those_of_the_strategy(scripted_chat):
    with pytest.raises(ModelUnreachable):
        auto(scripted_chat([("", ModelUnreachable("Nothing answers."))]), [SHORT]).answer(Question("rockets?"))
    cancel = Cancel()
    cancel.cancel()
    model = scripted_chat([])
    answer = auto(model, [SHORT]).answer(Question("rockets?"), cancel=cancel)
    assert (answer.text, model.asked) == ("", [])


# Kinds of questions


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Where is John?", "fact"),
        ("What is the name of the ship?", "fact"),
        ("How do I configure the timeout?", "fact"),
        ("谁写了这封信？", "fact"),
        ("What is this story about?", "summary"),
        ("List the key points", "summary"),
        ("Where was the apple before the kitchen?", "several"),
        ("Who is older, Ann or Bob?", "several"),
        ("Which river flows through the city that Ann was born in?", "several"),
        ("两个城市有什么区别？", "several"),
        ("What are the themes of the novel?", "reason"),
        ("How did the war change him?", "reason"),
        ("他为什么离开？", "reason"),
        ("", "fact"),
        ("\ud800 " * 2000 + "?", "fact"),
    ],
)
def test_a_question_shows_its_kind_by_its_words(text, kind):
    assert kind_of(Question(text)) == kind


# Names


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_name_makes_a_strategy_that_runs_with_and_without_a_model(scripted_chat, name):
    for model in (None, scripted_chat(_plausible)):
        strategy = strategy_named(
            name, StrategyContext(None if model is None else MeteredModel(model), count_tokens=words)
        )
        assert isinstance(strategy, Strategy)
        assert strategy.name == name.partition(" ")[0] if name.startswith("qrmem") else strategy.name == name
        strategy.remember([SHORT] if "chat" not in name else TURNS)
        question = Question("How long do rockets take to the moon?", history=(Message("user", "Rockets!"),))
        assert isinstance(strategy.recall(question, Budget(tokens=500)), RecallResult)
        answer = strategy.answer(question)
        assert isinstance(answer, Answer)
        assert bool(answer.text) == (model is not None)
        strategy.forget("note.md")


def _plausible(messages) -> str:
    prompt = messages[-1].text
    return "{}" if "JSON object" in prompt else "[]" if "JSON" in prompt else "three days"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"'fragrl'\. Did you mean 'fragrel'\? Use one of: auto, fragrel"):
        strategy_named("fragrl", StrategyContext())
    with pytest.raises(ValueError, match="bm52"):
        strategy_named("qrmem", StrategyContext(), score="bm52")


@pytest.mark.parametrize("name", ["memorag", "qrmem", "segment_plus"])
def test_fragrels_scores_stand_inside_the_other_strategies(name):
    """A segment beside the one that fits is found only by FragRel's scores."""
    texts = ["Rockets reach the moon. ", "It takes three days. ", *(f"Cats sleep {i}. " for i in range(8))]
    items = [Item("c", text, "turn", i) for i, text in enumerate(texts)]

    def found(score: str) -> set[int]:
        context = StrategyContext(count_tokens=words)
        strategy = strategy_named(name, context, score=score)
        strategy.remember(items)
        return {each.segment.number for each in strategy.recall(Question("Rockets to the moon"), Budget(n=2)).evidence}

    assert isinstance(score_named("fragrel", StrategyContext())([]), RelatedIndex)
    assert found("bm25") == {0}
    assert found("fragrel") == {0, 1}


@pytest.mark.local
@pytest.mark.slow
def test_auto_runs_on_a_real_small_model(small_chat_model):
    from weft.llm import ModelConfig, open_model

    model = open_model(ModelConfig("transformers", path=str(small_chat_model)))
    try:
        answer = auto(model, [SHORT]).answer(Question("How long do rockets take to reach the moon?", task="short"))
        assert answer.text
        assert answer.notes[0].startswith("`auto` selected `full_middle`: everything fits")
    finally:
        model.close()
