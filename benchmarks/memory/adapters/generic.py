"""Generic data set: `question`, and `answers` or `answer`, on a `context`, on `documents` or on `turns`.

{"question": "Who?", "answers": ["Ivo"], "context": "A long text."}
{"question": "Who?", "answer": "Ivo", "documents": [{"source": "a.md", "text": "..."}],
 "facts": [{"source": "a.md", "text": "Ivo built a bakery."}]}
{"question": "Which?", "choices": ["one", "two"], "answer": "B", "turns": [{"user": "...", "bot": "..."}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ....memory import Item, Question
from ....memory.fragrel.chat import round_text
from ..metrics import LETTERS, METRICS
from ..values import Fact, Sample
from .checked import Record, read_records


def generic(path: Path) -> Iterator[Sample]:
    """`metric` is f1 unless it is said otherwise, or accuracy with choices. Facts are found by their text."""
    for number, record in enumerate(read_records(path)):
        name = record.text("id", str(number))
        items = _items(record, name)
        answers = record.texts("answers") if "answers" in record.fields else (record.text("answer"),)
        choices = record.texts("choices") if "choices" in record.fields else ()
        metric = record.text("metric", "accuracy" if choices else "f1")
        if metric not in METRICS:
            record.fail("metric", f"one of {', '.join(METRICS)}")
        details: dict[str, object] = {}
        if metric == "accuracy":
            details["gold"] = _gold(record, choices, answers[0])
        if metric == "babilong":
            details["labels"] = record.texts("labels")
        facts = tuple(_fact(each, items) for each in record.records("facts")) if "facts" in record.fields else ()
        question = Question(record.text("question"), choices, task=record.text("task", ""))
        yield Sample(name, path.stem, items, question, answers, facts, metric, details)


def _items(record: Record, name: str) -> tuple[Item, ...]:
    if "documents" in record.fields:
        return tuple(Item(each.text("source"), each.text("text")) for each in record.records("documents"))
    if "turns" in record.fields:
        turns = enumerate(record.records("turns"))
        return tuple(
            Item(f"conversation {name}", round_text(turn.text("user"), turn.text("bot", "")), "turn", place)
            for place, turn in turns
        )
    return (Item(f"text {name}", record.text("context")),)


def _gold(record: Record, choices: Sequence[str], answer: str) -> int:
    letters = LETTERS[: len(choices)]
    if answer not in (*letters, *choices):
        record.fail("answer", f"a letter of {letters} or one of the choices")
    return choices.index(answer) if answer in choices else letters.index(answer)


def _fact(record: Record, items: Sequence[Item]) -> Fact:
    text, source = record.text("text"), record.text("source", items[0].source)
    for item in items:
        start = item.text.find(text)
        if item.source == source and start >= 0:
            return Fact(source, turn=item.number) if item.kind == "turn" else Fact(source, start, start + len(text))
    record.fail("text", f"a text of {source!r}")
