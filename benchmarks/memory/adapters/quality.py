"""QuALITY: an article and its questions a line, in today's form and in the flat one of the first release."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from ....memory import Item, Question
from ..metrics import LETTERS
from ..values import Sample
from .checked import Record, read_records


def quality(path: Path) -> Iterator[Sample]:
    """Gold labels count from 1 in the file, and from 0 in the samples' details."""
    for number, record in enumerate(read_records(path)):
        article = record.text("article_id", str(number))
        item = Item(f"article {article}", plain_text(record))
        questions = _nested(record) if "questions" in record.fields else _flat(record)
        for place, (text, options, gold, difficult) in enumerate(questions):
            details = {"gold": gold, "difficult": difficult}
            name = f"{article}/{record.text('set_unique_id', record.text('unique_id', str(number)))}/{place}"
            yield Sample(
                name, "quality", (item,), Question(text, options), (LETTERS[gold],), metric="accuracy", details=details
            )


QualityQuestion = tuple[str, tuple[str, ...], int, "bool | None"]


def _nested(record: Record) -> Iterator[QualityQuestion]:
    for each in record.records("questions"):
        options = each.texts("options")
        difficult = bool(each.number("difficult", 0, 1)) if "difficult" in each.fields else None
        yield each.text("question"), options, each.number("gold_label", 1, len(options)) - 1, difficult


def _flat(record: Record) -> Iterator[QualityQuestion]:
    if "question1" not in record.fields:
        record.fail("questions", "a list of questions, or question1, question1option1, …, question1_gold_label")
    number = 1
    while f"question{number}" in record.fields:
        name = f"question{number}"
        options = tuple(record.text(f"{name}option{place}") for place in range(1, 5))
        yield record.text(name), options, record.number(f"{name}_gold_label", 1, 4) - 1, None
        number += 1


def plain_text(record: Record) -> str:
    """The article without HTML. Old files have a list of lines, as Python writes one."""
    value = record.fields.get("article")
    if isinstance(value, str) and value.lstrip().startswith(("['", '["')):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            record.fail("article", "a text, or a list of lines as Python writes one")
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(line if line.endswith("\n") else f"{line}\n" for line in value)
    if not isinstance(value, str):
        record.fail("article", "a text or a list of lines")
    if "<p" not in value and "<html" not in value:
        return value
    reader = _TextParser()
    reader.feed(value)
    reader.close()
    paragraphs = (" ".join(each.split()) for each in "".join(reader.parts).split("\0"))
    return "\n\n".join(filter(None, paragraphs))


class _TextParser(HTMLParser):
    """The text of a page, with a zero character at each boundary of a block."""

    _SKIPPED = ("head", "script", "style")
    _INSIDE = ("a", "b", "i", "em", "strong", "span", "small", "sup", "sub", "font")

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._skipping = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if not self._skipping and tag in self._SKIPPED:
            self._skipping = tag
        elif tag not in self._INSIDE:
            self.parts.append("\0")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skipping:
            self._skipping = ""
        elif tag not in self._INSIDE:
            self.parts.append("\0")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(data)
