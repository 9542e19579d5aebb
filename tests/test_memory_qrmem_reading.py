"""What QRMeM makes of a model's answers, well and badly formed ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory import Item, MeteredModel, Question, Segment, StrategyContext, UnparsableAnswer
from weft.memory.qrmem import QRMeM, QRMeMSettings
from weft.memory.qrmem.calls import QRMeMCalls, Verdict, read_names, read_numbers, read_relations, read_verdict
from weft.memory.qrmem.entity_resolution import EntityName
from weft.memory.qrmem.questions import is_new, raise_questions, rouge_l, summarise
from weft.memory.strategy import InProcessCache

CHOICES = ("in London", "in Paris", "in Paris and London", "nowhere")


def test_names_come_as_objects_or_strings_and_pronouns_are_left_out():
    value = {"entities": [{"name": " Ada  L.", "type": "person", "aliases": ["she", "the Countess", 3]}, "he", "Delft"]}
    assert read_names(value) == [EntityName("Ada L.", "person", ("the Countess",)), EntityName("Delft")]
    assert read_names(["Delft", {"name": 3}, {}, None]) == [EntityName("Delft")]


def test_relations_are_read_and_half_ones_left_out():
    value = {"relations": [{"first": "a", "second": "b", "relation": "r"}, {"first": "a"}, ["a", "c", "s"], "a"]}
    assert read_relations(value) == [("a", "b", "r"), ("a", "c", "s")]


def test_numbers_are_read_as_numbers_or_text():
    assert read_numbers({"same": [1, "2", "x", None, 3.5, True]}) == {1, 2}


@pytest.mark.parametrize(("said", "meant"), [(True, True), ("yes", True), ("False", False)])
def test_a_verdict(said, meant):
    assert read_verdict({"answerable": said, "answer": " 7 ", "missing": None}) == Verdict(meant, "7", "")


@pytest.mark.parametrize("read", [read_names, read_relations, read_numbers, read_verdict])
@pytest.mark.parametrize("value", [None, 3, "text", {}, {"entities": 3, "relations": 3, "same": 3, "answerable": 3}])
def test_another_shape_is_unreadable(read, value):
    with pytest.raises(ValueError, match="`"):
        read(value)


def asking(model, **kw):
    return QRMeMCalls(MeteredModel(model, "qrmem", **kw))


def test_an_answer_that_cannot_be_read_is_asked_for_at_zero_then_at_0_7_four_times(scripted_chat):
    model = scripted_chat([("", "who knows")])
    with pytest.raises(UnparsableAnswer):
        asking(model).answer(Question("Where?", CHOICES), "…")
    assert [request.temperature for request in model.asked] == [0.0, 0.7, 0.7, 0.7, 0.7]


def test_the_first_readable_answer_ends_the_retries(scripted_chat):
    model = scripted_chat([("", ["hm", "Answer: B"])])
    assert asking(model).answer(Question("Where?", CHOICES), "…") == "B"
    assert [request.temperature for request in model.asked] == [0.0, 0.7]


def test_the_form_of_the_answer_is_asked_for(scripted_chat):
    model = scripted_chat([("", "A")])
    asked = asking(model)
    asked.answer(Question("Where?", CHOICES), "…")
    asked.answer(Question("Where?", task="short"), "…")
    asked.answer(Question("Where?"), "…")
    letter, phrase, sentences = model.prompts
    assert "only its letter" in letter and "D. nowhere" in letter
    assert "short phrase" in phrase
    assert "only its letter" not in sentences and "short phrase" not in sentences


def test_a_template_of_the_user_is_filled_once(scripted_chat):
    model = scripted_chat([("", "ok")])
    asking(model).answer(Question("a {context}?", template="{question} | {context} | {x}"), "has {question}")
    assert model.prompts == ["a {context}? | has {question} | {x}"]


def test_history_stands_before_the_question(scripted_chat):
    from weft.llm.protocol import Message

    model = scripted_chat([("", "ok")])
    asking(model).answer(Question("And he?", history=(Message("user", "Who is she?"),)), "…")
    assert model.asked[0].messages[0].text == "Who is she?"


@pytest.mark.parametrize(
    ("first", "second", "score"),
    [
        ("who wrote the book", "who wrote the book", 1.0),
        ("who wrote the book", "Who read the BOOK", 0.75),
        ("a b c", "c b a", 1 / 3),
        ("a b", "c d", 0.0),
        ("", "a", 0.0),
    ],
)
def test_rouge_l_is_the_f1_of_the_longest_common_subsequence(first, second, score):
    assert rouge_l(first, second) == pytest.approx(score)


words = st.lists(st.sampled_from("abc"), max_size=7).map(" ".join)


def common(one, other):
    """The longest common subsequence by its definition."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + common(one[1:], other[1:])
    return max(common(one[1:], other), common(one, other[1:]))


@given(words, words)
def test_rouge_l_equals_its_definition(first, second):
    one, other = first.split(), second.split()
    expected = 2 * common(one, other) / (len(one) + len(other)) if one and other else 0.0
    assert rouge_l(first, second) == pytest.approx(expected)


