"""Relation strengths along the directory tree: one edge weight, sum-product and max-product over all files.

Owns the tree over directories and files (papers' spec 1.3). Knows paths and no file content. A file represents the root
of its syntax tree, which is connected to it by an edge of its own weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Floats, Ints
from .forest import Forest, distances


class DirectoryTree:
    """The tree of some paths. Input and output have one value per file, in the order of the paths. Immutable."""

    __slots__ = ("_both_ends", "_first_file", "_forest", "_parents", "_position", "_weight", "n_files")

    def __init__(self, paths: Sequence[str], weight: float, file_root: float = 1.0) -> None:
        numbers = {"": 0}
        parents = [-1]

        def number(directory: str) -> int:
            missing = []
            while directory not in numbers:
                missing.append(directory)
                directory = directory.rpartition("/")[0]
            for name in reversed(missing):
                parents.append(numbers[directory])
                numbers[name] = len(numbers)
                directory = name
            return numbers[directory]

        containing = [number(path.rpartition("/")[0]) for path in paths]
        self.n_files = len(paths)
        self._weight = weight
        self._both_ends = file_root**2  # the edges between each of the two files and its root
        self._first_file = len(parents)
        self._parents = np.array(parents + containing, np.int32)
        self._forest = Forest(self._parents, weight)
        self._position = self._forest.position[self._first_file :]

    def sum_product(self, x: Floats) -> Floats:
        """For each file, the sum of x over all *other* files, times the strength between the two."""
        return (self._forest.sum_product(self._placed(x))[self._position] - x) * self._both_ends

    def max_product(self, x: Floats) -> Floats:
        """For each file, the largest x of any file, times the strength between the two; its own x counts in full."""
        return np.maximum(x, self._forest.max_product(self._placed(x))[self._position] * self._both_ends)

    def between(self, a: Ints, b: Ints) -> Floats:
        """The strength between files, pair by pair."""
        steps = distances(a + self._first_file, b + self._first_file, self._parents)
        return np.power(self._weight, steps, dtype=np.float64) * np.where(a == b, 1.0, self._both_ends)

    def node_of(self, file: int) -> int:
        """The node of a file in the tree, whose first node is the folder."""
        return self._first_file + file

    def file_of(self, node: int) -> int:
        """The file at a node; below 0 for a directory."""
        return node - self._first_file

    def beside(self, node: int) -> list[int]:
        """The nodes next to one: its directory, and of a directory its entries."""
        entries = np.flatnonzero(self._parents == node) if node < self._first_file else ()
        parent = int(self._parents[node])
        return [*([parent] if parent >= 0 else []), *map(int, entries)]

    def _placed(self, x: Floats) -> Floats:
        placed = np.zeros(len(self._forest))
        placed[self._position] = x
        return placed
