"""Text splitters: sentences packed to a number of words or tokens, line windows, turns of a conversation.

Owns segment boundaries. Knows no query and no score. Segments of one item are contiguous and do not overlap, except
line windows. `documents.by_headings` splits at headings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ..retrieval.fragments import Slicing
from .values import Item, Segment, content_key
from .words import CJK

T = TypeVar("T")
Splitter = Callable[[Item], list[Segment]]


def by_words(n_words: int) -> Splitter:
    """Sentences packed up to `n_words` words, as LongBench splits (papers' spec 1.5); a longer sentence stays whole."""
    return lambda item: segments_of(item, pack(sentences(item.text), n_words, count_words))


def by_tokens(n_tokens: int, count_tokens: Callable[[str], int], *, hard: bool = False) -> Splitter:
    """Sentences packed up to `n_tokens` tokens; the tokens of the whole segment are counted.

    A longer sentence stays whole; with `hard` it is split between words, and a longer word between characters, so that
    no segment exceeds the limit, unless a single character does.
    """

    def split(item: Item) -> list[Segment]:
        return segments_of(item, pack_exact(sentences(item.text), n_tokens, count_tokens, HARDER if hard else ()))

    return split


def by_stable_tokens(n_tokens: int, count_tokens: Callable[[str], int]) -> Splitter:
    """As `by_tokens` with `hard`, but an edit changes few segments: content-defined chunking.

    A segment ends after one of the last quarter of the sentences that fit, the one with the least hash. After an edit,
    the segments soon end where they ended before, so that results cached for them are found again.
    """

    def split(item: Item) -> list[Segment]:
        whole: list[str] = []
        for sentence in sentences(item.text):
            fits = len(sentence) <= n_tokens or count_tokens(sentence) <= n_tokens
            whole += [sentence] if fits else pack_exact([sentence], n_tokens, count_tokens, HARDER)
        return segments_of(item, _stable(whole, n_tokens, count_tokens))

    return split


def by_lines(n_lines: int = 20, stride: int = 10, kind: str = "centered") -> Splitter:
    """Overlapping line windows: `centered` as in RepoCoder, `plain` as in FragRel (spec 2.1)."""
    slicing = Slicing(kind, n_lines, stride)

    def split(item: Item) -> list[Segment]:
        lines = lines_of(item.text)
        offsets = [0]
        for line in lines:
            offsets.append(offsets[-1] + len(line))
        return [
            Segment(
                item.source,
                number,
                item.text[offsets[first] : offsets[end]],
                offsets[first],
                item.first_line + first,
                item.said_at,
            )
            for number, (first, end) in enumerate(zip(*(a.tolist() for a in slicing.windows(len(lines))), strict=True))
        ]

    return split


def by_turns(documents: Splitter | None = None) -> Splitter:
    """One segment for each turn, with the number of the turn; a document is one segment, or split by a splitter."""

    def split(item: Item) -> list[Segment]:
        if documents is not None and item.kind == "document":
            return documents(item)
        return [Segment(item.source, item.number, item.text, 0, item.first_line, item.said_at)]

    return split


def count_words(text: str) -> int:
    """The number of runs of letters and digits; every CJK character is one word."""
    return len(_WORD.findall(text))


def sentences(text: str) -> list[str]:
    """The sentences of a text with punctuation and trailing space; their concatenation is the text."""
    return _SENTENCE.findall(text)


def lines_of(text: str) -> list[str]:
    """The lines of a text with their line breaks."""
    return _LINE.findall(text)


def batches(things: Iterable[T], size: int, count: Callable[[T], int]) -> list[list[T]]:
    """Adjacent things whose counts sum to at most `size`; a larger one is a batch of its own."""
    found: list[list[T]] = []
    room = 0
    for thing in things:
        n = count(thing)
        if found and n <= room:
            found[-1].append(thing)
        else:
            found.append([thing])
            room = size
        room -= n
    return found


def pack(pieces: Iterable[str], size: int, count: Callable[[str], int]) -> list[str]:
    """Adjacent pieces joined while the sum of their counts is at most `size`; a larger piece stays whole."""
    if size < 1:
        raise ValueError(f"the segment size is {size}; it must be at least 1.")
    return ["".join(batch) for batch in batches(pieces, size, count)]


def pack_exact(
    pieces: Sequence[str], size: int, count: Callable[[str], int], cuts: Sequence[Callable[[str], list[str]]] = ()
) -> list[str]:
    """Adjacent pieces joined while the count of the joined text is at most `size`.

    A larger piece is split by the first of `cuts`, then by the next; a piece that no cut splits stays whole. Token
    counts are not additive, so joined texts are counted, a few times for each segment.
    """
    if size < 1:
        raise ValueError(f"the segment size is {size}; it must be at least 1.")
    pieces, n_cuts = list(pieces), [0] * len(pieces)
    filled: list[str] = []
    start, n_characters = 0, 4 * size  # of the last segment; the next one has a similar length
    while start < len(pieces):
        n = _most_that_fit(pieces, start, n_characters, size, count)
        if n == 0 and n_cuts[start] < len(cuts):
            parts = cuts[n_cuts[start]](pieces[start])
            n_cuts[start : start + 1] = [n_cuts[start] + 1] * len(parts)
            pieces[start : start + 1] = parts
            continue
        filled.append("".join(pieces[start : start + max(1, n)]))
        n_characters = len(filled[-1])
        start += max(1, n)
    return filled


def _stable(pieces: Sequence[str], size: int, count: Callable[[str], int]) -> list[str]:
    """Adjacent pieces joined; the end of each is chosen by the content of the pieces, not by their position."""
    filled: list[str] = []
    start, n_characters = 0, 4 * size
    while start < len(pieces):
        n = max(1, _most_that_fit(pieces, start, n_characters, size, count))
        if start + n < len(pieces):
            least = max(1, n - n // 4)
            n = min(range(least, n + 1), key=lambda k: content_key(pieces[start + k - 1]))
        filled.append("".join(pieces[start : start + n]))
        n_characters = len(filled[-1])
        start += n
    return filled


def most_pieces(n_tokens: int, size: int) -> int:
    """An upper bound of the pieces that `pack_exact` makes, because two adjacent pieces exceed one limit.

    If many sentences are longer than a piece, there can be half as many more.
    """
    return 2 * n_tokens // size + 1


def segments_of(item: Item, pieces: Iterable[str]) -> list[Segment]:
    """The segments of an item from its pieces."""
    segments, start, line = list[Segment](), 0, item.first_line
    for number, text in enumerate(pieces):
        segments.append(Segment(item.source, number, text, start, line, item.said_at))
        start += len(text)
        line += text.count("\n")
    return segments


def _most_that_fit(pieces: Sequence[str], start: int, n_characters: int, size: int, count: Callable[[str], int]) -> int:
    """How many pieces from `start` fit together, 0 for none; searched from a guess."""
    most, guess = len(pieces) - start, 0
    while guess < most and n_characters > 0:
        n_characters -= len(pieces[start + guess])
        guess += 1
    fitting, too_many, step = 0, most + 1, 1
    while too_many - fitting > 1:
        if count("".join(pieces[start : start + guess])) <= size:
            fitting = guess
        else:
            too_many = guess
        if too_many > most:
            guess = min(fitting + step, most)
        elif fitting == 0:
            guess = max(too_many - step, 1)
        else:
            guess = (fitting + too_many) // 2
        step *= 2
    return fitting


_SENTENCE = re.compile(r"[^。？！；.!?;\n]*[。？！；.!?;\n]\s*|[^。？！；.!?;\n]+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")

HARDER: tuple[Callable[[str], list[str]], ...] = (re.compile(r"\s*\S+\s*|\s+").findall, list)
"""How an overlong sentence is split: between words, then between characters."""