def test_a_question_is_new_below_0_6():
    assert not is_new("a b c d e", ["a b c x y"])  # 0.6 itself is too much
    assert is_new("a b c d e", ["a b x y z"])


def question(text):
    return f'{{"question": "{text}"}}'


def test_questions_much_like_another_do_not_enter_the_pool(scripted_chat):
    said = ["why did she leave", "what stands on the hill", "who paid", "who paid", "who paid"]
    model = scripted_chat([("one more question", [question(text) for text in said])])
    raised = raise_questions(asking(model), "A summary.", ["why did she go"])
    assert raised == ["what stands on the hill", "who paid"]
    assert len(model.asked) == len(said)


def test_what_was_just_refused_is_asked_for_at_another_temperature(scripted_chat):
    model = scripted_chat([("one more question", [question("who paid"), question("who paid"), question("what fell")])])
    assert raise_questions(asking(model), "A summary.", [], most=2) == ["who paid", "what fell"]
    assert [request.temperature for request in model.asked] == [0.0, 0.0, 0.7]
    assert "- who paid" in model.prompts[1]


def test_no_more_questions_than_wanted_and_none_from_nonsense(scripted_chat):
    model = scripted_chat([("one more question", [question(f"{word} {word}") for word in "abcdefghijkl"])])
    assert len(raise_questions(asking(model), "A summary.", [])) == 8
    nonsense = asking(scripted_chat([("one more question", "Sorry.")]))
    assert raise_questions(nonsense, "A summary.", []) == []
    assert "no more questions were generated" in nonsense.failures[0]


def test_a_summary_is_of_each_segment_and_then_of_all(scripted_chat):
    segments = [Segment("a", i, f"text {i}") for i in range(3)]
    model = scripted_chat(
        [
            ("Sum up this segment", [f'{{"summary": "part {i}"}}' for i in range(3)]),
            ("summaries", '{"summary": "whole"}'),
        ]
    )
    assert summarise(asking(model), segments, lambda text: len(text.split()), 100) == "whole"
    assert "part 0\npart 1\npart 2" in model.prompts[-1]


def test_many_summaries_are_joined_in_rounds(scripted_chat):
    segments = [Segment("a", i, f"text {i}") for i in range(8)]
    model = scripted_chat(
        [("Sum up this segment", '{"summary": "two words"}'), ("summaries", '{"summary": "still more"}')]
    )
    assert summarise(asking(model), segments, lambda text: len(text.split()), 6) == "still more"
    assert len(model.asked) == 8 + 4 + 2 + 1


def test_summaries_longer_than_the_room_still_come_to_an_end(scripted_chat):
    segments = [Segment("a", i, f"text {i}") for i in range(3)]
    model = scripted_chat(
        [("Sum up this segment", '{"summary": "long long"}'), ("summaries", '{"summary": "long long"}')]
    )
    assert summarise(asking(model), segments, lambda text: len(text.split()), 1) == "long long"


def test_a_segment_without_a_readable_summary_is_left_out(scripted_chat):
    segments = [Segment("a", i, f"text {i}") for i in range(2)]
    asked = asking(scripted_chat([("text 0", "Sorry."), ("text 1", '{"summary": "one"}')]))
    assert summarise(asked, segments, len, 100) == "one"
    assert "the summary lacks a:1-1" in asked.failures[0]
    assert summarise(asking(scripted_chat([])), [], len, 100) == ""


def test_a_graph_for_all_questions_is_stored_with_what_replaced_unparsable_responses(scripted_chat):
    cache = InProcessCache()

    def asked(**settings):
        model = scripted_chat(lambda messages: "no JSON")
        memory = QRMeM(StrategyContext(MeteredModel(model), cache=cache), QRMeMSettings(graph_update=False, **settings))
        memory.remember([Item("a.md", "Ada Vells grew up in Orsk. Bo Tarn met Ada Vells.")])
        memory.graph(Question("Where?"))
        return len(model.asked)

    assert asked(query_oriented=False) > 5 and asked(query_oriented=False) == 0
    assert asked() > 5 and asked() > 5


@pytest.mark.parametrize("damaged", ["text", 3, {}, {"format": 1}, {"names": [1]}, [[]]], ids=str)
def test_damaged_entries_are_read_again(scripted_chat, damaged):
    class Damaging(InProcessCache):
        def get(self, kind, key):
            stored = super().get(kind, key)
            return damaged if stored is not None and kind in ("graph", "entities") else stored

    def graph_with(cache):
        answer = '{"entities": [{"name": "Ada Vells"}, {"name": "Orsk"}], "relations": [["Ada Vells", "Orsk", "left"]]}'
        context = StrategyContext(MeteredModel(scripted_chat([("", answer)])), cache=cache)
        memory = QRMeM(context, QRMeMSettings(graph_update=False, query_oriented=False))
        memory.remember([Item("a.md", "Ada Vells grew up in Orsk.")])
        return memory.graph(Question("Where?"))

    cache = Damaging()
    assert graph_with(cache) == graph_with(cache) == graph_with(InProcessCache())
