"""A chat that remembers: when history moves, what comes back of it, and that the window holds."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm import Cancel, ModelError
from weft.llm.backends import ModelConfig, open_model
from weft.llm.prompting.conversation import FRAME_TOKENS
from weft.llm.protocol import Message
from weft.memory import (
    Budget,
    Evidence,
    HashingEmbedder,
    Item,
    MeteredModel,
    Question,
    Segment,
    Strategy,
    StrategyContext,
)
from weft.memory.embedding_cache import CachingEmbedder
from weft.memory.fragrel import (
    ChatPolicy,
    SemanticRelation,
    chat_memory,
    mem_retrieval,
    memo_chat,
    returning_chat,
    truncated_history,
)
from weft.memory.fragrel.chat import MEMOCHAT, PAPER
from weft.memory.fragrel.chat_prompt import PromptParts, build_chat_prompt
from weft.memory.fragrel.memo import MemoChatMemory
from weft.memory.scoring import indexer
from weft.memory.storage import MemoryStore

TOPICS = ["tomatoes in the garden", "a trip to Lisbon", "the sonata in b minor", "tax forms for bakers"]
KINDS = [chat_memory, returning_chat, mem_retrieval, truncated_history, memo_chat]


def count(text):
    return len(text.split())


def words_kit(model=None):
    return StrategyContext(MeteredModel(model) if model else None, count_tokens=count)


def talked(memory, n_rounds, words_each=10):
    """A conversation of four topics in turn, with distinct rounds."""
    for i in range(n_rounds):
        topic = TOPICS[i * len(TOPICS) // n_rounds]
        memory.add(f"round {i} about {topic}", " ".join([f"reply{i}", *["so"] * words_each]))
    return memory


def body_of(prepared):
    return prepared.messages[-1].text


def numbers(recalled):
    return [each.segment.number for each in recalled.evidence]


@pytest.mark.parametrize("make", KINDS)
def test_it_is_a_strategy(make):
    assert isinstance(make(StrategyContext()), Strategy)


def test_a_short_history_is_shown_whole_and_nothing_is_retrieved():
    prepared = talked(chat_memory(words_kit()), 10).messages(Question("what about tomatoes?"))
    assert all(f"round {i} about" in body_of(prepared) for i in range(10))
    assert "Related evidence:\n(none)" in body_of(prepared) and not prepared.recalled.evidence


def test_the_11th_round_moves_all_but_the_last():
    memory = talked(chat_memory(words_kit()), 11)
    prepared = memory.messages(Question("hm"))
    window = prepared.recalled.trace[-1].detail
    assert (window["n_moved"], window["n_recent"]) == (10, 1)
    assert "Recent dialog:\nuser: round 10" in body_of(prepared)


def test_1000_tokens_move_it_too_and_not_one_less():
    policy = dataclasses.replace(PAPER, trigger_size=30)
    memory = chat_memory(words_kit(), policy)
    memory.add("w " * 13, "w")  # 16 words with the speakers
    memory.add("w " * 11, "w")  # 30 in all
    assert memory.messages(Question("x")).recalled.trace[-1].detail["n_moved"] == 0
    memory.add("w", "w")
    assert memory.messages(Question("x")).recalled.trace[-1].detail["n_moved"] == 2


def test_after_the_trigger_only_the_last_round_stays_with_every_round():
    memory = talked(chat_memory(words_kit()), 14)
    assert memory.messages(Question("x")).recalled.trace[-1].detail == {
        "n_moved": 13,
        "n_recent": 1,
        "n_evidence": memory.messages(Question("x")).recalled.trace[-1].detail["n_evidence"],
        "n_dropped": 0,
        "room": 1536,
        "counted_in": "tokens",
    }


def test_the_query_is_the_last_round_and_the_prompt():
    memory = talked(chat_memory(words_kit()), 12)
    prepared = memory.messages(Question("and the sonata?"))
    query = prepared.recalled.trace[0].detail["text"]
    assert query.startswith("user: round 11 about tax forms for bakers\nbot: reply11") and "and the sonata?" in query


def test_a_prompt_that_says_it_all_can_be_the_query_by_itself():
    memory = talked(returning_chat(words_kit()), 12)
    short, long = (
        memory.messages(Question(text)).recalled.trace[0].detail["text"]
        for text in ("and the sonata of before, again, please", "what was it that I said about the sonata")
    )
    assert short.startswith("user: round 11") and long == "what was it that I said about the sonata"


def test_at_most_8_rounds_come_back_in_the_order_they_were_said_and_never_the_one_shown():
    memory = talked(chat_memory(words_kit()), 30)
    found = numbers(memory.messages(Question("round about tomatoes")).recalled)
    assert len(found) == 8 and found == sorted(found) and 29 not in found


def test_the_neighbours_of_a_match_come_back_with_it():
    """The topic was named once; the rounds around it carry it on without its name."""
    related, plain = (make(words_kit()) for make in (chat_memory, mem_retrieval))
    for memory in (related, plain):
        for i in range(24):
            memory.add("the garden of Livia" if i == 10 else f"and then number{i}", f"well{i}")
    question = Question("what of Livia")
    assert {9, 10, 11} <= set(numbers(related.messages(question).recalled))
    assert 10 in numbers(plain.messages(question).recalled)
    assert not {9, 11} <= set(numbers(plain.messages(question).recalled))


def test_the_prompt_keeps_its_parts_apart():
    memory = talked(chat_memory(words_kit()), 12)
    system, user = memory.messages(Question("tomatoes, please\nwith code")).messages
    assert (system.role, user.role) == ("system", "user")
    assert "(1) user: round" in user.text and "### bot: reply" in user.text
    assert user.text.endswith("user: tomatoes, please\nwith code ### bot: ")


def test_one_system_message_where_that_is_wanted():
    memory = talked(chat_memory(words_kit(), dataclasses.replace(PAPER, single_system_message=True)), 3)
    (message,) = memory.messages(Question("x")).messages
    assert message.role == "system" and "chat partner" in message.text and message.text.endswith("### bot: ")


def test_over_the_window_the_lowest_scored_evidence_goes_first():
    evidence = tuple(Evidence(Segment("c", i, "w " * 40), score) for i, score in enumerate([3.0, 1.0, 2.0]))
    parts = PromptParts("hello", ("user: last\nbot: one",), evidence)
    whole = sum(count(message.text) for message in build_chat_prompt(parts, 1000, count)[0]) + 2 * FRAME_TOKENS
    for n_expected, room in ((3, whole), (2, whole - 1), (1, whole - 42)):
        messages, shown = build_chat_prompt(parts, room, count)
        assert sum(count(message.text) for message in messages) <= room
        assert [each.score for each in shown.evidence] == [[3.0], [3.0, 2.0], [3.0, 1.0, 2.0]][n_expected - 1]
        assert "user: last ### bot: one" in messages[-1].text


def test_then_the_oldest_rounds_go_then_the_middle_of_what_is_left():
    rounds = tuple(f"user: first{i} {'w ' * 50}\nbot: end{i}" for i in range(4))
    messages, shown = build_chat_prompt(PromptParts("hello", rounds), 240, count)
    assert len(shown.recent) == 2 and "first3" in messages[-1].text and "first1" not in messages[-1].text
    messages, shown = build_chat_prompt(PromptParts("hello", rounds), 120, count)
    assert "first3" in messages[-1].text and "end3" in messages[-1].text
    messages, shown = build_chat_prompt(PromptParts("begin " + "w " * 900 + "end", rounds), 200, count)
    assert shown.prompt.startswith("begin") and shown.prompt.endswith("end") and "chat partner" in messages[0].text


def test_a_pasted_file_does_not_push_out_everything_else():
    giant = "begin " + "w " * 5000 + "end"
    evidence = tuple(Evidence(Segment("c", i, text), 9.0 - i) for i, text in enumerate([giant, "a fox", "a wolf"]))
    messages, shown = build_chat_prompt(PromptParts("hello", (giant,), evidence), 400, count)
    assert [each.segment.text[:6] for each in shown.evidence] == ["begin ", "a fox", "a wolf"]
    assert shown.recent[0].startswith("begin") and shown.recent[0].endswith("end")
    assert sum(count(message.text) for message in messages) <= 400


def test_a_giant_last_round_leaves_the_prompt_in_the_query():
    memory = talked(returning_chat(words_kit()), 12)
    memory.add("w " * 5000, "yes")
    query = memory.messages(Question("the sonata?")).recalled.trace[0].detail["text"]
    assert count(query) < 200 and query.endswith("the sonata?")


def test_a_model_with_a_small_window_gets_a_small_prompt(scripted_chat):
    model = scripted_chat(lambda messages: "yes", context_tokens=600)
    memory = talked(chat_memory(words_kit(model)), 20, words_each=60)
    assert memory.chat("what about Lisbon?").text == "yes"
    assert sum(count(message.text) for message in model.asked[0].messages) <= 300 == model.asked[0].max_new_tokens


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.lists(st.text(max_size=200), max_size=4), st.integers(0, 500))
def test_whatever_is_said_the_prompt_fits_the_room(prompt, rounds, extra):
    room = count(build_chat_prompt(PromptParts(""), 10_000, count)[0][0].text) + 60 + extra
    evidence = tuple(Evidence(Segment("c", i, text), float(i)) for i, text in enumerate(rounds))
    messages, _ = build_chat_prompt(PromptParts(prompt, tuple(rounds), evidence), room, count)
    assert sum(count(message.text) for message in messages) <= room


def test_a_reply_is_remembered_with_its_prompt(scripted_chat):
    model = scripted_chat([("Who am I", "You are Ines."), ("My name is Ines", "Hello Ines.")])
    memory = chat_memory(words_kit(model))
    assert memory.chat("My name is Ines").text == "Hello Ines."
    assert memory.chat("Who am I?").text == "You are Ines."
    assert "user: My name is Ines ### bot: Hello Ines." in model.prompts[1]
    assert [request.temperature for request in model.asked] == [0.2, 0.2]
    assert all(request.max_new_tokens == 512 for request in model.asked)


def test_the_whole_window_holds_at_every_round_of_a_long_chat(scripted_chat):
    model = scripted_chat(lambda messages: "a reply of some words " * 20)
    memory = chat_memory(words_kit(model))
    for i in range(40):
        memory.chat(f"prompt {i} " + "words " * 60)
    sizes = [sum(count(message.text) for message in request.messages) for request in model.asked]
    assert max(sizes) <= 2048 - 512


def test_an_answer_that_is_not_chatted_is_not_remembered(scripted_chat):
    memory = talked(chat_memory(words_kit(scripted_chat([("", "yes")]))), 3)
    assert memory.answer(Question("round about Lisbon")).text == "yes"
    assert memory._state.shown[-1].number == 2


def test_without_a_model_the_answer_is_the_rounds_that_matter():
    answer = talked(chat_memory(words_kit()), 20).answer(Question("the trip to Lisbon"))
    assert answer.text == "" and "No model" in answer.notes[0]
    assert any("Lisbon" in each.segment.text for each in answer.recalled.evidence)


def test_a_dead_endpoint_is_an_error_and_the_conversation_stays(scripted_chat):
    memory = talked(chat_memory(words_kit(scripted_chat([("", ModelError("gone"))]))), 12)
    before = memory._state
    with pytest.raises(ModelError):
        memory.chat("hello")
    assert memory._state == before


def test_a_cancelled_chat_asks_nobody_and_remembers_nothing(scripted_chat):
    model = scripted_chat([])
    memory = talked(chat_memory(words_kit(model)), 3)
    cancel = Cancel()
    cancel.cancel()
    assert memory.chat("hello", cancel=cancel).text == ""
    assert not model.asked and memory._state.shown[-1].number == 2


def test_recall_of_a_short_history_is_all_of_it():
    assert numbers(talked(chat_memory(words_kit()), 3).recall(Question("anything"), Budget())) == [0, 1, 2]


def test_the_history_of_a_question_stands_for_the_last_rounds():
    memory = talked(chat_memory(words_kit()), 20)
    history = (
        Message("user", "hello"),
        Message("assistant", "hi"),
        Message("user", "We spoke of Lisbon"),
        Message("assistant", "Yes, of its trams."),
    )
    prepared = memory.messages(Question("go on", history=history))
    assert prepared.recalled.trace[0].detail["text"] == "user: We spoke of Lisbon\nbot: Yes, of its trams.\ngo on"
    assert "Recent dialog:\nuser: We spoke of Lisbon ### bot: Yes, of its trams." in body_of(prepared)


def test_other_conversations_are_remembered_behind_this_one():
    memory = talked(chat_memory(words_kit()), 2)
    memory.remember([Item("yesterday", "user: the zeppelin\nbot: landed", "turn", 0, 5.0)])
    assert "the zeppelin" in body_of(memory.messages(Question("zeppelin?")))
    memory.forget("yesterday")
    assert "the zeppelin" not in body_of(memory.messages(Question("what was it?")))


def test_the_first_turn_names_the_conversation():
    memory = chat_memory(words_kit())
    memory.remember([Item("conversation 7", f"user: fox {i}", "turn", i) for i in range(12)])
    prepared = memory.messages(Question("which fox?"))
    assert "Recent dialog:\nuser: fox 11\n" in body_of(prepared) and 11 not in numbers(prepared.recalled)


def test_a_forgotten_conversation_begins_anew():
    memory = talked(chat_memory(words_kit()), 20)
    memory.forget("conversation")
    assert memory.recall(Question("Lisbon"), Budget()).evidence == ()
    assert "Recent dialog:\n(none)" in body_of(memory.messages(Question("x")))


def test_a_new_round_costs_one_embedding():
    embedded = []

    class Counting(HashingEmbedder):
        name = "counting"

        def embed(self, texts, *, are_queries=False):
            if not are_queries:
                embedded.extend(texts)
            return super().embed(texts, are_queries=are_queries)

    context = StrategyContext(embedder=CachingEmbedder(Counting(), MemoryStore(None).vectors), count_tokens=count)
    memory = talked(
        chat_memory(context, relation=SemanticRelation(context.embedder), score=indexer("dense", context)), 20
    )
    memory.messages(Question("tomatoes"))
    assert len(embedded) == 19, "the last round is in the window"
    memory.add("one more", "yes")
    memory.messages(Question("tomatoes"))
    assert len(embedded) == 20


def test_a_round_that_comes_twice_is_there_once():
    items = [Item("conversation", f"user: fox {i}\nbot: yes", "turn", i) for i in range(12)]
    memory = chat_memory(words_kit())
    memory.remember(items)
    memory.remember([items[3], items[11]])
    found = [each.segment.number for each in memory.recall(Question("fox"), Budget()).evidence]
    assert len(found) == len(set(found)) == 8


def test_truncated_history_is_the_newest_rounds_that_fit():
    memory = talked(truncated_history(words_kit()), 60, words_each=60)
    prepared = memory.messages(Question("what was round 0?"))
    assert "round 59 about" in body_of(prepared) and "round 0 about" not in body_of(prepared)
    assert not prepared.recalled.evidence
    assert 1400 < sum(count(message.text) for message in prepared.messages) <= 1536


def test_memochat_counts_words_and_moves_all_but_the_last_round_when_full():
    memory = chat_memory(words_kit(), MEMOCHAT)
    talked(memory, 3)
    assert memory.messages(Question("x")).recalled.trace[-1].detail["n_moved"] == 0
    memory.add("one more", "yes")
    window = memory.messages(Question("x")).recalled.trace[-1].detail
    assert (window["n_moved"], window["n_recent"], window["counted_in"]) == (3, 1, "words")
    memory.add("and more", "yes")
    assert memory.messages(Question("x")).recalled.trace[-1].detail["n_recent"] == 2, "the window fills up again"


def test_memochat_cuts_from_the_left():
    memory = chat_memory(words_kit(), MEMOCHAT)
    (message,) = memory.messages(Question("w " * 3000 + "end")).messages
    assert count(message.text) <= 1536 and "chat partner" not in message.text
    assert message.text.endswith("end ### bot: ")


MEMO = """[{"topic": "Lisbon", "summary": "a trip", "start": 1, "end": 2},
  {"topic": "tax", "summary": "forms", "start": 3, "end": 3}]"""


def test_memos_are_written_when_rounds_leave_and_chosen_by_topic(scripted_chat):
    model = scripted_chat(
        [("Divide them into topics", MEMO), ("Choose the topics", "[1]"), ("Recent dialog", "By tram.")]
    )
    memory = memo_chat(words_kit(model))
    for text in ("to Lisbon", "by tram", "tax forms", "hello"):
        memory.add(text, "yes")
    assert len(model.asked) == 1 and "1. user: to Lisbon ### bot: yes" in model.prompts[0]
    answer = memory.chat("how did we go?")
    assert answer.text == "By tram." and answer.cost.n_calls == 2
    assert "1. Lisbon: a trip\n2. tax: forms" in model.prompts[1]
    assert "(1) Lisbon: a trip ### user: to Lisbon ### bot: yes ### user: by tram" in model.prompts[2]
    assert "tax forms" not in model.prompts[2]


def test_a_choice_of_no_topic_gives_no_evidence(scripted_chat):
    model = scripted_chat([("Divide them", MEMO), ("Choose the topics", "[]")])
    memos = MemoChatMemory(words_kit(model))
    memos.remember([Item("c", "user: a\nbot: b", "turn", i) for i in range(3)])
    assert memos.recall(Question("x"), Budget()).evidence == ()


@pytest.mark.parametrize(
    "nonsense",
    ["no idea", "[]", '[{"topic": "x"}]', '[{"start": Infinity, "end": []}]', '["x"]', '[{"start": 9, "end": 12}]'],
)
def test_a_memo_that_cannot_be_read_holds_everything(scripted_chat, nonsense):
    model = scripted_chat([("Divide them", nonsense), ("Choose the topics", "[1, 1, 7]")])
    memos = MemoChatMemory(words_kit(model))
    memos.remember([Item("c", f"user: number {i}\nbot: b", "turn", i) for i in range(3)])
    (memo,) = memos.memos
    assert len(memo.rounds) == 3 and len(model.asked) == 5, "temperature 0, then four times 0.7"
    (evidence,) = memos.recall(Question("x"), Budget()).evidence
    assert "number 0" in evidence.segment.text and "number 2" in evidence.segment.text


def test_rounds_that_no_memo_holds_are_kept_in_one_more(scripted_chat):
    memos = MemoChatMemory(words_kit(scripted_chat([("Divide them", MEMO.replace('"start": 1', '"start": 2'))])))
    memos.remember([Item("c", f"user: number {i}\nbot: b", "turn", i) for i in range(4)])
    assert [[item.number for item in memo.rounds] for memo in memos.memos] == [[1], [2], [0, 3]]


@pytest.mark.parametrize("nonsense", ["none of them", '[{"topic": 1}]', '{"a": 1}'])
def test_topics_that_cannot_be_read_give_no_evidence_and_say_so(scripted_chat, nonsense):
    model = scripted_chat([("Divide them", MEMO), ("Choose the topics", nonsense)])
    memos = MemoChatMemory(words_kit(model))
    memos.remember([Item("c", "user: a\nbot: b", "turn", i) for i in range(3)])
    recalled = memos.recall(Question("x"), Budget())
    assert recalled.evidence == () and "unparsable response" in recalled.trace[0].detail["failed"]


def test_memos_need_a_model_to_be_written_and_chosen():
    memory = talked(memo_chat(words_kit()), 8)
    assert memory.answer(Question("Lisbon")).notes


def test_a_memory_that_fails_loses_no_reply(scripted_chat):
    model = scripted_chat([("Divide them", ModelError("gone")), ("Recent dialog", "fine")])
    memory = talked(memo_chat(words_kit(model)), 3)
    answer = memory.chat("hello")
    assert answer.text == "fine" and "gone" in answer.notes[0]
    assert memory._state.shown[-1].text == "user: hello\nbot: fine"


def test_forgetting_a_conversation_forgets_its_memos(scripted_chat):
    memos = MemoChatMemory(words_kit(scripted_chat([("Divide them", MEMO)])))
    memos.remember([Item("c", "user: a\nbot: b", "turn", i) for i in range(3)])
    memos.forget("c")
    assert memos.memos == ()


@pytest.mark.parametrize("make", KINDS)
def test_the_cost_is_never_more_than_the_estimate(scripted_chat, make):
    def say(messages):
        text = messages[-1].text
        return MEMO if "Divide them" in text else "[1]" if "Choose the topics" in text else "well"

    memory = talked(make(words_kit(scripted_chat(say))), 14)
    expected = memory.estimate(Question("what about Lisbon?"))
    cost = memory.answer(Question("what about Lisbon?")).cost
    assert 1 <= cost.n_calls <= expected.n_calls and cost.tokens_in <= expected.tokens_in


def test_a_policy_may_show_no_recent_round_at_all():
    memory = talked(chat_memory(words_kit(), ChatPolicy(trigger_rounds=2, n_recent=0)), 4)
    assert numbers(memory.recall(Question("round about"), Budget())) == [0, 1, 2, 3]


@pytest.mark.local
def test_a_real_model_chats_over_a_moved_history(small_chat_model):
    model = open_model(ModelConfig("transformers", path=str(small_chat_model)))
    try:
        policy = dataclasses.replace(PAPER, reserved=16, n_evidence=3)
        memory = talked(chat_memory(StrategyContext(MeteredModel(model)), policy), 12, words_each=2)
        answer = memory.chat("What did I say about Lisbon?")
        assert answer.text and any("Lisbon" in each.segment.text for each in answer.recalled.evidence)
    finally:
        model.close()
