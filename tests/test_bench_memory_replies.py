"""Replies to the last question of a dialogue: the turns that the model writes, the overlap with topics, the command."""

import json

import pytest
from weft.benchmarks.memory import dialogues, replies
from weft.benchmarks.memory.__main__ import main
from weft.benchmarks.memory.extractive_mock import NAME as EXTRACTIVE_MOCK
from weft.benchmarks.memory.judges import Verdict
from weft.benchmarks.memory.records import Record
from weft.benchmarks.memory.values import Fact, Sample
from weft.memory import HashingEmbedder, Item, MeteredModel, Question, StrategyContext
from weft.server.cli.exit_status import CANNOT_BE_DONE


def record(*turns):
    said = [
        part
        for user, bot, info in turns
        for part in ({"from": "human", "value": user, "turn-info": info}, {"from": "chatbot", "value": bot})
    ]
    return Record("d.json, item 0", {"id": "7", "type": "continuation", "conversations": said})


def test_the_model_writes_the_empty_turns_once_and_not_the_answer_to_the_last_question(scripted_chat, tmp_path):
    model = scripted_chat([("snow", "It fell."), ("lamp", "It broke.")])
    given = [
        record(("The lamp?", "", "a-1-0"), ("And it?", "Kept.", "a-1-1"), ("snow", "", "a-2-0"), ("Q", "", "a-1-Q"))
    ]
    path = tmp_path / "turns.json"
    (made,) = replies.filled(given, MeteredModel(model), 20, path)
    assert [turn["value"] for turn in made.fields["conversations"][1::2]] == ["It broke.", "Kept.", "It fell.", ""]
    assert [message.text for message in model.asked[1].messages] == [
        "The lamp?",
        "It broke.",
        "And it?",
        "Kept.",
        "snow",
    ]
    assert len(model.asked) == 2 and all(request.max_new_tokens == 20 for request in model.asked)
    assert list(replies.filled(given, MeteredModel(model), 20, path)) == [made] and len(model.asked) == 2
    assert json.loads(path.read_text(encoding="utf-8")) == [made.fields]


DIALOGUE = Sample(
    "1",
    "mtbench+",
    (
        Item("chat", "user: Describe a lamp\nbot: The lamp is brass and amber", "turn", 0),
        Item("chat", "user: Describe a bridge\nbot: The bridge is stone", "turn", 1),
    ),
    Question("Which lamp?"),
    facts=(Fact("chat", turn=0),),
    metric="none",
    details={"type": "retrospection"},
)


@pytest.mark.parametrize(
    ("text", "topic_words", "on_topic"),
    [
        ("Brass.", 0.5, 1.0),  # "brass" and "amber" are the words that only the needed turn has
        ("Amber, brass.", 1.0, 1.0),
        ("A lamp of brass, on a stone bridge.", 0.5, 1 / 3),  # "lamp" is in the question
        ("Nothing at all.", 0.0, None),
    ],
)
def test_overlap_counts_the_words_that_tell_topics_apart(text, topic_words, on_topic):
    both = DIALOGUE.items[0].text.replace("and ", ""), DIALOGUE.items[1].text
    items = tuple(Item("chat", each, "turn", number) for number, each in enumerate(both))
    sample = Sample("1", "mtbench+", items, DIALOGUE.question, facts=DIALOGUE.facts, metric="none")
    assert replies.overlap(sample, text) == (topic_words, on_topic)


def test_a_reply_is_asked_at_temperature_0_and_judged(scripted_chat):
    model = scripted_chat([("Which lamp?", "The brass one.")])
    settings = replies.memories(dialogues.MEMORIES, 4096)
    context = StrategyContext(MeteredModel(model), HashingEmbedder())
    judged = []

    def judge(sample, text):
        judged.append(text)
        return Verdict("rating", 0.4)

    row = replies.reply(DIALOGUE, replies.WHOLE, settings[replies.WHOLE], context, "bm25", 30, judge)
    assert (row.text, row.verdict, row.needed_turns) == ("The brass one.", 0.4, None) and judged == ["The brass one."]
    assert model.asked[0].temperature == 0 and model.asked[0].max_new_tokens == 30
    assert "amber" in model.prompts[0] and "stone" in model.prompts[0]


def test_the_command_prints_a_line_for_each_memory_and_keeps_rows(tmp_path, capsys):
    arguments = ["dialogues", "--n", "4", "--scores", "bm25", "--limit", "2", "--reply-tokens", "40"]
    models = ["--model", EXTRACTIVE_MOCK, "--judge", EXTRACTIVE_MOCK, "--work", str(tmp_path)]
    assert main([*arguments, *models]) == 0
    first = capsys.readouterr().out
    assert all(f"\n| {memory} | " in first for memory in (*dialogues.MEMORIES, replies.WHOLE))
    assert "| 75.04 |" in first and "| 80.54 |" in first
    figures = json.loads(first.strip().splitlines()[-1])["results"]
    assert set(figures) == {*dialogues.MEMORIES, replies.WHOLE}
    (rows,) = (tmp_path / "memory").glob("replies-*.jsonl")
    size = rows.stat().st_size
    assert main([*arguments, *models]) == 0
    assert capsys.readouterr().out == first and rows.stat().st_size == size


def test_a_wrong_file_is_said_before_the_model_writes(tmp_path, capsys):
    path = tmp_path / "d.json"
    path.write_text('[{"id": "1", "conversations": [{"from": "human", "value": "a"}]}]', encoding="utf-8")
    work = ["--work", str(tmp_path)]
    assert main(["dialogues", "--data", str(path), "--model", EXTRACTIVE_MOCK, *work]) == CANNOT_BE_DONE
    assert "conversations" in capsys.readouterr().err
    assert not (tmp_path / "memory").exists()
