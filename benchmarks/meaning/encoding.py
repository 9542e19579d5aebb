"""Words and weights of descriptions and of code: what the fit and the measurement of static vectors read of a pair.

Owns the vocabulary, and which words of a pair are its description, its code and its name. Knows no vector and no file;
needs numpy alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...retrieval.static_vectors import weight_of_count
from ...retrieval.terms import lower_terms
from .pairs import Pair

N_WORDS = 40_000
LEAST_TREES = 2
"""A word of fewer trees is a name of one project."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Word rows and weights of one text."""

    rows: NDArray[np.int64]
    weights: NDArray[np.float32]


EncodedPair = tuple[Encoded, Encoded, Encoded]
"""The description, the code with its name, and the name alone."""


def vocabulary(trees: Iterable[Sequence[Pair]], n_words: int, plain: Iterable[str]) -> list[str]:
    """The plain words of the encoder, then the words of most trees, and of as many trees in alphabetical order."""
    n_trees: Counter[str] = Counter()
    for pairs in trees:
        n_trees.update(
            {word for pair in pairs for word in lower_terms(f"{pair.description}\n{pair.name}\n{pair.code}")}
        )
    frequent = sorted(
        (word for word, n in n_trees.items() if n >= LEAST_TREES), key=lambda word: (-n_trees[word], word)
    )
    return list(dict.fromkeys([*plain, *frequent]))[:n_words]


def encode_text(index: Mapping[str, int], text: str, extra: Mapping[str, float] | None = None) -> Encoded:
    """Rows and weights of a text, repeats once; `extra` are words with further weight."""
    counts = Counter(word for word in lower_terms(text) if word in index)
    weights = weight_of_count(np.array(list(counts.values()), np.float32)) if counts else np.zeros(0, np.float32)
    found = dict(zip(counts, weights.tolist(), strict=True))
    for word, weight in (extra or {}).items():
        if word in index:
            found[word] = found.get(word, 0.0) + weight
    return Encoded(np.array([index[word] for word in found], np.int64), np.array(list(found.values()), np.float32))


def encode_pair(index: Mapping[str, int], pair: Pair) -> EncodedPair | None:
    """The three texts of a pair; None if one of them has no known word."""
    name = dict.fromkeys(lower_terms(pair.name), 1.0)
    made = (
        encode_text(index, pair.description),
        encode_text(index, pair.code, name),
        encode_text(index, f"{pair.name} {pair.path.rpartition('/')[2]}"),
    )
    return made if len(made[0].rows) and len(made[1].rows) and len(made[2].rows) else None
