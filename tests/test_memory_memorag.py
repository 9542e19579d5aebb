"""MemoRAG step by step with a scripted model: what the memory is asked, which lines are clues, what they find."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.errors import ModelError
from weft.llm.protocol import Cancel, Message, ModelUnreachable
from weft.memory import Budget, HashingEmbedder, Item, MeteredModel, Question, Segment, StrategyContext
from weft.memory.embedding_cache import CachingEmbedder
from weft.memory.fragrel import ContextRelation
from weft.memory.fragrel.scores import RelatedIndex
from weft.memory.memorag import KINDS, GistPlan, MemoRAG, MemoRAGSettings
from weft.memory.memorag.backends import choose_kind
from weft.memory.memorag.clues import Clue, each_once, read_clues, search
from weft.memory.memorag.prompts import CHINESE, ENGLISH, language_of
from weft.memory.memorag.text import memorized_text
from weft.memory.scoring import Bm25Index, best, indexer
from weft.memory.splitters import count_words
from weft.memory.storage import MemoryStore
from weft.memory.usage import UsageTracker

SPANS, SURROGATES, DRAFT = "Copy them from the text", "smaller and more precise", "Write the answer alone, as short"
POINTS, GIST, GENERATE, SUMMARISE = "main points", "much shorter", "Read the passages", "Summarise the passages"
READ = "I have read the whole text"

NAMES = ("Ada", "Bruno", "Clara", "Dmitri", "Elena", "Farid")
STORY = "\n".join(
    f"{name} keeps a shop in street number {i}. It is quiet there in winter. The sign of {name} shows a {thing}."
    for i, (name, thing) in enumerate(zip(NAMES, ("fox", "lamp", "boat", "clock", "violin", "kettle"), strict=True))
)
BOOK = Item("book.txt", STORY)
WHO = Question("Who has the violin?")
SIZE = MemoRAGSettings(backend="api_full", segment_tokens=21)  # a segment for each shop
ALL = Budget()


def context_of(model: Any, **options: Any) -> StrategyContext:
    return StrategyContext(MeteredModel(model, **options), count_tokens=count_words)


def memorag(model: Any, settings: MemoRAGSettings = SIZE, **options: Any) -> MemoRAG:
    made = MemoRAG(context_of(model), settings, **options)
    made.remember([BOOK])
    return made


def script(**said: str) -> list[tuple[str, Any]]:
    """What the memory says to each kind of prompt."""
    answers = {"spans": "", "surrogates": "", "draft": "Elena", "points": "", "answer": "Elena.", "summary": "Shops."}
    answers |= said
    return [
        (SPANS, answers["spans"]),
        (SURROGATES, answers["surrogates"]),
        (DRAFT, answers["draft"]),
        (POINTS, answers["points"]),
        (GENERATE, answers["answer"]),
        (SUMMARISE, answers["summary"]),
        (GIST, "A gist of it."),
    ]


def texts(recalled: Any) -> list[str]:
    return [each.segment.text.split()[0] for each in recalled.evidence]


def step(recalled: Any, name: str) -> Any:
    return next(each.detail for each in recalled.trace if each.name == name)


# Clues.


@pytest.mark.parametrize(
    ("line", "clue"),
    [
        ("The sign of Elena shows a violin.", "The sign of Elena shows a violin."),
        ("1. The sign of Elena", "The sign of Elena"),
        ("12) The sign of Elena", "The sign of Elena"),
        ("(3) The sign of Elena", "The sign of Elena"),
        ("- **The sign** of Elena", "The sign of Elena"),
        ("* “The sign of Elena”", "The sign of Elena"),
        ("b) The sign of Elena", "The sign of Elena"),
        ("3.5 million people live there", "3.5 million people live there"),
        ("A fox is a fox", "A fox is a fox"),
        ("1、小提琴在谁的店里", "小提琴在谁的店里"),
        ("`__init__` of the class Shop", "`__init__` of the class Shop"),
    ],
)
def test_a_clue_stands_without_the_marks_of_a_list(line: str, clue: str):
    assert read_clues(line, "span") == [Clue("span", clue)]


@pytest.mark.parametrize(
    "line", ["", "   ", "the red fox", "1. the red fox", "小提琴", "Here are the pieces:", "* * *"]
)
def test_a_line_of_three_words_or_characters_is_no_clue(line: str):
    assert read_clues(line, "span") == []


def test_four_words_and_four_characters_are_enough():
    assert len(read_clues("the old red fox\n谁有提琴", "span")) == 2


def test_a_draft_answer_is_one_clue_however_short():
    assert read_clues(" Elena,\nof course ", "draft") == [Clue("draft", "Elena, of course")]
    assert read_clues(" \n", "draft") == []


def test_clues_that_say_the_same_are_one():
    clues = [Clue("span", "Who has the fox?"), Clue("surrogate", "who has  the fox"), Clue("span", "Where is it now?")]
    assert each_once(clues) == [clues[0], clues[2]]


@given(st.text(max_size=200))
def test_whatever_a_model_says_its_clues_are_long_enough_and_on_one_line(answer: str):
    for clue in read_clues(answer, "span"):
        assert count_words(clue.text) > 3
        assert clue.text == clue.text.strip()


# Words.


def test_the_language_is_that_of_the_beginning():
    assert language_of(STORY) == "en"
    assert language_of("小明在街上开了一家店。" * 20) == "zh"
    assert language_of("x" * 1024 + "小明在街上开了一家店。" * 20) == "en"
    assert language_of("ひらがなとカタカナと漢字の文章です。") == "en"
    assert language_of("") == "en"


def test_a_tenth_of_the_letters_makes_a_text_chinese():
    assert language_of("x" * 9 + "店") == "zh"
    assert language_of("x" * 10 + "店") == "en"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_language_of_the_settings_is_not_detected(language: str):
    for text in (STORY, "小明在街上开了一家店。"):
        assert memorized_text([Item("a", text)], 100, count_words, language).language == language


def test_both_languages_have_the_same_places():
    import re

    for name in ENGLISH.__dataclass_fields__:
        if name != "forms":
            found = [sorted(set(re.findall(r"\{\w+\}", getattr(words, name)))) for words in (ENGLISH, CHINESE)]
            assert found[0] == found[1], name
    assert ENGLISH.forms.keys() == CHINESE.forms.keys()


# From a question to evidence.


def test_clues_find_segments_that_the_question_does_not(scripted_chat: Any):
    model = scripted_chat(script(spans="The sign of Elena shows a violin", surrogates="1. Which street is Bruno in?"))
    recalled = memorag(model).recall(Question("Who makes music?"), ALL)
    assert {"Elena", "Bruno"} <= set(texts(recalled))
    assert step(recalled, "clues") == {
        "span": ["The sign of Elena shows a violin"],
        "surrogate": ["Which street is Bruno in?"],
    }
    assert step(recalled, "memory")["backend"] == "api_full"
    elena = next(each for each in recalled.evidence if each.segment.text.startswith("Elena"))
    assert elena.why == "found by the span “The sign of Elena shows a violin”"
    assert sum(part.value for part in elena.parts) == elena.score


def test_three_hits_a_clue_their_union_in_the_order_of_the_text(scripted_chat: Any):
    clues = ["The sign of Farid shows a kettle", "Ada keeps a shop in the street"]
    recalled = memorag(scripted_chat(script(spans="\n".join(clues)))).recall(WHO, ALL)
    score = indexer()([each.segment for each in recalled.evidence])
    places = [each.segment.start for each in recalled.evidence]
    assert places == sorted(places)
    story = memorag(scripted_chat(script()))._text_and_index()[1]
    expected = {segment.start for clue in (*clues, WHO.text) for segment, _ in best(story, clue, 3)}
    assert set(places) == expected
    assert len(score.segments) == len(expected)


def test_a_segment_has_the_sum_of_its_reciprocal_ranks_in_the_hits_of_each_clue():
    texts = ("red fish", "red fish and much else beside", "red fish and much else beside, blue birds too")
    index = Bm25Index([Segment("a", number, text) for number, text in enumerate(texts)])
    clues = [Clue("span", "red fish"), Clue("surrogate", "blue birds")]
    for n_each, scores in ((1, {0: 1.0, 2: 1.0}), (2, {0: 1.0, 1: 0.5, 2: 1.0}), (3, {0: 1.0, 1: 0.5, 2: 1 / 3 + 1})):
        assert {each.segment.number: each.score for each in search(index, clues, n_each)} == pytest.approx(scores)


def test_the_question_itself_is_always_searched_for(scripted_chat: Any):
    recalled = memorag(scripted_chat(script(spans="Ada keeps a shop in street"))).recall(WHO, ALL)
    assert any(part.name == "question" for each in recalled.evidence for part in each.parts)


@pytest.mark.parametrize("nonsense", ["", "no", "\n\n...\n", "none of it"])
def test_a_memory_that_says_nothing_leaves_the_question(scripted_chat: Any, nonsense: str):
    recalled = memorag(scripted_chat(script(spans=nonsense, surrogates=nonsense))).recall(WHO, ALL)
    assert "Elena" in texts(recalled)
    assert "the question was searched" in step(recalled, "clues")["note"]


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, [SPANS, SURROGATES]),
        ({"spans": False}, [SURROGATES]),
        ({"surrogates": False}, [SPANS]),
        ({"spans": False, "surrogates": False}, []),
        ({"draft": True}, [SPANS, SURROGATES, DRAFT]),
    ],
)
def test_each_kind_of_clue_can_be_off(scripted_chat: Any, settings: dict[str, bool], asked: list[str]):
    model = scripted_chat(script())
    memorag(model, replace(SIZE, **settings)).recall(WHO, ALL)
    assert len(model.asked) == len(asked)
    assert all(words in prompt for words, prompt in zip(asked, model.prompts, strict=True))


def test_the_text_stands_first_and_the_same_before_every_question(scripted_chat: Any):
    model = scripted_chat(script())
    memorag(model).recall(WHO, ALL)
    first, second = (request.messages for request in model.asked)
    assert first[:2] == second[:2]
    assert STORY in first[0].text
    assert (first[1].role, first[2].role) == ("assistant", "user")
    assert [request.max_new_tokens for request in model.asked] == [128, 128]


def test_the_answer_is_written_from_the_passages_without_the_text(scripted_chat: Any):
    model = scripted_chat(script(spans="The sign of Elena shows a violin"))
    answer = memorag(model).answer(WHO)
    assert (answer.text, answer.strategy, answer.model) == ("Elena.", "memorag", "scripted")
    last = model.asked[-1]
    assert READ not in model.prompts[-1]
    assert "Who has the violin?" in last.messages[-1].text
    shown = "\n\n".join(each.segment.text.strip() for each in answer.recalled.evidence)
    assert shown in last.messages[-1].text
    assert last.max_new_tokens == 256
    assert (answer.cost.n_calls, answer.cost.n_cached) == (3, 0)


def test_a_draft_is_a_clue_and_shown_with_the_passages(scripted_chat: Any):
    model = scripted_chat(script(draft="It is Elena"))
    answer = memorag(model, replace(SIZE, draft=True)).answer(WHO)
    assert "An answer from memory, which may be wrong: It is Elena" in model.prompts[-1]
    assert any(part.name == "draft" for each in answer.recalled.evidence for part in each.parts)


def test_a_budget_keeps_what_most_clues_found(scripted_chat: Any):
    model = scripted_chat(script(spans="The sign of Elena shows a violin\nElena keeps a shop in street number 4"))
    assert texts(memorag(model).recall(WHO, Budget(n=1))) == ["Elena"]


def test_from_memory_alone(scripted_chat: Any):
    model = scripted_chat(script(draft="Elena has it"))
    answer = memorag(model, MemoRAGSettings(backend="api_full", task="qa")).answer(WHO)
    assert (answer.text, answer.recalled.evidence) == ("Elena has it", ())
    assert len(model.asked) == 1


def test_a_summary_is_of_what_the_key_points_find(scripted_chat: Any):
    model = scripted_chat(script(points="1. Elena has the violin\n2. Farid has a kettle there\n3. Short"))
    answer = memorag(model).answer(Question("", task="summary"))
    assert answer.text == "Shops."
    assert step(answer.recalled, "clues") == {"key point": ["Elena has the violin", "Farid has a kettle there"]}
    assert {"Elena", "Farid"} <= set(texts(answer.recalled))
    assert model.asked[0].max_new_tokens == 512
    assert POINTS in model.prompts[0] and SUMMARISE in model.prompts[1]


def test_a_summary_may_be_of_something(scripted_chat: Any):
    model = scripted_chat(script(points="1. Elena has the violin"))
    memorag(model).answer(Question("Only of the shops with music.", task="summary"))
    assert model.prompts[-1].endswith("Only of the shops with music.")


def test_a_model_without_a_template_is_asked_as_text(scripted_chat: Any):
    model = scripted_chat(script(spans="The sign of Elena shows a violin"), chats=False)
    answer = memorag(model, MemoRAGSettings(segment_tokens=21)).answer(WHO)
    assert (answer.text, step(answer.recalled, "memory")["backend"]) == ("Elena.", "api_full")
    assert len(model.completed) == 3


def test_a_summary_without_key_points_is_of_the_beginning(scripted_chat: Any):
    recalled = memorag(scripted_chat(script())).recall(Question("", task="summary"), Budget(n=2))
    assert texts(recalled) == ["Ada", "Bruno"]


def test_a_template_of_the_user_is_filled(scripted_chat: Any):
    model = scripted_chat([(SPANS, ""), (SURROGATES, ""), ("MINE", "yes")])
    answer = memorag(model).answer(Question("Who has the violin?", template="MINE {question}|{context}"))
    assert answer.text == "yes"
    assert model.prompts[-1].startswith("MINE Who has the violin?|")


def test_a_template_of_the_settings_is_filled(scripted_chat: Any):
    model = scripted_chat([(SPANS, ""), (SURROGATES, ""), ("OURS", "yes")])
    memorag(model, replace(SIZE, template="OURS {question}|{context}")).answer(WHO)
    assert model.prompts[-1].startswith("OURS Who has the violin?|")


def test_choices_are_shown_and_a_letter_is_asked_for(scripted_chat: Any):
    model = scripted_chat(script(answer="B"))
    memorag(model).answer(Question("Who has the violin?", choices=("Ada", "Elena")))
    assert "A. Ada\nB. Elena" in model.prompts[-1]
    assert "letter of the right choice" in model.prompts[-1]


def test_chinese_is_asked_in_chinese(scripted_chat: Any):
    model = scripted_chat(lambda messages: "小提琴在小红的店里")
    made = MemoRAG(context_of(model), SIZE)
    made.remember([Item("书", "小明在街上开店，卖狐狸。小红在街上开店，卖小提琴。小刚在街上开店，卖灯。")])
    answer = made.answer(Question("谁有小提琴？"))
    assert answer.text == "小提琴在小红的店里"
    assert all("文章" in prompt for prompt in model.prompts[:2])
    assert "请阅读这些段落" in model.prompts[-1]
    assert step(answer.recalled, "clues")["span"] == ["小提琴在小红的店里"]


def test_a_separate_generator_answers_and_both_are_counted(scripted_chat: Any):
    model, other = scripted_chat(script()), scripted_chat([(GENERATE, "By another.")], name="other")
    answer = memorag(model, generator=MeteredModel(other)).answer(WHO)
    assert (answer.text, answer.model) == ("By another.", "other")
    assert (len(model.asked), len(other.asked)) == (2, 1)
    assert answer.cost.n_calls == 3


def test_the_memory_model_of_the_context_gives_the_clues_and_its_model_the_answer(scripted_chat: Any):
    memory_model, model = scripted_chat(script()), scripted_chat(script(answer="Elena has it."))
    context = replace(context_of(model), memory_model=MeteredModel(memory_model))
    made = MemoRAG(context, SIZE)
    made.remember([BOOK])
    assert made.answer(WHO).text == "Elena has it."
    assert [len(memory_model.asked), len(model.asked)] == [2, 1]


def test_usage_of_two_models_is_counted_once(scripted_chat: Any):
    usage = UsageTracker()
    other = MeteredModel(scripted_chat(script(), name="other"), usage=usage)
    made = MemoRAG(context_of(scripted_chat(script()), usage=usage), SIZE, generator=other)
    made.remember([BOOK])
    assert made.answer(WHO).cost.n_calls == 3


def test_without_a_model_the_question_is_searched_for_and_that_is_said():
    made = MemoRAG(StrategyContext(count_tokens=count_words), SIZE)
    made.remember([BOOK])
    answer = made.answer(WHO)
    assert (answer.text, answer.model, answer.cost.n_calls) == ("", "", 0)
    assert "Elena" in texts(answer.recalled)
    assert "No model is configured" in answer.notes[0]
    assert "No model is configured" in step(answer.recalled, "clues")["note"]
    assert made.estimate(WHO).n_calls == 0


def test_fragrel_s_scores_can_stand_below(scripted_chat: Any):
    def related(segments: Any) -> Any:
        return RelatedIndex(indexer()(segments), ContextRelation(0.8), 0.5)

    model = scripted_chat(script(spans="Elena has the only violin"))
    plain = memorag(model).recall(WHO, ALL)
    with_neighbours = memorag(model, score=related).recall(WHO, ALL)
    # Those next to the shop that the clue finds, in place of those that share "keeps" and "the" with it.
    assert set(texts(with_neighbours)) == {"Dmitri", "Elena", "Farid"} != set(texts(plain))


def test_it_in_a_question_is_resolved_with_the_conversation(scripted_chat: Any):
    """A conversation as the database (row 60), and one before the question, which says what "it" means."""

    def says(messages: tuple[Message, ...]) -> str:
        asked = messages[-1].text
        if SPANS in asked:
            return "The red bicycle stands in the cellar" if "bicycle" in asked else "Nothing is known of it"
        return "In the cellar." if "cellar" in asked else ""

    made = MemoRAG(context_of(scripted_chat(says)), SIZE)
    said = ["I like tea best in the morning", "I bought a red bicycle", "The red bicycle stands in the cellar"]
    made.remember([Item("conversation 1", text, "turn", number) for number, text in enumerate(said)])
    history = (Message("user", "Did I tell you of my bicycle?"), Message("assistant", "Yes, you did."))
    answer = made.answer(Question("Where is it?", history=history))
    assert answer.text == "In the cellar."
    assert [each.segment.text for each in answer.recalled.evidence][-1] == said[2]
    assert made.answer(Question("Where is it?")).text == ""


# What is read, when, and what it costs.


def test_the_same_text_is_read_once_and_a_changed_one_again(scripted_chat: Any):
    model = scripted_chat(script())
    made = memorag(model, MemoRAGSettings(backend="api_gist", gists=GistPlan(piece_tokens=30)))
    made.recall(WHO, ALL)
    n_gists = sum(GIST in prompt for prompt in model.prompts)
    assert n_gists > 1
    made.remember([BOOK])
    made.recall(WHO, ALL)
    assert sum(GIST in prompt for prompt in model.prompts) == n_gists
    made.remember([Item("other.txt", "Gustav sells old umbrellas in the harbour.")])
    assert "Gustav" in texts(made.recall(Question("Who sells umbrellas?"), ALL))
    assert sum(GIST in prompt for prompt in model.prompts) > n_gists
    made.forget("other.txt")
    assert "Gustav" not in texts(made.recall(Question("Who sells umbrellas?"), ALL))


def test_turns_are_added_to_their_conversation_and_a_document_is_replaced(scripted_chat: Any):
    made = MemoRAG(context_of(scripted_chat(script())), SIZE)
    made.remember([Item("chat", "The first thing said", "turn", 0), Item("chat", "The third thing said", "turn", 2)])
    made.remember([Item("chat", "The second thing said", "turn", 1), Item("doc", "An old document here")])
    made.remember([Item("doc", "A new document here")])
    held, _ = made._text_and_index()
    assert [(segment.source, segment.number, segment.text.split()[1]) for segment in held.segments] == [
        ("chat", 0, "first"),
        ("chat", 1, "second"),
        ("chat", 2, "third"),
        ("doc", 0, "new"),
    ]
    assert held.article.index("[chat]") < held.article.index("third") < held.article.index("[doc]")


@pytest.mark.parametrize("items", [[], [Item("a", "")], [Item("a", " \n\n ")]])
def test_nothing_to_remember_is_no_error_and_asks_nobody(scripted_chat: Any, items: list[Item]):
    model = scripted_chat([(GENERATE, "I do not know.")])
    made = MemoRAG(context_of(model), SIZE)
    made.remember(items)
    assert made.recall(WHO, ALL).evidence == ()
    assert made.answer(WHO).text == "I do not know."
    assert len(model.asked) == 1


@pytest.mark.parametrize("after", range(4))
def test_cancelled_at_any_call_it_ends_quietly(scripted_chat: Any, after: int):
    cancel = Cancel()

    def says(messages: tuple[Message, ...]) -> str:
        if len(model.asked) > after:
            cancel.cancel()
        return "A gist of it." if GIST in messages[-1].text else "The sign of Elena shows a violin"

    model = scripted_chat(says)
    made = memorag(model, MemoRAGSettings(backend="api_gist", segment_tokens=21))
    answer = made.answer(WHO, cancel=cancel)
    assert answer.text == ""
    assert answer.notes[-1].startswith("Cancelled")
    assert len(model.asked) <= after + 1
    assert made.answer(WHO).text


def test_a_dead_endpoint_is_an_error(scripted_chat: Any):
    model = scripted_chat([(SPANS, ModelUnreachable("nobody there"))])
    with pytest.raises(ModelError, match="nobody there"):
        memorag(model).recall(WHO, ALL)


@pytest.mark.parametrize("backend", ["api_full", "api_gist"])
@pytest.mark.parametrize("task", ["memorag", "qa", "summarize"])
def test_an_estimate_is_an_upper_bound(scripted_chat: Any, backend: str, task: Any):
    settings = MemoRAGSettings(backend, task, draft=True, segment_tokens=21, gists=GistPlan(30, 8))
    model = scripted_chat(script(spans="The sign of Elena shows a violin"))
    made = memorag(model, settings)
    bound = made.estimate(WHO)
    spent = made.answer(WHO).cost
    assert bound.n_calls >= spent.n_calls > 0
    assert bound.tokens_in >= spent.tokens_in
    assert bound.tokens_out >= spent.tokens_out
    assert made.estimate(WHO).n_calls <= bound.n_calls


# Memories.


def test_the_memory_is_chosen_by_model_and_text(scripted_chat: Any):
    made = memorag(scripted_chat(script()), MemoRAGSettings())
    assert step(made.recall(WHO, ALL), "memory")["backend"] == "api_full"
    made = memorag(scripted_chat(script(), context_tokens=600), MemoRAGSettings(gists=GistPlan(40)))
    assert step(made.recall(WHO, ALL), "memory")["backend"] == "api_gist"


def test_gists_are_of_pieces_and_stand_in_for_the_text(scripted_chat: Any):
    model = scripted_chat(script())
    made = memorag(model, MemoRAGSettings(backend="api_gist", gists=GistPlan(piece_tokens=50)))
    memory = made.memorize()
    assert memory is not None and memory.gists == ("A gist of it.",) * len(model.asked)
    pieces = [request.messages[-1].text for request in model.asked]
    assert all(GIST in piece for piece in pieces)
    assert "".join(piece.split("<text>\n")[1].split("\n</text>")[0] for piece in pieces) == STORY
    assert {(request.max_new_tokens, request.repetition_penalty) for request in model.asked} == {(512, 1.2)}
    made.recall(WHO, ALL)
    assert "A gist of it.\nA gist of it." in model.asked[-1].messages[0].text
    assert STORY not in model.prompts[-1]


def test_gists_that_do_not_fit_are_made_shorter_again(scripted_chat: Any):
    def says(messages: tuple[Message, ...]) -> str:
        piece = messages[-1].text.split("<text>\n")[-1].split("\n</text>")[0]
        return " ".join(piece.split()[::3]) if GIST in messages[-1].text else ""

    model = scripted_chat(says, context_tokens=900)
    made = MemoRAG(context_of(model), MemoRAGSettings(backend="api_gist"))
    made.remember([Item("long.txt", " ".join(f"word{i}." for i in range(3000)))])
    memory = made.memorize()
    assert memory is not None
    assert memory.n_tokens + 512 <= 900
    assert memory.gists[0].startswith("word0.")
    rounds = sum("word1." in prompt for prompt in model.prompts), sum("word0. " in prompt for prompt in model.prompts)
    assert rounds == (1, 2)


def test_a_server_gets_a_text_that_fits_whole_and_gists_of_a_longer_one(scripted_chat: Any):
    model = MeteredModel(scripted_chat(script(), context_tokens=4096))
    assert choose_kind(model, 1000, "en") == "api_full"
    assert choose_kind(model, 4000, "en") == "api_gist"


def test_gists_are_asked_for_with_their_penalty_of_repetition(scripted_chat: Any):
    model = scripted_chat(script(), context_tokens=900)
    made = MemoRAG(context_of(model), MemoRAGSettings(backend="api_gist"))
    made.remember([Item("long.txt", " ".join(f"word{i}." for i in range(500)))])
    made.memorize()
    assert {request.repetition_penalty for request in model.asked} == {GistPlan().repetition_penalty} == {1.2}


def test_gists_that_do_not_get_shorter_are_cut_in_the_middle(scripted_chat: Any):
    def parrot(messages: tuple[Message, ...]) -> str:
        return messages[-1].text.split("<text>\n")[-1].split("\n</text>")[0]

    model = scripted_chat(parrot, context_tokens=900)
    made = MemoRAG(context_of(model), MemoRAGSettings(backend="api_gist"))
    made.remember([Item("long.txt", " ".join(f"word{i}." for i in range(2000)))])
    memory = made.memorize()
    assert memory is not None and memory.n_tokens + 512 <= 900
    assert memory.gists[0].startswith("word0.") and memory.gists[0].endswith("word1999.")


def test_a_piece_without_a_gist_leaves_its_beginning(scripted_chat: Any):
    made = memorag(scripted_chat([(GIST, "")]), MemoRAGSettings(backend="api_gist", gists=GistPlan(50, 5)))
    memory = made.memorize()
    assert memory is not None and memory.gists[0] == "Ada keeps a shop in"


def test_a_text_too_long_to_send_is_refused_with_the_next_step(scripted_chat: Any):
    made = memorag(scripted_chat(script(), context_tokens=560))
    with pytest.raises(ModelError, match="api_gist"):
        made.recall(WHO, ALL)


def test_kv_needs_a_model_in_this_process(scripted_chat: Any):
    with pytest.raises(ModelError, match="not a chat model in this process"):
        memorag(scripted_chat(script()), MemoRAGSettings(backend="kv")).recall(WHO, ALL)


def test_an_unknown_memory_is_named(scripted_chat: Any):
    with pytest.raises(ValueError, match="kv, lite, api_full, api_gist, beacon"):
        memorag(scripted_chat(script()), MemoRAGSettings(backend="kvv")).recall(WHO, ALL)


# On disk.


@pytest.mark.parametrize("backend", ["api_full", "api_gist"])
def test_saved_and_loaded_it_asks_the_same_and_reads_nothing_again(scripted_chat: Any, tmp_path: Path, backend: str):
    settings = MemoRAGSettings(backend=backend, segment_tokens=21, gists=GistPlan(30))
    first, second = scripted_chat(script(spans="Elena has it now")), scripted_chat(script(spans="Elena has it now"))
    made = memorag(first, settings)
    expected = made.answer(WHO)
    made.save(tmp_path / "memory")
    loaded = MemoRAG(context_of(second), settings)
    loaded.load(tmp_path / "memory")
    answer = loaded.answer(WHO)
    assert (answer.text, answer.recalled) == (expected.text, expected.recalled)
    assert not any(GIST in prompt for prompt in second.prompts)
    assert second.prompts == [prompt for prompt in first.prompts if GIST not in prompt]
    loaded.remember([Item("other.txt", "Gustav sells old umbrellas in the harbour.")])
    assert "Gustav" in texts(loaded.recall(Question("Who sells umbrellas?"), ALL))


def test_what_was_saved_without_a_model_is_loaded_with_one(scripted_chat: Any, tmp_path: Path):
    made = MemoRAG(StrategyContext(count_tokens=count_words), SIZE)
    made.remember([BOOK, Item("broken", "half of a character: \ud83d and more words")])
    made.save(tmp_path)
    loaded = MemoRAG(context_of(scripted_chat(script())), SIZE)
    loaded.load(tmp_path)
    assert loaded.answer(WHO).text == "Elena."
    assert loaded._text_and_index()[0].items[1].text.startswith("half of a character: \ud83d")


def test_vectors_are_saved_with_the_text_and_loaded_where_there_are_none(tmp_path: Path):
    class Meaning(HashingEmbedder):
        name = "meaning"

        def __init__(self) -> None:
            super().__init__()
            self.passages: list[str] = []

        def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Any:
            self.passages += [] if are_queries else texts
            return super().embed(texts, are_queries=are_queries)

    def made(embedder: Meaning) -> MemoRAG:
        context = StrategyContext(
            embedder=CachingEmbedder(embedder, MemoryStore(None).vectors), count_tokens=count_words
        )
        return MemoRAG(context, SIZE, indexer("dense", context))

    first, second = Meaning(), Meaning()
    saved, loaded = made(first), made(second)
    saved.remember([BOOK])
    saved.recall(WHO, ALL)
    saved.save(tmp_path)
    loaded.load(tmp_path)
    assert texts(loaded.recall(WHO, ALL)) == texts(saved.recall(WHO, ALL))
    assert first.passages
    assert second.passages == []


def change(folder: Path, **values: Any) -> None:
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "says"),
    [({"version": 9}, "version 9"), ({"model": "other"}, "is a memory of other"), ({"context": "0"}, "changed after")],
)
def test_what_is_of_something_else_is_refused(scripted_chat: Any, tmp_path: Path, values: Any, says: str):
    memorag(scripted_chat(script())).save(tmp_path)
    change(tmp_path, **values)
    with pytest.raises(ModelError, match=says):
        MemoRAG(context_of(scripted_chat(script())), SIZE).load(tmp_path)


@pytest.mark.parametrize("lost", ["manifest.json", "items.json", "segments.json", "memory/gists.json"])
def test_a_folder_that_is_not_whole_is_refused(scripted_chat: Any, tmp_path: Path, lost: str):
    memorag(scripted_chat(script())).save(tmp_path)
    (tmp_path / lost).unlink()
    with pytest.raises(ModelError, match="not a complete memory"):
        MemoRAG(context_of(scripted_chat(script())), SIZE).load(tmp_path)


def test_every_memory_of_the_paper_is_there():
    assert set(KINDS) == {"kv", "lite", "api_full", "api_gist", "beacon"}
