"""What an answer costs grows with its length, and not with its square: characters that patterns look at are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from weft.llm.prompting.infilling_chat import without_reasoning
from weft.llm.protocol import Piece
from weft.server.chat import citation_parsing, citations, sentence_boundaries
from weft.server.chat.citations import CheckedStream
from weft.server.chat.sources import Sources
from weft.server.chat.values import EvidenceSet
from weft.server.output import safe_text
from weft.server.output.safe_text import MarkdownStream

LENGTH, TIMES, MOST_RATIO = 3_000, 4, 6.0

TEXTS = {
    "prose": "The function total adds the price of every item to what was there before it. ",
    "no_sentence": "word ",
    "no_blank": "x",
    "code": "x = total(1)\n",
    "places": "[1] a.py:1-2 ",
    "list": "- `a.py:1-3` is what you want\n",
    "backticks": "` `` ",
    "links": "[a](http://a.example/b) [c](command:d) ",
}


class Counted:
    """A pattern that adds up how many characters it may look at."""

    def __init__(self, pattern: re.Pattern[str], tally: list[int]) -> None:
        self._pattern, self._tally = pattern, tally

    def _count(self, text: str, start: int = 0, end: int = 1 << 60) -> None:
        self._tally[0] += min(len(text), end) - start

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        self._count(text, *bounds)
        return self._pattern.search(text, *bounds)

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        self._count(text, *bounds)
        return self._pattern.finditer(text, *bounds)

    def findall(self, text: str) -> list[Any]:
        self._count(text)
        return self._pattern.findall(text)

    def sub(self, new: Any, text: str) -> str:
        self._count(text)
        return self._pattern.sub(new, text)

    def match(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._pattern.match(text, *bounds)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._pattern.fullmatch(text)


@pytest.fixture
def tally(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted = [0]
    for module in (citations, citation_parsing, sentence_boundaries, safe_text):
        for name, value in list(vars(module).items()):
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, Counted(value, counted))
    compiled = re.compile
    monkeypatch.setattr(sentence_boundaries.re, "compile", lambda *given: Counted(compiled(*given), counted))
    return counted


@pytest.mark.parametrize("kind", TEXTS)
def test_a_checked_answer_costs_its_length(kind: str, tally: list[int]):
    opening = "```py\n" if kind == "code" else ""

    def cost(length: int) -> int:
        before = tally[0]
        checked, markdown = CheckedStream(Sources({}, ()), EvidenceSet("what is total?", ())), MarkdownStream()
        text = opening + (TEXTS[kind] * length)[:length]
        for at in range(0, len(text), 5):
            markdown.feed(checked.feed(text[at : at + 5]))
        markdown.feed(checked.finish())
        return tally[0] - before

    short, long = cost(LENGTH), cost(TIMES * LENGTH)
    assert 0 < long < MOST_RATIO * short


def test_thoughts_are_not_kept():
    pieces = [Piece("<think>"), *(Piece("hm ") for _ in range(10_000)), Piece("</thi"), Piece("nk>x")]
    assert "".join(piece.text for piece in without_reasoning(pieces)) == "x"
