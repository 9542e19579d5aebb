"""The texts of candidate units and the terms of them all, counted in one pass: by line for words, by piece for meaning.

Owns which lines of a unit are read, and the pieces of long units. Knows no question and no score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..fragments import window_terms
from ..static_vectors import Postings
from ..terms import encode, word_starts
from .units import Unit

LONGEST_READ = 400
"""Only this many lines of a longer unit are read."""

PIECE_LINES = 30
"""A longer unit has a vector for each piece of this many lines; the nearest one counts."""

MOST_PIECES = 12


@dataclass(frozen=True, slots=True)
class UnitText:
    """The lines of a unit that are read: those of the file with these numbers, without those of nested units."""

    unit: Unit
    numbers: Sequence[int]
    lines: Sequence[bytes]
    pieces: tuple[tuple[int, int], ...]  # lines of the file, half-open


class UnitTexts(Sequence[UnitText]):
    """The texts of some units. They are tokenized together: a call for each line takes several times as long."""

    def __init__(self, units: Sequence[Unit], lines_of: Callable[[str], Sequence[bytes]]) -> None:
        """`lines_of` gives the lines of a path."""
        self._rows: list[bytes] = []
        self._text_of_row: list[int] = []  # the number of its piece; of the head of unit i, HEAD - i; or NO_TEXT
        self._firsts: list[int] = []  # the row of the first line of each unit
        self.owners: list[int] = []
        """The number of the unit of each piece."""
        self._texts = [self._read(number, unit, lines_of(unit.path)) for number, unit in enumerate(units)]
        data = b"\n".join((*self._rows, b""))
        sizes = np.fromiter(map(len, self._rows), np.int64, len(self._rows)) + 1
        self._words_before = np.searchsorted(word_starts(data), np.concatenate(([0], sizes.cumsum())))
        rows = np.arange(len(self._rows), dtype=np.int32)
        found = window_terms(data, rows, rows + np.int32(1)) if len(rows) else _NO_TERMS
        self._keys, self._indptr, self._windows, self._counts = map(np.asarray, (found[name] for name in _NO_TERMS))

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> UnitText:  # type: ignore[override]
        return self._texts[number]

    def lines_with(self, keys: NDArray[np.uint64]) -> list[list[int]]:
        """For each unit, which of its `lines` have one of the terms with these keys, in order."""
        at = np.flatnonzero(np.isin(self._keys, keys))
        has_term = np.zeros(len(self._rows), np.bool_)
        for first, end in zip(self._indptr[at].tolist(), self._indptr[at + 1].tolist(), strict=True):
            has_term[self._windows[first:end]] = True
        rows = np.flatnonzero(has_term)
        ends = [first + len(text.lines) for first, text in zip(self._firsts, self._texts, strict=True)]
        edges = (np.searchsorted(rows, rows_of).tolist() for rows_of in (self._firsts, ends))
        return [(rows[begin:end] - first).tolist() for first, begin, end in zip(self._firsts, *edges, strict=True)]

    def n_words(self, number: int, first: int, end: int) -> int:
        """The words of some consecutive `lines` of a unit, [first, end)."""
        row = self._firsts[number]
        return int(self._words_before[row + end] - self._words_before[row + first])

    def postings(self) -> Postings:
        """The terms of all pieces, and then of the head of each unit: its name and that of its file.

        A piece has the name of its unit, too.
        """
        n_texts = len(self.owners) + len(self._texts)
        texts = np.array(self._text_of_row, np.int64)
        texts = np.where(texts <= HEAD, len(self.owners) + HEAD - texts, texts)[self._windows]
        codes = np.repeat(np.arange(len(self._keys)), np.diff(self._indptr)) * n_texts + texts
        here = texts != NO_TEXT
        codes, which = np.unique(codes[here], return_inverse=True)
        terms, texts = np.divmod(codes, n_texts)
        counts = np.bincount(which, self._counts[here], len(codes))
        return Postings(self._keys, np.searchsorted(terms, np.arange(len(self._keys) + 1)), texts, counts)

    def _read(self, number: int, unit: Unit, lines: Sequence[bytes]) -> UnitText:
        numbers: Sequence[int]
        if unit.holes:
            numbers = [line for line in islice(unit.lines(), LONGEST_READ) if line < len(lines)]
            own = [lines[line] for line in numbers]
        else:
            numbers = range(unit.start_line, min(unit.end_line, unit.start_line + LONGEST_READ, len(lines)))
            own = list(lines[numbers.start : numbers.stop])
        pieces = _pieces(numbers[: MOST_PIECES * PIECE_LINES]) or [(min(unit.start_line, len(lines) - 1),)]
        first_piece = len(self.owners)
        self._firsts.append(len(self._rows))
        self._rows += own or [lines[pieces[0][0]]]
        for at, piece in enumerate(pieces, first_piece):
            self._text_of_row += [at] * len(piece)
        self._text_of_row += [NO_TEXT] * (len(own) - MOST_PIECES * PIECE_LINES)
        self.owners += [number] * len(pieces)
        name = encode(f"{unit.symbol} {unit.title}").replace(b"\n", b" ")
        self._rows += [name] * len(pieces)
        self._text_of_row += range(first_piece, len(self.owners))
        self._rows.append(name + b" " + encode(unit.path.rpartition("/")[2]).replace(b"\n", b" "))
        self._text_of_row.append(HEAD - number)
        return UnitText(unit, numbers, own, tuple((piece[0], piece[-1] + 1) for piece in pieces))


_NO_TERMS = {"keys": np.zeros(0, np.uint64), "indptr": np.zeros(1, np.int32), "windows": np.zeros(0, np.int32)} | {
    "counts": np.zeros(0, np.uint16)
}
NO_TEXT, HEAD = -1, -2


def _pieces(own: Sequence[int]) -> list[Sequence[int]]:
    """The lines of a unit in pieces; one piece of a unit of up to 4/3 of a piece."""
    if len(own) <= PIECE_LINES * 4 // 3:
        return [own] if own else []
    return [own[at : at + PIECE_LINES] for at in range(0, len(own), PIECE_LINES)]
