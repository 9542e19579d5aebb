"""Items in pieces: whole sentences up to a number of words or tokens, rounds of a conversation, sections, windows.

Owns where a segment begins and ends. Knows no question and no score. Segments of one item follow each other without
a gap and without an overlap, except windows of lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .values import Item, Segment

Splitter = Callable[[Item], list[Segment]]

_SENTENCE_ENDS = re.compile(r"(?<=[。？！；.!?;\n])")


def by_words(n_words: int) -> Splitter:
    """Whole sentences up to `n_words` words, as LongBench splits (papers' spec 1.5); a longer sentence stays whole."""
    return _greedy(n_words, count_words)


def by_tokens(n_tokens: int, count_tokens: Callable[[str], int]) -> Splitter:
    """Whole sentences up to `n_tokens` tokens."""
    return _greedy(n_tokens, count_tokens)


def count_words(text: str) -> int:
    """Runs of letters and digits; every CJK character is one word."""
    return len(_WORD.findall(text))


_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


def _greedy(size: int, count: Callable[[str], int]) -> Splitter:
    def split(item: Item) -> list[Segment]:
        pieces: list[str] = []
        room = 0
        for sentence in filter(None, _SENTENCE_ENDS.split(item.text)):
            n = count(sentence)
            if pieces and n <= room:
                pieces[-1] += sentence
                room -= n
            else:
                pieces.append(sentence)
                room = size - n
        return _segments(item, pieces)

    return split


def _segments(item: Item, pieces: list[str]) -> list[Segment]:
    segments, start, line = list[Segment](), 0, item.first_line
    for number, text in enumerate(pieces):
        segments.append(Segment(item.source, number, text, start, line, item.said_at))
        start += len(text)
        line += text.count("\n")
    return segments
