"""HotpotQA: the published form (`context`, `supporting_facts`), and that of the sample of 100 with both paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ....memory import Item, Question
from ..values import Fact, Sample
from .checked import Record, read_records

Paragraph = tuple[str, "list[str]"]  # title and sentences


def hotpotqa(path: Path) -> Iterator[Sample]:
    """Each paragraph is a document, in the order of the titles; the facts are the supporting sentences."""
    for number, record in enumerate(read_records(path)):
        read = _published if "context" in record.fields else _sampled
        paragraphs, supporting = read(record)
        names = {title: title for title, _ in paragraphs}
        if len(names) < len(paragraphs):
            record.fail("context", "paragraphs with a title of their own each")
        items = tuple(Item(title, "".join(sentences)) for title, sentences in sorted(paragraphs))
        facts = tuple(_fact(record, paragraphs, title, place) for title, place in supporting)
        question = Question(record.text("question"), task="short")
        yield Sample(record.text("_id", str(number)), "hotpotqa", items, question, (record.text("answer"),), facts)


def _published(record: Record) -> tuple[list[Paragraph], list[tuple[str, object]]]:
    return [_paragraph(record, "context", each) for each in _list(record, "context")], [
        _pair(record, each) for each in _list(record, "supporting_facts")
    ]


def _sampled(record: Record) -> tuple[list[Paragraph], list[tuple[str, object]]]:
    gold = [(record.text(f"title_{which}"), list(record.texts(f"para_{which}"))) for which in ("a", "b")]
    others = [_paragraph(record, "distractors", each[:2]) for each in _list(record, "distractors")]
    places = _list(record, "supporting_facts")
    if len(places) != 2 or not all(isinstance(each, list) for each in places):
        record.fail("supporting_facts", "two lists of numbers, for para_a and para_b")
    supporting = [(title, place) for (title, _), of in zip(gold, places, strict=True) for place in of]
    return [*gold, *others], supporting


def _list(record: Record, name: str) -> list[list[object]]:
    value = record.fields.get(name)
    if not isinstance(value, list) or not all(isinstance(each, list) for each in value):
        record.fail(name, "a list of lists")
    return value


def _paragraph(record: Record, name: str, value: Sequence[object]) -> Paragraph:
    match value:
        case [str() as title, [*sentences]] if all(isinstance(each, str) for each in sentences):
            return title, [str(each) for each in sentences]
    record.fail(name, "a title and its sentences in each")


def _pair(record: Record, value: Sequence[object]) -> tuple[str, int]:
    match value:
        case [str() as title, int() as place]:
            return title, place
    record.fail("supporting_facts", "a title and the number of a sentence in each")


def _fact(record: Record, paragraphs: Sequence[Paragraph], title: str, place: object) -> Fact:
    sentences = dict(paragraphs).get(title)
    if sentences is None or not isinstance(place, int) or not 0 <= place < len(sentences):
        record.fail("supporting_facts", f"sentences that are there; {title!r} has no sentence {place}")
    start = sum(map(len, sentences[:place]))
    sentence = sentences[place]
    # The space before a sentence belongs to none.
    return Fact(title, start + len(sentence) - len(sentence.lstrip()), start + len(sentence.rstrip()))
