"""Levenshtein distance in bit vectors: one column of the table is one integer (Myers 1999, Hyyrö 2003).

Owns edit distance and edit similarity of two strings. Knows nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions and replacements that turn one string into the other, each of cost 1."""
    pattern, text = (first, second) if len(first) >= len(second) else (second, first)
    if not text:
        return len(pattern)
    positions: dict[str, int] = {}
    for index, character in enumerate(pattern):
        positions[character] = positions.get(character, 0) | 1 << index
    all_ones = (1 << len(pattern)) - 1
    last = 1 << (len(pattern) - 1)
    distance = len(pattern)
    # Bit i says whether the cell below position i of the current column is one more (plus) or one less (minus).
    plus, minus = all_ones, 0
    for character in text:
        match = positions.get(character, 0)
        diagonal = (((match & plus) + plus) ^ plus) | match | minus
        right_plus = minus | ~(diagonal | plus)
        right_minus = plus & diagonal
        if right_plus & last:
            distance += 1
        elif right_minus & last:
            distance -= 1
        right_plus = right_plus << 1 | 1
        right_minus <<= 1
        plus = (right_minus | ~(diagonal | right_plus)) & all_ones
        minus = right_plus & diagonal & all_ones
    return distance


def edit_similarity(first: str, second: str) -> float:
    """1 - distance / length of the longer string; 1.0 for two empty ones."""
    longest = max(len(first), len(second))
    return 1.0 - edit_distance(first, second) / longest if longest else 1.0


def best_similarity(target: str, lines: Iterable[str]) -> float:
    """Edit similarity of `target` to the nearest of `lines`; 0.0 when there are none."""
    candidates = set(lines)
    if target in candidates:
        return 1.0
    letters = Counter(target)
    # Letters in common bound the similarity from above: most lines need no table.
    bounded = sorted(((_similarity_bound(letters, target, line), line) for line in candidates), reverse=True)
    best = 0.0
    for bound, line in bounded:
        if bound <= best:
            break
        best = max(best, edit_similarity(target, line))
    return best


def _similarity_bound(letters: Counter[str], target: str, line: str) -> float:
    longest = max(len(target), len(line))
    if min(len(target), len(line)) * 4 < longest:
        return min(len(target), len(line)) / longest
    return (letters & Counter(line)).total() / longest
