"""Training data for a memory model: questions, answers and clues that hold, one line of JSON each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from weft.llm.protocol import Cancel, Message
from weft.memory import MeteredModel
from weft.memory.memorag.sft_data import SampleCounts, build_samples, write_samples

TEXT = "Ines left the harbour because the boats were sold. She opened a school behind the church and taught music."
PAIR = {"question": "Why did Ines come to teach music?", "answer": "The boats were sold"}
CLUES = "1. Ines left the harbour\n2. the boats were sold long ago\n3. Dragons flew over quiet mountains"


def said(pairs: Any, clues: str = CLUES) -> Any:
    return [("lead from the question", clues), ("Write 3 questions", pairs)]


def build(scripted_chat: Any, script: Any, contexts: Any = (TEXT,), **options: Any) -> tuple[list[Any], SampleCounts]:
    counts = SampleCounts()
    return list(build_samples(MeteredModel(scripted_chat(script)), contexts, counts=counts, **options)), counts


def test_a_question_with_its_answer_and_clues_of_the_text_is_a_sample(scripted_chat: Any):
    (sample,), counts = build(scripted_chat, said(f"```json\n{json.dumps([PAIR])}\n```"))
    assert (sample.context, sample.question, sample.answer) == (TEXT, PAIR["question"], PAIR["answer"])
    # Mountains are not in the text.
    assert sample.clues == ("Ines left the harbour", "the boats were sold long ago")
    assert (counts.pairs, counts.samples) == (1, 1)


@pytest.mark.parametrize(
    "pair",
    [
        {"question": "Why?", "answer": "Because of it"},
        {"question": "Why did Ines come to teach music?", "answer": ""},
        {"question": "Why were the boats sold in the end?", "answer": "boats"},
        {"question": "the boats were sold. She opened a school", "answer": "yes"},
    ],
    ids=["too short", "no answer", "holds its answer", "copied"],
)
def test_a_poor_pair_is_dropped_and_counted(scripted_chat: Any, pair: dict[str, str]):
    samples, counts = build(scripted_chat, said(json.dumps([pair, PAIR])))
    assert [sample.question for sample in samples] == [PAIR["question"]]
    assert (counts.pairs, counts.poor_pairs) == (2, 1)


@pytest.mark.parametrize("clues", ["", "Dragons flew over quiet mountains", PAIR["question"], PAIR["answer"]])
def test_a_pair_without_clues_that_hold_is_dropped_and_counted(scripted_chat: Any, clues: str):
    samples, counts = build(scripted_chat, said(json.dumps([PAIR]), clues))
    assert (samples, counts.poor_clues) == ([], 1)


@pytest.mark.parametrize("answer", ["I would rather not.", '{"question": "Why?"}'])
def test_a_text_whose_pairs_cannot_be_read_is_passed_over(scripted_chat: Any, answer: str):
    samples, counts = build(scripted_chat, said(answer))
    assert (samples, counts.unreadable) == ([], 1)


def test_entries_without_their_fields_are_passed_over(scripted_chat: Any):
    samples, _ = build(scripted_chat, said(json.dumps([1, None, {"question": "Why so?"}, PAIR])))
    assert len(samples) == 1


def test_empty_texts_ask_nobody(scripted_chat: Any):
    assert build(scripted_chat, [], ("", "  \n"))[0] == []


def test_chinese_texts_are_asked_in_chinese(scripted_chat: Any):
    text = "因为船都卖掉了，伊内斯离开了港口。她在教堂后面开了一所学校，教音乐。"
    pair = {"question": "伊内斯为什么开始教音乐？", "answer": "船卖掉了"}
    script = [("引向答案", "1. 伊内斯离开了港口"), ("请就下面的文章写", json.dumps([pair]))]
    (sample,), _ = build(scripted_chat, script, (text,))
    assert sample.clues == ("伊内斯离开了港口",)


def test_cancelled_it_ends_with_what_it_has(scripted_chat: Any):
    cancel = Cancel()

    def says(messages: tuple[Message, ...]) -> str:
        return json.dumps([PAIR]) if "Write 3" in messages[-1].text else CLUES

    samples = build_samples(MeteredModel(scripted_chat(says)), [TEXT, TEXT + "!"], cancel=cancel)
    assert next(samples).question == PAIR["question"]
    cancel.cancel()
    assert list(samples) == []


def test_lines_of_json_are_written(scripted_chat: Any, tmp_path: Path):
    samples, _ = build(scripted_chat, said(json.dumps([PAIR])), (TEXT + " 🎻",))
    assert write_samples(tmp_path / "data.jsonl", samples) == 1
    (line,) = (tmp_path / "data.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["clues"] == ["Ines left the harbour", "the boats were sold long ago"]
    assert json.loads(line)["context"].endswith("🎻")
