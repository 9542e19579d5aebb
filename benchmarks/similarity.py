"""Levenshtein similarity and longest common subsequences of texts, by rapidfuzz.

Owns the normalisation of distances to shares between 0 and 1. Knows no task. rapidfuzz comes with the extra `bench`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ..llm.installation import install_command

try:
    from rapidfuzz.distance import LCSseq, Levenshtein
    from rapidfuzz.process import extractOne
except ImportError:
    raise SystemExit(f"rapidfuzz is not installed; this benchmark needs it. Run: {install_command('bench')}") from None


def edit_similarity(first: str, second: str) -> float:
    """1 - distance / length of the longer string; 1.0 for two empty ones."""
    return float(Levenshtein.normalized_similarity(first, second))


def best_similarity(target: str, lines: Iterable[str]) -> float:
    """Edit similarity of `target` to the nearest of `lines`; 0.0 when there are none."""
    nearest = extractOne(target, set(lines), scorer=Levenshtein.normalized_similarity)
    return float(nearest[1]) if nearest else 0.0


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence, of characters or of words."""
    return int(LCSseq.similarity(first, second))
