"""Text splitter that respects sections.

The file name of the source determines the format of headings.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from ..splitters import HARDER, Splitter, lines_of, pack_exact, segments_of, sentences
from ..values import Item, Segment
from .reading import headings
from .sections import sections_below


def by_headings(n_tokens: int, count_tokens: Callable[[str], int], *, hard: bool = False) -> Splitter:
    """Sections packed up to `n_tokens` tokens: short ones joined, long ones split between sentences.

    A longer sentence stays whole; with `hard` it is split as by `by_tokens`. The title of a segment is that of the
    section where it begins.
    """
    cuts = (sentences, *HARDER) if hard else (sentences,)

    def split(item: Item) -> list[Segment]:
        lines = lines_of(item.text)
        found = headings(item.source, lines)
        edges = sorted({0, len(lines), *(heading.line for heading in found)})
        sections = ["".join(lines[first:end]) for first, end in pairwise(edges)]
        segments = segments_of(item, pack_exact(sections, n_tokens, count_tokens, cuts))
        titled = sections_below(item.source, lines, found)
        firsts = [section.first_line for section in titled]
        places = [bisect_right(firsts, segment.first_line - item.first_line) - 1 for segment in segments]
        return [replace(s, title=titled[at].title) if at >= 0 else s for s, at in zip(segments, places, strict=True)]

    return split
