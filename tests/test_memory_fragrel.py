"""FragRel as a strategy: stories and documents, what is recalled of them, and the answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm import Cancel
from weft.llm.backends import ModelConfig, open_model
from weft.memory import Budget, Item, MeteredModel, Question, Strategy, StrategyContext
from weft.memory.fragrel import ContextRelation, FragRel, FragRelOptions, NoRelation, SemanticRelation
from weft.memory.fragrel.scores import RelatedIndex
from weft.memory.splitters import count_words
from weft.memory.strategies import strategy_named

STORY = (
    "Mara kept the lighthouse on the cape. Every evening she climbed its stairs. "
    "The boat of the miller sank in the storm. Nobody saw it but her. "
    "In the village they spoke of onions. The baker sold bread. "
    "Years later a letter came. It had no name on it. "
)
SHORT = FragRelOptions(segment_words=12, relation=ContextRelation(0.3))


def fragrel(options=SHORT, context=None, text=STORY):
    strategy = FragRel(context or StrategyContext(), options)
    strategy.remember([Item("story.txt", text)])
    return strategy


def texts(recalled):
    return [each.segment.text for each in recalled.evidence]


def test_it_is_a_strategy():
    assert isinstance(fragrel(), Strategy)


def test_the_segment_that_answers_is_recalled_first_in_rank_order():
    strategy = fragrel(FragRelOptions(segment_words=12, order="rank"))
    assert "boat" in texts(strategy.recall(Question("What happened to the miller's boat?"), Budget()))[0]


def test_what_stands_beside_the_answer_is_recalled_though_it_shares_no_word():
    question, budget = Question("miller"), Budget(n=3)
    recalled = fragrel(FragRelOptions(segment_words=9, order="rank")).recall(question, budget)
    assert "miller" in texts(recalled)[0] and any("Nobody saw it" in text for text in texts(recalled))
    plain = fragrel(FragRelOptions(NoRelation(), segment_words=9)).recall(question, budget)
    assert len(plain.evidence) == 1


@pytest.mark.parametrize(
    ("order", "expected"),
    [("rank", [1, 2, 0]), ("document", [0, 1, 2]), ("reverse_rank", [0, 2, 1]), ("time", [2, 0, 1])],
)
def test_evidence_stands_in_the_order_that_is_asked_for(order, expected):
    strategy = FragRel(StrategyContext(), FragRelOptions(NoRelation(), order=order))
    said = ["a fox and a wolf and a bear and one more", "fox fox one", "one fox and a bear"]
    times = [2.0, 3.0, 1.0]
    strategy.remember([Item("talk", text, "turn", i, at) for i, (text, at) in enumerate(zip(said, times, strict=True))])
    recalled = strategy.recall(Question("one fox"), Budget())
    assert [each.segment.number for each in recalled.evidence] == expected


def test_the_options_reach_the_scores():
    """Eq. 9 and 10 by hand: of two segments one matches with s, so the other has alpha * s, and nothing of its own.

    With include_self the match has s + alpha * s / (1 + w_rel), because its weight to itself is 1.
    """
    text, question = "A fox ran. A bear slept.", Question("fox")
    for alpha in (0.2, 2.0):
        options = FragRelOptions(ContextRelation(0.3), alpha, segment_words=3)
        match, other = fragrel(options, text=text).recall(question, Budget()).evidence
        assert other.score == pytest.approx(alpha * match.score)
        options = FragRelOptions(ContextRelation(0.3), alpha, include_self=True, segment_words=3)
        with_self, _ = fragrel(options, text=text).recall(question, Budget()).evidence
        assert with_self.score == pytest.approx(match.score * (1 + alpha / 1.3))


def test_a_budget_of_words_holds_as_many_segments_as_have_full_size():
    """K = budget / size: 40 words hold four segments of 10, however short they turn out."""
    text = " ".join(f"fox number {i} ran over the hill." for i in range(20))
    strategy = fragrel(FragRelOptions(segment_words=10), text=text)
    recalled = strategy.recall(Question("fox"), Budget(words=40))
    assert len(recalled.evidence) == 4
    assert len(strategy.recall(Question("fox"), Budget(words=40, n=2)).evidence) == 2


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300), st.integers(0, 60), st.integers(1, 12))
def test_a_budget_is_never_exceeded_and_no_piece_comes_twice(text, n_words, size):
    strategy = fragrel(FragRelOptions(segment_words=size), text=text)
    recalled = strategy.recall(Question(text[:40]), Budget(words=n_words))
    assert sum(count_words(each) for each in texts(recalled)) <= n_words
    places = [(each.segment.source, each.segment.number) for each in recalled.evidence]
    assert len(set(places)) == len(places)


def test_characters_of_each_segment_can_be_limited_and_the_explanation_stays():
    recalled = fragrel().recall(Question("lighthouse"), Budget(characters_each=10))
    assert all(len(text) <= 10 for text in texts(recalled))
    assert all(each.parts for each in recalled.evidence)


def test_every_score_is_explained_by_parts_that_add_up():
    for each in fragrel().recall(Question("the boat in the storm"), Budget()).evidence:
        assert each.score == pytest.approx(sum(part.value for part in each.parts))
        assert each.why


def test_without_a_relation_and_with_alpha_0_the_ranking_is_the_same():
    question, budget = Question("Who saw the boat of the miller?"), Budget(n=3)
    plain, alpha_0 = (
        fragrel(FragRelOptions(relation, alpha, segment_words=9, order="rank")).recall(question, budget)
        for relation, alpha in ((NoRelation(), 0.5), (ContextRelation(0.8), 0.0))
    )
    assert [(each.segment, each.score) for each in plain.evidence] == [
        (each.segment, each.score) for each in alpha_0.evidence
    ]


def test_a_semantic_relation_uses_the_embedder_of_the_kit():
    context = StrategyContext()
    strategy = fragrel(FragRelOptions(SemanticRelation(context.embedder), segment_words=9), context)
    recalled = strategy.recall(Question("the boat"), Budget())
    assert recalled.evidence and recalled.trace[0].detail["relation"] == "semantic"


def test_nothing_remembered_and_nothing_in_common_give_no_evidence():
    assert FragRel(StrategyContext()).recall(Question("anything"), Budget()).evidence == ()
    assert fragrel().recall(Question("zeppelin"), Budget()).evidence == ()
    assert fragrel(text="").recall(Question("zeppelin"), Budget()).evidence == ()
    assert fragrel().recall(Question(""), Budget()).evidence == ()


def test_a_document_replaces_what_its_source_held_and_can_be_forgotten():
    strategy = fragrel()
    strategy.remember([Item("story.txt", "A zeppelin landed.")])
    assert texts(strategy.recall(Question("zeppelin miller"), Budget())) == ["A zeppelin landed."]
    strategy.forget("story.txt")
    assert strategy.recall(Question("zeppelin"), Budget()).evidence == ()
    strategy.forget("never there")


def test_turns_are_added_to_their_conversation_one_segment_each():
    strategy = FragRel(StrategyContext(), SHORT)
    long_turn = "user: " + "the tide was high. " * 30
    strategy.remember([Item("talk", long_turn, "turn", 0)])
    strategy.remember([Item("talk", "user: the tide again", "turn", 1), Item("talk", long_turn, "turn", 0)])
    recalled = strategy.recall(Question("tide"), Budget())
    assert [each.segment.number for each in recalled.evidence] == [0, 1]


def test_chinese_is_split_and_found():
    text = "老磨坊主的船在风暴中沉没了。除了她没有人看见。村里的人谈论洋葱。多年以后来了一封信。"
    recalled = fragrel(FragRelOptions(segment_words=14, order="rank"), text=text).recall(
        Question("船在风暴中怎么了？"), Budget(n=1)
    )
    assert texts(recalled) == ["老磨坊主的船在风暴中沉没了。"]


def test_a_running_recall_keeps_the_segments_it_took():
    strategy = fragrel()
    index = strategy._current_index()
    strategy.remember([Item("other.txt", "more")])
    assert len(index.segments) < len(strategy._current_index().segments)


@pytest.mark.parametrize("name", ["top_3", "qrmem", "memorag", "segment_plus"])
def test_fragrel_s_scores_stand_below_other_strategies(name, monkeypatch):
    """Every strategy that searches is given the scores by name, and asks them."""
    asked = []

    def related_scores(index, question, ask=RelatedIndex.related_scores):
        asked.append(question)
        return ask(index, question)

    monkeypatch.setattr(RelatedIndex, "related_scores", related_scores)
    strategy = strategy_named(name, StrategyContext(), score="fragrel")
    strategy.remember([Item("story.txt", STORY * 40)])
    assert strategy.recall(Question("Where is the boat of the miller?"), Budget(words=200)).evidence
    assert asked


def test_without_a_model_the_answer_is_the_evidence():
    answer = fragrel().answer(Question("What sank in the storm?"))
    assert answer.text == "" and answer.recalled.evidence
    assert "No model" in answer.notes[0]


def test_the_answer_comes_from_the_story_prompt(scripted_chat):
    model = scripted_chat([("What sank", "a boat")])
    strategy = fragrel(FragRelOptions(segment_words=12, temperature=1.0), StrategyContext(MeteredModel(model)))
    answer = strategy.answer(Question("What sank in the storm?"), Budget(words=24))
    assert (answer.text, answer.strategy, answer.cost.n_calls) == ("a boat", "fragrel", 1)
    request = model.asked[0]
    assert request.max_new_tokens == 128 and request.temperature == 1.0
    assert all(text in model.prompts[0] for text in texts(answer.recalled))
    assert "single phrase" in model.prompts[0]


def test_choices_are_lettered_and_a_template_of_the_question_comes_first(scripted_chat):
    model = scripted_chat([("A. a boat", "A"), ("Tell me", "told")])
    strategy = fragrel(context=StrategyContext(MeteredModel(model)))
    assert strategy.answer(Question("What sank in the storm?", choices=("a boat", "a hat"))).text == "A"
    own = Question("What sank {context}?", template="Tell me {question} from {context} {other}")
    assert strategy.answer(own).text == "told"
    assert "Tell me What sank {context}? from " in model.prompts[-1] and "{other}" in model.prompts[-1]


def test_without_a_budget_the_prompt_fits_the_window(scripted_chat):
    model = scripted_chat(lambda messages: "yes")
    strategy = fragrel(context=StrategyContext(MeteredModel(model)), text=STORY * 400)
    question = Question("Did the boat of the miller sink in the storm?")
    expected = strategy.estimate(question)
    answer = strategy.answer(question)
    assert answer.text == "yes" and answer.cost.tokens_in <= expected.tokens_in
    assert answer.cost.tokens_in > 0.5 * model.info.window_tokens, "the window is used"


def test_a_cancelled_answer_asks_nobody(scripted_chat):
    model = scripted_chat([])
    cancel = Cancel()
    cancel.cancel()
    answer = fragrel(context=StrategyContext(MeteredModel(model))).answer(Question("boat"), cancel=cancel)
    assert answer.text == "" and not model.asked


def test_a_cancelled_remember_keeps_what_was_there():
    cancel = Cancel()
    cancel.cancel()
    strategy = fragrel()
    strategy.remember([Item("other.txt", "A zeppelin.")], cancel)
    assert strategy.recall(Question("zeppelin"), Budget()).evidence == ()
    assert strategy.recall(Question("boat"), Budget()).evidence


@pytest.mark.local
def test_a_real_model_answers_a_story_question(small_chat_model):
    model = open_model(ModelConfig("transformers", path=str(small_chat_model)))
    try:
        options = FragRelOptions(segment_words=12, max_new_tokens=16)
        answer = fragrel(options, StrategyContext(MeteredModel(model))).answer(Question("What sank in the storm?"))
        assert answer.text and answer.cost.n_calls == 1
    finally:
        model.close()
