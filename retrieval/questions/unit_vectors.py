"""Vectors of units: the meaning of their lines, and of their names and files.

Owns what of a unit its vectors are made of, which is as the table was fitted: the first lines of a definition with its
name, and its name with the name of its file. Knows no question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from ..static_vectors import NO_ROW, StaticVectors, Vectors, normalised, weight_of_count
from ..terms import Vocabulary, encode, shared_vocabulary
from .units import Unit

MOST_LINES = 40
"""The lines of a unit that its vector is made of."""


def unit_vectors(
    table: StaticVectors, units: Sequence[Unit], lines_of: Callable[[str], Sequence[bytes]]
) -> tuple[Vectors, Vectors]:
    """The vectors of the units' lines, and of their names and files: (n, 96) each. `lines_of` a path."""
    vocabulary = shared_vocabulary()
    bodies, heads = [], []
    for unit in units:
        lines = lines_of(unit.path)
        own = (lines[number] for number in islice(unit.lines(), MOST_LINES) if number < len(lines))
        name = encode(f"{unit.symbol} {unit.title}")
        bodies.append(b" ".join((*own, name)))
        heads.append(name + b" " + encode(unit.path.rpartition("/")[2]))
    return _vectors(table, vocabulary, bodies), _vectors(table, vocabulary, heads)


def _vectors(table: StaticVectors, vocabulary: Vocabulary, texts: Sequence[bytes]) -> Vectors:
    numbers = [vocabulary.numbers(text.replace(b"\n", b" ")) for text in texts]
    sizes = [len(each) for each in numbers]
    if not sum(sizes):
        return np.zeros((len(texts), table.vectors.shape[1]), np.float32)
    distinct, inverse = np.unique(np.concatenate(numbers), return_inverse=True)
    rows = table.rows(vocabulary.keys(distinct.tolist()))[inverse]
    owners = np.repeat(np.arange(len(texts)), sizes)[rows != NO_ROW]
    n_rows = len(table.vectors)
    codes, counts = np.unique(owners * n_rows + rows[rows != NO_ROW], return_counts=True)
    weighted = table.vectors[codes % n_rows] * weight_of_count(counts)[:, None]
    found = np.zeros((len(texts), table.vectors.shape[1]), np.float32)
    owners = codes // n_rows
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    if len(firsts):
        found[owners[firsts]] = np.add.reduceat(weighted, firsts, axis=0)
    return normalised(found)
