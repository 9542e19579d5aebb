"""The longest common subsequence of two sequences: its length, and which elements it holds.

Knows no words and no metric.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Its length, in bit vectors: one row of the table is one integer (Allison and Dix 1986)."""
    places: dict[Hashable, int] = {}
    for place, element in enumerate(first):
        places[element] = places.get(element, 0) | 1 << place
    row = 0
    for element in second:
        grown = row | places.get(element, 0)
        row = grown & ~(grown - (row << 1 | 1))
    return row.bit_count()


def common_words(first: Sequence[T], second: Sequence[T]) -> list[T]:
    """Its elements, last first. Of several as long the one that is found going back through `second` first."""
    lengths = [[0] * (len(second) + 1)]
    for element in first:
        above, row = lengths[-1], [0]
        for place, other in enumerate(second):
            row.append(above[place] + 1 if element == other else max(above[place + 1], row[place]))
        lengths.append(row)
    found: list[T] = []
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            found.append(first[i])
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found
