"""MTBench+: dialogues over several topics, whose last turn is a question about one or two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ....memory import Item, Question
from ....memory.fragrel.chat import round_text
from ..values import Fact, Sample
from .checked import Record, read_records

_TOPIC = re.compile(r"([A-Za-z_ ]+-\d+)-")


def mtbench_plus(path: Path) -> Iterator[Sample]:
    for number, record in enumerate(read_records(path)):
        yield sample_of(record, number)


def sample_of(record: Record, number: int) -> Sample:
    """A turn is the user's text and the bot's answer, which is empty where the system under test answers.

    The facts are the turns of the topics that the last turn names. There is no gold answer: a judge scores the answer.
    """
    rounds = list(_rounds(record))
    if len(rounds) < 2:
        record.fail("conversations", "turns of a user and a chatbot, at least two rounds")
    name = record.text("id", str(number))
    source = f"conversation {name}"
    *before, (question, _, last) = rounds
    topics = _TOPIC.findall(last)
    if not topics or not last.endswith("-Q"):
        record.fail("conversations", 'a last turn of the user with turn-info like "stem-143-Q"')
    items = tuple(Item(source, round_text(user, bot), "turn", place) for place, (user, bot, _) in enumerate(before))
    facts = tuple(
        Fact(source, turn=place) for place, (_, _, info) in enumerate(before) if info.rpartition("-")[0] in topics
    )
    details = {"type": record.text("type", ""), "topics": tuple(topics)}
    return Sample(name, "mtbench+", items, Question(question), facts=facts, metric="none", details=details)


def _rounds(record: Record) -> Iterator[tuple[str, str, str]]:
    """What the user said, what the bot said, and the turn-info."""
    waiting: Record | None = None
    for turn in record.records("conversations"):
        match turn.text("from"):
            case "human" if waiting is None:
                waiting = turn
            case "chatbot" if waiting is not None:
                yield waiting.text("value"), turn.text("value"), waiting.text("turn-info", "")
                waiting = None
            case _:
                turn.fail("from", "human and chatbot in turns, the human first")
    if waiting is not None:
        yield waiting.text("value"), "", waiting.text("turn-info", "")
